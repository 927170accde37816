// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

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

TEST_CASE("a new installation, all of it fresh, grants immediately when every server does") {
  for (const std::size_t servers : {1U, 3U, 4U}) {
    Harness harness(plan_for(servers));
    for (ServerIndex server = 0; server < servers; ++server) {
      CHECK(harness.count<Spawn>() == 0);
      harness.answer(server, Op::acquire, fresh_grant("r" + std::to_string(server)));
    }
    CHECK(harness.count<Spawn>() == 1);
  }
}

TEST_CASE("a fresh server is no witness: two of three restarted empty grant nothing") {
  Harness harness(plan_for(3));
  harness.answers(Op::acquire, {fresh_grant("a"), fresh_grant("b")});
  CHECK(harness.count<Spawn>() == 0);
  SUBCASE("the third is down") {
    harness.answer(2, Op::acquire, no_answer(false));
  }
  SUBCASE("the third refuses") {
    harness.answer(2, Op::acquire, held_by("other"));
  }
  SUBCASE("the third knows an earlier life") {
    harness.answer(2, Op::acquire, fresh_grant("c", false));
  }
  CHECK(harness.count<Spawn>() == 0);
  CHECK(harness.asked(Op::release) >= 2);
}

TEST_CASE("a vote that has expired is no vote and no witness") {
  Plan plan = plan_for(3);
  plan.timing.once = 50min;  // all answers are waited for
  SUBCASE("too few votes") {
    Harness harness(plan);
    harness.answer(0, Op::acquire, grant_of("a"));
    harness.now += 31s;
    harness.answer(1, Op::acquire, grant_of("b"));
    harness.answer(2, Op::acquire, held_by("other"));
    CHECK(harness.count<Spawn>() == 0);
    CHECK(harness.asked(Op::release) == 2);
  }
  SUBCASE("too few witnesses") {
    Harness harness(plan);
    harness.answer(0, Op::acquire, grant_of("a"));
    harness.now += 31s;
    harness.answer(1, Op::acquire, grant_of("b"));
    harness.answer(2, Op::acquire, fresh_grant("c", false));
    CHECK(harness.count<Spawn>() == 0);
    CHECK(harness.asked(Op::release) == 3);
  }
  SUBCASE("a new installation") {
    Harness harness(plan);
    harness.answer(0, Op::acquire, fresh_grant("a"));
    harness.now += 31s;
    harness.answer(1, Op::acquire, fresh_grant("b"));
    harness.answer(2, Op::acquire, fresh_grant("c"));
    CHECK(harness.count<Spawn>() == 0);
  }
}

TEST_CASE("a quorum of trusted servers is enough, whoever else is fresh") {
  Harness harness(plan_for(5));
  harness.answers(Op::acquire,
                  {fresh_grant("a", false), fresh_grant("b", false), grant_of("c"), grant_of("d")});
  CHECK(harness.count<Spawn>() == 0);
  harness.answer(4, Op::acquire, grant_of("e"));
  CHECK(harness.count<Spawn>() == 1);
}

TEST_CASE("of an even number of servers, half of them are not enough to vouch") {
  // Three servers became four. The holder has two of the three, and one of these was restarted
  // empty.
  Harness harness(plan_for(4));
  harness.answers(Op::acquire, {fresh_grant("a"), held_by("other"), grant_of("c"), grant_of("d")});
  CHECK(harness.count<Spawn>() == 0);
  CHECK(harness.asked(Op::release) >= 3);
}

TEST_CASE("two servers: both must vouch, though neither knows of an earlier life") {
  // There were three, or will be. The holder has one of these two, which was restarted empty.
  Harness harness(plan_for(2));
  harness.answer(0, Op::acquire, fresh_grant("a"));
  SUBCASE("the other is older") {
    harness.answer(1, Op::acquire, Granted{.run_id = "b", .may_be_new = true});
  }
  SUBCASE("the other is fresh, too") {
    harness.answer(1, Op::acquire, fresh_grant("b"));
  }
  CHECK(harness.count<Spawn>() == 0);
  CHECK(harness.asked(Op::release) >= 2);
}

TEST_CASE("servers that are not trusted yet are borne like ones that do not answer") {
  Plan plan = plan_for(1);
  plan.patience.server_wait = 3s;
  Harness harness(plan);
  while (!harness.session.finished() && harness.now < Harness::start + 10s) {
    harness.answer(0, Op::acquire, fresh_grant("a", false));
    harness.answer(0, Op::release, Released{});
    harness.now = std::max(harness.now + 1ms, harness.session.deadline());
    harness.step(Tick{});
  }
  CHECK(harness.ended(Outcome::Kind::unavailable));
  CHECK(harness.now < Harness::start + 3100ms);
  const auto* report = harness.reported<report::Unavailable>();
  REQUIRE(report != nullptr);
  REQUIRE(report->complaints.size() == 1);
  CHECK(std::holds_alternative<Granted>(report->complaints[0].answer));
}

TEST_CASE("a twin that answers after the win has no vote") {
  Harness harness(plan_for(3));
  harness.answers(Op::acquire, {grant_of("a"), grant_of("b")});
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

TEST_CASE("servers that do not say who they are cannot be told apart") {
  Harness harness(plan_for(3));
  harness.answers(Op::acquire, {Granted{}, Granted{}});
  CHECK(harness.count<Spawn>() == 1);
}
