// SPDX-License-Identifier: MIT
//
// What others have written into a server, and so may be anything.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace redlock::diag {

/// Empty if it is not there, or no text.
inline std::string text_of(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// None if it is not there, or no whole number of 64 bits.
inline std::optional<std::int64_t> number_of(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (found->is_number_unsigned() && found->get<std::uint64_t>() > kMost) return std::nullopt;
  return found->get<std::int64_t>();
}

/// A length, or a time since 1970: from 0 to the year 2200, so that what is computed with it never
/// overflows, in nanoseconds either. None if it is not there, or no whole number.
inline std::optional<std::chrono::milliseconds> time_of(const nlohmann::json& object,
                                                        const char* key) {
  constexpr std::int64_t kYear2200 = 7'258'118'400'000;
  const auto number = number_of(object, key);
  if (!number) return std::nullopt;
  return std::chrono::milliseconds(std::clamp<std::int64_t>(*number, 0, kYear2200));
}

}  // namespace redlock::diag
