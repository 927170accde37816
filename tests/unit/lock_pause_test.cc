// SPDX-License-Identifier: MIT
//
// How long a session that waits rests between two rounds.

#include <set>

#include "lock_harness.h"

using namespace redlock::lock;
using namespace redlock::lock::testing;

namespace {

Refused held_for_ever(const std::string& holder = "other") {
  return held_by(holder, std::nullopt);
}

/// All three servers have confirmed the subscription, and refuse with this place in the queue.
Harness called_waiter(std::size_t place) {
  Harness harness = waiting_for(in_line(held_for_ever(), 7));
  for (ServerIndex server = 0; server < 3; ++server) harness.step(Subscribed{server});
  harness.next_round_all(in_line(held_for_ever(), 8, place, 9));
  return harness;
}

bool within(Duration pause, Duration least, Duration most) {
  return pause >= least && pause <= most;
}

}  // namespace

TEST_CASE("pause: without a line it is exponential back-off from 100 ms to 5 s") {
  Harness harness(plan_for(1));
  std::vector<Duration> pauses;
  for (int round = 0; round < 12; ++round) {
    harness.answer(0, Op::acquire, held_by("other", std::nullopt));
    pauses.push_back(harness.pause());
    harness.pass_pause();
  }
  CHECK(within(pauses.front(), 50ms, 100ms));
  CHECK(pauses[3] >= 400ms);
  CHECK(pauses.back() >= 2500ms);
  CHECK(*std::max_element(pauses.begin(), pauses.end()) <= 5s);
}

TEST_CASE("pause: the back-off begins again when the holder changes") {
  Harness harness = waiting_for(held_for_ever("first"));
  const auto rounds = [&harness](int number, const std::string& holder) {
    for (int round = 0; round < number; ++round) {
      harness.next_round_all(held_for_ever(holder));
    }
    return harness.pause();
  };
  CHECK(rounds(8, "first") >= 2500ms);
  CHECK_MESSAGE(rounds(1, "cooling:first") >= 2500ms, "still the same run");
  CHECK_MESSAGE(rounds(1, "revoked:first") >= 2500ms, "still the same run");
  CHECK(rounds(1, "second") <= 100ms);
  CHECK(rounds(1, "second") > 100ms);
}

TEST_CASE("pause: a waiter that a quorum can wake asks every 1.7 s, far back every 5 s") {
  for (const std::size_t place : {1U, 2U, 3U, 9U, 256U}) {
    CAPTURE(place);
    Harness harness = called_waiter(place);
    CHECK(within(harness.pause(), 1530ms, 1700ms));
  }
  CHECK(within(called_waiter(257).pause(), 4500ms, 5s));
}

TEST_CASE("pause: while another program holds the lock, the first two in the queue ask often") {
  const auto rounds = [](const Refused& refusal, std::size_t place) {
    Harness harness = called_waiter(place);
    int count = 0;
    for (const Instant end = harness.now + 10s; harness.now < end; ++count) {
      harness.next_round_all(in_line(refusal, 8, place, 9));
    }
    return count;
  };
  const auto foreign = [](const std::string& value) {
    return Refused{.blocker = value, .ttl_left = std::nullopt, .holder = {}};
  };
  const std::string token(40, 'a');
  for (const std::size_t place : {1U, 2U}) {
    CHECK(rounds(foreign("somebody"), place) > 60);
    CHECK(rounds(foreign("somebody"), place) < 100);
    CHECK(rounds(foreign("type:hash"), place) > 60);
    CHECK(rounds(held_for_ever("somebody"), place) < 10);
    CHECK_MESSAGE(rounds(foreign(token), place) < 10, "a redlock that may write no record");
    CHECK(rounds(foreign("cooling:" + token), place) < 10);
    CHECK(rounds(foreign("shared:s" + token.substr(1)), place) < 10);
  }
  CHECK(rounds(foreign("somebody"), 3) < 10);
}

TEST_CASE("pause: without wake-ups, the first two ask every 100 ms, the others back off") {
  const auto after_some_rounds = [](const std::vector<std::size_t>& places) {
    Harness harness = waiting_for(in_line(held_for_ever(), 7));
    for (int round = 0; round < 8; ++round) {
      harness.pass_pause();
      for (ServerIndex server = 0; server < 3; ++server)
        harness.answer(server, Op::acquire, in_line(held_for_ever(), 8, places[server], 9));
    }
    return harness.pause();
  };
  CHECK(after_some_rounds({1, 1, 1}) == 100ms);
  CHECK(after_some_rounds({2, 2, 2}) == 100ms);
  CHECK_MESSAGE(after_some_rounds({3, 2, 0}) == 100ms, "the best place counts");
  CHECK(after_some_rounds({3, 3, 3}) >= 2500ms);
  CHECK_MESSAGE(after_some_rounds({0, 0, 0}) >= 2500ms, "no server has put us into its queue");
}

TEST_CASE("pause: at the announced expiry, the first two ask immediately") {
  for (const std::size_t place : {1U, 2U}) {
    CAPTURE(place);
    Harness harness = called_waiter(place);
    harness.next_round_all(in_line(held_by("other", 1200ms), 8, place, 9));
    CHECK(harness.pause() == 1201ms);
  }
}

TEST_CASE("pause: at the announced expiry, the others ask within a second after it") {
  std::set<Duration> pauses;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Plan plan = plan_for(3);
    plan.seed = seed;
    Harness harness(plan);
    harness.answer_all(3, Op::acquire, in_line(held_for_ever(), 7));
    for (ServerIndex server = 0; server < 3; ++server) harness.step(Subscribed{server});
    harness.next_round_all(in_line(held_by("other", 400ms), 8, 3, 9));
    pauses.insert(harness.pause());
  }
  CHECK(pauses.size() > 150);
  CHECK(*pauses.begin() >= 401ms);
  CHECK(*pauses.begin() < 600ms);
  CHECK(*pauses.rbegin() > 1200ms);
  CHECK(*pauses.rbegin() <= 1401ms);
}

TEST_CASE("pause: an expiry is asked immediately, one after the other 20 times per second") {
  Harness harness(plan_for(1), {held_by("other", 7ms)});
  CHECK(harness.pause() == 8ms);
  const Instant begin = harness.now;
  int rounds = 0;
  while (harness.now < begin + 2s && rounds < 2000) {
    harness.pass_pause();
    harness.answer(0, Op::acquire, held_by("other", 0ms));
    ++rounds;
  }
  CHECK(rounds <= 41);
  CHECK(rounds >= 20);
  // After a long pause, the next expiry is one to be asked immediately again.
  harness.pass_pause();
  harness.answer(0, Op::acquire, held_by("other", 20s));
  harness.pass_pause();
  harness.answer(0, Op::acquire, held_by("other", 7ms));
  CHECK(harness.pause() == 8ms);
}

TEST_CASE("pause: refused only for the turns of others, it ends with the last of these turns") {
  Harness harness = called_waiter(2);
  const auto pause_after = [&](std::chrono::milliseconds a, std::chrono::milliseconds b) {
    harness.next_round(
        {no_answer(false), in_line(turn_of("w", a), 8, 2, 9), in_line(turn_of("v", b), 8, 2, 9)});
    return harness.pause();
  };
  CHECK(pause_after(400ms, 420ms) == 421ms);
  CHECK(pause_after(90ms, 30ms) == 91ms);
  CHECK_MESSAGE(pause_after(9h, 1ms) == 501ms, "no turn lasts longer than 500 ms");
  CHECK_MESSAGE(pause_after(0ms, 0ms) == 10ms,
                "a server whose turns never end is not asked always");
}

TEST_CASE("pause: a waiter that the servers cannot wake waits for the end of a short turn alone") {
  CHECK(waiting_for(in_line(turn_of("w", 90ms), 7)).pause() == 91ms);
  CHECK(waiting_for(in_line(turn_of("w", 400ms), 7)).pause() == 100ms);
}

TEST_CASE("pause: contenders with -n are apart by more than the length of their rounds") {
  const auto pause_after_split = [](std::optional<Duration> wait, Duration round) {
    Harness harness(plan_for(3, wait));
    harness.advance(round);
    harness.answers(Op::acquire, {Granted{}, held_by("a"), held_by("b")});
    return harness.pause();
  };
  CHECK(within(pause_after_split(0s, 1ms), 25ms, 50ms));
  CHECK(within(pause_after_split(0s, 200ms), 200ms, 400ms));
  CHECK(within(pause_after_split(0s, 600ms), 600ms, 1200ms));
  CHECK_MESSAGE(pause_after_split(std::nullopt, 600ms) <= 50ms, "a waiter tries again anyway");
}

TEST_CASE("pause: the window of -n doubles from one split to the next, up to two seconds") {
  Jitter jitter(1);
  Backoff backoff(50ms, 2s);
  CHECK(within(backoff.next(jitter), 25ms, 50ms));
  CHECK(within(backoff.next(jitter), 50ms, 100ms));
  CHECK(within(backoff.next(jitter, 600ms), 300ms, 600ms));
  CHECK_MESSAGE(within(backoff.next(jitter, 600ms), 600ms, 1200ms), "it grows on from there");
  CHECK(within(backoff.next(jitter, 10s), 1s, 2s));
  backoff.reset();
  CHECK(within(backoff.next(jitter, 10ms), 25ms, 50ms));
}
