// SPDX-License-Identifier: MIT
//
// --newest and --build: a newer run makes ours needless. --replace: the holder loses its lock.
#include "lock_harness.h"

using namespace redlock::lock;
using namespace redlock::lock::testing;

namespace {

const std::string kHolder(40, 'a');
const std::string kStranger(40, 'b');

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

}  // namespace

TEST_CASE("newest: a vote counts before the job starts, and not after it") {
  const Harness before(plan_for(3), {Granted{}, superseded(), Granted{}});
  CHECK(before.count<Spawn>() == 0);
  CHECK(before.reported<report::Superseded>() != nullptr);

  Harness after(plan_for(3), {Granted{}, Granted{}});
  REQUIRE(after.count<Spawn>() == 1);
  after.step(JobStarted{});
  after.answer(2, Op::acquire, superseded());
  CHECK(after.reported<report::Superseded>() == nullptr);
  CHECK(after.kills().empty());
}

TEST_CASE("newest: a waiter that leaves the queue says whether it has got the lock") {
  const auto leaves = [](Harness& harness) {
    REQUIRE(harness.asked(Op::leave_queue) == 3);
    return details<op::LeaveQueue>(harness.asks(Op::leave_queue)[0]).has_lock;
  };
  Harness winner = waiting_for(in_line(held_by(kHolder), 5), 30s);
  winner.next_round_all(Granted{});
  winner.step(JobStarted{});
  CHECK(leaves(winner));

  Harness loser = waiting_for(in_line(held_by(kHolder), 5), 30s);
  loser.advance(31s);
  CHECK_FALSE(leaves(loser));
}

TEST_CASE("build: a successful run is marked for 30 days, and a failed one is not") {
  Plan plan = plan_for(3);
  plan.build = 4711;
  Harness harness = running(plan);
  SUBCASE("success") {
    harness.step(JobExited{0});
    REQUIRE(harness.asked(Op::mark) == 3);
    CHECK(details<op::Mark>(harness.asks(Op::mark)[0]).life == std::chrono::hours(30 * 24));
    harness.answer_all(3, Op::mark, Unreachable{});
    harness.answer_all(3, Op::release, Released{});
    harness.advance(10s);
    CHECK(harness.told<report::MarkUnconfirmed>().mark == Mark::build);
  }
  SUBCASE("failure") {
    harness.step(JobExited{1});
    CHECK(harness.asked(Op::mark) == 0);
  }
  SUBCASE("the lock was lost: the number stays, it was deployed") {
    harness.step(JobExited{0});
    harness.answer_all(3, Op::mark, Marked{});
    harness.answer_all(3, Op::release, Missing{});
    CHECK(harness.ended(Outcome::Kind::lost));
    CHECK(harness.asked(Op::unmark) == 0);
  }
}

TEST_CASE("build: the report names both, and whose run it was") {
  Plan plan = plan_for(1);
  plan.build = 4711;
  Harness harness(plan);
  harness.answer(0, Op::acquire, superseded(4713));
  const auto& report = harness.told<report::Superseded>();
  CHECK(report.build == 4711);
  CHECK(report.by.build == 4713);
  CHECK(report.by.ago == 12min);
  CHECK(report.by.who == "them");
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
  Harness mixed(plan, {held_by(kHolder), held_by(kHolder), held_by(kStranger)});
  mixed.advance(200ms);
  const std::optional<Replace> order = replacing(mixed);
  REQUIRE(order);
  for (const auto& [server, refusal] : order->refusals) CHECK(refusal.blocker == kHolder);
}

TEST_CASE("replace: the log says so when the holder has certainly lost its lock") {
  struct Row {
    std::string holder;
    std::vector<Answer> answers;
    std::vector<std::size_t> lines;  ///< after each answer
    std::string named;               ///< by the last line
  };
  const Revoked before{.before = true};  // by another run, which logs it if it changed a server
  const Revoked readers{{"one", "two"}};
  const std::vector<Row> rows = {
      {kHolder, {Revoked{}, Missing{}, Revoked{}}, {0, 0, 1}, kHolder},
      {kHolder, {before, before, before}, {0, 0, 0}, ""},
      {kHolder, {before, before, Revoked{}}, {0, 0, 1}, kHolder},
      {kHolder, {Revoked{}, before, Revoked{}}, {0, 1, 1}, kHolder},
      {"shared:" + kHolder, {readers, readers, readers}, {0, 2, 2}, "two"},
  };
  for (const Row& row : rows) {
    CAPTURE(&row - rows.data());
    Harness harness = replacer(held_by(row.holder));
    for (ServerIndex server = 0; server < 3; ++server) {
      // The host has sent the order to all servers.
      const Ask ask{.server = server,
                    .attempt = kNoAttempt,
                    .operation = op::Revoke{"revoked:" + kHolder + " {}"}};
      harness.step(Reply{ask, harness.now, row.answers[server]});
      CHECK(logged(harness).size() == row.lines[server]);
    }
    for (const Log& line : logged(harness)) CHECK(line.event == Log::Event::revoked);
    if (!row.named.empty()) CHECK(logged(harness).back().other == row.named);
  }
}
