// SPDX-License-Identifier: MIT
//
// The one function that all foreign text goes through before a terminal sees it: what servers,
// certificates, other holders and other people's files say. It stands this low so that every layer
// that words a message can use it. Absent on purpose: widths and wrapping (diag/text.h).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace redlock::os {

/// The bytes of the character that `text`, which is not empty, begins with. A byte that begins no
/// character of UTF-8 is one of its own.
std::size_t length_of_first(std::string_view text);

/// The code point of one character, 0 if the bytes are not valid UTF-8.
char32_t code_of(std::string_view character);

/// Whether one character may be shown as it is, see printable().
bool is_printable(std::string_view character);

/// `text` in one line and without power over a terminal: '?' stands for each control character (C0,
/// DEL, C1, the line and paragraph separators), each character that turns the direction of writing
/// or is invisible on purpose, and each byte that is not UTF-8. Cut at `most_bytes`, "..." behind.
std::string printable(std::string_view text, std::size_t most_bytes);

/// The same, of any length.
std::string printable(std::string_view text);

/// The longest beginning of `text` that fits into `most_bytes` and does not end inside a character.
std::string_view clip(std::string_view text, std::size_t most_bytes);

}  // namespace redlock::os
