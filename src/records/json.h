// SPDX-License-Identifier: MIT
//
// JSON: writes what redlock prints with --json and the records that it stores; reads what others
// have stored.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <map>
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
  void begin(std::string_view key) {
    if (!text_.empty()) text_ += ',';
    ((text_ += '"') += key) += "\":";
  }

  std::string text_;
};

/// The texts and whole numbers of a JSON object that others have written into a server, and that
/// may contain anything. Everything else in it is ignored.
class JsonFields {
 public:
  /// None if it is not a JSON object. If a key comes several times, the last value counts.
  static std::optional<JsonFields> read(std::string_view json);

  /// Empty if the field is missing, or is not a text.
  [[nodiscard]] std::string text(std::string_view key) const;

  /// None if the field is missing, or is not a whole number of 64 bits.
  [[nodiscard]] std::optional<std::int64_t> number(std::string_view key) const;

  /// A length, or a time since 1970: from 0 to the year 2200, so that computing with it never
  /// overflows, not even in nanoseconds. None if the field is missing, or is not a whole number.
  [[nodiscard]] std::optional<std::chrono::milliseconds> time(std::string_view key) const;

 private:
  std::map<std::string, std::string, std::less<>> texts_;
  std::map<std::string, std::int64_t, std::less<>> numbers_;
};

}  // namespace redlock::records
