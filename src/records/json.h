// SPDX-License-Identifier: MIT
//
// JSON as redlock prints it with --json. Absent on purpose: the JSON that servers store (holder.h).
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::records {

/// A value as redlock prints it, kept as its text: indented, in ASCII, keys in the order given.
class Json {
 public:
  Json() : text_("null") {}
  // NOLINTBEGIN(google-explicit-constructor): members are written as {"name", value}.
  Json(std::nullptr_t) : Json() {}
  Json(std::same_as<bool> auto value) : text_(value ? "true" : "false") {}
  template <std::integral Number>
  requires(!std::same_as<Number, bool>) Json(Number number) : text_(std::to_string(number)) {}
  /// The shortest text that reads back as the same number; null if it is not finite.
  Json(double number);
  /// Whatever text others have written, the result is printable(): a character that is not ASCII
  /// becomes \uXXXX, and bytes that are not UTF-8 become U+FFFD.
  Json(std::string_view text);
  Json(const std::string& text) : Json(std::string_view(text)) {}
  Json(const char* text) : Json(std::string_view(text)) {}
  /// Null if the value is missing.
  template <class Value>
  Json(const std::optional<Value>& value) : Json(value ? Json(*value) : Json()) {}
  // NOLINTEND(google-explicit-constructor)

  using Member = std::pair<std::string_view, Json>;
  static Json object(const std::vector<Member>& members);
  static Json array(const std::vector<Json>& elements);

  /// The text to print. It ends with a line break.
  [[nodiscard]] std::string output() const { return text_ + "\n"; }

 private:
  std::string text_;
};

}  // namespace redlock::records
