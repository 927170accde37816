// SPDX-License-Identifier: MIT
//
// --min-hold: the lock stays taken for a time although the job has ended.
#include "lock_harness.h"

using namespace redlock::lock;
using namespace redlock::lock::testing;

namespace {

Plan holding_plan(std::size_t servers, Duration hold) {
  Plan plan = plan_for(servers);
  plan.timing.min_hold = hold;
  return plan;
}

/// How long the key is to live after the latest request of that kind to that server.
Duration last_life(const Harness& harness, Op op, ServerIndex server = 0) {
  std::vector<Ask> asks = harness.asks(op);
  std::erase_if(asks, [server](const Ask& ask) { return ask.server != server; });
  REQUIRE(!asks.empty());
  return life_of(asks.back());
}

/// A job that runs; its votes came 10 ms after they were asked for.
Harness holding(std::size_t servers, Duration hold) {
  Harness harness(holding_plan(servers, hold));
  harness.answer_all(servers, Op::acquire, Granted{}, 10ms);
  harness.step(JobStarted{});
  return harness;
}

}  // namespace

TEST_CASE("min-hold: the key gets the longer of the ttl and the hold, from the first request on") {
  CHECK(last_life(Harness(holding_plan(1, 5min)), Op::acquire) == 5min);
  CHECK(last_life(Harness(holding_plan(1, 5s)), Op::acquire) == 30s);
}

TEST_CASE("min-hold: renewals and repairs give what is left of it, then the ttl") {
  for (const Duration hold : {35s, 45s}) {
    CAPTURE(hold.count());
    Harness harness = holding(3, hold);
    harness.advance(10s);
    // Hold and renewals count from when the votes were asked for, 10 ms before they came.
    CHECK(last_life(harness, Op::renew) == std::max<Duration>(hold - 10s, 30s));
    harness.answers(Op::renew, {Renewed{}, Renewed{}, Missing{}});
    CHECK(last_life(harness, Op::repair, 2) == std::max<Duration>(hold - 10s - 10ms, 30s));
  }
}

TEST_CASE("min-hold: longer than the ttl, the lease still counts the ttl alone") {
  Harness harness = holding(1, 1h);
  CHECK(harness.session.worker_state().gone_by == Harness::start - 10ms + 1h + 36s + 2ms);
  harness.advance(10s);
  CHECK(last_life(harness, Op::renew) > 59min);
  harness.advance(30s);  // nobody answers
  std::vector<int> kills = harness.kills();
  kills.resize(3);
  CHECK(kills == std::vector{SIGTERM, SIGCONT, SIGKILL});
  harness.end_job(0);
  CHECK(last_life(harness, Op::release) == Duration::zero());  // a lost lock is not kept
}

TEST_CASE("min-hold: a release that is repeated asks for what is left by then") {
  Harness harness = holding(1, 1min);
  harness.step(JobExited{0});
  harness.answer(0, Op::release, no_answer(true));
  harness.advance(100ms);
  CHECK(last_life(harness, Op::release) == 1min - 10ms - 100ms);
  harness.advance(5s);
  const Duration stays = harness.told<report::ReleaseUnconfirmed>().stays_for;
  CHECK(stays > 57s);
  CHECK(stays < 61s);
}

TEST_CASE("min-hold: over when the job ends, the lock is released") {
  Harness harness = holding(1, 5s);
  harness.advance(6s);
  harness.step(JobExited{0});
  CHECK(last_life(harness, Op::release) == Duration::zero());
  harness.answer(0, Op::release, Released{});
  CHECK_FALSE(harness.told<report::Released>().cools);
}

TEST_CASE("min-hold: a run without one says that the lock cools unless a quorum is free") {
  for (const bool cools : {true, false}) {
    CAPTURE(cools);
    Harness harness = running(plan_for(3));
    harness.step(JobExited{0});
    harness.answers(Op::release, {Released{.cooling = cools}, Released{}});
    CHECK(harness.told<report::Released>().cools == cools);
  }
}

TEST_CASE("min-hold: what could not be started, or was never had, is not kept") {
  Harness never(holding_plan(1, 1min));
  never.answer(0, Op::acquire, Granted{});
  never.step(JobFailedToStart{127});
  CHECK(last_life(never, Op::release) == Duration::zero());

  Harness refused(holding_plan(3, 1min), {Granted{}, held_by("other"), held_by("other")});
  CHECK(last_life(refused, Op::release) == Duration::zero());
}

TEST_CASE("min-hold: the release shows that the lock was lost: servers that cool are freed") {
  const Ask third{.server = 2, .attempt = 1, .operation = op::Release{}};
  Harness cooling = holding(3, 1min);
  cooling.step(JobExited{0});
  cooling.answers(Op::release, {Released{.cooling = true}, Missing{}});
  cooling.effects.clear();
  cooling.step(Reply{third, cooling.now, Missing{}});
  CHECK(cooling.ended(Outcome::Kind::lost));
  CHECK(last_life(cooling, Op::release) == Duration::zero());

  // The hold is over, but a server that was stopped may not have begun with it.
  Harness over = holding(3, 1s);
  over.advance(900ms);
  over.step(JobExited{0});
  over.answer(1, Op::release, Missing{});
  over.advance(200ms);
  over.effects.clear();
  over.step(Reply{third, over.now, Missing{}});
  CHECK_FALSE(over.session.finished());
  over.advance(2s);
  CHECK(over.ended(Outcome::Kind::lost));
  CHECK(last_life(over, Op::release) == Duration::zero());
}

TEST_CASE("min-hold: a lock that is cooling is its last holder's") {
  Harness harness(plan_for(3, Duration::zero()), {held_by("T"), held_by("cooling:T")});
  harness.advance(1s);
  CHECK(harness.ended(Outcome::Kind::conflict));
}
