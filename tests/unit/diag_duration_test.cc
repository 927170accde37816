// SPDX-License-Identifier: MIT
#include "diag/text.h"

#include <doctest/doctest.h>

#include <chrono>

namespace redlock::diag {
namespace {

using std::chrono::milliseconds;

TEST_CASE("ago: nothing of clocks that are wrong") {
  CHECK_FALSE(ago(milliseconds(0)));
  CHECK_FALSE(ago(milliseconds::min()));
  CHECK_FALSE(ago(milliseconds::max()));
  const auto length = ago(milliseconds(1'700'000'000'000));
  REQUIRE(length);
  CHECK(*length > milliseconds(0));
}

TEST_CASE("for_people: the digits that matter, in the unit that fits") {
  using namespace std::chrono_literals;
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
  using namespace std::chrono_literals;
  CHECK(range_of({2, 1ms, 1440ms}) == "1 ms to 1 s");
  CHECK(range_of({2, 4min + 3s, 2h + 5min + 40s}) == "4m to 2h 6m");
  CHECK(range_of({2, 48h, 48h}) == "about 2d");
}

}  // namespace
}  // namespace redlock::diag
