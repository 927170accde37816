// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "exit_status.h"
#include "lock/timing.h"
#include "lock/watch.h"
#include "os/fd.h"
#include "os/loop.h"
#include "os/process_tree.h"
#include "os/signals.h"
#include "os/stderr.h"
#include "os/terminal.h"
#include "run/job_killer.h"
#include "run/lost_hook.h"
#include "run/supervision.h"

namespace redlock::run {

/// The process on top while there is a job (run/supervision.h): passes signals on, lends the
/// job the terminal, and does the worker's work of stopping the job where the worker fails to.
class Supervisor {
 public:
  struct Job {
    pid_t pid;
    bool own_group;
    bool wait_all;  ///< descendants count as the job
    int stop_signal;
    std::string lock;  ///< how messages call it
  };
  struct Worker {
    pid_t pid;
    os::Fd messages;  ///< non-blocking
  };

  Supervisor(Worker worker, Job job, const lock::Timing& timing, const Supervision& supervision,
             std::optional<os::Terminal> terminal, os::SignalSource& signals, os::ProcessTree& tree,
             os::Stderr& out, os::Loop& loop, LostHook hook);

  /// Until the worker is done, or the job is and the worker cannot be. Returns how redlock ends.
  Exit watch();

  /// Once watch() has returned: when the job's main process was reaped (now, if nobody saw it), and
  /// whether the lock was lost, by which the status is redlock's own.
  [[nodiscard]] lock::Instant job_ended() const;
  [[nodiscard]] bool lost() const { return lost_ || supervision_.lost.load(); }

 private:
  void turn();
  void wait(std::span<os::Interest> interests, lock::Instant deadline);
  void bear(const char* why);
  void act(lock::Instant now);
  void carry_out(lock::Watch::Act act);
  void tell(const std::vector<lock::Watch::Act>& acts);
  void reap();
  void take_signal(const os::ReceivedSignal& signal);
  void take_messages();
  void stop_with_job(int signal);
  void continue_job();
  void give_back_terminal();
  Exit end_alone();
  [[nodiscard]] bool job_left() const;
  [[nodiscard]] bool done() const;
  [[nodiscard]] int job_status() const;  ///< Supervision::kNone: not known

  Worker worker_;
  Job job_;
  const Supervision& supervision_;
  std::optional<os::Terminal> terminal_;
  os::SignalSource& signals_;
  os::ProcessTree& tree_;
  os::Stderr& out_;
  LostHook hook_;
  JobKiller killer_;
  os::Loop& loop_;
  lock::Watch watch_;
  bool worker_gone_ = false;
  bool told_ = false;
  bool bore_ = false;            ///< a refusal by the system, and said so
  int stopped_by_ = 0;           ///< the job: by this signal, and nothing was made of it yet
  std::optional<Exit> job_end_;  ///< of a job that this process reaped itself
  lock::Instant job_ended_{};    ///< and when it did
  bool lost_ = false;            ///< the worker is dead, and could not say it
};

}  // namespace redlock::run
