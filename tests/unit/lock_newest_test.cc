// SPDX-License-Identifier: MIT
//
// --newest and --build: a newer run makes ours needless. --replace: the holder loses its lock.
#include <doctest/doctest.h>

#include "lock_harness.h"

using namespace redlock::lock;
using namespace redlock::lock::testing;

namespace {

const std::string kHolder(40, 'a');
const std::string kStranger(40, 'b');

Granted at_noon() {
  Granted granted;
  granted.clock = std::chrono::milliseconds(1'800'000'000'000);
  return granted;
}

Superseded superseded(std::uint64_t build = 0) {
  return {.build = build, .ago = 12min, .who = "them"};
}

std::vector<Log> logged(const Harness& harness) {
  return harness.all<Log>();
}

std::optional<Replace> replacing(const Harness& harness) {
  const std::vector<Replace> orders = harness.all<Replace>();
  return orders.empty() ? std::nullopt : std::optional(orders.front());
}

Harness replacer(const Refused& refusal) {
  Plan plan = plan_for(3);
  plan.replaces = true;
  Harness harness(plan);
  harness.answer_all(3, Op::acquire, refusal);
  return harness;
}

/// The host sent the order to all servers, and this one answers.
void answer_revoke(Harness& harness, ServerIndex server, const Answer& answer) {
  const Ask ask{.server = server,
                .attempt = kNoAttempt,
                .operation = op::Revoke{"revoked:" + kHolder + " {}"}};
  harness.step(Reply{ask, harness.now, answer});
}

}  // namespace

TEST_CASE("newest: the word of one server is enough, and votes are released") {
  Harness harness(plan_for(3));
  harness.answers(Op::acquire, {Granted{}, superseded()});
  CHECK_FALSE(harness.session.finished());  // the third one may hold our token
  harness.answer(2, Op::acquire, held_by(kHolder));
  const auto* report = harness.reported<report::Superseded>();
  REQUIRE(report != nullptr);
  CHECK(report->by.who == "them");
  CHECK(report->by.build == 0);
  CHECK(harness.asks(Op::release).size() == 1);
  REQUIRE(logged(harness).size() == 1);
  CHECK(logged(harness)[0].event == Log::Event::superseded);
  CHECK(harness.reported<report::Skipped>() == nullptr);
  harness.answer(0, Op::release, Released{});
  CHECK(harness.ended(Outcome::Kind::superseded));
}

TEST_CASE("newest: a vote counts before the job starts, and not after it") {
  Harness harness(plan_for(3));
  harness.answer(0, Op::acquire, Granted{});
  SUBCASE("before") {
    harness.answer(2, Op::acquire, superseded());
    harness.answer(1, Op::acquire, Granted{});
    CHECK(harness.count<Spawn>() == 0);
    CHECK(harness.reported<report::Superseded>() != nullptr);
  }
  SUBCASE("after") {
    harness.answer(1, Op::acquire, Granted{});
    REQUIRE(harness.count<Spawn>() == 1);
    harness.step(JobStarted{});
    harness.answer(2, Op::acquire, superseded());
    CHECK(harness.reported<report::Superseded>() == nullptr);
    CHECK(harness.kills().empty());
  }
}

TEST_CASE("newest: a waiter that leaves the queue says whether it has got the lock") {
  const auto leaves = [](Harness& harness) {
    REQUIRE(harness.asked(Op::leave_queue) == 3);
    return details<op::LeaveQueue>(harness.asks(Op::leave_queue)[0]).has_lock;
  };
  Harness winner = waiting_for(in_line(held_by(kHolder), 5), 30s);
  winner.pass_pause();
  winner.answer_all(3, Op::acquire, Granted{});
  winner.step(JobStarted{});
  CHECK(leaves(winner));

  Harness loser = waiting_for(in_line(held_by(kHolder), 5), 30s);
  loser.advance(31s);
  CHECK_FALSE(leaves(loser));
}

TEST_CASE("build: a successful run is marked for 30 days, and a failed one is not") {
  Plan plan = plan_for(3);
  plan.build = 4711;
  Harness harness(plan);
  harness.answer_all(3, Op::acquire, at_noon());
  harness.step(JobStarted{});
  SUBCASE("success") {
    harness.step(JobExited{0});
    REQUIRE(harness.asked(Op::mark) == 3);
    CHECK(details<op::Mark>(harness.asks(Op::mark)[0]).life == std::chrono::hours(30 * 24));
    harness.answer_all(3, Op::mark, Unreachable{});
    harness.answer_all(3, Op::release, Released{});
    harness.advance(10s);
    REQUIRE(harness.reported<report::MarkUnconfirmed>() != nullptr);
    CHECK(harness.reported<report::MarkUnconfirmed>()->mark == Mark::build);
  }
  SUBCASE("failure") {
    harness.step(JobExited{1});
    CHECK(harness.asked(Op::mark) == 0);
  }
  SUBCASE("the lock was lost: the number stays, it was deployed") {
    harness.step(JobExited{0});
    harness.answer_all(3, Op::mark, Marked{});
    harness.answer_all(3, Op::release, Missing{});
    CHECK(harness.session.outcome().kind == Outcome::Kind::lost);
    CHECK(harness.asked(Op::unmark) == 0);
  }
}

TEST_CASE("build: the report names both") {
  Plan plan = plan_for(1);
  plan.build = 4711;
  Harness harness(plan);
  harness.answer(0, Op::acquire, superseded(4713));
  const auto* report = harness.reported<report::Superseded>();
  REQUIRE(report != nullptr);
  CHECK(report->build == 4711);
  CHECK(report->by.build == 4713);
  CHECK(report->by.ago == 12min);
}

TEST_CASE("replace: the first holder is revoked, once") {
  Harness harness = replacer(held_by(kHolder));
  REQUIRE(replacing(harness));
  CHECK(replacing(harness)->refusals.size() == 3);  // the third answer was still missing
  harness.effects.clear();
  for (int round = 0; round < 3; ++round) {
    harness.pass_pause();
    harness.answer_all(3, Op::acquire, held_by(kStranger));
  }
  CHECK_FALSE(replacing(harness));
}

TEST_CASE("replace: only a holder that a quorum names, and that is one of redlock's") {
  CHECK_FALSE(replacing(replacer(held_by("revoked:" + kHolder + " {}"))));
  CHECK_FALSE(replacing(replacer(held_by("cooling:" + kHolder))));
  CHECK_FALSE(replacing(replacer({.blocker = "something", .ttl_left = 20s, .holder = {}})));
  CHECK_FALSE(replacing(replacer(turn_of("somebody"))));
  CHECK_FALSE(replacing(waiting_for(held_by(kHolder))));  // without it

  Harness cooling = replacer(held_by("cooling:" + kHolder));
  cooling.advance(30s);
  cooling.answer_all(3, Op::acquire, held_by(kStranger));
  CHECK(replacing(cooling));  // that one is the first holder

  Plan plan = plan_for(3);
  plan.replaces = true;
  Harness mixed(plan);
  mixed.answers(Op::acquire, {held_by(kHolder), held_by(kHolder), held_by(kStranger)});
  mixed.advance(200ms);
  const std::optional<Replace> order = replacing(mixed);
  REQUIRE(order);
  for (const auto& [server, refusal] : order->refusals) {
    CHECK(refusal.blocker == kHolder);
  }
}

TEST_CASE("replace: the log says so when the holder has certainly lost its lock") {
  Harness harness = replacer(held_by(kHolder));
  answer_revoke(harness, 0, Revoked{});
  answer_revoke(harness, 1, Missing{});
  CHECK(logged(harness).empty());
  answer_revoke(harness, 2, Revoked{});
  REQUIRE(logged(harness).size() == 1);
  CHECK(logged(harness)[0].event == Log::Event::revoked);
  CHECK(logged(harness)[0].other == kHolder);

  Harness readers = replacer(held_by("shared:" + kHolder));
  answer_revoke(readers, 0, Revoked{{"one", "two"}});
  answer_revoke(readers, 1, Revoked{{"one", "two"}});
  answer_revoke(readers, 2, Revoked{{"one", "two"}});
  REQUIRE(logged(readers).size() == 2);
  CHECK(logged(readers)[1].other == "two");
}

TEST_CASE("replace: of several runs that revoke one lock, those log it that changed a server") {
  const Revoked before{.before = true};
  Harness late = replacer(held_by(kHolder));
  for (const ServerIndex server : {0U, 1U, 2U}) answer_revoke(late, server, before);
  CHECK(logged(late).empty());

  Harness third = replacer(held_by(kHolder));
  answer_revoke(third, 0, before);
  answer_revoke(third, 1, before);
  CHECK(logged(third).empty());
  answer_revoke(third, 2, Revoked{});
  CHECK(logged(third).size() == 1);

  Harness first = replacer(held_by(kHolder));
  answer_revoke(first, 0, Revoked{});
  answer_revoke(first, 1, before);
  CHECK(logged(first).size() == 1);
  answer_revoke(first, 2, Revoked{});
  CHECK(logged(first).size() == 1);
}
