// SPDX-License-Identifier: MIT
#include "look/history.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <ctime>

namespace redlock::timeline_test {

using namespace std::chrono_literals;
using diag::Charset;
using look::Timeline;

namespace {

/// 2026-11-20 12:00 UTC
constexpr std::chrono::milliseconds kNoon = 1'795'176'000s;

void use_utc() {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
}

}  // namespace

TEST_CASE("a timeline takes all of its width, in halves of a cell") {
  const Timeline plain{{0s, 100s}, 10, Charset::ascii};
  CHECK(plain.bar(0s, 100s) == "##########");
  CHECK(plain.bar(50s, 100s) == "     #####");
  CHECK(plain.bar(20s, 29s) == "  #       ");
  CHECK(plain.bar(99s, 99s) == "         #");
  CHECK(plain.mark(0s, '|') == "|         ");
  CHECK(plain.mark(95s, '|') == "         |");
  const Timeline halves{{0s, 100s}, 10, Charset::utf8};
  CHECK(halves.bar(0s, 4s) == "▌         ");
  CHECK(halves.bar(5s, 12s) == "▐▌        ");
  CHECK(halves.bar(40s, 49s) == "    █     ");
}

TEST_CASE("what lies outside of a timeline is shown at its ends") {
  const Timeline plain{{100s, 200s}, 10, Charset::ascii};
  CHECK(plain.bar(0s, 119s) == "##        ");
  CHECK(plain.bar(190s, 900s) == "         #");
  CHECK(plain.mark(900s, '|') == "         |");
  CHECK(Timeline{{100s, 101s}, 1, Charset::ascii}.bar(100s, 100s) == "#");
}

TEST_CASE("the head of a timeline says when it begins and ends") {
  use_utc();
  CHECK(Timeline{{kNoon, kNoon + 1min}, 20, Charset::ascii}.head() == "12:00:00    12:01:00");
  CHECK(Timeline{{kNoon, kNoon + 3h}, 20, Charset::ascii}.head() == "12:00          15:00");
  CHECK(Timeline{{kNoon, kNoon + 24h}, 20, Charset::ascii}.head() == "11-20          11-21");
  // The same day of another month, and the same day of another year.
  CHECK(Timeline{{kNoon, kNoon + 30 * 24h}, 20, Charset::ascii}.head() == "11-20          12-20");
  CHECK(Timeline{{kNoon, kNoon + 365 * 24h}, 20, Charset::ascii}.head() == "11-20          11-20");
  CHECK(Timeline{{kNoon, kNoon + 3h}, 9, Charset::ascii}.head() == "         ");
  // Too narrow for seconds: the same minute is not written twice.
  CHECK(Timeline{{kNoon, kNoon + 59s}, 12, Charset::ascii}.head() == "12:00       ");
}

}  // namespace redlock::timeline_test
