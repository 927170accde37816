// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

namespace redlock::lock {

/// The length of redlock's tokens: 160 bits, in hexadecimal digits.
inline constexpr std::size_t kTokenDigits = 40;

/// The tokens of readers, and their names in the line of waiters, begin with this: so whoever has a
/// token knows the mode of its lock.
inline constexpr char kReader = 's';

constexpr bool is_of_reader(std::string_view token) {
  return token.starts_with(kReader);
}

/// Whether a text has the form of redlock's tokens.
constexpr bool is_token(std::string_view text) {
  if (text.size() != kTokenDigits) return false;
  if (is_of_reader(text)) text.remove_prefix(1);
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace redlock::lock
