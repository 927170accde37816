// SPDX-License-Identifier: MIT
//
// A refusal because it is the turn of another waiter: nobody holds the lock, so it is never a
// conflict.
#include "lock_harness.h"

using namespace redlock::lock;
using namespace redlock::lock::testing;

TEST_CASE("turn: turns, and a holder on fewer servers than a quorum, are never a conflict for -n") {
  const Refused turn = turn_of("w", 40ms);
  const std::vector<std::vector<Answer>> rows = {
      {turn},
      {turn, turn, turn},
      {turn, turn, turn, turn, turn},
      {held_by("other"), turn},
      {held_by("other"), turn, turn},
      {held_by("w"), turn, turn},  // the name of a waiter is not that of a holder
  };
  for (const std::vector<Answer>& answers : rows) {
    CAPTURE(&answers - rows.data());
    Harness harness(plan_for(answers.size(), Duration::zero()));
    for (int round = 0; round < 3; ++round) {
      harness.answers(Op::acquire, answers);
      REQUIRE_FALSE(harness.session.finished());
      CHECK(harness.reported<report::Contended>() == nullptr);
      harness.advance(300ms);  // the time-out of a server is 200 ms
    }
    harness.answer_all(answers.size(), Op::acquire, Granted{});
    CHECK(harness.count<Spawn>() == 1);
  }
}

TEST_CASE("turn: a holder on a quorum is a conflict, whose turn it may be elsewhere") {
  Harness harness(plan_for(3, Duration::zero()),
                  {turn_of("w"), held_by("other"), held_by("other")});
  CHECK(harness.ended(Outcome::Kind::conflict));
}

TEST_CASE("turn: -n that meets only turns asks after each, gives up after 5 s, names nobody") {
  Harness harness(plan_for(1, Duration::zero()));
  for (int round = 0; round < 200 && !harness.session.finished(); ++round) {
    harness.answer(0, Op::acquire, turn_of("w"));
    CHECK(harness.pause() <= 420ms);
    harness.pass_pause();
  }
  CHECK(harness.ended(Outcome::Kind::conflict));
  CHECK(harness.now - Harness::start == 5s);
  CHECK_FALSE(harness.told<report::Contended>().refusal.has_value());
}

TEST_CASE("turn: the waiter whose turn it is is not shown as the holder") {
  Harness harness = waiting_for(held_by("other"));
  REQUIRE(harness.session.waiting().refusal.has_value());
  harness.next_round_all(turn_of("w"));
  CHECK_FALSE(harness.session.waiting().refusal.has_value());
  harness.next_round({turn_of("w"), held_by("next"), held_by("next")});
  REQUIRE(harness.session.waiting().refusal.has_value());
  CHECK(harness.session.waiting().refusal->blocker == "next");
}

TEST_CASE("turn: giving up tells our place in the queue") {
  Harness harness = waiting_for(held_by("other"), 700ms);
  harness.effects.clear();
  while (!harness.session.finished()) {
    harness.answer_all(3, Op::acquire, in_line(turn_of("w"), 0, 2));
    harness.pass_pause();
  }
  const auto& told = harness.told<report::Contended>();
  CHECK_FALSE(told.refusal.has_value());
  CHECK(told.place == 2);
}

TEST_CASE("turn: a waiter that was named with the holders stays what whoever waits is shown") {
  Refused kept = held_by("shared:other");
  kept.waits_before = "{}";
  Harness harness = waiting_for(kept);
  harness.next_round_all(turn_of("w"));
  CHECK(harness.session.waiting().refusal->waits_before == "{}");
  harness.next_round({turn_of("w"), held_by("x"), held_by("y")});
  CHECK_FALSE(harness.session.waiting().refusal.has_value());
}

TEST_CASE("turn: of an attempt, only a holder is the main refusal") {
  const Attempt turns = attempt_with({turn_of("w"), turn_of("w"), no_answer()});
  CHECK(turns.main_refusal() == nullptr);
  CHECK(turns.turns_left() == 400ms);
  const Attempt held = attempt_with({turn_of("w"), turn_of("w"), held_by("other")});
  REQUIRE(held.main_refusal() != nullptr);
  CHECK(held.main_refusal()->blocker == "other");
  CHECK_FALSE(held.turns_left().has_value());
  CHECK(held.refused() == 3);
  // Of several servers that name it, one that keeps it longest, or for ever.
  const Attempt all =
      attempt_with({held_by("other", 10s), held_by("other", std::nullopt), held_by("other", 30s)});
  CHECK_FALSE(all.main_refusal()->ttl_left.has_value());
}
