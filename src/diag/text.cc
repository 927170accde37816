// SPDX-License-Identifier: MIT
#include "diag/text.h"

#include <algorithm>
#include <utility>

namespace redlock::diag {

namespace {

/// Follows the big blocks of Unicode's EastAsianWidth.txt: CJK, Hangul, full-width forms and
/// pictographs count as two; combining characters count as none.
std::size_t columns_of(std::string_view character) {
  const char32_t code = os::code_of(character);
  const bool none = (code >= 0x300 && code <= 0x36f) || (code >= 0x200b && code <= 0x200d) ||
                    (code >= 0x20d0 && code <= 0x20ff) || (code >= 0xfe00 && code <= 0xfe0f);
  if (none) return 0;
  const bool wide = (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) ||
                    (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) ||
                    (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) ||
                    (code >= 0x1f300 && code <= 0x1faff) || (code >= 0x20000 && code <= 0x3fffd);
  return wide ? 2 : 1;
}

}  // namespace

std::size_t columns(std::string_view text) {
  std::size_t count = 0;
  while (!text.empty()) {
    const std::size_t length = os::length_of_first(text);
    count += columns_of(text.substr(0, length));
    text.remove_prefix(length);
  }
  return count;
}

std::string cut(std::string_view text, std::size_t width, Charset charset) {
  if (columns(text) <= width) return std::string(text);
  const std::string_view dots = charset == Charset::utf8 ? "…" : width > 3 ? "..." : "";
  if (width == 0) return {};
  std::string out;
  std::size_t used = columns(dots);
  while (!text.empty()) {
    const std::string_view character = text.substr(0, os::length_of_first(text));
    used += columns_of(character);
    if (used > width) break;
    out += character;
    text.remove_prefix(character.size());
  }
  return out.append(dots);
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    std::string& line = lines.back();
    if (line.empty()) {
      line = word;
    } else if (columns(line) + 1 + columns(word) <= width) {
      line.append(" ").append(word);
    } else {
      lines.emplace_back(word);
    }
  }
  return lines;
}

std::string lock_name(std::string_view name) {
  return "lock \"" + bare_name(name) + '"';
}

std::string bare_name(std::string_view name) {
  return printable(name, 255);
}

std::string paint(std::string text, Tint tint, const Screen& screen) {
  if (!screen.colors || tint == Tint::none || text.empty()) return text;
  const std::string color = "\x1b[" + std::to_string(static_cast<int>(tint)) + "m";
  return color + text + "\x1b[m";
}

std::string for_screen(std::string text, const Screen& screen) {
  const bool ascii = screen.terminal && screen.charset == Charset::ascii;
  return ascii ? os::to_ascii(text) : std::move(text);
}

std::string label_value(std::string_view key) {
  constexpr std::size_t kMost = 255;  // no key is longer
  std::string text = "\"";
  for (const char letter : printable(key, kMost)) {
    if (letter == '"' || letter == '\\') text += '\\';
    text += letter;
  }
  return text + '"';
}

}  // namespace redlock::diag
