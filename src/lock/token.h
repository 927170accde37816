// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

namespace redlock::lock {

/// The length of redlock's tokens: 160 bits, in hexadecimal digits.
inline constexpr std::size_t kTokenDigits = 40;

/// Whether a text has the form of redlock's tokens.
constexpr bool is_token(std::string_view text) {
  return text.size() == kTokenDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace redlock::lock
