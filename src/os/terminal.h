// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <optional>

#include "os/fd.h"

namespace redlock::os {

/// We lead our session: a terminal that hangs up tells us, and nobody else.
bool leads_session();

/// Somebody does job control on our process group: an ancestor outside of it, in our session, such as
/// an interactive shell. Otherwise (cron, ssh -t, a container) the group is an orphaned one, as
/// setpgid(2) calls it, which Ctrl-Z does not stop. A child in another group of the session would
/// end that; and with that child's death the kernel would send SIGHUP to all of the group if any of
/// it was stopped.
bool has_job_control();

/// The controlling terminal of a job that is to have it for itself: for a process that leads the
/// terminal's foreground group, below a shell with job control, and is no part of a pipeline (in a
/// group of its own the job would be in the background beside its `less`).
class Terminal {
 public:
  /// None where the job belongs into our own process group. Only with has_job_control().
  static std::optional<Terminal> of_foreground_leader();

  [[nodiscard]] int fd() const { return fd_.get(); }

  /// The process group in the foreground, -1 without.
  [[nodiscard]] pid_t foreground() const;

  /// Gives the terminal to a group. The caller blocks SIGTTOU.
  void give_to(pid_t group) const;

  /// Echo and the like as they were when this object was made.
  void restore_modes() const;

 private:
  explicit Terminal(Fd fd);

  Fd fd_;
  termios modes_{};
  bool has_modes_;
};

}  // namespace redlock::os
