// SPDX-License-Identifier: MIT
//
// --min-hold: the lock stays taken for a time although the job has ended.
#include <doctest/doctest.h>

#include <csignal>

#include "lock_harness.h"

using namespace redlock::lock;
using namespace redlock::lock::testing;

namespace {

Plan holding_plan(std::size_t servers, Duration hold, Duration ttl = 30s) {
  Plan plan = plan_for(servers);
  plan.timing.ttl = ttl;
  plan.timing.min_hold = hold;
  return plan;
}

/// The latest request of that kind to that server.
const Ask& last_ask(const Harness& harness, Op op, ServerIndex server = 0) {
  const auto found =
      std::find_if(harness.effects.rbegin(), harness.effects.rend(), [&](const Effect& effect) {
        const auto* ask = std::get_if<Ask>(&effect);
        return ask != nullptr && means(op, ask->op()) && ask->server == server;
      });
  REQUIRE(found != harness.effects.rend());
  return std::get<Ask>(*found);
}

void start_job(Harness& harness, std::size_t servers) {
  harness.answer_all(servers, Op::acquire, Granted{}, 10ms);
  harness.step(JobStarted{});
}

}  // namespace

TEST_CASE("min-hold: the key gets the longer of the ttl and the hold, from the first request on") {
  CHECK(life_of(last_ask(Harness(holding_plan(1, 5min)), Op::acquire)) == 5min);
  CHECK(life_of(last_ask(Harness(holding_plan(1, 5s)), Op::acquire)) == 30s);
  CHECK(life_of(last_ask(Harness(plan_for(1)), Op::acquire)) == 30s);
}

TEST_CASE("min-hold: renewals and repairs give what is left of it, then the ttl") {
  Harness harness(holding_plan(3, 35s));
  start_job(harness, 3);
  harness.advance(10s);
  // The hold counts from when the votes were asked for, 10 ms before they came.
  const Duration left = 35s - 10ms - (last_ask(harness, Op::renew).round == 1 ? 9990ms : 0ms);
  CHECK(life_of(last_ask(harness, Op::renew)) == std::max<Duration>(left, 30s));
  for (const ServerIndex server : {0U, 1U}) harness.answer(server, Op::renew, Renewed{});
  harness.answer(2, Op::renew, Missing{});
  CHECK(life_of(last_ask(harness, Op::repair, 2)) == 30s);
}

TEST_CASE("min-hold: longer than the ttl, the lease still counts the ttl alone") {
  Harness harness(holding_plan(1, 1h));
  start_job(harness, 1);
  CHECK(harness.session.worker_state().gone_by == Harness::start - 10ms + 1h + 36s + 2ms);
  harness.advance(10s);
  CHECK(life_of(last_ask(harness, Op::renew)) > 59min);
  harness.advance(30s);  // nobody answers
  const std::vector<int> kills = harness.kills();
  REQUIRE(kills.size() >= 3);
  CHECK((kills[0] == SIGTERM && kills[1] == SIGCONT && kills[2] == SIGKILL));
  harness.step(JobExited{0});
  harness.step(JobTreeGone{});
  CHECK(life_of(last_ask(harness, Op::release)) == Duration::zero());  // a lost lock is not kept
}

TEST_CASE("min-hold: a release that is repeated asks for what is left by then") {
  Harness harness(holding_plan(1, 1min));
  start_job(harness, 1);
  harness.step(JobExited{0});
  harness.answer(0, Op::release, no_answer(true));
  harness.advance(100ms);
  CHECK(life_of(last_ask(harness, Op::release)) == 1min - 10ms - 100ms);
  harness.advance(5s);
  REQUIRE(harness.reported<report::ReleaseUnconfirmed>() != nullptr);
  const Duration stays = harness.reported<report::ReleaseUnconfirmed>()->stays_for;
  CHECK(stays > 57s);
  CHECK(stays < 61s);
}

TEST_CASE("min-hold: over when the job ends, the lock is released") {
  Harness harness(holding_plan(1, 5s));
  start_job(harness, 1);
  harness.advance(6s);
  harness.step(JobExited{0});
  CHECK(life_of(last_ask(harness, Op::release)) == Duration::zero());
  harness.answer(0, Op::release, Released{});
  CHECK_FALSE(harness.reported<report::Released>()->cools);
}

TEST_CASE("min-hold: a run without one says that the lock cools unless a quorum is free") {
  for (const bool cools : {true, false}) {
    CAPTURE(cools);
    Harness harness(plan_for(3));
    start_job(harness, 3);
    harness.step(JobExited{0});
    harness.answers(Op::release, {Released{.cooling = cools}, Released{}});
    REQUIRE(harness.reported<report::Released>() != nullptr);
    CHECK(harness.reported<report::Released>()->cools == cools);
  }
}

TEST_CASE("min-hold: what could not be started, or was never had, is not kept") {
  SUBCASE("the command does not exist") {
    Harness harness(holding_plan(1, 1min));
    harness.answer(0, Op::acquire, Granted{});
    harness.step(JobFailedToStart{127});
    CHECK(life_of(last_ask(harness, Op::release)) == Duration::zero());
  }
  SUBCASE("fewer than a quorum granted") {
    Harness harness(holding_plan(3, 1min));
    harness.answers(Op::acquire, {Granted{}, held_by("other"), held_by("other")});
    CHECK(life_of(last_ask(harness, Op::release)) == Duration::zero());
  }
  SUBCASE("the release shows that it was lost: servers that were left cooling are freed") {
    Harness harness(holding_plan(3, 1min));
    start_job(harness, 3);
    harness.step(JobExited{0});
    harness.answers(Op::release, {Released{.cooling = true}, Missing{}});
    harness.effects.clear();
    harness.step(
        Reply{Ask{.server = 2, .attempt = 1, .operation = op::Release{}}, harness.now, Missing{}});
    CHECK(harness.ended(Outcome::Kind::lost));
    CHECK(life_of(last_ask(harness, Op::release, 0)) == Duration::zero());
  }
  SUBCASE("the same when the hold is over: a server that was stopped may not have begun with it") {
    Harness harness(holding_plan(3, 1s));
    start_job(harness, 3);
    harness.advance(900ms);
    harness.step(JobExited{0});
    harness.answer(1, Op::release, Missing{});
    harness.advance(200ms);
    harness.effects.clear();
    harness.step(
        Reply{Ask{.server = 2, .attempt = 1, .operation = op::Release{}}, harness.now, Missing{}});
    CHECK_FALSE(harness.session.finished());
    harness.advance(2s);
    CHECK(harness.ended(Outcome::Kind::lost));
    CHECK(life_of(last_ask(harness, Op::release, 0)) == Duration::zero());
  }
}

TEST_CASE("min-hold: a lock that is cooling is its last holder's") {
  Plan plan = plan_for(3, Duration::zero());
  Harness harness(plan);
  harness.answers(Op::acquire, {held_by("T"), held_by("cooling:T")});
  harness.advance(1s);
  CHECK(harness.ended(Outcome::Kind::conflict));
}
