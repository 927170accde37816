// SPDX-License-Identifier: MIT
//
// Messages to the holder: when it subscribes to them, and how they change its renewals.
#include "lock/value.h"
#include "lock_harness.h"

using namespace redlock::lock;
using namespace redlock::lock::testing;

namespace {

/// A job that runs on three servers, and hears after 1 s that something has happened to its lock.
/// The next regular renewal is due 10 s after the start.
Harness told_holder() {
  Harness harness = running(plan_for(3), 1s);
  harness.step(Notice{});
  return harness;
}

}  // namespace

TEST_CASE("told: a value's parts") {
  CHECK(read_value("abc").kind == Value::Kind::token);
  CHECK(read_value("abc").token == "abc");
  CHECK(read_value("cooling:abc").kind == Value::Kind::cooling);
  CHECK(read_value("cooling:abc").token == "abc");
  const Value plain = read_value("revoked:abc");
  CHECK((plain.kind == Value::Kind::revoked && plain.token == "abc" && plain.note.empty()));
  const Value noted = read_value("revoked:abc {\"host\": \"h\"}");
  CHECK((noted.kind == Value::Kind::revoked && noted.token == "abc"));
  CHECK(noted.note == "{\"host\": \"h\"}");
  for (const char* foreign : {"revoked:", "revoked: abc", "revoked:\tabc", "Revoked:abc", ""}) {
    CAPTURE(foreign);
    CHECK(read_value(foreign).kind == Value::Kind::token);
    CHECK(read_value(foreign).token == foreign);
  }
}

TEST_CASE("told: a stopped job is not listened for") {
  Plan plan = plan_for(3);
  plan.max_runtime = 100ms;
  Harness harness = running(plan, 3s);
  CHECK(harness.count<Subscribe>() == 0);
}

TEST_CASE("told: word alone decides nothing") {
  Harness harness = told_holder();
  CHECK(harness.kills().empty());
  harness.answer_all(3, Op::renew, Renewed{});
  CHECK(harness.kills().empty());
  CHECK(harness.session.deadline() >= harness.now + 9s);
}

TEST_CASE("told: a revoked lock leaves time to stop the job, also with a server down") {
  for (const bool ours : {true, false}) {
    CAPTURE(ours);
    Harness harness(plan_for(3));
    harness.answer(2, Op::acquire, no_answer(false));
    harness.answer_all(2, Op::acquire, Granted{});
    harness.step(JobStarted{});
    harness.advance(1s);
    harness.step(Notice{});
    harness.answer(2, Op::renew, no_answer(false));
    harness.answer(0, Op::renew, NotMine{"revoked:t {}", ours});
    // Another's lock on one of two servers: somebody may have got a quorum.
    CHECK(harness.kills() == (ours ? std::vector<int>{} : std::vector{9}));
    harness.answer(1, Op::renew, NotMine{"revoked:t {}", ours});
    if (!ours) continue;
    CHECK(harness.kills() == std::vector{15, 18});
    CHECK(harness.only_after<Kill>(5s) == 1);
    CHECK(harness.kills() == std::vector{15, 18, 9});
  }
}

TEST_CASE("told: a revocation on its way is no failing renewal, unless it gets stuck") {
  for (const bool outage_before : {false, true}) {
    CAPTURE(outage_before);
    Harness harness = running(plan_for(3));
    const auto next_round = [&](const Answer& first, const Answer& second) {
      harness.forget<Report>();
      while (harness.asked(Op::renew) == 0) harness.pass_pause();
      harness.answers(Op::renew, {first, second, no_answer()});
      return harness.reported<report::RenewalFailing>() != nullptr;
    };
    if (outage_before) {
      CHECK(next_round(no_answer(), Renewed{}));
      CHECK_FALSE(next_round(Renewed{}, Renewed{}));
    }
    const NotMine revoked{"revoked:t {}", true};
    CHECK_FALSE(next_round(revoked, Renewed{}));
    harness.now += 1s;
    CHECK(next_round(revoked, Renewed{}));
  }
}

TEST_CASE("told: a lock that is revoked on too few servers ends with what it had there") {
  Harness harness = told_holder();
  for (int i = 0; i < 30 && harness.kills().empty(); ++i) {
    harness.answers(Op::renew, {NotMine{"revoked:t {}", true}, Renewed{}, no_answer()});
    harness.advance(1s);
  }
  REQUIRE(harness.kills() == std::vector{15, 18});
  // The vote was asked for at the start, and lasts ttl - drift; margin and grace go before its end.
  CHECK(harness.now - Harness::start >= 23s);
  CHECK(harness.now - Harness::start <= 25s);
}

TEST_CASE("told: a flood of word is ten renewals a second") {
  Harness harness = running(plan_for(3), 1s);
  for (int i = 0; i < 1000; ++i) {
    harness.step(Notice{});
    harness.answer_all(3, Op::renew, Renewed{});
    harness.advance(1ms);
    harness.answer_all(3, Op::renew, Renewed{});
  }
  CHECK(harness.asked(Op::renew) == 0);
  std::size_t rounds = 0;
  for (int i = 0; i < 1000; ++i) {
    harness.step(Notice{});
    harness.advance(1ms);
    rounds += harness.asked(Op::renew) / 3;
    harness.answer_all(3, Op::renew, Renewed{});
  }
  CHECK(rounds >= 9);
  CHECK(rounds <= 11);
}

TEST_CASE("told: word that comes right after a renewal is put off, not lost") {
  Harness harness = told_holder();
  harness.advance(10ms);
  harness.step(Notice{});  // the renewals that are on their way may have been answered before it
  harness.answer_all(3, Op::renew, Renewed{});
  CHECK(harness.asked(Op::renew) == 0);
  CHECK(harness.only_after<Ask>(90ms) == 3);
  CHECK(harness.asked(Op::renew) == 3);
}

TEST_CASE("told: while the job is being stopped for another reason, and when all is over") {
  Plan plan = plan_for(3);
  plan.max_runtime = 2s;
  Harness harness(plan);
  harness.step(Notice{});  // nothing is held yet
  harness.answer_all(3, Op::acquire, Granted{});
  harness.step(Notice{});
  harness.step(JobStarted{});
  harness.advance(2s);
  harness.effects.clear();
  harness.step(Notice{});
  CHECK(harness.asked(Op::renew) == 3);
  harness.end_job(0);
  harness.effects.clear();
  harness.step(Notice{});
  CHECK(harness.effects.empty());
}
