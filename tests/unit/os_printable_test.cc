// SPDX-License-Identifier: MIT
#include "os/printable.h"

#include "doctest.h"

namespace redlock::os {
namespace {

TEST_CASE("printable: nothing has power over a terminal") {
  CHECK(printable("plain", 20) == "plain");
  CHECK(printable("a\x1b[2Jb\nc\x7f", 20) == "a?[2Jb?c?");
  CHECK(printable("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", 20) ==
        "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
  CHECK_MESSAGE(printable("\xc0\x9bx", 20) == "?x", "overlong");
  CHECK(printable("\xe0\x80\xa0|\xf0\x80\x80\xa0|\xe0\xa0\x80", 20) == "?|?|\xe0\xa0\x80");
  CHECK_MESSAGE(
      printable("\xed\xa0\x80|\xf4\x90\x80\x80|\xf4\x8f\xbf\xbd", 20) == "?|?|\xf4\x8f\xbf\xbd",
      "no characters: half a pair of UTF-16, and beyond the last one");
  CHECK(printable("\xff\xfe", 20) == "??");
  CHECK(printable("x\xe2\x82", 20) == "x?");
}

TEST_CASE("printable: every character that a terminal obeys, or that turns what stands beside it") {
  const auto utf8 = [](char32_t code) {
    std::string text;
    if (code < 0x80) return std::string(1, static_cast<char>(code));
    if (code < 0x800) {
      text += static_cast<char>(0xc0 | (code >> 6U));
    } else if (code < 0x10000) {
      text += static_cast<char>(0xe0 | (code >> 12U));
      text += static_cast<char>(0x80 | ((code >> 6U) & 0x3f));
    } else {
      text += static_cast<char>(0xf0 | (code >> 18U));
      text += static_cast<char>(0x80 | ((code >> 12U) & 0x3f));
      text += static_cast<char>(0x80 | ((code >> 6U) & 0x3f));
    }
    return text + static_cast<char>(0x80 | (code & 0x3f));
  };
  struct Range {
    char32_t first;
    char32_t last;
  };
  for (const Range range :
       {Range{0x0, 0x1f}, Range{0x7f, 0x9f}, Range{0xad, 0xad}, Range{0x34f, 0x34f},
        Range{0x61c, 0x61c}, Range{0x115f, 0x1160}, Range{0x17b4, 0x17b5}, Range{0x180b, 0x180f},
        Range{0x200b, 0x200b}, Range{0x200e, 0x200f}, Range{0x2028, 0x202e}, Range{0x2060, 0x206f},
        Range{0x3164, 0x3164}, Range{0xfeff, 0xfeff}, Range{0xffa0, 0xffa0}, Range{0xfff0, 0xfffb},
        Range{0x1bca0, 0x1bca3}, Range{0x1d173, 0x1d17a}, Range{0xe0001, 0xe007f}}) {
    for (char32_t code = range.first; code <= range.last; ++code) {
      CAPTURE(static_cast<unsigned>(code));
      CHECK(printable("a" + utf8(code) + "b") == "a?b");
    }
  }
  for (const char32_t code :
       {U' ', U'~', U'\u00a0', U'ÿ', U'ñ', U'א', U'ع', U'\u200d', U'…', U'日'}) {
    CAPTURE(static_cast<unsigned>(code));
    CHECK(printable(utf8(code)) == utf8(code));
  }
  for (int byte = 0x80; byte <= 0xff; ++byte) {
    CAPTURE(byte);
    CHECK(printable(std::string("a") + static_cast<char>(byte) + "b") == "a?b");
  }
}

TEST_CASE("printable: cut between characters") {
  CHECK(printable("abcdef", 3) == "abc...");
  CHECK(printable("ab\xc3\xa9", 3) == "ab...");
  CHECK(printable("abc", 3) == "abc");
}

TEST_CASE("clip: as many whole characters as there is room for") {
  CHECK(clip("abc", 3) == "abc");
  CHECK(clip("abcd", 3) == "abc");
  CHECK(clip("ab\xc3\xa9", 3) == "ab");
  CHECK(clip("\xf0\x9f\x98\x80", 3).empty());
  CHECK(clip("\xff\xfe\xfd", 2) == "\xff\xfe");
}

}  // namespace
}  // namespace redlock::os
