// SPDX-License-Identifier: MIT
//
// What a session wants written into the log of its lock, and that it takes nothing with it.
#include <doctest/doctest.h>

#include "lock_harness.h"

using namespace redlock::lock;
using namespace redlock::lock::testing;

namespace {

std::vector<Log> lines(const Harness& harness) {
  return harness.all<Log>();
}

/// The place of the first effect of a kind among all.
template <class Test>
std::ptrdiff_t place_of(const Harness& harness, Test test) {
  return std::find_if(harness.effects.begin(), harness.effects.end(), test) -
         harness.effects.begin();
}

void win(Harness& harness, std::size_t servers) {
  harness.advance(2s);
  harness.answer_all(servers, Op::acquire, Granted{.run_id = {}, .fence = 7});
}

}  // namespace

TEST_CASE("log: a short run is one line, with the leaves") {
  Harness harness(plan_for(1));
  win(harness, 1);
  harness.step(JobStarted{});
  harness.advance(499ms);
  CHECK(lines(harness).empty());
  harness.step(JobExited{0});
  REQUIRE(lines(harness).size() == 1);
  CHECK(lines(harness)[0].event == Log::Event::released);
  CHECK(lines(harness)[0].held == 499ms);
  harness.advance(1500ms);
  CHECK(lines(harness).size() == 1);
}

TEST_CASE("log: any other is two, its beginning alone and its end with the leaves") {
  Harness harness(plan_for(1));
  win(harness, 1);
  harness.step(JobStarted{});
  CHECK(lines(harness).empty());
  harness.advance(500ms);
  REQUIRE(lines(harness).size() == 1);
  const Log began = lines(harness)[0];
  CHECK(began.event == Log::Event::acquired);
  CHECK(began.carrier == Log::Carrier::itself);
  CHECK(began.fence == 7);
  CHECK(began.waited == 2s);
  CHECK(began.held == 500ms);
  CHECK_FALSE(began.status);

  harness.advance(2500ms);
  harness.step(JobExited{5});
  REQUIRE(lines(harness).size() == 2);
  const Log ended = lines(harness)[1];
  CHECK(ended.event == Log::Event::released);
  CHECK(ended.carrier == Log::Carrier::leave);
  CHECK(ended.attempt == began.attempt);
  CHECK(ended.fence == 7);
  CHECK(ended.waited == 2s);
  CHECK(ended.held == 3s);
  CHECK(ended.status == 5);
  CHECK_FALSE(ended.stopped);
  const auto line = place_of(harness, [](const Effect& effect) {
    const auto* log = std::get_if<Log>(&effect);
    return log != nullptr && log->event == Log::Event::released;
  });
  const auto leave = place_of(harness, [](const Effect& effect) {
    const auto* ask = std::get_if<Ask>(&effect);
    return ask != nullptr && ask->op() == Op::leave;
  });
  CHECK(line < leave);
  harness.answer(0, Op::release, Released{});
  CHECK(harness.session.finished());
  CHECK(lines(harness).size() == 2);
}

TEST_CASE("log: a command that could not be started, and one that was stopped") {
  Harness failed(plan_for(1));
  win(failed, 1);
  failed.step(JobFailedToStart{127});
  REQUIRE(lines(failed).size() == 1);
  CHECK(lines(failed)[0].event == Log::Event::released);
  CHECK(lines(failed)[0].status == 127);

  Plan plan = plan_for(1);
  plan.max_runtime = 3s;
  Harness stopped(plan);
  win(stopped, 1);
  stopped.now += 1s;  // which the start of the job takes
  stopped.step(JobStarted{});
  stopped.advance(2999ms);
  CHECK(stopped.kills().empty());
  stopped.advance(1ms);
  stopped.step(JobExited{143});
  stopped.step(JobTreeGone{});
  REQUIRE(lines(stopped).size() == 2);
  CHECK(lines(stopped)[1].event == Log::Event::released);
  CHECK(lines(stopped)[1].stopped == StopReason::max_runtime);
}

TEST_CASE("log: lost while the job ran, and not ours when it ended") {
  Harness lost(plan_for(1));
  win(lost, 1);
  lost.step(JobStarted{});
  lost.advance(10s);
  lost.answer(0, Op::renew, NotMine{"other"});
  lost.step(JobExited{143});
  lost.step(JobTreeGone{});
  REQUIRE(lines(lost).size() == 2);
  CHECK(lines(lost)[1].event == Log::Event::lost);
  CHECK(lines(lost)[1].carrier == Log::Carrier::leave);
  CHECK(lines(lost)[1].stopped == StopReason::lost);
  lost.answer(0, Op::release, Missing{});
  CHECK(lines(lost).size() == 2);  // it is said already

  Harness late(plan_for(1));
  win(late, 1);
  late.step(JobStarted{});
  late.step(JobExited{0});
  CHECK(lines(late)[0].event == Log::Event::released);
  late.answer(0, Op::release, Missing{});
  REQUIRE(late.session.finished());
  REQUIRE(lines(late).size() == 2);
  CHECK(lines(late)[1].event == Log::Event::lost);
  CHECK(lines(late)[1].carrier == Log::Carrier::itself);
  CHECK(lines(late)[1].status == 0);
}

TEST_CASE("log: a run that is not needed is a line, one that joins is none, nor is a conflict") {
  Plan once = plan_for(1);
  once.timing.once = 1h;
  Harness skipped(once);
  skipped.answer(0, Op::acquire, Done{.age = 5min, .left = 5min, .who = "{}"});
  REQUIRE(lines(skipped).size() == 1);
  CHECK(lines(skipped)[0].event == Log::Event::skipped);
  CHECK_FALSE(lines(skipped)[0].held);

  Plan inside = plan_for(1);
  inside.inherited = {.token = "outer", .fence = 7};
  Harness joined(inside);
  win(joined, 1);
  joined.step(JobStarted{});
  joined.advance(5s);
  joined.step(JobExited{0});
  joined.answer(0, Op::release, Released{.kept = true});
  CHECK(joined.session.finished());
  CHECK(lines(joined).empty());

  Harness refused(plan_for(1, Duration::zero()));
  refused.answer(0, Op::acquire, held_by("other"));
  CHECK(refused.session.finished());
  CHECK(lines(refused).empty());
}
