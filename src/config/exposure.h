// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "config/read_file.h"

namespace redlock::config {

enum class Content { secret, settings };

/// A warning about a file with such content that others may read, if it is a secret, or write;
/// empty if there is nothing to say. A pipe, and what the shell opened (/dev/stdin, /dev/fd/63), is
/// nobody else's. The group of a file of root's is the administrator's choice.
std::string exposure(const FileRead& file, const std::string& path, Content content);

}  // namespace redlock::config
