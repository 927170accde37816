// SPDX-License-Identifier: MIT
//
// --once: after a successful run others are not needed for a time.
#include "lock_harness.h"

using namespace redlock::lock;
using namespace redlock::lock::testing;

namespace {

constexpr auto kNoon = std::chrono::milliseconds(1'800'000'000'000);

Plan once_plan(std::size_t servers, std::optional<Duration> wait = std::nullopt) {
  Plan plan = plan_for(servers, wait);
  plan.timing.once = 50min;
  return plan;
}

Granted vote(std::chrono::milliseconds clock = kNoon, std::uint64_t fence = 0) {
  return {.run_id = {}, .fence = fence, .clock = clock};
}

Done done(std::chrono::milliseconds age = 5min, std::string who = "{}") {
  return {.age = age, .left = 45min, .who = std::move(who)};
}

}  // namespace

TEST_CASE("once: the servers are asked for it, and otherwise are not") {
  CHECK(details<op::Acquire>(Harness(once_plan(1)).asks(Op::acquire).at(0)).once == 50min);
  CHECK(details<op::Acquire>(Harness(plan_for(1)).asks(Op::acquire).at(0)).once ==
        Duration::zero());
}

TEST_CASE("once: a quorum of votes waits for the word of the third server, if that answers") {
  Harness harness(once_plan(3), {vote(), vote()});
  CHECK(harness.count<Spawn>() == 0);
  SUBCASE("it knows of a run") {
    harness.answer(2, Op::acquire, done());
    CHECK(harness.count<Spawn>() == 0);
    CHECK(harness.asked(Op::mark) == 2);
  }
  SUBCASE("it does not answer") {
    harness.answer(2, Op::acquire, no_answer());
    CHECK(harness.count<Spawn>() == 1);
  }
}

TEST_CASE("once: a server that granted gets a copy of the mark, by its own clock") {
  Harness harness(once_plan(3));
  harness.answer(2, Op::acquire, done(5min, "them"));
  harness.answer(0, Op::acquire, vote(kNoon));
  CHECK(harness.asked(Op::release) == 0);  // the one that has not answered may lack the mark
  harness.answer(1, Op::acquire, held_by("other"));
  CHECK(harness.told<report::Skipped>().done.who == "them");
  const std::vector<Ask> copies = harness.asks(Op::mark);
  REQUIRE(copies.size() == 1);
  CHECK(copies[0].server == 0);
  const auto& copy = details<op::Mark>(copies[0]);
  CHECK(copy.who == "them");
  CHECK(copy.life == 50min);
  CHECK(copy.began <= kNoon - 5min);
  CHECK(copy.began >= kNoon - 5min - 2ms);
}

TEST_CASE("once: of several runs the latest is named, and copied, whichever server knows of it") {
  const Done recent = done(5min, "new");
  const Done old = done(9min, "old");
  for (const bool first : {true, false}) {
    CAPTURE(first);
    Harness harness(once_plan(3), {first ? recent : old, first ? old : recent, vote()});
    CHECK(harness.told<report::Skipped>().done.who == "new");
    REQUIRE(harness.asked(Op::mark) == 1);
    CHECK(details<op::Mark>(harness.asks(Op::mark)[0]).who == "new");
  }
}

TEST_CASE("once: a mark beats a limit, and servers that do not answer") {
  Harness limited(once_plan(3, 100ms));
  limited.answer(2, Op::acquire, done());
  limited.advance(1s);
  CHECK(limited.ended(Outcome::Kind::done));

  Harness alone(once_plan(3));
  alone.answer(2, Op::acquire, done());
  alone.answer_all(2, Op::acquire, no_answer(false));
  CHECK(alone.ended(Outcome::Kind::done));
}

TEST_CASE("once: while the fence is agreed on, a late word is heard") {
  Harness harness(once_plan(3));
  const Ask third = harness.asks(Op::acquire).at(2);
  harness.answers(Op::acquire, {vote(kNoon, 1), vote(kNoon, 2), no_answer()});
  REQUIRE(harness.asked(Op::commit) == 3);
  harness.step(Reply{third, harness.now, done()});
  harness.answer_all(2, Op::commit, Committed{});
  CHECK(harness.count<Spawn>() == 0);
  CHECK(harness.reported<report::Skipped>() != nullptr);
}

TEST_CASE("once: a successful run is marked, by every server's own clock, ahead of the release") {
  Harness harness(once_plan(3), {vote(), vote(kNoon + 1h), vote(kNoon + 2h)});
  harness.step(JobStarted{});
  harness.advance(9s);
  harness.effects.clear();
  harness.step(JobExited{0});
  const std::vector<Ask> marks = harness.asks(Op::mark);
  REQUIRE(marks.size() == 3);
  for (const Ask& each : marks) {
    const auto at_noon = kNoon + std::chrono::hours(each.server);
    const auto& mark = details<op::Mark>(each);
    CHECK(mark.began <= at_noon);
    CHECK(mark.began >= at_noon - 2ms);
    CHECK(mark.life == 50min);
    CHECK(mark.who.empty());
  }
  harness.forget<Log>();
  CHECK(std::get<Ask>(harness.effects.front()).op() == Op::mark);
  CHECK(std::get<Ask>(harness.effects.back()).op() == Op::leave);

  for (const ServerIndex server : {0U, 1U}) {
    harness.answer(server, Op::mark, Marked{});
    CHECK_FALSE(harness.session.finished());
    harness.answer(server, Op::release, Released{});
  }
  harness.advance(50ms);
  REQUIRE(harness.session.finished());
  CHECK(harness.reported<report::MarkUnconfirmed>() == nullptr);
}

TEST_CASE("once: a mark that does not get through is tried again, then told") {
  Harness harness = running(once_plan(1));
  harness.step(JobExited{0});
  harness.answer(0, Op::mark, no_answer(false));
  harness.answer(0, Op::release, Released{});
  CHECK_FALSE(harness.session.finished());
  harness.advance(100ms);
  SUBCASE("it does in the end") {
    harness.answer(0, Op::mark, Marked{});
    REQUIRE(harness.session.finished());
    CHECK(harness.reported<report::MarkUnconfirmed>() == nullptr);
  }
  SUBCASE("it does not") {
    harness.advance(5s);
    CHECK(harness.ended(Outcome::Kind::job_ended));
    CHECK(harness.reported<report::MarkUnconfirmed>() != nullptr);
  }
}

TEST_CASE("once: what was not started, failed, was stopped or lost is not marked") {
  Plan plan = once_plan(1);
  plan.max_runtime = 5s;
  Harness never(plan);
  never.answer(0, Op::acquire, vote());
  never.step(JobFailedToStart{127});
  CHECK(never.asked(Op::release) > 0);
  CHECK(never.asked(Op::mark) == 0);
  for (const Duration length : {0s, 5s, 40s}) {  // at 5 s it is stopped; nobody renews its lock
    CAPTURE(length.count());
    Harness harness = running(plan, length);
    harness.end_job(length == 0s ? 1 : 0);
    CHECK(harness.asked(Op::release) > 0);
    CHECK(harness.asked(Op::mark) == 0);
  }
}

TEST_CASE("once: a server that did not answer the acquire is marked, too, by the run's age") {
  Harness harness(once_plan(3), {vote(), vote(), no_answer(false)});
  harness.step(JobStarted{});
  harness.advance(7s);
  harness.step(JobExited{0});
  const auto marks = harness.asks(Op::mark);
  REQUIRE(marks.size() == 3);
  CHECK(details<op::Mark>(marks[0]).began > 0ms);
  CHECK(details<op::Mark>(marks[2]).began == 0ms);
  for (const Ask& each : marks) CHECK(details<op::Mark>(each).age == 7s);
}

TEST_CASE("once: found lost at the release, the marks are taken back") {
  Harness harness = running(once_plan(1));
  harness.step(JobExited{0});
  const Ask mark = harness.asks(Op::mark).at(0);
  harness.answer(0, Op::mark, Marked{});
  harness.answer(0, Op::release, NotMine{"other"});
  CHECK(harness.ended(Outcome::Kind::lost));
  REQUIRE(harness.asks(Op::unmark).size() == 1);
  CHECK(details<op::Unmark>(harness.asks(Op::unmark)[0]).who == details<op::Mark>(mark).who);
}
