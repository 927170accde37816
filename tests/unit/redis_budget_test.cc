// SPDX-License-Identifier: MIT
#include "redis/wire/budget.h"

#include <doctest/doctest.h>

#include "contains.h"

namespace redlock::redis {
namespace {

using namespace std::chrono_literals;
using redlock::tests::contains;

constexpr lock::Instant kBegin(1000h);

TEST_CASE("budget: so many bytes, and no more") {
  Budget budget(200ms);
  budget.begin(kBegin);
  CHECK_FALSE(budget.spend(Budget::kMostBytes, kBegin));
  const auto why = budget.spend(1, kBegin);
  REQUIRE(why);
  CHECK(contains(*why, "more than 64 MiB"));
  budget.begin(kBegin);
  CHECK_FALSE(budget.spend(1, kBegin));
}

TEST_CASE("budget: so much time, and no more") {
  Budget budget(200ms);
  budget.begin(kBegin);
  CHECK_FALSE(budget.spend(0, kBegin + 120s));
  const auto why = budget.spend(0, kBegin + 120s + 1ns);
  REQUIRE(why);
  CHECK(contains(*why, "for 120 s"));
  CHECK(contains(*why, "600 times --server-timeout"));
  budget.begin(kBegin + 121s);
  CHECK_FALSE(budget.spend(0, kBegin + 122s));
}

TEST_CASE("budget: a time-out of any length") {
  Budget budget(std::chrono::floor<std::chrono::milliseconds>(lock::Duration::max()));
  budget.begin(kBegin);
  CHECK_FALSE(budget.spend(0, kBegin + 100000h));
}

}  // namespace
}  // namespace redlock::redis
