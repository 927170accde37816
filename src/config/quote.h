// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace redlock::config {

/// The user's text for a one-line message: in single quotes, with unprintable characters as `\n` or
/// `\x1b`, cut after 80 bytes. Of a URI it shows only the scheme, since a password may be anywhere
/// in the rest.
std::string quote(std::string_view text);

}  // namespace redlock::config
