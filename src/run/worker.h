// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include "exit_status.h"
#include "lock/time.h"
#include "lock/watch.h"
#include "os/fd.h"
#include "os/loop.h"
#include "run/supervision.h"

namespace redlock::run {

/// The worker's side of the supervision (run/supervision.h): it tells the supervisor its state, and
/// notices the supervisor's death.
class Worker {
 public:
  /// In the forked child, whose parent is `supervisor`; `pidfd` is that of the parent.
  Worker(pid_t supervisor, os::Fd pidfd, os::Fd messages, Supervision& supervision);

  /// The loop must watch this: it is readable once the supervisor is dead. If the kernel refuses a
  /// pidfd, there is nothing to watch, and the worker gets a SIGCHLD instead.
  [[nodiscard]] os::Interest interest() const { return {.fd = supervisor_.get(), .read = true}; }
  [[nodiscard]] bool supervisor_is_gone();

  /// False: the supervisor is dead.
  bool tell(WorkerMessage::Kind kind, int value = 0) const;
  /// Publishes the state. If the supervisor would sleep too long by the state before, this wakes
  /// it; while the lock is being released, the next continue_supervisor() does.
  void publish(const lock::WorkerState& state);

  /// The worker has reaped the job's main process, which ended like this.
  void job_ended(Exit end);
  /// Continues the supervisor if it was stopped, so that it sees the job's new state.
  void continue_supervisor() const;

  /// Publishes how redlock must end, and ends this process.
  [[noreturn]] void leave(Exit result);

 private:
  os::Fd supervisor_;  ///< pidfd, until the worker has noticed the supervisor's death
  pid_t supervisor_pid_;
  os::Fd messages_;
  Supervision& supervision_;
  bool gone_ = false;       ///< the supervisor is
  lock::Instant act_by_{};  ///< as last published
};

}  // namespace redlock::run
