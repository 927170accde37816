// SPDX-License-Identifier: MIT
#include "doctest.h"

#include "lock/watch.h"

using namespace redlock::lock;
using namespace std::chrono_literals;
using Act = Watch::Act;
using Acts = std::vector<Watch::Act>;
using Phase = WorkerState::Phase;

namespace {

constexpr Timing kTiming{.ttl = 30s, .grace = 5s};  // margin 600 ms
constexpr Instant kWatchStart(1000s);
constexpr Instant kValidUntil = kWatchStart + 30s;
constexpr Instant kTermAt = kValidUntil - 600ms - 5s;
constexpr Instant kKillAt = kValidUntil - 600ms;
constexpr WorkerState kRunning{Phase::running, kTermAt, kValidUntil};
constexpr Duration kLongest = kTiming.longest_head_start();
/// A worker that has found few processes.
constexpr WorkerState kMeasured{Phase::running, kTermAt - 1ns, kValidUntil, 1ns};

/// What it does when it is due, and that it is due at `at`.
Acts due(Watch& watch, Instant at, const WorkerState& state = kRunning, bool worker_gone = true) {
  CAPTURE((at - kWatchStart).count());
  CHECK(watch.deadline(state) == at);
  return watch.step(state, worker_gone, true, at);
}

}  // namespace

TEST_CASE("a worker that does its work is left alone, by half a margin beyond its time") {
  Watch watch(kTiming);
  CHECK(watch.deadline(kMeasured) == kTermAt - 1ns + 300ms);
  CHECK(watch.step(kMeasured, false, true, kWatchStart).empty());
  CHECK(watch.step(kMeasured, false, true, kTermAt + 299ms).empty());
  const WorkerState renewed{Phase::running, kTermAt + 20s, kValidUntil + 20s};
  CHECK(watch.step(renewed, false, true, kTermAt + 301ms).empty());
  CHECK_FALSE(watch.alone());
}

TEST_CASE("a dead worker: the job may go on for what is left, then TERM, then KILL in time") {
  Watch watch(kTiming);
  CHECK(watch.step(kRunning, true, true, kWatchStart + 1s).empty());
  CHECK(watch.alone());
  CHECK_FALSE(watch.stopped_job());
  CHECK(due(watch, kTermAt - kLongest) == Acts{Act::measure});
  CHECK(due(watch, kTermAt) == Acts{Act::stop_job});
  CHECK(watch.stopped_job());
  CHECK(watch.step(kRunning, true, true, kKillAt - 1ns).empty());
  CHECK(due(watch, kKillAt) == Acts{Act::kill_job});
  CHECK(due(watch, kKillAt + 20ms) == Acts{Act::kill_job});
}

TEST_CASE("a worker that was killed with the job's main process: the rest gets a grace, no more") {
  Watch watch(kTiming);
  CHECK(watch.step(kRunning, true, true, kWatchStart + 1s).empty());
  watch.end_rest(JobEnd::killed, kWatchStart + 1s);
  CHECK(due(watch, kWatchStart + 1s) == Acts{Act::stop_job});
  CHECK_FALSE(watch.stopped_job());  // the exit status is the main process's
  watch.end_rest(JobEnd::killed, kWatchStart + 2s);
  CHECK(due(watch, kWatchStart + 1s + kTiming.grace) == Acts{Act::kill_job});
}

TEST_CASE("no worker, and the main process ended as told: the rest has the signal, KILL follows") {
  Watch watch(kTiming);
  CHECK(watch.step(kRunning, true, true, kWatchStart + 1s).empty());
  watch.end_rest(JobEnd::as_told, kWatchStart + 2s);
  CHECK(watch.step(kRunning, true, true, kWatchStart + 2s).empty());
  CHECK(due(watch, kWatchStart + 2s + kTiming.grace) == Acts{Act::kill_job});
  CHECK_FALSE(watch.stopped_job());

  Watch late(kTiming);
  CHECK(late.step(kRunning, true, true, kWatchStart + 1s).empty());
  late.end_rest(JobEnd::as_told, kKillAt - 1s);
  CHECK_MESSAGE(late.deadline(kRunning) == kKillAt, "not after the lease, however late it ended");
}

TEST_CASE("what a main process left ends when the worker said, without the worker, too") {
  const WorkerState ending{Phase::ending, kWatchStart + 4s, kValidUntil};
  Watch watch(kTiming);
  CHECK(watch.deadline(ending) == kWatchStart + 5s);  // the worker may be a second late
  CHECK(watch.step(ending, true, true, kWatchStart + 1s) == Acts{Act::measure});
  CHECK(watch.deadline(ending) == kWatchStart + 4s);
  watch.end_rest(JobEnd::killed, kWatchStart + 2s);
  CHECK(watch.step(ending, true, true, kWatchStart + 2s).empty());
  CHECK(watch.step(ending, true, true, kWatchStart + 4s) == Acts{Act::kill_job});
  CHECK_FALSE(watch.stopped_job());
}

TEST_CASE("a stuck worker dies first, and the job is stopped immediately") {
  Watch watch(kTiming);
  CHECK(watch.step(kRunning, false, true, kTermAt + 300ms) ==
        Acts{Act::kill_worker, Act::stop_job, Act::measure});
  CHECK(watch.deadline(kRunning) == kKillAt);
}

TEST_CASE("many processes: a worker that has measured them is due earlier, and so is the KILL") {
  const WorkerState many{Phase::running, kTermAt - 2s, kValidUntil, 2s};
  Watch watch(kTiming);
  CHECK(due(watch, kTermAt - 2s + 300ms, many, false) == Acts{Act::kill_worker, Act::stop_job});
  CHECK(watch.deadline(many) == kKillAt - 2s);
}

TEST_CASE("many processes below a worker that is stuck: measured in time, and stopped earlier") {
  Watch watch(kTiming);
  const Instant looks = kTermAt + 300ms - kLongest;
  CHECK(due(watch, looks, kRunning, false) == Acts{Act::measure});
  watch.set_head_start(2s);
  CHECK_FALSE(watch.alone());
  CHECK(watch.step(kRunning, false, true, kTermAt + 299ms - 2s).empty());
  CHECK(due(watch, kTermAt + 300ms - 2s, kRunning, false) == Acts{Act::kill_worker, Act::stop_job});
  CHECK(watch.deadline(kRunning) == kKillAt - 2s);
}

TEST_CASE("a renewal ends what was measured before it") {
  Watch watch(kTiming);
  CHECK(watch.step(kRunning, false, true, kTermAt) == Acts{Act::measure});
  watch.set_head_start(2s);
  const WorkerState renewed{Phase::running, kTermAt + 10s, kValidUntil + 10s};
  CHECK(watch.deadline(renewed) == kTermAt + 10s + 300ms - kLongest);
}

TEST_CASE("many processes, and no worker: TERM and KILL come earlier, within what is allowed") {
  for (const Duration length : {Duration(2s), kLongest, kLongest + 1h}) {
    Watch watch(kTiming);
    watch.step(kRunning, true, true, kWatchStart);
    const Duration head_start = std::min(length, kLongest);
    CHECK(watch.step(kRunning, true, true, kTermAt - kLongest) == Acts{Act::measure});
    watch.set_head_start(length);
    CHECK(due(watch, kTermAt - head_start) == Acts{Act::stop_job});
    CHECK(watch.deadline(kRunning) == kKillAt - head_start);
  }
}

TEST_CASE("KILLs that find nothing new come at twice the pause, up to a second") {
  Watch watch(kTiming);
  Instant now = kValidUntil;
  CHECK(watch.step(kRunning, true, true, now) == Acts{Act::kill_job});
  watch.killed(true);
  for (const Duration pause : {20ms, 40ms, 80ms, 160ms, 320ms, 640ms, 1000ms, 1000ms}) {
    now += pause;
    CHECK(due(watch, now) == Acts{Act::kill_job});
    watch.killed(false);
  }
  watch.killed(true);
  CHECK(watch.deadline(kRunning) == now + 20ms);
}

TEST_CASE("both were stopped beyond the lease: the KILL comes immediately, and no CONT before it") {
  Watch watch(kTiming);
  CHECK(watch.step(kRunning, false, true, kValidUntil + 1s) ==
        Acts{Act::kill_worker, Act::kill_job});
  Watch orphaned(kTiming);
  CHECK(orphaned.step(kRunning, true, true, kValidUntil + 1s) == Acts{Act::kill_job});
}

TEST_CASE("a job that must already be dead is not continued, whatever the worker is about to do") {
  const Watch watch(kTiming);
  CHECK(watch.may_continue(kRunning, kKillAt - 1ns));
  CHECK_FALSE(watch.may_continue(kRunning, kKillAt));
  // The worker has just begun to kill it, and will send the next KILL later.
  CHECK_FALSE(watch.may_continue({Phase::stopping, kValidUntil + 1s, kValidUntil}, kValidUntil));
  CHECK_FALSE(watch.may_continue({Phase::running, kTermAt, kValidUntil, 2s}, kKillAt - 2s));
}

TEST_CASE("a worker lost while it was stopping the job: its KILL is still due") {
  const WorkerState stopping{Phase::stopping, kWatchStart + 2s, kValidUntil};
  Watch watch(kTiming);
  CHECK(watch.step(stopping, true, true, kWatchStart + 1s) == Acts{Act::measure});
  CHECK(watch.stopped_job());
  CHECK(watch.step(stopping, true, true, kWatchStart + 2s) == Acts{Act::kill_job});
}

TEST_CASE("a worker that is late with the KILL has a second, unless the lease is over before") {
  const WorkerState early{Phase::stopping, kWatchStart + 2s, kValidUntil};
  Watch patient(kTiming);
  CHECK(patient.step(early, false, true, kWatchStart + 2s + 999ms).empty());
  CHECK(patient.step(early, false, true, kWatchStart + 3s) ==
        Acts{Act::kill_worker, Act::kill_job});
  const WorkerState soon{Phase::stopping, kKillAt - 200ms, kValidUntil};
  Watch careful(kTiming);
  CHECK(careful.deadline(soon) == kValidUntil - 300ms);
  const WorkerState last{Phase::stopping, kKillAt, kValidUntil};
  CHECK(careful.step(last, false, true, kKillAt + 299ms).empty());
  CHECK(careful.step(last, false, true, kKillAt + 300ms) == Acts{Act::kill_worker, Act::kill_job});
}

TEST_CASE("the wait for a worker stuck in its release has an end") {
  const WorkerState releasing{Phase::releasing, kWatchStart + 2s, kValidUntil};
  Watch watch(kTiming);
  CHECK(watch.step(releasing, false, false, kWatchStart + 2900ms).empty());
  CHECK(watch.step(releasing, false, false, kWatchStart + 3s) == Acts{Act::kill_worker});
  CHECK(watch.alone());
  CHECK_FALSE(watch.stopped_job());
}
