// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <optional>
#include <string>

#include "driver/driver.h"
#include "driver/progress.h"
#include "driver/setup.h"
#include "run/stage.h"
#include "run/supervisor.h"

namespace redlock::run {

struct Job {
  driver::LockId lock;
  records::Holder who;  ///< for the lock's log
  std::string held;     ///< REDLOCK_HELD as we found it
  Stage stage;          ///< which lock of several this one is, and what to run
};

/// The heart of `redlock run`: performs for the loop (driver/driver.h) all that concerns the job.
///
/// Until redlock holds the lock this is one process. Then it forks: the child goes on with the
/// loop, as the worker, and starts the job; the parent becomes the supervisor (run/supervision.h).
/// If the job does not start after all, the child ends, and the parent goes on with the loop.
///
/// If the system refuses something, no lock stays and no job runs without a lock:
///   before the fork         the parent releases what it may hold (driver/driver.h)
///   while the job starts    the parent kills the child and tells the session that the job did not
///                           start
///   in the worker           it kills the job, then releases the lock; if it cannot kill the job,
///                           it ends, and the supervisor acts as if somebody had killed the worker
///   in the supervisor       it goes on as well as it can (run/supervisor.h)
class Runner : private driver::Host {
 public:
  Runner(const lock::Plan& plan, Job job, const config::Settings& settings,
         redis::ServerSet& servers, os::Stderr& out, diag::Reporter& reporter);

  /// Returns when the job has ended and the lock is released, or when the attempt has failed.
  /// Gives the way in which redlock ends; returns in the parent only.
  Exit run();

  [[nodiscard]] const RunFacts& facts() const { return facts_; }

 private:
  bool perform(const lock::Effect& effect, lock::Instant now) override;
  void stepped() override;
  [[nodiscard]] os::Interest watch() const override {
    return worker_ ? worker_->interest() : os::Interest{};
  }
  [[nodiscard]] lock::Instant deadline() const override {
    return std::min({progress_.deadline(session_), status_.deadline(session_), report_end_at_,
                     worker_ ? lock::kNever : manager_.watchdog_at()});
  }
  bool take_signal(const lock::Signal& signal, lock::Instant now) override;
  void look(bool woken, lock::Instant now) override;
  void turned(lock::Instant now) override;
  [[nodiscard]] bool tolerates_refusals() const override { return job_pid_ > 0; }

  void report(const lock::Report& report);
  [[nodiscard]] Exit end() const {
    return driver::exit_of(session_.outcome(),
                           {settings_.conflict_exit_code, settings_.once_exit_code});
  }
  [[noreturn]] void leave();
  Exit watch_job();
  void give_back() noexcept { driver::give_back(driver_, plan_, job_.lock.name, out_); }
  [[noreturn]] void end_worker(const char* why) noexcept;
  bool kill_job() noexcept;
  void reap(lock::Instant now);
  void report_end(lock::Instant now);
  void give_up(lock::Instant now);

  std::optional<lock::Event> spawn(const lock::Spawn& order);
  std::optional<lock::Event> fork_worker(const lock::Spawn& order, pid_t& worker);
  [[nodiscard]] std::vector<std::string> environment_for(Stage::Reader reader,
                                                         const lock::Inherited& held) const;
  lock::Event start_job(const lock::Spawn& order, pid_t supervisor);
  [[noreturn]] void leave_without_job() noexcept;
  [[noreturn]] void abandon_start(const char* why) noexcept;
  std::optional<lock::Event> await_start(const lock::Spawn& order, pid_t worker, os::Fd messages);
  void supervise(const lock::Spawn& order, Supervisor::Worker worker, pid_t job);
  void give_up_worker(pid_t worker) noexcept;
  [[nodiscard]] lock::JobFailedToStart cannot_run(const WorkerMessage& message);

  lock::Plan plan_;
  Job job_;
  const config::Settings& settings_;
  os::SignalSource signals_;  // first: from here on no signal ends us while we hold a lock
  os::ProcessTree tree_;
  redis::ServerSet& servers_;
  os::Stderr& out_;
  diag::Reporter& reporter_;
  JobKiller killer_;
  lock::Instant began_;  ///< session and metrics both measure the wait from here
  lock::Session session_;
  os::ServiceManager manager_;
  driver::Progress progress_;
  driver::Progress status_;  ///< of the wait, for the service manager
  driver::Driver driver_;

  std::vector<std::string> environment_;  ///< the job's
  std::optional<Reserve> reserve_;
  std::optional<JobControl> job_control_;
  std::optional<Worker> worker_;          ///< in the child: this process
  std::optional<Supervisor> supervisor_;  ///< in the parent, once the job runs: this process
  std::optional<LostHook> hook_;
  pid_t job_pid_ = -1;
  /// Somebody has killed the job's main process: the session learns of it at this moment.
  lock::Instant report_end_at_ = lock::kNever;

  RunFacts facts_;  ///< the parent's
};

}  // namespace redlock::run
