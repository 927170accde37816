// SPDX-License-Identifier: MIT
//
// Reads a JSON object that others have written into a server, and that may contain anything.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace redlock::records {

/// The texts and whole numbers of a JSON object. All else in it is left out, however deep.
class JsonFields {
 public:
  /// None if it is not a JSON object.
  static std::optional<JsonFields> read(std::string_view json);

  /// Empty if the field is missing, or is not a text.
  [[nodiscard]] std::string text(std::string_view key) const;

  /// None if the field is missing, or is not a whole number of 64 bits.
  [[nodiscard]] std::optional<std::int64_t> number(std::string_view key) const;

  /// A length, or a time since 1970: from 0 to the year 2200, so that computing with it never
  /// overflows, not even in nanoseconds. None if the field is missing, or is not a whole number.
  [[nodiscard]] std::optional<std::chrono::milliseconds> time(std::string_view key) const;

 private:
  class Reader;

  std::map<std::string, std::variant<std::string, std::int64_t>, std::less<>> fields_;
};

}  // namespace redlock::records
