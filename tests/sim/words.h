// SPDX-License-Identifier: MIT
//
// How the commands of keyspace.h read their words.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace redlock::sim {

inline constexpr std::string_view kSyntax = "ERR syntax error";
inline constexpr std::string_view kNotInteger = "ERR value is not an integer or out of range";

inline bool is_word(std::string_view text, std::string_view upper) {
  return std::ranges::equal(text, upper, [](char a, char b) {
    return a == b || (a >= 'a' && a <= 'z' && a - 'a' + 'A' == b);
  });
}

inline std::optional<std::int64_t> read_integer(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Of a range as Redis counts, from the end if negative. False: it is empty.
inline bool cut_range(std::int64_t& from, std::int64_t& to, std::size_t size) {
  const auto length = static_cast<std::int64_t>(size);
  if (from < 0) from = std::max<std::int64_t>(from + length, 0);
  if (to < 0) to = std::max<std::int64_t>(to + length, -1);
  to = std::min(to, length - 1);
  return from <= to;
}

}  // namespace redlock::sim
