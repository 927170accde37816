// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <cstddef>
#include <optional>

#include "os/fd.h"

namespace redlock::os {

/// We lead our session: nobody above us does job control (ssh -t, a container, a terminal started
/// with a command).
bool leads_session();

/// The process `pid` is of our session, which has a terminal, but not of our process group: a shell
/// with job control, if it is who continues us.
bool does_job_control(pid_t pid);

/// The columns of the terminal that `fd` is; none if it is none, or does not know.
std::optional<std::size_t> terminal_width(int fd);

/// The controlling terminal of a job that is to have it for itself: for a process that leads the
/// terminal's foreground group, below a shell with job control, and is no part of a pipeline, by
/// none of its standard descriptors: `redlock run L -- job 2>&1 >file | less` (in a group of its
/// own the job would have the terminal, and `less` would be stopped when it reads a key).
class Terminal {
 public:
  /// None where the job belongs into our own process group.
  static std::optional<Terminal> of_foreground_leader();

  [[nodiscard]] int fd() const { return fd_.get(); }

  /// The process group in the foreground, -1 without.
  [[nodiscard]] pid_t foreground() const;

  /// Gives the terminal to a group, from the background too.
  void give_to(pid_t group) const;

  /// Gives it to our own group if `group` has it, or one that is no more; not if a shell took it
  /// meanwhile. Returns whether it did.
  [[nodiscard]] bool take_back_from(pid_t group) const;

  /// Echo and the like as they were when this object was made.
  void restore_modes() const;

 private:
  explicit Terminal(Fd fd);

  Fd fd_;
  termios modes_{};
  bool has_modes_;
};

}  // namespace redlock::os
