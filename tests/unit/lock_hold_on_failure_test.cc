// SPDX-License-Identifier: MIT
//
// --hold-on-failure: the lock of a run that failed becomes a maintenance hold.
#include "lock_harness.h"

using namespace redlock::lock;
using namespace redlock::lock::testing;

namespace {

Plan failing_plan(Duration min_hold = Duration::zero()) {
  Plan plan = plan_for(3);
  plan.timing.hold_on_failure = 1h;
  plan.timing.min_hold = min_hold;
  return plan;
}

/// The leaves, the latest last.
std::vector<op::Leave> leaves(const Harness& harness) {
  std::vector<op::Leave> all;
  for (const Ask& ask : harness.asks(Op::leave)) all.push_back(details<op::Leave>(ask));
  return all;
}

/// A run that ended with this status.
Harness ended_with(int status, Duration min_hold = Duration::zero()) {
  Harness harness = running(failing_plan(min_hold));
  harness.step(JobExited{status});
  return harness;
}

const op::Leave kLeftFree{};
const op::Leave kLeftHeld{.cools = 1h, .holds = true};
using Leaves = std::vector<op::Leave>;

}  // namespace

TEST_CASE("hold-on-failure: the release of a run that failed asks for the hold") {
  for (const int status : {0, 1, 80, 137}) {
    Harness harness = ended_with(status);
    const op::Leave& wanted = status == 0 ? kLeftFree : kLeftHeld;
    CHECK(leaves(harness) == Leaves(3, wanted));
    harness.answer_all(3, Op::leave, Released{.held = status != 0});
    CHECK(harness.ended(Outcome::Kind::job_ended, status));
    CHECK(harness.told<report::Released>().holds == (status != 0));
    CHECK(harness.reported<report::HoldMissing>() == nullptr);
  }
}

TEST_CASE("hold-on-failure: not by default, and not if the command could not be started") {
  Harness plain = running(plan_for(3));
  plain.step(JobExited{1});
  CHECK(leaves(plain) == Leaves(3, kLeftFree));
  Harness harness(failing_plan());
  harness.answer_all(3, Op::acquire, Granted{});
  harness.step(JobFailedToStart{127});
  CHECK(leaves(harness) == Leaves(3, kLeftFree));
  CHECK(harness.reported<report::HoldMissing>() == nullptr);
}

TEST_CASE("hold-on-failure: the log says for how long, the longer of the hold and a minimum hold") {
  for (const Duration min_hold : {Duration(0s), Duration(2h)}) {
    CAPTURE(min_hold.count());
    const Duration longer = std::max<Duration>(min_hold, 1h);
    const Harness harness = ended_with(2, min_hold);
    CHECK(leaves(harness).front() == op::Leave{.cools = longer, .holds = true});
    const std::vector<Log> lines = harness.all<Log>();
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].event == Log::Event::released);
    CHECK(lines[0].status == 2);
    CHECK(lines[0].hold == longer);
  }
}

TEST_CASE("hold-on-failure: a job that was stopped has failed, whatever its status") {
  Plan plan = failing_plan();
  plan.max_runtime = 1s;
  Harness harness = running(plan, 1s);
  harness.end_job(0);
  CHECK(leaves(harness) == Leaves(3, kLeftHeld));
  harness.answer_all(3, Op::leave, Released{.held = true});
  CHECK(harness.ended(Outcome::Kind::max_runtime));
}

TEST_CASE("hold-on-failure: a lost lock becomes no hold, and that is said") {
  Harness harness = running(failing_plan());
  harness.lose();
  harness.end_job(143);
  CHECK(leaves(harness) == Leaves(3, kLeftFree));
  harness.answer_all(2, Op::leave, Missing{});
  REQUIRE(harness.session.finished());
  const auto& missing = harness.told<report::HoldMissing>();
  CHECK_MESSAGE(missing.complaints.empty(), "the third server, which is late, is not to blame");
}

TEST_CASE("hold-on-failure: a hold on one server is taken back if others have none") {
  for (const bool lost : {true, false}) {  // or revoked
    CAPTURE(lost);
    Harness harness = ended_with(1);
    const Answer other = lost ? Answer(Missing{}) : Answer(Released{});
    harness.answers(Op::leave, {Released{.held = true}, other, other});
    CHECK((lost ? harness.ended(Outcome::Kind::lost) : harness.ended(Outcome::Kind::job_ended, 1)));
    CHECK(harness.reported<report::HoldMissing>() != nullptr);
    CHECK(leaves(harness) == Leaves(3, kLeftFree));
  }
}

TEST_CASE("hold-on-failure: a server that lost it after a failed request takes nothing back") {
  Harness harness = ended_with(1);
  harness.answers(Op::leave, {Released{.held = true}, Unreachable{}});
  harness.advance(100ms);
  harness.effects.clear();
  harness.answer(1, Op::leave, Missing{});
  harness.advance(40s);
  REQUIRE(harness.session.finished());
  CHECK(harness.reported<report::HoldMissing>() != nullptr);
  CHECK(leaves(harness).empty());
}

TEST_CASE("hold-on-failure: without a quorum that confirms the hold, the user is warned") {
  for (const std::size_t confirm : {1U, 2U}) {
    Harness harness = ended_with(1);
    harness.answer_all(confirm, Op::leave, Released{.held = true});
    harness.advance(40s);
    REQUIRE(harness.session.finished());
    CHECK((harness.reported<report::HoldMissing>() != nullptr) == (confirm == 1));
    CHECK(harness.reported<report::ReleaseUnconfirmed>() == nullptr);
  }
  // Somebody revoked the lock just before: the release deleted it.
  Harness harness = ended_with(1);
  harness.answer_all(2, Op::leave, Released{});
  REQUIRE(harness.session.finished());
  CHECK(harness.told<report::HoldMissing>().complaints.empty());
}

TEST_CASE("hold-on-failure: a run that joined leaves it to the outer one") {
  Plan plan = failing_plan();
  plan.inherited = Inherited{.token = "T", .fence = 7};
  Harness harness = running(plan);
  harness.step(JobExited{1});
  CHECK(leaves(harness) == Leaves(3, kLeftFree));
}

TEST_CASE("hold-on-failure: a waiter is told of the hold, which has the token of the run") {
  Harness harness = waiting_for(held_by("T"));
  const auto again = [&](bool maintenance) {
    harness.effects.clear();
    harness.advance(5s);
    Refused refusal = held_by("T");
    refusal.maintenance = maintenance;
    harness.answer_all(3, Op::acquire, refusal);
    return harness.reported<report::Contended>() != nullptr;
  };
  CHECK_FALSE(again(false));
  CHECK(again(true));
  CHECK_FALSE(again(true));
}
