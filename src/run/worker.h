// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <algorithm>

#include "driver/driver.h"
#include "run/run.h"

namespace redlock::run {

/// The parent of the job, and the only process that asks servers while the job runs. It ends the
/// job when the lease ends, and when the supervisor dies.
///
/// If a system call fails, it kills the job, then releases the lock. If it cannot kill the job, it
/// ends, and the supervisor acts as if somebody had killed the worker.
class Worker : private driver::Host {
 public:
  /// In the forked child, whose parent is `supervisor`. Goes on with the session of `parents`.
  Worker(Run& run, lock::Session& session, driver::Driver& parents, Reserve& reserve, Start& start,
         pid_t supervisor);

  /// Starts the job, keeps the lock for it, and ends this process.
  [[noreturn]] void work(const lock::Spawn& order) noexcept;

 private:
  bool perform(const lock::Effect& effect, lock::Instant now) override;
  void stepped() override { publish(session_.worker_state()); }
  /// Readable once the supervisor is dead. If the kernel has no pidfd for us, there is nothing to
  /// watch, and the worker gets a SIGCHLD instead.
  [[nodiscard]] os::Interest watch() const override {
    return {.fd = supervisor_.get(), .read = true};
  }
  [[nodiscard]] lock::Instant deadline() const override {
    return std::min(report_end_at_, continue_at_);
  }
  /// Signals are for the job, and the supervisor passes them on.
  bool take_signal(const lock::Signal& signal, lock::Instant) override {
    supervision_.heard_by_worker.note(signal.number);
    return true;
  }
  void poll_process(bool woken, lock::Instant now) override;
  void iterated(lock::Instant now) override;
  [[nodiscard]] bool tolerates_failures() const override { return job_pid_ > 0; }

  void start(const lock::Spawn& order);
  [[noreturn]] void abandon_start(const char* why) noexcept;
  [[noreturn]] void leave_without_job() noexcept;
  [[noreturn]] void end_in_order();
  [[noreturn]] void fail(const char* why) noexcept;
  [[noreturn]] void leave(Exit verdict);
  void give_back() noexcept { driver::give_back(driver_, run_.plan, run_.lock.name, run_.out); }
  bool kill_job() noexcept { return run_.killer.kill_all(run_.plan.timing.time_to_stop()); }

  void report(const lock::Report& report);
  void reap(lock::Instant now);
  void report_end(lock::Instant now);
  void give_up(lock::Instant now);

  [[nodiscard]] bool supervisor_is_gone();
  /// False: the supervisor is dead.
  bool tell(WorkerMessage::Kind kind, int value = 0) const;
  void publish(const lock::WorkerState& state);
  void continue_supervisor();

  Run& run_;
  lock::Session& session_;
  const std::vector<std::string>& environment_;
  LostHook& hook_;
  const JobControl& job_control_;
  Supervision& supervision_;
  os::OpenDirectory& proc_;
  driver::Driver driver_;

  os::Fd supervisor_;  ///< pidfd, until this process has noticed the supervisor's death
  pid_t supervisor_pid_;
  bool supervisor_gone_ = false;
  os::Fd messages_;
  lock::Instant act_by_{};  ///< as last published

  pid_t job_pid_ = -1;  ///< the main process, until it is reaped
  /// Somebody has killed the job's main process: the session learns of it at this moment.
  lock::Instant report_end_at_ = lock::kNever;
  /// The job has ended, and a stopped supervisor must see that; but a supervisor that wakes between
  /// the release and its answer would take the processor from the server.
  lock::Instant continue_at_ = lock::kNever;
};

}  // namespace redlock::run
