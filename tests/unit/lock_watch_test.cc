// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <chrono>
#include <vector>

#include "lock/watch.h"

using namespace redlock::lock;
using namespace std::chrono_literals;
using Act = Watch::Act;
using Acts = std::vector<Watch::Act>;
using Phase = Standing::Phase;

namespace {

constexpr Timing kTiming{.ttl = 30s, .grace = 5s};  // margin 600 ms
constexpr Instant kStart(1000s);
constexpr Instant kValidUntil = kStart + 30s;
constexpr Instant kTermAt = kValidUntil - 600ms - 5s;
constexpr Instant kKillAt = kValidUntil - 600ms;
constexpr Standing kRunning{Phase::running, kTermAt, kValidUntil};

}  // namespace

TEST_CASE("a worker that does its work is left alone, by half a margin beyond its time") {
  Watch watch(kTiming);
  CHECK(watch.deadline(kRunning) == kTermAt + 300ms);
  CHECK(watch.step(kRunning, false, true, kStart).empty());
  CHECK(watch.step(kRunning, false, true, kTermAt + 299ms).empty());
  const Standing renewed{Phase::running, kTermAt + 10s, kValidUntil + 10s};
  CHECK(watch.step(renewed, false, true, kTermAt + 301ms).empty());
  CHECK_FALSE(watch.alone());
}

TEST_CASE("a dead worker: the job may go on for what is left, then TERM, then KILL in time") {
  Watch watch(kTiming);
  CHECK(watch.step(kRunning, true, true, kStart + 1s).empty());
  CHECK(watch.alone());
  CHECK_FALSE(watch.stopped_job());
  CHECK(watch.deadline(kRunning) == kTermAt);
  CHECK(watch.step(kRunning, true, true, kTermAt) == Acts{Act::stop_job});
  CHECK(watch.stopped_job());
  CHECK(watch.deadline(kRunning) == kKillAt);
  CHECK(watch.step(kRunning, true, true, kKillAt - 1ns).empty());
  CHECK(watch.step(kRunning, true, true, kKillAt) == Acts{Act::kill_job});
  CHECK(watch.deadline(kRunning) == kKillAt + 20ms);
  CHECK(watch.step(kRunning, true, true, kKillAt + 20ms) == Acts{Act::kill_job});
}

TEST_CASE("a stuck worker dies first, and the job is stopped at once") {
  Watch watch(kTiming);
  CHECK(watch.step(kRunning, false, true, kTermAt + 300ms) ==
        Acts{Act::kill_worker, Act::stop_job});
  CHECK(watch.deadline(kRunning) == kKillAt);
}

TEST_CASE("both were stopped beyond the lease: the KILL comes at once, and no CONT before it") {
  Watch watch(kTiming);
  CHECK(watch.step(kRunning, false, true, kValidUntil + 1s) ==
        Acts{Act::kill_worker, Act::kill_job});
  Watch orphaned(kTiming);
  CHECK(orphaned.step(kRunning, true, true, kValidUntil + 1s) == Acts{Act::kill_job});
}

TEST_CASE("a worker lost while it was stopping the job: its KILL is still due") {
  const Standing stopping{Phase::stopping, kStart + 2s, kValidUntil};
  Watch watch(kTiming);
  CHECK(watch.step(stopping, true, true, kStart + 1s).empty());
  CHECK(watch.stopped_job());
  CHECK(watch.step(stopping, true, true, kStart + 2s) == Acts{Act::kill_job});
}

TEST_CASE("a worker that is late with the KILL has a second, unless the lease is over before") {
  const Standing early{Phase::stopping, kStart + 2s, kValidUntil};
  Watch patient(kTiming);
  CHECK(patient.step(early, false, true, kStart + 2s + 999ms).empty());
  CHECK(patient.step(early, false, true, kStart + 3s) == Acts{Act::kill_worker, Act::kill_job});
  const Standing soon{Phase::stopping, kKillAt - 200ms, kValidUntil};
  Watch careful(kTiming);
  CHECK(careful.deadline(soon) == kValidUntil - 300ms);
  const Standing last{Phase::stopping, kKillAt, kValidUntil};
  CHECK(careful.step(last, false, true, kKillAt + 299ms).empty());
  CHECK(careful.step(last, false, true, kKillAt + 300ms) ==
        Acts{Act::kill_worker, Act::kill_job});
}

TEST_CASE("a worker stuck in its release is not waited for for ever") {
  const Standing releasing{Phase::releasing, kStart + 2s, kValidUntil};
  Watch watch(kTiming);
  CHECK(watch.step(releasing, false, false, kStart + 2900ms).empty());
  CHECK(watch.step(releasing, false, false, kStart + 3s) == Acts{Act::kill_worker});
  CHECK(watch.alone());
  CHECK_FALSE(watch.stopped_job());
}

TEST_CASE("kill_at never lies behind the lease, however late the worker died") {
  Watch watch(kTiming);
  const Instant late = kKillAt - 1s;
  CHECK(watch.step(kRunning, true, true, late) == Acts{Act::stop_job});
  CHECK(watch.deadline(kRunning) == kKillAt);
}
