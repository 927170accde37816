// SPDX-License-Identifier: MIT
//
// A refusal because it is the turn of another waiter: nobody holds the lock, so it is never a
// conflict.
#include <doctest/doctest.h>

#include "lock_harness.h"

using namespace redlock::lock;
using namespace redlock::lock::testing;

TEST_CASE("turn: one waiter's turn on every server is never a conflict for -n, however long") {
  for (const std::size_t servers : {1U, 3U, 5U}) {
    CAPTURE(servers);
    Harness harness(plan_for(servers, Duration::zero()));
    for (int round = 0; round < 3; ++round) {
      harness.answer_all(servers, Op::acquire, turn_of("w", 40ms));
      REQUIRE_FALSE(harness.session.finished());
      CHECK(harness.reported<report::Contended>() == nullptr);
      harness.advance(300ms);  // the time-out of a server is 200 ms
    }
    harness.answer_all(servers, Op::acquire, Granted{});
    CHECK(harness.count<Spawn>() == 1);
  }
}

TEST_CASE("turn: turns and a holder on fewer servers than a quorum are no conflict either") {
  Harness harness(plan_for(3, Duration::zero()));
  for (int round = 0; round < 3; ++round) {
    harness.answers(Op::acquire, {held_by("other"), turn_of("w", 40ms), turn_of("w", 40ms)});
    REQUIRE_FALSE(harness.session.finished());
    harness.advance(300ms);
  }
}

TEST_CASE("turn: of two servers one has a holder, the other a turn: no conflict in any round") {
  Harness harness(plan_for(2, Duration::zero()));
  for (int round = 0; round < 3; ++round) {
    harness.answers(Op::acquire, {held_by("other"), turn_of("w", 40ms)});
    REQUIRE_FALSE(harness.session.finished());
    harness.advance(300ms);
  }
}

TEST_CASE("turn: the name of a waiter does not count towards a holder of the same name") {
  Harness harness(plan_for(3, Duration::zero()));
  harness.answers(Op::acquire, {held_by("other"), turn_of("other"), turn_of("other")});
  CHECK_FALSE(harness.session.finished());
}

TEST_CASE("turn: a holder on a quorum is a conflict, whose turn it may be elsewhere") {
  Harness harness(plan_for(3, Duration::zero()));
  harness.answers(Op::acquire, {turn_of("w"), held_by("other"), held_by("other")});
  CHECK(harness.ended(Outcome::Kind::conflict));
}

TEST_CASE("turn: -n that meets only turns asks after each, gives up after 5 s, names nobody") {
  Harness harness(plan_for(1, Duration::zero()));
  for (int round = 0; round < 200 && !harness.session.finished(); ++round) {
    harness.answer(0, Op::acquire, turn_of("w"));
    CHECK(harness.pause() <= 420ms);
    harness.pass_pause();
  }
  REQUIRE(harness.session.finished());
  CHECK(harness.now - Harness::start == 5s);
  CHECK(harness.session.outcome().kind == Outcome::Kind::conflict);
  const auto* told = harness.reported<report::Contended>();
  REQUIRE(told != nullptr);
  CHECK_FALSE(told->refusal.has_value());
}

TEST_CASE("turn: the waiter whose turn it is is not shown as the holder") {
  Harness harness = waiting_for(held_by("other"));
  REQUIRE(harness.session.waiting().refusal.has_value());
  harness.pass_pause();
  harness.answer_all(3, Op::acquire, turn_of("w"));
  CHECK_FALSE(harness.session.waiting().refusal.has_value());
  harness.pass_pause();
  harness.answers(Op::acquire, {turn_of("w"), held_by("next"), held_by("next")});
  REQUIRE(harness.session.waiting().refusal.has_value());
  CHECK(harness.session.waiting().refusal->blocker == "next");
}

TEST_CASE("turn: giving up tells our place in the queue") {
  Harness harness = waiting_for(held_by("other"), 700ms);
  harness.effects.clear();
  while (!harness.session.finished()) {
    Refused turn = turn_of("w");
    turn.place = 2;
    harness.answer_all(3, Op::acquire, turn);
    harness.now = std::max(harness.now, harness.session.deadline());
    harness.step(Tick{});
  }
  const auto* told = harness.reported<report::Contended>();
  REQUIRE(told != nullptr);
  CHECK_FALSE(told->refusal.has_value());
  CHECK(told->place == 2);
}

TEST_CASE("turn: a waiter that was named with the holders stays what whoever waits is shown") {
  Refused kept = held_by("shared:other");
  kept.waits_before = "{}";
  Harness harness = waiting_for(kept);
  harness.pass_pause();
  harness.answer_all(3, Op::acquire, turn_of("w"));
  CHECK(harness.session.waiting().refusal->waits_before == "{}");
  harness.pass_pause();
  harness.answers(Op::acquire, {turn_of("w"), held_by("x"), held_by("y")});
  CHECK_FALSE(harness.session.waiting().refusal.has_value());
}

TEST_CASE("turn: of an attempt, only a holder is the main refusal") {
  const Timing timing{.ttl = 30s, .grace = 5s};
  Attempt attempt(1, 3);
  const std::vector<Ask> asks = attempt.begin_round(1, 0, timing, {true, true, true});
  attempt.record({asks[0], Harness::start, turn_of("w")}, timing);
  attempt.record({asks[1], Harness::start, turn_of("w")}, timing);
  CHECK(attempt.main_refusal() == nullptr);
  CHECK(attempt.turns_left() == 400ms);
  attempt.record({asks[2], Harness::start, held_by("other")}, timing);
  REQUIRE(attempt.main_refusal() != nullptr);
  CHECK(attempt.main_refusal()->blocker == "other");
  CHECK_FALSE(attempt.turns_left().has_value());
  CHECK(attempt.refused() == 3);
  // Of several servers that name it, one that keeps it longest, or for ever.
  for (const ServerIndex server : {0U, 1U, 2U}) {
    std::optional<std::chrono::milliseconds> left(10s * (server + 1));
    if (server == 1) left.reset();
    attempt.record({asks[server], Harness::start, held_by("other", left)}, timing);
  }
  CHECK_FALSE(attempt.main_refusal()->ttl_left.has_value());
}
