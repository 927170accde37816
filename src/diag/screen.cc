// SPDX-License-Identifier: MIT
#include "diag/screen.h"

#include "os/printable.h"

namespace redlock::diag {

namespace {

/// The parameter of SGR (ECMA-48, 8.3.117).
const char* sgr_of(Tint tint) {
  switch (tint) {
    case Tint::good:
      return "32";
    case Tint::notice:
      return "33";
    case Tint::bad:
      return "31";
    case Tint::faint:
      return "2";
    case Tint::none:
      break;
  }
  return "";
}

}  // namespace

std::string paint(std::string text, Tint tint, const Screen& screen) {
  if (!screen.colors || tint == Tint::none || text.empty()) return text;
  return std::string("\x1b[").append(sgr_of(tint)).append("m").append(text).append("\x1b[m");
}

std::string for_screen(std::string text, const Screen& screen) {
  const bool ascii = screen.terminal && screen.charset == Charset::ascii;
  return ascii ? os::to_ascii(text) : std::move(text);
}

}  // namespace redlock::diag
