// SPDX-License-Identifier: MIT
//
// A run with several locks: the order of its locks, and how long each may be waited for.
#include "lock/stages.h"
#include "lock_harness.h"

using namespace redlock::lock;
using namespace redlock::lock::testing;

namespace {

const Instant kStart(1000s);

/// A stage whose job runs: it has the lock of one server until 30 s - 302 ms after the start.
Harness stage(const Neighbours& neighbours, int stop_signal = SIGTERM) {
  Plan plan = plan_for(1);
  plan.stages = neighbours;
  plan.stop_signal = stop_signal;
  return running(plan);
}

/// Whom the KILLs hit that nobody has forgotten yet.
std::vector<Kill::Whom> killed(const Harness& harness) {
  std::vector<Kill::Whom> whom;
  for (const Kill& kill : harness.all<Kill>()) {
    if (kill.signal == SIGKILL) whom.push_back(kill.whom);
  }
  return whom;
}

using Whoms = std::vector<Kill::Whom>;
constexpr Kill::Whom kNext = Kill::Whom::next_stage;
constexpr Kill::Whom kAll = Kill::Whom::everybody;

TEST_CASE("stages: a lock that an outer run holds must not come later than one that is missing") {
  const std::vector<std::string> names = {"a", "b", "c"};
  for (const std::vector<bool>& held : std::vector<std::vector<bool>>{
           {false, false, false}, {true, false, false}, {true, true, false}, {true, true, true}}) {
    CHECK(!out_of_order(names, held));
  }
  const auto wrong = out_of_order(names, {true, false, true});
  REQUIRE(wrong);
  CHECK(wrong->missing == "b");
  CHECK(wrong->held == "c");
}

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

TEST_CASE("stages: no limit for a run that waits indefinitely or tries once") {
  for (const std::optional<Duration> wait :
       {std::optional<Duration>(), std::optional(Duration::zero())}) {
    CAPTURE(wait.has_value());
    CHECK(limit_of_waits(wait, kStart) == kNever);
    CHECK(wait_of_stage(wait, kNever, kStart) == wait);
  }
  CHECK(limit_of_waits(Duration::max(), kStart) == kNever);
}

TEST_CASE("stages: a job that must be killed has a second to give the later locks back") {
  Harness harness = stage({.later = true});
  harness.lose();
  CHECK(harness.kills() == std::vector<int>{SIGTERM, SIGCONT});
  CHECK(harness.only_after<Kill>(5s) == 1);
  CHECK(killed(harness) == Whoms{kNext});
  harness.step(Killed{true});
  harness.step(JobExited{137});
  harness.advance(1s - 1ms);
  CHECK(killed(harness) == Whoms{kNext});
  CHECK(harness.asked(Op::release) == 0);
  SUBCASE("the later stages end") {
    harness.step(JobTreeGone{});
    CHECK(harness.asked(Op::release) == 1);
  }
  SUBCASE("something is left") {
    harness.advance(1ms);
    CHECK(killed(harness) == Whoms{kNext, kAll});
    harness.advance(20ms);
    CHECK(killed(harness) == Whoms{kNext, kAll, kAll});
  }
}

TEST_CASE("stages: with --signal KILL, the later locks have that second, too") {
  Harness harness = stage({.later = true}, SIGKILL);
  harness.lose();
  CHECK(killed(harness) == Whoms{kNext});
  CHECK(harness.only_after<Kill>(1s) == 1);
  CHECK(killed(harness) == Whoms{kNext, kAll});
}

TEST_CASE("stages: but everything is killed before the lease ends, as without --also") {
  Harness harness = stage({.later = true});
  const Instant kill_at = Harness::start + 30s - 302ms - 600ms;
  SUBCASE("the lease ends: all at the same time") {
    harness.advance(kill_at - harness.now - 5s);
    CHECK(harness.kills() == std::vector<int>{SIGTERM, SIGCONT});
    harness.advance(5s);
    CHECK(killed(harness) == Whoms{kAll});
  }
  SUBCASE("the lock is lost a little before that: half a second, no more") {
    harness.advance(kill_at - harness.now - 5500ms);
    harness.answer(0, Op::renew, Missing{});
    harness.advance(5s);
    CHECK(killed(harness) == Whoms{kNext});
    CHECK(harness.only_after<Kill>(500ms) == 1);
    CHECK(killed(harness) == Whoms{kNext, kAll});
  }
}

TEST_CASE("stages: a job whose main process has ended is no stage any more") {
  Harness harness = stage({.later = true});
  harness.lose();
  harness.step(JobExited{143});
  harness.advance(5s);
  CHECK(killed(harness) == Whoms{kAll});
}

TEST_CASE("stages: the end of its supervisor is the order to kill immediately") {
  Harness harness = stage({.earlier = true});
  bool ordered = true;
  SUBCASE("while the job runs") {}
  SUBCASE("somebody else killed it") {
    ordered = false;
  }
  SUBCASE("while the job is being stopped") {
    harness.lose();
    harness.effects.clear();
  }
  harness.step(SupervisorGone{ordered});
  CHECK(harness.kills() == std::vector<int>{SIGKILL});
  CHECK(killed(harness) == Whoms{kAll});
  CHECK((harness.reported<report::Stopping>() == nullptr) == ordered);
  harness.step(JobExited{137});
  CHECK(harness.asked(Op::release) == 0);
  harness.step(JobTreeGone{});
  CHECK(harness.asked(Op::release) == 1);
}

TEST_CASE("stages: with one lock, a supervisor that had passed on a signal is no order") {
  Harness harness = stage({});
  harness.step(SupervisorGone{true});
  CHECK(harness.kills() == std::vector<int>{SIGTERM, SIGCONT});
  CHECK(harness.reported<report::Stopping>() != nullptr);
}

TEST_CASE("stages: one in the middle passes the order on") {
  Harness harness = stage({.earlier = true, .later = true});
  harness.step(SupervisorGone{true});
  CHECK(killed(harness) == Whoms{kNext});
  harness.advance(1s);
  CHECK(killed(harness) == Whoms{kNext, kAll});
}

}  // namespace
