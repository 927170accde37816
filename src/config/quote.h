// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace redlock::config {

/// The user's text for a one-line message: in single quotes, with unprintable characters as `\n` or
/// `\x1b`, cut after 80 bytes. Of a URI it shows only the scheme, since a password may be anywhere
/// in the rest.
std::string quote(std::string_view text);

/// The candidate that the user probably meant by a mistyped word ("did you mean"); empty if all are
/// too different. An abbreviation, which redlock never accepts, is the nearest.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace redlock::config
