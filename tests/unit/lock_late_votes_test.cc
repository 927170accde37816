// SPDX-License-Identifier: MIT
//
// Attempts that ended in vain: which of their votes are released, and when.
#include "lock_harness.h"

using namespace redlock::lock;
using namespace redlock::lock::testing;

namespace {

/// Its first attempt ended while server 2 had not answered.
Harness one_is_late() {
  Harness harness(plan_for(3));
  harness.answer_all(2, Op::acquire, held_by("other", std::nullopt));
  return harness;
}

/// In a job of an ancestor that holds the lock.
Plan inside(Plan plan) {
  plan.inherited = {.token = "outer", .fence = 7};
  return plan;
}

}  // namespace

TEST_CASE("a release that failed is asked for again before the next question") {
  Harness harness(plan_for(1), {no_answer(true)});
  harness.answer(0, Op::release, no_answer(false));
  harness.effects.clear();
  harness.advance(200ms);
  REQUIRE(harness.effects.size() == 2);
  CHECK(std::get<Ask>(harness.effects[0]) == Ask{0, 1, 0, op::Release{}});
  CHECK(std::get<Ask>(harness.effects[1]).op() == Op::acquire);
}

TEST_CASE("late votes: a possible grant is released when the server's answer shows it") {
  Harness harness = one_is_late();
  CHECK_MESSAGE(harness.asked(Op::release) == 0, "its answer is still to come");
  SUBCASE("between two rounds") {}
  SUBCASE("within the next round") {
    harness.pass_pause();
    REQUIRE(harness.asked(Op::acquire) == 4);
  }
  SUBCASE("after the next round") {
    harness.pass_pause();
    harness.answer_all(2, Op::acquire, held_by("other", std::nullopt));
  }
  SUBCASE("no answer, so that it may come into force") {
    harness.answer(2, Op::acquire, no_answer(true));
  }
  if (harness.asked(Op::release) == 0) harness.answer(2, Op::acquire, Granted{});
  REQUIRE(harness.asked(Op::release) == 1);
  CHECK(harness.asks(Op::release).front() ==
        Ask{.server = 2, .attempt = 1, .operation = op::Release{}});
}

TEST_CASE("late votes: nothing is released where the server certainly has nothing") {
  // The last one: it never got the request.
  const std::vector<Answer> rows = {held_by("other"), turn_of("w"), Done{1s, 1s, {}},
                                    no_answer(false)};
  for (const Answer& late : rows) {
    CAPTURE(&late - rows.data());
    Harness harness = one_is_late();
    harness.answer(2, Op::acquire, late);
    CHECK(harness.asked(Op::release) == 0);
    harness.step(Signal{SIGTERM, true});
    CHECK_MESSAGE(harness.asked(Op::release) == 0, "it is settled");
  }
}

TEST_CASE("late votes: a second answer to the same request gives nothing back again") {
  Harness harness = one_is_late();
  const Ask asked = harness.asks(Op::acquire).front();
  harness.answer(2, Op::acquire, no_answer(true));
  harness.step(Reply{asked, Harness::start, Granted{.run_id = {}, .fence = 1}});
  CHECK(harness.asked(Op::release) == 1);
}

TEST_CASE("late votes: a late refusal does not count in the round that is under way") {
  Harness split(plan_for(3, Duration::zero()), {held_by("a"), Granted{}});
  split.advance(10ms);
  split.answer(2, Op::acquire, held_by("b"));
  split.pass_pause();
  const Ask old{.server = 0, .attempt = 1, .round = 1, .operation = op::Acquire{.life = 30s}};
  split.step(Reply{old, Harness::start, held_by("x")});
  split.step(Reply{old, Harness::start, held_by("x")});
  split.answer(1, Op::acquire, held_by("x"));
  CHECK_MESSAGE(split.reported<report::Contended>() == nullptr,
                "only one of this round's refusals is known");
}

TEST_CASE("late votes: a waiter that gives up releases them, and then leaves the queue") {
  Harness harness = waiting_for(in_line(held_by("other", std::nullopt), 7), 10s);
  harness.pass_pause();
  harness.answer_all(2, Op::acquire, held_by("other", std::nullopt));
  harness.pass_pause();
  harness.effects.clear();
  SUBCASE("at a signal") {
    harness.step(Signal{SIGTERM, true});
  }
  SUBCASE("at the limit") {
    harness.stand_still(20s);
  }
  // The second attempt was out on server 2, and a third one is on all of them.
  const std::vector<Ask> asks = harness.all<Ask>();
  REQUIRE(asks.size() == 7);
  std::vector<std::pair<ServerIndex, AttemptId>> released;
  for (std::size_t at = 0; at < 4; ++at) {
    CHECK(asks[at].op() == Op::release);
    released.emplace_back(asks[at].server, asks[at].attempt);
  }
  std::ranges::sort(released);
  CHECK(released == std::vector<std::pair<ServerIndex, AttemptId>>{{0, 3}, {1, 3}, {2, 2}, {2, 3}});
  CHECK(harness.asked(Op::leave_queue) == 3);
}

TEST_CASE("late votes: with --replicas, a wait in vain leaves the servers the time of a request") {
  for (const bool replicated : {false, true}) {
    Plan plan = plan_for(3, Duration::zero());
    plan.server_timeout = 1s;
    plan.replicated = replicated;
    Harness harness(plan);
    harness.answer(2, Op::acquire, Granted{});
    harness.answer_all(2, Op::acquire, held_by("other"));
    harness.advance(500ms);
    CHECK(harness.session.finished() == !replicated);
  }
}

TEST_CASE("late votes: a released hold of an ancestor's lock is waited for no longer") {
  Harness harness(inside(plan_for(3, Duration::zero())));
  harness.answers(Op::acquire, {Granted{}, Refused{}, Refused{}});
  REQUIRE(harness.answer(0, Op::leave, Released{.kept = true}));
  harness.next_round_all(held_by("other"));
  CHECK(harness.session.finished());
}

TEST_CASE("late votes: who keeps a lock whose job is gone was killed; the user is told") {
  for (const bool joins : {false, true}) {
    Plan plan = plan_for(1);
    plan.max_runtime = 1s;
    if (joins) plan = inside(plan);
    for (const bool stopped : {false, true}) {
      Harness harness = running(plan);
      if (stopped) harness.advance(1s);
      harness.end_job(3);
      harness.answer(0, Op::leave, Released{.kept = true});
      CHECK(harness.told<report::Released>().kept);
      CHECK(harness.told<report::Released>().job_gone == (stopped && !joins));
    }
  }
}

TEST_CASE("waiting for our own ancestor: not for the maintenance hold that it left") {
  Harness harness(inside(plan_for(3, 1min)));
  harness.answer_all(3, Op::acquire, Refused{});
  Refused hold = held_by("outer");
  hold.maintenance = true;
  for (int round = 0; round < 3; ++round) {
    harness.pass_pause();
    REQUIRE(harness.asked(Op::acquire) == 3);
    CHECK_FALSE(is_join(harness.asks(Op::acquire).front().attempt));
    harness.answer_all(3, Op::acquire, hold);
  }
}

TEST_CASE("waiting for our own ancestor: we join it instead, with a new hold") {
  Harness harness(inside(plan_for(3)));
  harness.answer_all(3, Op::acquire, Refused{});
  harness.next_round_all(held_by("other"));
  harness.next_round_all(held_by("revoked:outer {}"));
  harness.pass_pause();
  REQUIRE(harness.asked(Op::acquire) == 3);
  CHECK_FALSE(is_join(harness.asks(Op::acquire).front().attempt));
  harness.answer_all(3, Op::acquire, held_by("outer"));
  harness.pass_pause();
  REQUIRE(harness.asked(Op::acquire) == 3);
  CHECK(is_join(harness.asks(Op::acquire).front().attempt));
  SUBCASE("it is granted") {
    harness.answer_all(3, Op::acquire, Granted{});
    CHECK(harness.count<Spawn>() == 1);
  }
  SUBCASE("a released token is not used again") {
    const AttemptId first = harness.asks(Op::acquire).front().attempt;
    harness.answers(Op::acquire, {Granted{}, Refused{}, Refused{}});
    harness.next_round_all(held_by("outer"));
    harness.pass_pause();
    REQUIRE(harness.asked(Op::acquire) == 3);
    CHECK(is_join(harness.asks(Op::acquire).front().attempt));
    CHECK(harness.asks(Op::acquire).front().attempt > first);
  }
}

TEST_CASE("waiting for our own ancestor: a single try joins it, too") {
  Harness harness(inside(plan_for(1, Duration::zero())));
  harness.answer(0, Op::acquire, Refused{});
  harness.pass_pause();
  harness.answer(0, Op::acquire, held_by("outer"));
  harness.pass_pause();
  harness.answer(0, Op::acquire, Granted{});
  CHECK(harness.count<Spawn>() == 1);
}
