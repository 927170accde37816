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

  /// Leaves the supervisor's process group, so that the renewals go on when somebody stops the
  /// whole group (`kill -STOP %1`). Must be called before the start of a job that gets a group of
  /// its own: the job's parent must be in another group of the same session, or Ctrl-Z would not
  /// stop the job (credentials(7)).
  void leave_group() const;
  /// Leaves the session, too. Must be called once a job runs that shares the supervisor's group. If
  /// one member of that group had a parent in another group of the session, Ctrl-Z would stop a
  /// group that nobody continues (ssh -t, a container: all processes are in the session leader's
  /// group).
  void leave_session() const;

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
  lock::Instant act_by_{};  ///< as last published
};

}  // namespace redlock::run
