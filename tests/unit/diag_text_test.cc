// SPDX-License-Identifier: MIT
#include "diag/text.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace redlock::diag {
namespace {

TEST_CASE("a sentence names a lock in quotes, cleaned, and a valid name is never cut") {
  CHECK(lock_name("deploy shop") == "lock \"deploy shop\"");
  CHECK(lock_name("caf\xc3\xa9\x1b[2J\n") == "lock \"café?[2J?\"");
  const std::string longest(255, 'x');
  CHECK(lock_name(longest) == "lock \"" + longest + '"');
  CHECK(lock_name(longest + "yy") == "lock \"" + longest + "...\"");
}

TEST_CASE("columns: characters, and two for the wide ones") {
  CHECK(columns("") == 0);
  CHECK(columns("abc") == 3);
  CHECK(columns("caf\xc3\xa9") == 4);
  CHECK(columns("\xe6\x97\xa5\xe6\x9c\xac") == 4);
  CHECK(columns("\xff") == 1);
  CHECK_MESSAGE(columns("u\xcc\x88") == 1, "a letter and its dots, as some systems write them");
  CHECK_MESSAGE(columns("\xe2\x9d\xa4\xef\xb8\x8f") == 1, "which of its forms is meant");
}

TEST_CASE("cut: never wider than it may be") {
  CHECK(cut("abc", 3, Charset::utf8) == "abc");
  CHECK(cut("abcd", 3, Charset::utf8) == "ab…");
  CHECK(cut("abcdef", 5, Charset::ascii) == "ab...");
  CHECK(cut("abcd", 3, Charset::ascii) == "abc");
  CHECK(cut("abcd", kNoLimit, Charset::utf8) == "abcd");
  CHECK(cut("abcd", 1, Charset::utf8) == "…");
  CHECK(cut("abcd", 0, Charset::utf8).empty());
  CHECK(cut("\xe6\x97\xa5\xe6\x9c\xac", 3, Charset::utf8) == "\xe6\x97\xa5…");
  CHECK(columns(cut("\xe6\x97\xa5\xe6\x9c\xac\xe6\x97\xa5", 4, Charset::utf8)) <= 4);
}

TEST_CASE("wrap: at blanks") {
  using Lines = std::vector<std::string>;
  CHECK(wrap("a bc def", 4) == Lines{"a bc", "def"});
  CHECK(wrap("a bc def", kNoLimit) == Lines{"a bc def"});
  CHECK(wrap("longer than that", 5) == Lines{"longer", "than", "that"});
  CHECK(wrap("", 5) == Lines{""});
}

}  // namespace
}  // namespace redlock::diag
