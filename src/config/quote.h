// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace redlock::config {

/// What somebody typed, fit for a one-line message: in single quotes, what os::printable() does not
/// show as `\n` or `\x1b`, cut after 80 bytes, and without what stands behind the `://` of a URI (a
/// password may be anywhere in it).
std::string quote(std::string_view text);

}  // namespace redlock::config
