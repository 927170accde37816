// SPDX-License-Identifier: MIT
//
// Writes the JSON of redlock: what it prints with --json, and the records that it stores. Absent on
// purpose: reading (records/json_fields.h), and any library.
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::records {

/// A value as redlock prints it: indented, in ASCII, keys in the order given. It is kept as its
/// text, so that printing it needs no further work.
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
  void append_indented(const Json& value);

  std::string text_;
};

/// A flat object on one line, as servers store it. Bytes that are not UTF-8 become U+FFFD.
class JsonRecord {
 public:
  void add(std::string_view key, std::string_view text);
  void add(std::string_view key, std::integral auto number) {
    begin(key);
    text_ += std::to_string(number);
  }

  [[nodiscard]] std::string object() const { return "{" + text_ + "}"; }

 private:
  /// The caller passes only keys that need no escapes.
  void begin(std::string_view key);

  std::string text_;
};

}  // namespace redlock::records
