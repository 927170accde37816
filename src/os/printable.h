// SPDX-License-Identifier: MIT
//
// Text from servers, certificates, other holders and other people's files passes through
// printable() before a terminal sees it. Absent on purpose: widths and wrapping (diag/text.h).
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace redlock::os {

/// The bytes of the first character of `text`, which must not be empty. A byte that begins no UTF-8
/// character counts as a character.
std::size_t length_of_first(std::string_view text);

/// Removes that character from `text`, and returns it.
inline std::string_view take_first(std::string_view& text) {
  const std::string_view character = text.substr(0, length_of_first(text));
  text.remove_prefix(character.size());
  return character;
}

/// The code point of one character, 0 if the bytes are not valid UTF-8.
char32_t code_of(std::string_view character);

/// Whether a message may show one character as it is, see printable().
bool is_printable(std::string_view character);

/// If `text` is a whole number, with nothing around it, and Number can hold it.
template <std::integral Number>
std::optional<Number> whole_number(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

/// Unlike std::isdigit, the same in every locale.
constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// A control byte of ASCII.
constexpr bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

/// `text` in one line and without power over a terminal: '?' replaces each control character (C0,
/// DEL, C1, the line and paragraph separators), each character that changes the direction of
/// writing or is invisible on purpose, and each byte that is not UTF-8. Cut at `most_bytes`, with
/// "..." at the end.
std::string printable(std::string_view text, std::size_t most_bytes = std::string_view::npos);

/// '?' for each character that is not ASCII.
std::string to_ascii(std::string_view text);

/// The longest beginning of `text` that fits into `most_bytes` and does not end inside a character.
std::string_view clip(std::string_view text, std::size_t most_bytes);

}  // namespace redlock::os
