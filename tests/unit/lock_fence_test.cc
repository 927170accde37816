// SPDX-License-Identifier: MIT
#include "lock_harness.h"

using namespace redlock::lock;
using namespace redlock::lock::testing;

namespace {

Granted numbered(std::uint64_t fence) {
  return {.run_id = {}, .fence = fence};
}

/// The number the job was started with; 0 if it was not.
std::uint64_t started_with(const Harness& harness) {
  const std::vector<Spawn> jobs = harness.all<Spawn>();
  return jobs.empty() ? 0 : jobs.front().fence;
}

/// The number of the commit that waits for this server's answer; 0 if none does.
std::uint64_t committing(const Harness& harness, ServerIndex server) {
  for (const Ask& ask : harness.asks(Op::commit)) {
    if (ask.server == server) return details<op::Commit>(ask).fence;
  }
  return 0;
}

/// Three servers; two granted with different numbers.
Harness disagreeing() {
  return Harness(plan_for(3), {numbered(7), numbered(4)});
}

}  // namespace

TEST_CASE("a vote that has expired has no part in the fence") {
  Plan plan = plan_for(3);
  plan.timing.once = 50min;  // all answers are waited for
  Harness harness(plan);
  harness.answer(0, Op::acquire, numbered(10));
  // While we were stopped, that server has granted the lock to others, up to the number 12.
  harness.now += 31s;
  harness.answer(1, Op::acquire, numbered(10));
  CHECK(harness.count<Spawn>() == 0);
  harness.answer(2, Op::acquire, numbered(9));
  CHECK(started_with(harness) == 0);
  CHECK(committing(harness, 0) == 11);
  CHECK(harness.answer(0, Op::commit, NotCommitted{12}));
  harness.answer(1, Op::commit, Committed{});
  harness.answer(2, Op::commit, NotCommitted{0});
  CHECK(committing(harness, 1) == 13);
}

TEST_CASE("a late vote's number is taken into account") {
  Harness harness = disagreeing();
  harness.answer(2, Op::acquire, numbered(50));
  harness.answers(Op::commit, {no_answer(), NotCommitted{4}});
  CHECK(committing(harness, 0) == 51);
}

TEST_CASE("a commit without an answer may be stored: the next number is larger, and alone counts") {
  Harness harness = disagreeing();
  harness.answers(Op::commit, {no_answer(), no_answer()});
  CHECK(committing(harness, 0) == 9);
  harness.step(Reply{Ask{0, 1, 1, op::Commit{8}}, harness.now, Committed{}});  // is late
  harness.answer(1, Op::commit, Committed{});
  CHECK(started_with(harness) == 0);
  harness.answer(0, Op::commit, Committed{});
  CHECK(started_with(harness) == 9);
}

TEST_CASE("agreeing took too long: the lock goes back") {
  Harness harness = disagreeing();
  harness.now += 20s;
  harness.answers(Op::commit, {Committed{}, Committed{}});
  CHECK(started_with(harness) == 0);
  CHECK(harness.asked(Op::release) == 2);
  harness.answer(2, Op::acquire, numbered(7));
  CHECK_MESSAGE(harness.asked(Op::release) == 3, "also what was granted late");
}

TEST_CASE("a signal while agreeing releases the lock") {
  Harness harness = disagreeing();
  harness.step(Signal{SIGTERM, true});
  CHECK(harness.asked(Op::release) == 3);
  CHECK_FALSE(harness.session.finished());
  harness.answer_all(3, Op::release, Released{});
  CHECK(harness.ended(Outcome::Kind::interrupted, SIGTERM));
}

TEST_CASE("a late vote while agreeing may unmask a twin") {
  Harness harness(plan_for(3));
  const Granted first{.run_id = "a", .fence = 7};
  const Granted second{.run_id = "b", .fence = 4};
  harness.answers(Op::acquire, {first, second, first});
  harness.answers(Op::commit, {Committed{}, Committed{}});
  CHECK(started_with(harness) == 0);
  CHECK(harness.reported<report::SameServer>() != nullptr);
  harness.answer_all(3, Op::release, Released{});
  CHECK(harness.ended(Outcome::Kind::misconfigured));
}

TEST_CASE("servers that store no number count as ones that do not answer, and are named") {
  Plan plan = plan_for(1);
  plan.patience.server_wait = 2s;
  Harness harness(plan);
  for (int turn = 0; turn < 1000 && !harness.session.finished(); ++turn) {
    const std::vector<Ask> asks = harness.asks(Op::acquire);
    harness.forget<Ask>();
    for (const Ask& ask : asks) harness.step(Reply{ask, harness.now, numbered(0)});
    for (int round = 0; round < 5; ++round) REQUIRE(harness.answer(0, Op::commit, NotCommitted{0}));
    REQUIRE(harness.answer(0, Op::release, Released{}));  // that ends the attempt
    harness.pass_pause();
  }
  CHECK(started_with(harness) == 0);
  CHECK(harness.ended(Outcome::Kind::unavailable));
  CHECK(harness.now < Harness::start + 2100ms);
  const auto& report = harness.told<report::Unavailable>();
  REQUIRE(report.complaints.size() == 1);
  CHECK(std::holds_alternative<NotCommitted>(report.complaints[0].answer));
}

TEST_CASE("readers that raise the numbers one after the other do not end the agreement") {
  Harness harness = disagreeing();
  for (std::uint64_t t = 8; t < 40; ++t) {
    REQUIRE(committing(harness, 0) == t);
    REQUIRE(committing(harness, 1) == t);
    harness.answers(Op::commit, {NotCommitted{t}, NotCommitted{t}, no_answer()});
  }
  harness.answers(Op::commit, {Committed{}, Committed{}});
  CHECK(started_with(harness) == 40);
}

TEST_CASE("-w bounds the agreement, too, and then nobody else has the lock") {
  for (const bool held_before : {false, true}) {
    CAPTURE(held_before);
    Harness harness(plan_for(3, 500ms));
    if (held_before) {
      harness.answer_all(3, Op::acquire, held_by("other", 10ms));
      harness.pass_pause();
    }
    harness.answers(Op::acquire, {numbered(7), numbered(4)});
    harness.advance(Harness::start + 500ms - harness.now);
    CHECK(harness.asked(Op::release) == 3);
    // Those that have answered are waited for, though not for long.
    harness.advance(199ms);
    REQUIRE_FALSE(harness.session.finished());
    harness.advance(1ms);
    CHECK(harness.ended(Outcome::Kind::unavailable));
  }
}

TEST_CASE("a number far ahead of the clocks of a quorum is not committed to the others") {
  const auto by_clock = [](std::uint64_t fence, std::uint64_t clock) {
    return Granted{.run_id = {}, .fence = fence, .clock = std::chrono::milliseconds(clock)};
  };
  constexpr std::uint64_t now = 1'800'000'000'000;
  constexpr std::uint64_t last = (1ULL << 53U) - 1;
  Harness harness(plan_for(3));
  // The one that has it cannot vouch for it with a clock of its own.
  harness.answers(Op::acquire, {by_clock(last, last), by_clock(now, now)});
  CHECK(committing(harness, 1) == now + 1);
  // Nor is it learned from what it says later.
  harness.answers(Op::commit, {NotCommitted{last}, NotCommitted{now + 1}});
  CHECK(committing(harness, 1) == now + 2);
  harness.answer(2, Op::commit, no_answer());  // to the first one
  harness.answer(1, Op::commit, Committed{});
  harness.answer(2, Op::commit, Committed{});
  CHECK(started_with(harness) == now + 2);
}

TEST_CASE("a number that a wrong clock may have given is committed as any other") {
  Harness harness(plan_for(3), {numbered(9'999'999'999'999), numbered(4)});
  CHECK(committing(harness, 1) == 10'000'000'000'000);
}
