// SPDX-License-Identifier: MIT
#include "diag/duration.h"

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

TEST_CASE("for_people: three digits, in the unit that fits") {
  using namespace std::chrono_literals;
  CHECK(for_people(0ns) == "0 ms");
  CHECK(for_people(1500us) == "1.5 ms");
  CHECK(for_people(999ms) == "999 ms");
  CHECK_MESSAGE(for_people(999'700us) == "1 s", "rounded up into the next unit");
  CHECK(for_people(28'140ms) == "28.1 s");
  CHECK(for_people(59'900ms) == "59.9 s");
  CHECK_MESSAGE(for_people(59'970ms) == "1m 0s", "and here");
  CHECK(for_people(182s) == "3m 2s");
  CHECK(for_people(3h + 12min + 59s) == "3h 12m");
  CHECK_MESSAGE(for_people(milliseconds::max()) == "2562047h 47m", "292 years, and no overflow");
  CHECK(for_people(milliseconds::min()) == "0 ms");
}

}  // namespace
}  // namespace redlock::diag
