// SPDX-License-Identifier: MIT
//
// --once: after a successful run others are not needed for a time.
#include <doctest/doctest.h>

#include <csignal>

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
  Granted granted;
  granted.clock = clock;
  granted.fence = fence;
  return granted;
}

Done done(std::chrono::milliseconds age = 5min, std::string who = "{}") {
  return {.age = age, .left = 45min, .who = std::move(who)};
}

/// A quorum that tells of no run, and the job begins.
void start_first_job(Harness& harness, std::size_t servers) {
  for (ServerIndex server = 0; server < servers; ++server) {
    harness.answer(server, Op::acquire, vote(kNoon + 1h * server));
  }
  harness.step(JobStarted{});
}

}  // namespace

TEST_CASE("once: the servers are asked for it, and otherwise are not") {
  CHECK(details<op::Acquire>(Harness(once_plan(1)).asks(Op::acquire).at(0)).once == 50min);
  CHECK(details<op::Acquire>(Harness(plan_for(1)).asks(Op::acquire).at(0)).once ==
        Duration::zero());
}

TEST_CASE("once: a single server that knows of a run is believed, votes are released") {
  Harness forgotten(once_plan(3));
  forgotten.answer(0, Op::acquire, vote());
  forgotten.answer(1, Op::acquire, vote());  // a quorum, but the third may know better
  CHECK(forgotten.count<Spawn>() == 0);
  SUBCASE("it does") {
    forgotten.answer(2, Op::acquire, done());
    CHECK(forgotten.count<Spawn>() == 0);
    CHECK(forgotten.asks(Op::mark).size() == 2);
  }
  SUBCASE("it does not answer") {
    forgotten.answer(2, Op::acquire, no_answer());
    CHECK(forgotten.count<Spawn>() == 1);
  }

  Harness sooner(once_plan(3));
  sooner.answer(2, Op::acquire, done(5min, "them"));
  sooner.answer(0, Op::acquire, vote(kNoon));
  CHECK(sooner.asks(Op::release).empty());  // who has not answered may lack the mark
  sooner.answer(1, Op::acquire, held_by("other"));
  REQUIRE(sooner.reported<report::Skipped>() != nullptr);
  CHECK(sooner.reported<report::Skipped>()->done.who == "them");
  CHECK(sooner.count<Spawn>() == 0);
  REQUIRE(sooner.asks(Op::release).size() == 1);
  CHECK(sooner.asks(Op::release)[0].server == 0);

  // The server that granted lacks the mark; what the clock of the other shows is not known.
  const std::vector<Ask> copies = sooner.asks(Op::mark);
  REQUIRE(copies.size() == 1);
  CHECK(copies[0].server == 0);
  const auto& copy = details<op::Mark>(copies[0]);
  CHECK(copy.who == "them");
  CHECK(copy.life == 50min);
  CHECK(copy.began <= kNoon - 5min);
  CHECK(copy.began >= kNoon - 5min - 2ms);
  sooner.answer(0, Op::release, Released{});
  CHECK_FALSE(sooner.session.finished());
  sooner.answer(0, Op::mark, Marked{});
  CHECK(sooner.ended(Outcome::Kind::done));
}

TEST_CASE("once: of several runs the latest is named, and copied, whichever server knows of it") {
  for (const ServerIndex latest : {0U, 1U}) {
    Harness harness(once_plan(3));
    for (const ServerIndex server : {0U, 1U}) {
      harness.answer(server, Op::acquire, server == latest ? done(5min, "new") : done(9min, "old"));
    }
    harness.answer(2, Op::acquire, vote());
    REQUIRE(harness.reported<report::Skipped>() != nullptr);
    CHECK(harness.reported<report::Skipped>()->done.who == "new");
    REQUIRE(harness.asks(Op::mark).size() == 1);
    CHECK(details<op::Mark>(harness.asks(Op::mark)[0]).who == "new");
  }
}

TEST_CASE("once: a mark beats a refusal, a limit and servers that do not answer") {
  SUBCASE("the others refuse") {
    Harness harness(once_plan(3, Duration::zero()));
    harness.answers(Op::acquire, {held_by("T"), held_by("T")});
    if (!harness.session.finished()) harness.answer(2, Op::acquire, done());
  }
  SUBCASE("the limit comes first") {
    Harness harness(once_plan(3, Duration(100ms)));
    harness.answer(2, Op::acquire, done());
    harness.advance(1s);
    CHECK(harness.ended(Outcome::Kind::done));
  }
  SUBCASE("nobody else is there") {
    Harness harness(once_plan(3));
    harness.answer(2, Op::acquire, done());
    harness.answer(0, Op::acquire, no_answer(false));
    harness.answer(1, Op::acquire, no_answer(false));
    CHECK(harness.ended(Outcome::Kind::done));
  }
}

TEST_CASE("once: while the fence is agreed on, a late word is heard") {
  Harness harness(once_plan(3));
  const Ask third = harness.asks(Op::acquire).at(2);
  harness.answers(Op::acquire, {vote(kNoon, 1), vote(kNoon, 2), no_answer()});
  REQUIRE(harness.asked(Op::commit) == 3);
  harness.step(Reply{third, harness.now, done()});
  for (const ServerIndex server : {0U, 1U}) harness.answer(server, Op::commit, Committed{});
  CHECK(harness.count<Spawn>() == 0);
  CHECK(harness.reported<report::Skipped>() != nullptr);
}

TEST_CASE("once: a successful run is marked, by every server's own clock, ahead of the release") {
  Harness harness(once_plan(3));
  start_first_job(harness, 3);
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
  Harness harness(once_plan(1));
  start_first_job(harness, 1);
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
    REQUIRE(harness.session.finished());
    CHECK(harness.reported<report::MarkUnconfirmed>() != nullptr);
    CHECK(harness.session.outcome().number == 0);
  }
}

TEST_CASE("once: what failed, was stopped or lost is not marked") {
  Plan plan = once_plan(1);
  plan.max_runtime = 5s;
  Harness harness(plan);
  SUBCASE("failed") {
    start_first_job(harness, 1);
    harness.step(JobExited{1});
  }
  SUBCASE("not started") {
    harness.answer(0, Op::acquire, vote());
    harness.step(JobFailedToStart{127});
  }
  SUBCASE("stopped by --max-runtime") {
    start_first_job(harness, 1);
    harness.advance(5s);
    harness.step(JobExited{0});
    harness.step(JobTreeGone{});
  }
  SUBCASE("could not be renewed") {
    start_first_job(harness, 1);
    harness.advance(40s);
    harness.step(JobExited{0});
    harness.step(JobTreeGone{});
  }
  CHECK(harness.asked(Op::release) > 0);
  CHECK(harness.asked(Op::mark) == 0);
}

TEST_CASE("once: a server that did not answer the acquire is marked, too, by the run's age") {
  Harness harness(once_plan(3));
  harness.answers(Op::acquire, {vote(), vote(), no_answer(false)});
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
  Harness harness(once_plan(1));
  start_first_job(harness, 1);
  harness.step(JobExited{0});
  const Ask mark = harness.asks(Op::mark).at(0);
  harness.answer(0, Op::mark, Marked{});
  harness.answer(0, Op::release, NotMine{"other"});
  CHECK(harness.ended(Outcome::Kind::lost));
  REQUIRE(harness.asks(Op::unmark).size() == 1);
  CHECK(details<op::Unmark>(harness.asks(Op::unmark)[0]).who == details<op::Mark>(mark).who);
}
