// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "config/read_file.h"

namespace redlock::config {

enum class Content { secret, settings };

/// A warning if others may write the file, or read it although its content is secret; else empty.
/// Nobody else can open a pipe, or a file that the shell opened (/dev/stdin, /dev/fd/63). The group
/// of a file that root owns is the administrator's choice.
std::string exposure(const FileRead& file, const std::string& path, Content content);

}  // namespace redlock::config
