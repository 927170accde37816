// SPDX-License-Identifier: MIT
//
// What both simulators understand: -n COUNT, --seed N, --seeds FROM..TO, --only NAME.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace redlock::sim {

struct Options {
  std::uint64_t first = 1;
  std::uint64_t last = 1;
  std::string_view only{};

  [[nodiscard]] bool one() const { return first == last; }
};

inline bool read_number(std::string_view text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

inline bool read_option(std::string_view word, std::string_view value, Options& options) {
  if (word == "-n") return read_number(value, options.last);
  if (word == "--seed" || word == "--seeds") {
    const std::size_t dots = word == "--seed" ? value.npos : value.find("..");
    return read_number(value.substr(0, dots), options.first) &&
           read_number(dots == value.npos ? value : value.substr(dots + 2), options.last);
  }
  options.only = value;
  return word == "--only";
}

/// `flags`: words without a value, and where to note them. False: not understood.
inline bool read_options(std::span<char* const> words, Options& options,
                         std::span<const std::pair<std::string_view, bool*>> flags) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const auto flag = std::ranges::find(flags, word, &std::pair<std::string_view, bool*>::first);
    if (flag != flags.end()) {
      *flag->second = true;
    } else if (++i == words.size() || !read_option(word, words[i], options)) {
      return false;
    }
  }
  return true;
}

}  // namespace redlock::sim
