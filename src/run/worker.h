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

/// The worker's side of the supervision (run/supervision.h): it tells the process on top how
/// things stand, and sees when that one is gone.
class Worker {
 public:
  /// In the forked child, whose parent is `top`; `top_process` is its pidfd.
  Worker(pid_t top, os::Fd top_process, os::Fd messages, Supervision& supervision);

  /// Out of the top's process group, so that a stop of the whole group (`kill -STOP %1`) leaves the
  /// renewals going. To be called before a job is started that gets a group of its own: its parent
  /// has to be of another group in the same session, or Ctrl-Z would not stop it (credentials(7)).
  void leave_group() const;
  /// To be called once a job runs that shares the top's group: out of the session, too. One member
  /// whose parent is of another group in the session would make Ctrl-Z stop a group that nobody
  /// continues (ssh -t, a container: all are in the session leader's group).
  void leave_session() const;

  /// To be watched: readable once the top is dead. Where the kernel refuses a pidfd, nothing is to
  /// be watched, and a SIGCHLD comes instead.
  [[nodiscard]] os::Interest interest() const { return {.fd = supervisor_.get(), .read = true}; }
  [[nodiscard]] bool top_is_gone();

  /// False: nobody can hear it any more.
  bool tell(WorkerMessage::Kind kind, int value = 0) const;
  /// How things stand. A top that would sleep for too long by what it knew is woken; where the lock
  /// is being released, by the next continue_top().
  void publish(const lock::WorkerState& standing);

  /// The job's main process has been reaped, and ended like that.
  void job_ended(Exit end);
  /// A top that was stopped goes on, to see what has become of the job.
  void continue_top() const;

  /// The last deed: redlock is to end like that. Ends this process.
  [[noreturn]] void leave(Exit result);

 private:
  os::Fd supervisor_;  ///< pidfd, as long as the top is not known to be gone
  pid_t top_pid_;
  os::Fd messages_;
  Supervision& supervision_;
  lock::Instant act_by_{};  ///< as last published
};

}  // namespace redlock::run
