// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <vector>

#include "os/clock.h"
#include "run/run.h"

namespace redlock::run {

/// The parent of the worker while there is a job (run/run.h): passes signals on, follows a job that
/// is stopped (run/job_control.h), and stops the job if the worker fails to do so. If a system
/// call fails, it goes on as well as it can.
class Supervisor {
 public:
  /// `messages`: from the worker, non-blocking. `job`: its main process.
  Supervisor(Run& run, Start& start, Supervision& supervision, os::Loop& loop,
             os::ServiceManager& manager, pid_t worker, os::Fd messages, pid_t job);

  /// Returns when the worker is done, or when the job has ended and the worker is dead. Gives the
  /// way in which redlock ends.
  Exit watch();

  /// Valid once watch() has returned: when a process of ours reaped the job's main process (now, if
  /// none did); and whether the lock was lost, in which case the exit status is redlock's own.
  [[nodiscard]] lock::Instant job_ended() const;
  [[nodiscard]] bool lost() const { return supervision_.verdict == Exit(ExitStatus::lost).status; }

 private:
  void iterate();
  /// If the job still runs.
  void start_witness();
  void bear(const char* why);
  void act(lock::Instant now);
  void carry_out(lock::Watch::Act act);
  void tell(const std::vector<lock::Watch::Act>& acts);
  void reap();
  void take_signals();
  void take_signal(const os::ReceivedSignal& signal, lock::Instant now);
  void pass_on(lock::Instant now);
  void pass_on(const os::ReceivedSignal& signal, lock::Instant since);
  void take_messages();
  void follow_job();
  /// The worker may have been continued with us, and be about to kill a job whose lease is over.
  [[nodiscard]] bool may_continue() const {
    return watch_.may_continue(supervision_.worker_state(), os::boot_now());
  }
  void continue_job() {
    if (job_left() && may_continue()) job_control_.continue_job();
  }
  /// This process or the worker has stopped the job.
  [[nodiscard]] bool stopped_job() const {
    return watch_.stopped_job() || supervision_.stop_reason.load() != Supervision::kNone;
  }
  /// The worker has stopped the job because of --max-runtime.
  [[nodiscard]] bool timed_out() const {
    return supervision_.stop_reason.load() == static_cast<int>(lock::StopReason::max_runtime);
  }
  Exit end_alone();
  [[nodiscard]] bool job_left() const;
  [[nodiscard]] bool rest_ends() const;
  [[nodiscard]] bool done() const;
  [[nodiscard]] bool worker_done() const { return supervision_.verdict != Supervision::kNone; }

  Run& run_;
  JobControl& job_control_;
  LostHook& hook_;
  Supervision& supervision_;
  os::Loop& loop_;
  os::ServiceManager& manager_;
  pid_t worker_;
  os::Fd messages_;
  pid_t job_;
  lock::Watch watch_;
  os::SignalWitness witness_;
  lock::Instant witness_due_;
  struct Held {
    os::ReceivedSignal signal;
    lock::Instant came;
    lock::Instant since;  ///< a note from before this is about an earlier signal
  };
  std::vector<Held> held_;  ///< signals that are not passed on yet, in the order in which they came
  lock::Instant looked_;    ///< no signal that came before this is still to be read
  bool worker_gone_ = false;
  bool followed_end_ = false;  ///< of the main process, with a signal to what escaped the last one
  bool reported_ = false;      ///< that the worker fails
  bool bore_ = false;          ///< a system call that failed, and printed a warning
};

}  // namespace redlock::run
