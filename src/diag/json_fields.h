// SPDX-License-Identifier: MIT
//
// What others have written into a server, and so may be anything.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace redlock::diag {

/// Empty if it is not there, or no text.
inline std::string text_of(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// None if it is not there, or no whole number.
inline std::optional<std::int64_t> number_of(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<std::int64_t>();
}

}  // namespace redlock::diag
