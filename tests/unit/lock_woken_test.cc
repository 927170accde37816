// SPDX-License-Identifier: MIT
//
// A server says when the lock may be ours, or that from now on it will: when a waiter asks then.
#include "lock_harness.h"

using namespace redlock::lock;
using namespace redlock::lock::testing;

namespace {

void refuse_all(Harness& harness) {
  REQUIRE(harness.asked(Op::acquire) == 3);
  harness.answer_all(3, Op::acquire, held_by("other", std::nullopt));
}

}  // namespace

TEST_CASE("queue: woken while it asks, it asks once more, though not without a pause") {
  Harness harness = waiting_for(held_by("other", std::nullopt));
  harness.pass_pause();
  harness.step(Woken{0ms});
  refuse_all(harness);
  CHECK(harness.pause() == 5ms);
  // The word was for that round only.
  harness.advance(5ms);
  refuse_all(harness);
  CHECK(harness.pause() > 5ms);

  harness.pass_pause();
  harness.step(Woken{500ms});
  refuse_all(harness);
  CHECK(harness.pause() == 500ms);
}

/// How many rounds it begins in a second of word upon word, all in vain.
std::size_t rounds_in_a_flood(Harness& harness) {
  std::size_t rounds = 0;
  for (int ms = 0; ms < 1000; ++ms) {
    harness.step(Woken{ms % 3 == 0 ? 500ms : 0ms});
    harness.advance(1ms);
    if (harness.asked(Op::acquire) > 0) {
      ++rounds;
      refuse_all(harness);
    }
  }
  return rounds;
}

TEST_CASE("queue: endless words are believed for some rounds, 5 ms apart, then ten a second") {
  Harness harness = waiting_for(held_by("other", std::nullopt));
  const std::size_t first = rounds_in_a_flood(harness);
  CHECK(first >= 32);
  CHECK(first <= 50);
  for (int second = 0; second < 10; ++second) {
    const std::size_t later = rounds_in_a_flood(harness);
    CHECK(later >= 9);
    CHECK(later <= 11);
  }
  // After a round that took its time (the one before is the last word's) they count again.
  for (int round = 0; round < 2; ++round) harness.next_round_all(held_by("other", std::nullopt));
  CHECK(rounds_in_a_flood(harness) >= 32);
}

TEST_CASE("woken: told when the lock has cooled, it asks then, or earlier if it meant to") {
  Harness harness = waiting_for(held_by("other", std::nullopt));
  const Duration pause = harness.pause();
  harness.step(Woken{pause + 1s});
  CHECK(harness.pause() == pause);
  harness.step(Woken{pause / 2});
  CHECK(harness.pause() == pause / 2);
  harness.step(Woken{Duration::max()});
  CHECK(harness.pause() == pause / 2);
  harness.pass_pause();
  CHECK(harness.asked(Op::acquire) == 3);
}

TEST_CASE("subscribed: within a round it is for the next one, and rounds are 5 ms apart") {
  Harness harness = waiting_for(held_by("other", std::nullopt));
  harness.pass_pause();
  harness.step(Subscribed{0});
  harness.step(Subscribed{2});
  refuse_all(harness);
  CHECK(harness.pause() == 5ms);
  harness.advance(5ms);
  refuse_all(harness);
  CHECK(harness.pause() > 5ms);
}

TEST_CASE("woken and subscribed: messages that come after the grant are forgotten") {
  const auto too_late_to_start = [] {
    Harness harness = waiting_for(in_line(held_by("other", std::nullopt), 7));
    harness.next_round_all(Granted{});
    REQUIRE(harness.count<Spawn>() == 1);
    return harness;
  };
  Harness woken = too_late_to_start();
  woken.advance(1s);
  woken.step(Woken{});
  woken.step(JobTooLate{});
  CHECK(woken.asked(Op::acquire) == 0);
  CHECK_MESSAGE(woken.pause() >= 25ms, "the pause after any round that was lost");

  Harness subscribed = too_late_to_start();
  for (ServerIndex server = 0; server < 3; ++server) subscribed.step(Subscribed{server});
  subscribed.step(JobTooLate{});
  for (int round = 0; round < 2; ++round)
    subscribed.next_round_all(in_line(held_by("other", std::nullopt), 7, 1, 1));
  CHECK_MESSAGE(subscribed.pause() == 100ms, "leaving the queue ended the subscriptions");
}

TEST_CASE("woken: in a round with a request that failed, it does not wait for that answer again") {
  Harness harness(plan_for(5), {Granted{}, no_answer(), held_by("other")});
  harness.step(Woken{});
  harness.advance(5ms);
  REQUIRE(harness.asked(Op::acquire) == 3);
  harness.answer(2, Op::acquire, held_by("other"));
  harness.answer(3, Op::acquire, Granted{});
  harness.answer(4, Op::acquire, held_by("other"));
  CHECK_MESSAGE(harness.asked(Op::release) == 3, "the round is over");
}

TEST_CASE("woken: endless wake-ups while a server is silent cost ten rounds a second") {
  Harness harness(plan_for(3), {Granted{}, held_by("other")});
  std::size_t rounds = 0;
  for (int ms = 0; ms < 3000; ++ms) {
    harness.step(Woken{});
    harness.advance(1ms);
    if (ms >= 1000 && harness.asked(Op::acquire) == 2) ++rounds;
    harness.answer(1, Op::acquire, held_by("other"));
  }
  CHECK(rounds >= 18);
  CHECK(rounds <= 22);
}
