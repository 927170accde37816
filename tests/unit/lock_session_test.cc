// SPDX-License-Identifier: MIT
#include "lock_harness.h"

using namespace redlock::lock;
using namespace redlock::lock::testing;

namespace {

/// One server; valid until 29.698 s (ttl 30 s less drift 302 ms) after start.
Harness running_on_one(Duration length = 0s) {
  return running(plan_for(1), length);
}

}  // namespace

TEST_CASE("a command that cannot be executed releases what it held, and its status counts") {
  for (const bool lost : {false, true}) {
    Harness harness(plan_for(1), {Granted{}});
    harness.advance(3s);
    harness.step(JobFailedToStart{71});
    REQUIRE(harness.answer(0, Op::leave, lost ? Answer(Missing{}) : Answer(Released{})));
    const auto* released = harness.reported<report::Released>();
    REQUIRE((released == nullptr) == lost);
    if (!lost) CHECK((released->held >= 3s && released->held < 4s));
    CHECK_MESSAGE(harness.reported<report::NotOursAtRelease>() == nullptr, "no job ran without it");
    CHECK(harness.ended(Outcome::Kind::not_started, 71));
  }
}

TEST_CASE("while there is a job, signals are none of the session's business") {
  Harness harness = running_on_one();
  harness.step(Signal{SIGTERM, true});
  harness.step(Signal{SIGINT, true});
  CHECK(harness.effects.empty());
}

TEST_CASE("the process on top is gone: the job is stopped, and the lock released after it") {
  for (const int signal : {SIGTERM, SIGINT}) {  // by --signal
    CAPTURE(signal);
    Plan plan = plan_for(1);
    plan.stop_signal = signal;
    Harness harness = running(plan);
    harness.step(SupervisorGone{});
    CHECK(harness.kills() == std::vector<int>{signal, SIGCONT});
    harness.advance(5s);
    CHECK(harness.kills().back() == SIGKILL);
    harness.step(JobExited{137});
    CHECK(harness.asked(Op::release) == 0);
    harness.step(JobTreeGone{});
    CHECK(harness.asked(Op::release) == 1);
  }
}

TEST_CASE("a main process that ended as it was told: what it left has the signal, and gets KILL") {
  Harness harness = running_on_one();
  harness.step(JobExited{3, JobEnd::as_told});
  CHECK(harness.kills().empty());
  SUBCASE("a grace later") {
    harness.advance(5s);
    CHECK(harness.kills() == std::vector<int>{SIGKILL});
  }
  SUBCASE("or before the lease ends") {
    harness.answer(0, Op::renew, Missing{});
    harness.advance(9s);
    harness.step(SupervisorGone{});
    CHECK(harness.kills().front() == SIGKILL);
  }
  CHECK(harness.asked(Op::release) == 0);
  harness.step(JobTreeGone{});
  CHECK(harness.asked(Op::release) == 1);
}

TEST_CASE("what a main process leaves by itself is not killed, nor anything with --wait-all") {
  Harness harness = running_on_one();
  harness.step(JobExited{0, JobEnd::by_itself});
  CHECK(harness.asked(Op::release) == 1);
  Plan plan = plan_for(1);
  plan.wait_all = true;
  Harness waiting = running(plan);
  waiting.step(JobExited{143, JobEnd::as_told});
  waiting.advance(9s);
  CHECK(waiting.kills().empty());
  CHECK(waiting.asked(Op::release) == 0);
}

TEST_CASE("a later stage that was killed is watched, and has a second more to release its lock") {
  Plan plan = plan_for(1);
  plan.stages.later = true;
  Harness harness = running(plan);
  harness.step(JobExited{137, JobEnd::killed});
  CHECK(harness.session.watching_tree());
  CHECK(harness.session.worker_state().phase == WorkerState::Phase::ending);
  CHECK(harness.only_after<Kill>(6s) == 1);  // it ends its job by itself
  CHECK(harness.kills() == std::vector<int>{SIGKILL});
}

TEST_CASE("--wait-all: renewed and held until every descendant has ended") {
  Plan plan = plan_for(1);
  plan.wait_all = true;
  Harness harness = running(plan);
  harness.step(JobExited{4});
  CHECK(harness.session.watching_tree());
  CHECK(harness.asked(Op::release) == 0);
  harness.advance(10s);
  CHECK(harness.answer(0, Op::renew, Renewed{}));
  SUBCASE("the tree ends") {
    harness.step(JobTreeGone{});
    REQUIRE(harness.answer(0, Op::release, Released{}));
    CHECK(harness.ended(Outcome::Kind::job_ended, 4));
  }
  SUBCASE("the lock is lost: the tree is stopped") {
    harness.lose();
    CHECK(harness.kills() == std::vector<int>{SIGTERM, SIGCONT});
  }
}

TEST_CASE("a host that stood still stops the job late, and kills it in time all the same") {
  for (const Duration pause :
       {Duration(24s + 98ms), Duration(25s), Duration(27s), Duration(30s), Duration(1h)}) {
    CAPTURE(pause.count());
    const bool expired = pause >= 30s;
    Harness harness = running_on_one();
    harness.stand_still(pause);
    CHECK(harness.told<report::Stopping>().expired == expired);
    // After the end of the lease nothing comes before the KILL, and the job is not continued.
    CHECK(harness.kills() == (expired ? std::vector{SIGKILL} : std::vector{SIGTERM, SIGCONT}));
    CHECK(harness.only_after<Kill>(expired ? 20ms : 30s - 302ms - 600ms - pause) == 1);
    CHECK(harness.kills().back() == SIGKILL);
  }
}

TEST_CASE("what the worker tells the process on top") {
  Harness harness = running_on_one();
  const Instant valid_until = Harness::start + 30s - 302ms;
  const auto state = [&harness] { return harness.session.worker_state(); };
  CHECK(state().phase == WorkerState::Phase::running);
  CHECK(state().valid_until == valid_until);
  CHECK(state().act_by == valid_until - 600ms - 5s);
  harness.advance(valid_until - 600ms - 5s - harness.now);
  CHECK(state().phase == WorkerState::Phase::stopping);
  CHECK(state().act_by == valid_until - 600ms);
  harness.advance(5s);
  CHECK(state().act_by == harness.now + 20ms);
  harness.end_job(137);
  CHECK(state().phase == WorkerState::Phase::releasing);
  CHECK(state().act_by > harness.now);
}

TEST_CASE("a lock that lives longer than its renewal asked for is cut, once for each such answer") {
  Harness harness = running_on_one(10s);
  REQUIRE(harness.answer(0, Op::renew, Renewed{.longer = true}));
  const auto cuts = [&harness] {
    std::vector<ServerIndex> servers;
    for (const Ask& ask : harness.asks(Op::renew)) {
      if (details<op::Renew>(ask).cuts) servers.push_back(ask.server);
    }
    return servers;
  };
  CHECK(cuts() == std::vector<ServerIndex>{0});
  // Another hold has really asked for more.
  REQUIRE(harness.answer(0, Op::renew, Renewed{.longer = true}));
  CHECK(cuts().empty());
}

TEST_CASE("a renewal is overdue: what a KILL costs is measured, and the stop begins the earlier") {
  Harness harness = running_on_one();
  const Instant valid_until = Harness::start + 30s - 302ms;
  const Duration longest = plan_for(1).timing.longest_head_start();
  REQUIRE(harness.only_after<Measure>(valid_until - 600ms - 5s - longest - harness.now) == 1);
  SUBCASE("many processes") {
    harness.step(KillCost{2s});
    const WorkerState state = harness.session.worker_state();
    CHECK(state.act_by == valid_until - 2s - 600ms - 5s);
    CHECK(state.head_start == 2s);
    CHECK(harness.only_after<Kill>(state.act_by - harness.now) == 1);
    CHECK(harness.kills() == std::vector<int>{SIGTERM, SIGCONT});
    CHECK(harness.session.worker_state().act_by == valid_until - 2s - 600ms);
    CHECK(harness.count<Measure>() == 1);
  }
  SUBCASE("so many that it would be too late: no earlier than where renewals have failed") {
    harness.step(KillCost{1h});
    CHECK(harness.session.worker_state().act_by == harness.now + 5s);
    CHECK(harness.kills() == std::vector<int>{SIGTERM, SIGCONT});
  }
  SUBCASE("renewed after all: the measured limits hold no longer") {
    harness.step(KillCost{2s});
    REQUIRE(harness.answer(0, Op::renew, Renewed{}));
    harness.step(Tick{});
    CHECK(harness.session.worker_state().head_start == 0s);
  }
}

TEST_CASE("KILLs that find nothing new come at twice the pause, up to a second") {
  Harness harness = running_on_one();
  harness.step(SupervisorGone{});
  harness.advance(5s);
  REQUIRE(harness.kills().back() == SIGKILL);
  harness.step(Killed{true});
  for (const Duration pause : {20ms, 40ms, 80ms, 160ms, 320ms, 640ms, 1000ms, 1000ms}) {
    CAPTURE(pause.count());
    CHECK(harness.only_after<Kill>(pause) == 1);
    harness.step(Killed{false});
  }
  harness.step(Killed{true});
  CHECK(harness.session.worker_state().act_by == harness.now + 20ms);
}

TEST_CASE("a job that has run for too long is no server's fault") {
  Plan plan = plan_for(1);
  plan.max_runtime = 12s;
  Harness harness = running(plan, 10s);
  harness.answer(0, Op::renew, no_answer());
  harness.advance(2s);
  CHECK(harness.told<report::Stopping>().reason == StopReason::max_runtime);
  CHECK(harness.told<report::Stopping>().complaints.empty());
}

TEST_CASE("each outage of renewals is told once, and so is its end") {
  Harness harness = running_on_one();
  for (std::size_t outage = 1; outage <= 3; ++outage) {
    for (int round = 0; round < 3; ++round) {  // two in vain, and one that succeeds
      INFO("outage ", outage, ", round ", round);
      harness.forget<Report>();
      while (harness.asked(Op::renew) == 0) harness.pass_pause();
      REQUIRE(harness.answer(0, Op::renew, round < 2 ? Answer(no_answer()) : Answer(Renewed{})));
      CHECK(harness.count<Report>() == (round == 1 ? 0 : 1));
      CHECK((harness.reported<report::RenewalFailing>() != nullptr) == (round == 0));
      CHECK((harness.reported<report::RenewalRecovered>() != nullptr) == (round == 2));
    }
  }
  CHECK(harness.kills().empty());
}

TEST_CASE("a renewal that is answered late counts from when it was sent") {
  Harness harness = running_on_one(10s);
  harness.now += 200ms;
  const Ask renewal = harness.asks(Op::renew).at(0);
  harness.step(Reply{renewal, Harness::start + 10s, no_answer()});
  harness.now += 8s;
  harness.step(Reply{renewal, Harness::start + 10s, Renewed{}});
  CHECK(harness.only_after<Kill>(Harness::start + 40s - 302ms - 5600ms - harness.now) == 1);
  CHECK(harness.kills() == std::vector<int>{SIGTERM, SIGCONT});
}

TEST_CASE("a late answer to a renewal ends the haste, and takes nothing from a later renewal") {
  Harness harness = running_on_one(10s);
  const Ask renewal = harness.asks(Op::renew).at(0);
  harness.answer(0, Op::renew, no_answer());
  harness.step(Reply{renewal, harness.now, Renewed{}});
  harness.advance(9s);
  CHECK(harness.asked(Op::renew) == 0);
  harness.advance(1s);
  harness.answer(0, Op::renew, Renewed{});
  const Instant valid_until = harness.session.worker_state().valid_until;
  harness.step(Reply{renewal, Harness::start + 10s, Renewed{}});
  CHECK(harness.session.worker_state().valid_until == valid_until);
}

TEST_CASE("the oldest vote says when the first renewal is due") {
  Harness harness(plan_for(3));
  harness.answer(0, Op::acquire, Granted{}, 4s);
  harness.answer(1, Op::acquire, Granted{});
  harness.step(JobStarted{});
  harness.effects.clear();
  CHECK(harness.only_after<Ask>(6s) == 3);
  CHECK(harness.asked(Op::renew) == 3);
}

TEST_CASE("a lost lock is never renewed or resurrected, nor released before the end of the job") {
  Harness harness = running_on_one();
  harness.lose();
  harness.step(JobTreeGone{});  // counts only after the end of the main process
  harness.advance(60s);
  CHECK(harness.count<Ask>() == 0);
}

TEST_CASE("a server that had to be asked again is no witness of a loss") {
  // The first request may have been carried out; or the server was down, and restarted empty since.
  for (const bool maybe_applied : {true, false}) {
    for (const Answer& word : {Answer(Missing{}), Answer(NotMine{"other"})}) {
      Harness harness = running_on_one();
      harness.step(JobExited{3});
      harness.answer(0, Op::release, no_answer(maybe_applied));
      harness.advance(150ms);
      REQUIRE(harness.answer(0, Op::release, word));
      CHECK(harness.ended(Outcome::Kind::job_ended, 3));
    }
  }
}

TEST_CASE("a late \"missing\" after the release began brings nothing back") {
  Harness harness = running(plan_for(3), 10s);
  const Ask ask = harness.asks(Op::renew).at(0);
  harness.step(JobExited{0});
  harness.step(Reply{ask, harness.now, Missing{}});
  CHECK(harness.asked(Op::repair) == 0);
}

TEST_CASE("a short ttl with the longest grace can still be won") {
  Plan plan = plan_for(1);
  plan.timing = {.ttl = 1s, .grace = 333ms};
  Harness harness(plan);
  harness.answer(0, Op::acquire, Granted{}, 5ms);
  CHECK(harness.count<Spawn>() == 1);
}
