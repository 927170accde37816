// SPDX-License-Identifier: MIT
//
// A run with several locks: the order of its locks, and how long each may be waited for.
#include "lock/stages.h"

#include <doctest/doctest.h>

#include "lock_harness.h"

using namespace redlock::lock;
using namespace redlock::lock::testing;

namespace {

const Instant kStart(1000s);

TEST_CASE("stages: the same order for all runs, whatever order the user named the locks in") {
  const std::vector<std::string> order = {"Z", "a", "a/b", "ab"};
  CHECK(in_order({"ab", "a/b", "Z", "a"}) == order);
  CHECK(in_order({"a", "Z", "ab", "a/b"}) == order);
}

TEST_CASE("stages: one limit for the waits of all") {
  const Instant limit = limit_of_waits(10s, kStart);
  CHECK(limit == kStart + 10s);
  CHECK(wait_of_stage(10s, limit, kStart) == 10s);
  CHECK(wait_of_stage(10s, limit, kStart + 8s) == 2s);
  CHECK_MESSAGE(wait_of_stage(10s, limit, kStart + 12s) == 1ms, "zero would mean to try once");
}

TEST_CASE("stages: no limit for a run that waits for ever or tries once") {
  CHECK(limit_of_waits(std::nullopt, kStart) == kNever);
  CHECK(wait_of_stage(std::nullopt, kNever, kStart) == std::nullopt);
  CHECK(limit_of_waits(Duration::zero(), kStart) == kNever);
  CHECK(wait_of_stage(Duration::zero(), kNever, kStart) == Duration::zero());
  CHECK(limit_of_waits(Duration::max(), kStart) == kNever);
}

}  // namespace
