// SPDX-License-Identifier: MIT
//
// What a session wants written into the log of its lock, and that it takes nothing with it.
#include "lock_harness.h"

using namespace redlock::lock;
using namespace redlock::lock::testing;

namespace {

std::vector<Log> lines(const Harness& harness) {
  return harness.all<Log>();
}

/// The last one of this number of lines.
Log last_of(std::size_t number, const Harness& harness) {
  REQUIRE(lines(harness).size() == number);
  return lines(harness).back();
}

/// After 2 s the only server grants.
Harness winner(const Plan& plan) {
  Harness harness(plan);
  harness.advance(2s);
  harness.answer(0, Op::acquire, Granted{.run_id = {}, .fence = 7});
  return harness;
}

/// Its job has been started, too.
Harness runner(const Plan& plan = plan_for(1)) {
  Harness harness = winner(plan);
  harness.step(JobStarted{});
  return harness;
}

}  // namespace

TEST_CASE("log: a short run is one line, with the leaves") {
  Harness harness = runner();
  harness.advance(499ms);
  CHECK(lines(harness).empty());
  harness.step(JobExited{0});
  CHECK(last_of(1, harness).event == Log::Event::released);
  CHECK(last_of(1, harness).held == 499ms);
  harness.advance(1500ms);
  CHECK(lines(harness).size() == 1);
}

TEST_CASE("log: any other is two, its beginning alone and its end with the leaves") {
  Harness harness = runner();
  CHECK(lines(harness).empty());
  harness.advance(500ms);
  const Log began = last_of(1, harness);
  CHECK(began.event == Log::Event::acquired);
  CHECK(began.carrier == Log::Carrier::itself);
  CHECK(began.fence == 7);
  CHECK(began.waited == 2s);
  CHECK(began.held == 500ms);
  CHECK_FALSE(began.status);

  harness.advance(2500ms);
  harness.step(JobExited{5});
  const Log ended = last_of(2, harness);
  CHECK(ended.event == Log::Event::released);
  CHECK(ended.carrier == Log::Carrier::leave);
  CHECK(ended.attempt == began.attempt);
  CHECK(ended.fence == 7);
  CHECK(ended.waited == 2s);
  CHECK(ended.held == 3s);
  CHECK(ended.status == 5);
  CHECK_FALSE(ended.stopped);
  harness.answer(0, Op::release, Released{});
  CHECK(harness.session.finished());
  CHECK(lines(harness).size() == 2);
}

TEST_CASE("log: a command that could not be started, and one that was stopped") {
  Harness failed = winner(plan_for(1));
  failed.step(JobFailedToStart{127});
  CHECK(last_of(1, failed).event == Log::Event::released);
  CHECK(last_of(1, failed).status == 127);

  Plan plan = plan_for(1);
  plan.max_runtime = 3s;
  Harness stopped = winner(plan);
  stopped.now += 1s;  // which the start of the job takes
  stopped.step(JobStarted{});
  CHECK(stopped.only_after<Kill>(3s) == 1);
  stopped.end_job(143);
  CHECK(last_of(2, stopped).event == Log::Event::released);
  CHECK(last_of(2, stopped).stopped == StopReason::max_runtime);
}

TEST_CASE("log: lost while the job ran, and not ours when it ended") {
  Harness lost = runner();
  lost.advance(10s);
  lost.answer(0, Op::renew, NotMine{"other"});
  lost.end_job(143);
  CHECK(last_of(2, lost).event == Log::Event::lost);
  CHECK(last_of(2, lost).carrier == Log::Carrier::leave);
  CHECK(last_of(2, lost).stopped == StopReason::lost);
  lost.answer(0, Op::release, Missing{});
  CHECK(lines(lost).size() == 2);  // it is said already

  Harness late = runner();
  late.step(JobExited{0});
  CHECK(last_of(1, late).event == Log::Event::released);
  late.answer(0, Op::release, Missing{});
  REQUIRE(late.session.finished());
  CHECK(last_of(2, late).event == Log::Event::lost);
  CHECK(last_of(2, late).carrier == Log::Carrier::itself);
  CHECK(last_of(2, late).status == 0);
}

TEST_CASE("log: a run that is not needed is a line, one that joins is none") {
  Plan once = plan_for(1);
  once.timing.once = 1h;
  Harness skipped(once);
  skipped.answer(0, Op::acquire, Done{.age = 5min, .left = 5min, .who = "{}"});
  CHECK(last_of(1, skipped).event == Log::Event::skipped);
  CHECK_FALSE(last_of(1, skipped).held);

  Plan inside = plan_for(1);
  inside.inherited = {.token = "outer", .fence = 7};
  Harness joined = runner(inside);
  joined.advance(5s);
  joined.step(JobExited{0});
  joined.answer(0, Op::release, Released{.kept = true});
  CHECK(joined.session.finished());
  CHECK(lines(joined).empty());
}
