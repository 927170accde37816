// SPDX-License-Identifier: MIT
//
// What the place where a text will be read can show: its width, its characters, its colours.
// Absent on purpose: how to find that out; driver/output.h does.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "diag/text.h"

namespace redlock::diag {

struct Screen {
  std::size_t width = kNoLimit;
  Charset charset = Charset::utf8;
  bool terminal = false;
  bool colors = false;
};

/// What a colour says. A text must say the same without it.
enum class Tint {
  none,
  good,    ///< green: held, no problem
  notice,  ///< yellow: cooling, revoked, a warning
  bad,     ///< red: undecided, failed
  faint,   ///< grey: headings
};

/// `text` in its colour, if the screen has colours.
std::string paint(std::string text, Tint tint, const Screen& screen);

/// On a terminal without UTF-8: '?' for each character that is not ASCII. A file gets all bytes,
/// because a program may read it.
std::string for_screen(std::string text, const Screen& screen);

}  // namespace redlock::diag
