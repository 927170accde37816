// SPDX-License-Identifier: MIT
#include "lock_harness.h"

using namespace redlock::lock;
using namespace redlock::lock::testing;

namespace {

Granted grant_of(std::string run_id) {
  return {.run_id = std::move(run_id)};
}

/// From a server that was started only just now.
Granted fresh_grant(std::string run_id, bool may_be_new = true) {
  return {.run_id = std::move(run_id), .distrusted_for = 40s, .may_be_new = may_be_new};
}

}  // namespace

TEST_CASE("a fresh server is no witness, unless all are fresh: a new installation") {
  struct Row {
    std::vector<Answer> answers;
    bool wins;  ///< with the last answer, and not before it
  };
  const std::vector<Row> rows = {
      {{fresh_grant("a")}, true},
      {{fresh_grant("a"), fresh_grant("b"), fresh_grant("c")}, true},
      {{fresh_grant("a"), fresh_grant("b"), fresh_grant("c"), fresh_grant("d")}, true},
      // Two of three were restarted empty; the third is down, refuses, or knows an earlier life.
      {{fresh_grant("a"), fresh_grant("b"), no_answer(false)}, false},
      {{fresh_grant("a"), fresh_grant("b"), held_by("other")}, false},
      {{fresh_grant("a"), fresh_grant("b"), fresh_grant("c", false)}, false},
      // A quorum of trusted servers is enough, whoever else is fresh.
      {{fresh_grant("a", false), fresh_grant("b", false), grant_of("c"), grant_of("d"),
        grant_of("e")},
       true},
      // Three servers became four. The holder has two of the three, one of which was restarted
      // empty.
      {{fresh_grant("a"), held_by("other"), grant_of("c"), grant_of("d")}, false},
      // There were three servers, or will be. The holder has one of these two, which was restarted
      // empty. Neither knows of an earlier life.
      {{fresh_grant("a"), Granted{.run_id = "b", .may_be_new = true}}, false},
      {{fresh_grant("a"), fresh_grant("b")}, false},
  };
  for (const Row& row : rows) {
    CAPTURE(&row - rows.data());
    Harness harness(plan_for(row.answers.size()));
    std::size_t grants = 0;
    for (ServerIndex server = 0; server < row.answers.size(); ++server) {
      CHECK(harness.count<Spawn>() == 0);
      harness.answer(server, Op::acquire, row.answers[server]);
      grants += std::holds_alternative<Granted>(row.answers[server]) ? 1 : 0;
    }
    CHECK(harness.count<Spawn>() == (row.wins ? 1 : 0));
    if (!row.wins) CHECK(harness.asked(Op::release) >= grants);
  }
}

TEST_CASE("a vote that has expired is no vote and no witness") {
  struct Row {
    Granted first;  // it has expired when the others come
    std::vector<Answer> others;
    std::size_t released;
  };
  const std::vector<Row> rows = {
      {grant_of("a"), {grant_of("b"), held_by("other")}, 2},         // too few votes
      {grant_of("a"), {grant_of("b"), fresh_grant("c", false)}, 3},  // too few witnesses
      {fresh_grant("a"), {fresh_grant("b"), fresh_grant("c")}, 3},   // a new installation
  };
  for (const Row& row : rows) {
    CAPTURE(&row - rows.data());
    Plan plan = plan_for(3);
    plan.timing.once = 50min;  // all answers are waited for
    Harness harness(plan);
    harness.answer(0, Op::acquire, row.first);
    harness.now += 31s;
    harness.answer(1, Op::acquire, row.others[0]);
    harness.answer(2, Op::acquire, row.others[1]);
    CHECK(harness.count<Spawn>() == 0);
    CHECK(harness.asked(Op::release) == row.released);
  }
}

TEST_CASE("a twin that answers after the win has no vote") {
  Harness harness(plan_for(3), {grant_of("a"), grant_of("b")});
  harness.step(JobStarted{});
  harness.answer(2, Op::acquire, grant_of("a"));
  CHECK(harness.reported<report::SameServer>() != nullptr);
  harness.effects.clear();
  harness.advance(10s);
  harness.answer(0, Op::renew, Renewed{});
  harness.answer(2, Op::renew, Renewed{});
  // Renewed by one server under two names: the lease still ends with server 1's vote.
  harness.advance(Harness::start + 30s - 302ms - 5600ms - harness.now);
  CHECK(harness.kills().size() == 2);
}
