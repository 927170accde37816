// SPDX-License-Identifier: MIT
#include "os/printable.h"

#include <algorithm>

namespace redlock::os {

namespace {

struct Range {
  char32_t first;
  char32_t last;
};

/// https://www.unicode.org/reports/tr9/ (bidirectional text), and the characters that are invisible
/// (Default_Ignorable_Code_Point in DerivedCoreProperties.txt). Not U+200C, U+200D and the
/// variation selectors: Persian, the scripts of India and emoji need them.
constexpr Range kHarmful[] = {
    {0x0, 0x1f},       // C0
    {0x7f, 0x9f},      // DEL and C1: U+009B begins an escape sequence
    {0xad, 0xad},      // soft hyphen
    {0x34f, 0x34f},    // combining grapheme joiner
    {0x61c, 0x61c},    // Arabic letter mark
    {0x115f, 0x1160},  // Hangul fillers, as U+3164 and U+FFA0
    {0x17b4, 0x17b5},  // invisible vowels of Khmer
    {0x180b, 0x180f},  // Mongolian variation selectors, vowel separator
    {0x200b, 0x200b},  // zero-width space
    {0x200e, 0x200f},  // left-to-right and right-to-left mark
    {0x2028, 0x202e},  // line and paragraph separator, embeddings, overrides
    {0x2060, 0x206f},  // invisible operators, isolates, deprecated format characters
    {0x3164, 0x3164},   {0xfeff, 0xfeff},  // byte order mark
    {0xffa0, 0xffa0},   {0xfff0, 0xfffb},  // not assigned, annotations
    {0x1bca0, 0x1bca3},                    // controls of shorthand
    {0x1d173, 0x1d17a},                    // controls of musical notation
    {0xe0000, 0xe0fff},                    // tags
};

}  // namespace

std::size_t length_of_first(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t announced = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  std::size_t length = 1;
  while (length < std::min(announced, text.size()) &&
         (static_cast<unsigned char>(text[length]) & 0xc0U) == 0x80U) {
    ++length;
  }
  return length;
}

char32_t code_of(std::string_view character) {
  const auto first = static_cast<unsigned char>(character.front());
  if (character.size() == 1) return first < 0x80U ? first : 0;
  const unsigned size = static_cast<unsigned>(character.size());
  if (first < (size == 4 ? 0xf0U : size == 3 ? 0xe0U : 0xc2U)) return 0;
  if (first >= (size == 4 ? 0xf5U : size == 3 ? 0xf0U : 0xe0U)) return 0;
  char32_t code = first & (0x7fU >> size);
  for (const char byte : character.substr(1)) {
    code = (code << 6U) | (static_cast<unsigned char>(byte) & 0x3fU);
  }
  const bool longer_than_need_be = code < (size == 4 ? 0x10000U : size == 3 ? 0x800U : 0x80U);
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return longer_than_need_be || surrogate || code > 0x10ffff ? 0 : code;
}

bool is_printable(std::string_view character) {
  const char32_t code = code_of(character);
  return std::ranges::none_of(
      kHarmful, [code](const Range& range) { return range.first <= code && code <= range.last; });
}

std::string printable(std::string_view text, std::size_t most_bytes) {
  std::string clean;
  while (!text.empty()) {
    const std::string_view character = take_first(text);
    if (character.size() > most_bytes - std::min(most_bytes, clean.size())) return clean + "...";
    clean += is_printable(character) ? character : "?";
  }
  return clean;
}

std::string to_ascii(std::string_view text) {
  std::string clean;
  for (const char byte : text) {
    const auto value = static_cast<unsigned char>(byte);
    if (value < 0x80U) {
      clean += byte;
    } else if ((value & 0xc0U) != 0x80U) {
      clean += '?';
    }
  }
  return clean;
}

std::string_view clip(std::string_view text, std::size_t most_bytes) {
  std::size_t length = 0;
  while (length < text.size()) {
    const std::size_t next = length + length_of_first(text.substr(length));
    if (next > most_bytes) break;
    length = next;
  }
  return text.substr(0, length);
}

}  // namespace redlock::os
