// SPDX-License-Identifier: MIT
#include "lock/time.h"

#include "doctest.h"

namespace redlock::lock {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("saturated: a length in nanoseconds, or as long as there is one") {
  CHECK(saturated(milliseconds(0)) == Duration::zero());
  CHECK(saturated(milliseconds(1500)) == seconds(1) + milliseconds(500));
  CHECK(saturated(milliseconds(-1)) == milliseconds(-1));
  CHECK(saturated(Duration::max()) == Duration::max());
  CHECK(saturated(Duration::min()) == Duration::min());
  constexpr auto kMost = std::chrono::floor<milliseconds>(Duration::max());
  CHECK(saturated(kMost) == kMost);
  CHECK(saturated(kMost + milliseconds(1)) == Duration::max());
  CHECK(saturated(-kMost) == -kMost);
  CHECK(saturated(-kMost - milliseconds(1)) == Duration::min());
  CHECK(saturated(milliseconds::max()) == Duration::max());
  CHECK(saturated(milliseconds::min()) == Duration::min());
  CHECK(saturated(microseconds::max()) == Duration::max());
  CHECK(saturated(seconds::max()) == Duration::max());
  CHECK(saturated(hours::max()) == Duration::max());
  CHECK(saturated(hours::min()) == Duration::min());
}

}  // namespace
}  // namespace redlock::lock
