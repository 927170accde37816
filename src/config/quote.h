// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace redlock::config {

/// What somebody typed, fit for a one-line message: in single quotes, control bytes as `\n` or
/// `\x1b`, cut after 80 bytes, and without what stands before the @ of a URI (it may be a
/// password).
std::string quote(std::string_view text);

}  // namespace redlock::config
