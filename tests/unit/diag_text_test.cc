// SPDX-License-Identifier: MIT
#include "diag/text.h"

#include "doctest.h"

namespace redlock::diag {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

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

TEST_CASE("ago: nothing of clocks that are wrong") {
  CHECK_FALSE(ago(milliseconds(0)));
  CHECK_FALSE(ago(milliseconds::min()));
  CHECK_FALSE(ago(milliseconds::max()));
  const auto length = ago(milliseconds(1'700'000'000'000));
  REQUIRE(length);
  CHECK(*length > milliseconds(0));
}

TEST_CASE("for_people: the digits that matter, in the unit that fits") {
  CHECK(for_people(0ns) == "0 ms");
  CHECK(for_people(66'900ns) == "0.07 ms");
  CHECK(for_people(1540us) == "1.5 ms");
  CHECK(for_people(9'960us) == "10 ms");
  CHECK(for_people(25'300us) == "25 ms");
  CHECK(for_people(999ms) == "999 ms");
  CHECK_MESSAGE(for_people(999'700us) == "1 s", "rounded up into the next unit");
  CHECK(for_people(1440ms) == "1.4 s");
  CHECK(for_people(28'140ms) == "28 s");
  CHECK(for_people(59'400ms) == "59 s");
  CHECK_MESSAGE(for_people(59'600ms) == "1m 0s", "and here");
  CHECK(for_people(182s) == "3m 2s");
  CHECK(for_people(3h + 12min + 59s) == "3h 12m");
  CHECK(for_people(47h + 59min) == "47h 59m");
  CHECK(for_people(76h + 59min) == "3d 4h");
  CHECK_MESSAGE(for_people(milliseconds::max()) == "106751d 23h", "292 years, and no overflow");
  CHECK(for_people(milliseconds::min()) == "0 ms");
}

TEST_CASE("range_of: without the digits that do not matter") {
  CHECK(range_of({2, 1ms, 1440ms}) == "1 ms to 1 s");
  CHECK(range_of({2, 4min + 3s, 2h + 5min + 40s}) == "4m to 2h 6m");
  CHECK(range_of({2, 48h, 48h}) == "about 2d");
}

}  // namespace
}  // namespace redlock::diag
