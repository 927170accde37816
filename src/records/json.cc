// SPDX-License-Identifier: MIT
#include "records/json.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace redlock::records {

namespace {

constexpr char32_t kReplacement = 0xfffd;

enum class Letters { ascii, utf8 };

struct Character {
  std::size_t bytes;
  char32_t code;
};

/// The first character of a text that is not empty. Bytes that begin a character but do not
/// continue as UTF-8 requires count as one U+FFFD, up to the first wrong byte (Unicode 15,
/// section 3.9, "U+FFFD Substitution of Maximal Subparts").
Character first_of(std::string_view text) {
  const auto byte_at = [text](std::size_t index) {
    return static_cast<unsigned char>(text[index]);
  };
  const unsigned char first = byte_at(0);
  if (first < 0x80) return {1, first};
  if (first < 0xc2 || first > 0xf4) return {1, kReplacement};
  const unsigned more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
  // The range of the second byte excludes overlong forms, surrogates, and code points above
  // U+10FFFF.
  unsigned char least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  unsigned char most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  char32_t code = first & (0x3fU >> more);
  for (std::size_t index = 1; index <= more; ++index) {
    if (index == text.size() || byte_at(index) < least || byte_at(index) > most) {
      return {index, kReplacement};
    }
    code = (code << 6U) | (byte_at(index) & 0x3fU);
    least = 0x80;
    most = 0xbf;
  }
  return {more + 1, code};
}

void append_utf16(std::string& out, char32_t unit) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += "\\u";
  for (const unsigned shift : {12U, 8U, 4U, 0U}) out += kDigits[(unit >> shift) & 0xfU];
}

void append_escaped(std::string& out, char32_t code) {
  if (code < 0x10000) return append_utf16(out, code);
  append_utf16(out, 0xd800 + ((code - 0x10000) >> 10U));
  append_utf16(out, 0xdc00 + ((code - 0x10000) & 0x3ffU));
}

/// The character after the backslash, for characters with a short form (RFC 8259, section 7).
char short_escape(char32_t code) {
  constexpr std::string_view kCodes = "\b\t\n\f\r\"\\";
  const std::size_t at = code < 0x80 ? kCodes.find(static_cast<char>(code)) : kCodes.npos;
  return at == kCodes.npos ? '\0' : "btnfr\"\\"[at];
}

void append_string(std::string& out, std::string_view text, Letters letters) {
  out += '"';
  while (!text.empty()) {
    const Character character = first_of(text);
    if (const char escape = short_escape(character.code)) {
      (out += '\\') += escape;
    } else if (character.code < 0x20 || (letters == Letters::ascii && character.code >= 0x7f)) {
      append_escaped(out, character.code);
    } else if (character.code == kReplacement) {
      out += "\xef\xbf\xbd";
    } else {
      out += text.substr(0, character.bytes);
    }
    text.remove_prefix(character.bytes);
  }
  out += '"';
}

}  // namespace

Json::Json(double number) {
  if (!std::isfinite(number)) {
    text_ = "null";
    return;
  }
  const double size = std::fabs(number);
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e15);
  // The shortest text that gives the same number. std::to_chars() would find it faster, but needs
  // libm, and every start of redlock would load that.
  constexpr int kMostPlaces = 22;
  std::array<char, 48> digits{};
  for (int places = 0; places <= kMostPlaces; ++places) {
    std::snprintf(digits.data(), digits.size(), plain ? "%.*f" : "%.*e", places, number);
    if (std::strtod(digits.data(), nullptr) == number) break;
  }
  text_ = digits.data();
  // A reader must not take it for an integer.
  if (text_.find_first_of(".e") == std::string::npos) text_ += ".0";
}

Json::Json(std::string_view text) {
  append_string(text_, text, Letters::ascii);
}

/// Texts contain no line breaks: they are escaped as \n.
void Json::append_indented(const Json& value) {
  for (const char letter : value.text_) {
    text_ += letter;
    if (letter == '\n') text_ += "  ";
  }
}

Json Json::object(const std::vector<Member>& members) {
  Json object;
  object.text_ = "{";
  for (const auto& [key, value] : members) {
    object.text_ += object.text_.size() > 1 ? ",\n  " : "\n  ";
    append_string(object.text_, key, Letters::ascii);
    object.text_ += ": ";
    object.append_indented(value);
  }
  object.text_ += members.empty() ? "}" : "\n}";
  return object;
}

Json Json::array(const std::vector<Json>& elements) {
  Json array;
  array.text_ = "[";
  for (const Json& element : elements) {
    array.text_ += array.text_.size() > 1 ? ",\n  " : "\n  ";
    array.append_indented(element);
  }
  array.text_ += elements.empty() ? "]" : "\n]";
  return array;
}

void JsonRecord::add(std::string_view key, std::string_view text) {
  begin(key);
  append_string(text_, text, Letters::utf8);
}

}  // namespace redlock::records
