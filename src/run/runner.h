// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <optional>
#include <string>

#include "driver/driver.h"
#include "driver/progress.h"
#include "run/supervisor.h"

namespace redlock::run {

/// The process before the fork (run/run.h). If a system call fails, no lock stays and no
/// job runs without a lock:
///   before the fork         this process releases what it may hold (driver/driver.h)
///   while the job starts    it kills the child and tells the session that the job did not start
class Runner : private driver::Host {
 public:
  explicit Runner(Run& run);

  /// Returns when the job has ended and the lock is released, or when the attempt has failed.
  /// Gives the way in which redlock ends; returns in the parent only.
  Exit run();

  [[nodiscard]] const RunFacts& facts() const { return facts_; }

 private:
  bool perform(const lock::Effect& effect, lock::Instant now) override;
  void stepped() override {
    if (!session_.acquiring()) progress_.hide();
  }
  [[nodiscard]] lock::Instant deadline() const override {
    return std::min(
        {progress_.deadline(session_), status_.deadline(session_), manager_.watchdog_at()});
  }
  void poll_process(bool woken, lock::Instant now) override;
  void iterated(lock::Instant now) override;

  Exit watch_job();
  void start_job(const lock::Spawn& order);
  std::optional<lock::Event> fork_worker(const lock::Spawn& order, pid_t& worker);
  [[nodiscard]] std::vector<std::string> environment_for(Stage::Reader reader,
                                                         const lock::Inherited& held) const;
  std::optional<lock::Event> await_start(const lock::Spawn& order, pid_t worker, os::Fd messages);
  void supervise(const lock::Spawn& order, pid_t worker, os::Fd messages, pid_t job);
  void give_up_worker(pid_t worker) noexcept;
  [[nodiscard]] lock::JobFailedToStart cannot_run(const WorkerMessage& message);

  Run& run_;
  lock::Instant began_;  ///< session and metrics both measure the wait from here
  lock::Session session_;
  os::ServiceManager manager_;
  driver::Progress progress_;
  driver::Progress status_;  ///< of the wait, for the service manager
  driver::Driver driver_;

  std::optional<Reserve> reserve_;
  std::optional<Start> start_;
  std::optional<Supervisor> supervisor_;  ///< once the job runs
  RunFacts facts_;
};

}  // namespace redlock::run
