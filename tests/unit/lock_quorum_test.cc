// SPDX-License-Identifier: MIT
#include "lock_harness.h"

using namespace redlock::lock;
using namespace redlock::lock::testing;

TEST_CASE("a quorum is a majority of the configured servers") {
  CHECK(quorum(1) == 1);
  CHECK(quorum(2) == 2);
  CHECK(quorum(3) == 2);
  CHECK(quorum(4) == 3);
  CHECK(quorum(5) == 3);
  CHECK(blocking_minority(1) == 1);
  CHECK(blocking_minority(4) == 2);
  CHECK(blocking_minority(5) == 3);
}

TEST_CASE("validity is the quorum-th largest expiry") {
  const auto at = [](int s) { return Instant(std::chrono::seconds(s)); };
  const auto quorum_th = [&](std::vector<int> seconds) { return quorum_expiry(seconds, at); };
  CHECK(quorum_th({5}) == at(5));
  CHECK(quorum_th({1, 9, 5}) == at(5));
  CHECK(quorum_th({0, 9, 5, 7, 0}) == at(5));
  CHECK(quorum_th({4, 3, 2, 1}) == at(2));
}

TEST_CASE("one permanently wrong server of three does not stand in the way, two do") {
  Harness harness(plan_for(3));
  harness.answer(0, Op::acquire, no_answer(false, true));
  CHECK_FALSE(harness.session.finished());
  harness.answer(1, Op::acquire, no_answer(false, true));
  harness.answer(2, Op::acquire, Granted{});
  CHECK(harness.asked(Op::release) == 1);
  harness.answer(2, Op::release, Released{});
  CHECK(harness.ended(Outcome::Kind::unavailable));
}

TEST_CASE("a repaired server does not outvote the loss of the others") {
  Harness harness = running(plan_for(3), 10s);
  harness.answer(0, Op::renew, Missing{});
  harness.answer(0, Op::repair, Granted{});
  harness.answer(1, Op::renew, Missing{});
  // 0 is back but has not been renewed, 1 has lost it: only 2 surely holds.
  CHECK(harness.asked(Op::repair) == 0);
}

TEST_CASE("a quorum that renews is enough: a dead minority causes no haste") {
  Harness harness = running(plan_for(3), 10s);
  harness.answers(Op::renew, {Renewed{}, Renewed{}, no_answer(false)});
  CHECK(harness.reported<report::RenewalFailing>() == nullptr);
  harness.effects.clear();
  harness.advance(9s);
  CHECK(harness.asked(Op::renew) == 0);
}

TEST_CASE("validity follows the quorum, not the last round") {
  Harness harness = running(plan_for(3), 10s);
  // One server renews, two stay silent: the lease still ends with the older of the needed votes.
  harness.answer(0, Op::renew, Renewed{});
  harness.advance(Harness::start + 30s - 302ms - 5600ms - harness.now);
  CHECK(harness.kills() == std::vector<int>{SIGTERM, SIGCONT});
}

TEST_CASE("a server that had a long lock, and does not confirm its release, is named") {
  for (const bool had : {true, false}) {
    Plan plan = plan_for(3);
    plan.timing.ttl = 1h;
    Harness harness(plan);
    harness.answer(2, Op::acquire, had ? Answer(Granted{}) : Answer(held_by("other")));
    harness.answer_all(2, Op::acquire, Granted{});
    harness.step(JobStarted{});
    harness.step(JobExited{0});
    harness.answer(2, Op::release, Unreachable{});
    harness.answer_all(2, Op::release, Released{});
    harness.advance(plan.server_timeout);
    REQUIRE(harness.session.finished());
    const auto* unconfirmed = harness.reported<report::ReleaseUnconfirmed>();
    REQUIRE((unconfirmed != nullptr) == had);
    if (!had) continue;
    CHECK(unconfirmed->free);
    REQUIRE(unconfirmed->complaints.size() == 1);
    CHECK(unconfirmed->complaints[0].server == 2);
    CHECK(unconfirmed->stays_for > 59min);
  }
}

TEST_CASE("a release that failed is asked for once more, and not again before that fails, too") {
  Harness harness = running(plan_for(3));
  harness.step(JobExited{0});
  for (const ServerIndex server : {0U, 1U}) {
    harness.answer(server, Op::release, no_answer(false));
    harness.advance(150ms);
    const std::vector<Ask> asks = harness.asks(Op::release);
    CHECK(std::ranges::count(asks, 0U, &Ask::server) == 1);
  }
}

TEST_CASE("a late vote after the win is used") {
  Harness harness(plan_for(3), {Granted{}, Granted{}});
  harness.step(JobStarted{});
  SUBCASE("before the renewal") {
    harness.answer(2, Op::acquire, Granted{});
  }
  harness.advance(10s);
  SUBCASE("while the renewal is under way, of which it says nothing") {
    harness.answer(2, Op::acquire, Granted{});
  }
  // 0 loses the key; 1 and the late 2 are a quorum, so it is repaired.
  harness.answers(Op::renew, {Missing{}, Renewed{}});
  CHECK(harness.reported<report::RenewalFailing>() == nullptr);
  harness.answer(2, Op::renew, Renewed{});
  CHECK(harness.asked(Op::repair) == 1);
  CHECK(harness.kills().empty());
}

TEST_CASE("\"not mine\" takes back what that server had promised") {
  Harness harness = running(plan_for(3), 10s);
  harness.answers(Op::renew, {Renewed{}, Renewed{}});
  harness.advance(10s);
  harness.answer(0, Op::renew, NotMine{"x"});
  // Left: server 1 until 40 s, server 2 (silent since the start) until 30 s.
  CHECK(harness.only_after<Kill>(Harness::start + 30s - 302ms - 5600ms - harness.now) == 1);
  CHECK(harness.kills() == std::vector<int>{SIGTERM, SIGCONT});
}

TEST_CASE("a server is repaired as soon as the others have vouched, in whatever order") {
  Harness harness = running(plan_for(3), 10s);
  harness.answers(Op::renew, {Missing{}, Renewed{}, Renewed{}});
  harness.answer(0, Op::repair, Granted{});
  // Right after that, server 1 is restarted empty; its "missing" is the first answer to come.
  harness.effects.clear();
  harness.advance(10s);
  harness.answer(1, Op::renew, Missing{});
  CHECK(harness.kills().empty());
  CHECK(harness.asked(Op::repair) == 0);
  harness.answer(0, Op::renew, Renewed{});
  CHECK(harness.asked(Op::repair) == 0);
  harness.answer(2, Op::renew, Renewed{});
  CHECK(harness.asked(Op::repair) == 1);
  CHECK(harness.kills().empty());
}

TEST_CASE("a lock that two of three servers have deleted is not put back on their older words") {
  Harness harness = running(plan_for(3), 10s);
  harness.answer_all(3, Op::renew, Renewed{});
  harness.advance(1s);
  harness.step(Notice{});
  // The forced release did not reach the third server. The answer of the second is late.
  harness.answer(2, Op::renew, Renewed{});
  harness.answer(0, Op::renew, Missing{});
  CHECK(harness.asked(Op::repair) == 0);
  CHECK(harness.kills().empty());
  harness.answer(1, Op::renew, Missing{});
  CHECK(harness.asked(Op::repair) == 0);
  CHECK(harness.kills() == std::vector<int>{SIGTERM, SIGCONT});
}

TEST_CASE("renewals of two rounds are no quorum for a repair") {
  Harness harness = running(plan_for(3), 10s);
  harness.answer(1, Op::renew, Renewed{});
  harness.effects.clear();
  harness.advance(1s);
  harness.step(Notice{});
  harness.answer(2, Op::renew, Renewed{});
  harness.answer(0, Op::renew, Missing{});
  CHECK(harness.asked(Op::repair) == 0);
  harness.answer(1, Op::renew, Renewed{});
  CHECK(harness.asked(Op::repair) == 1);
}

TEST_CASE("a server that refuses a repair, as the lock was deleted there by force, has lost it") {
  Harness harness = running(plan_for(3), 10s);
  harness.answer(0, Op::renew, Renewed{});
  harness.answer(2, Op::renew, Renewed{});
  harness.answer(1, Op::renew, Missing{});
  REQUIRE(harness.answer(1, Op::repair, held_by("revoked:T", 0ms)));
  CHECK(harness.kills().empty());
  harness.advance(10s);
  CHECK(harness.asked(Op::repair) == 0);
  harness.answer(0, Op::renew, Missing{});
  CHECK(harness.kills() == std::vector<int>{SIGTERM, SIGCONT});
}
