// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <optional>
#include <utility>

#include "os/fd.h"

namespace redlock::os {

/// A process that need not be our child, by a pidfd: the pidfd never refers to another process,
/// even if that gets the same PID later (pidfd_open(2)).
class Process {
 public:
  /// None: there is no such process, or it is dead and only waits to be reaped, or the number
  /// belongs to a thread. Throws Error (71) if the system refuses.
  static std::optional<Process> find(pid_t pid);

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Readable once the process is dead.
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] bool gone() const;

  /// Does nothing if the process is dead, or we may not signal it.
  void signal(int number) const;

 private:
  Process(pid_t pid, Fd fd) : pid_(pid), fd_(std::move(fd)) {}

  pid_t pid_;
  Fd fd_;
};

}  // namespace redlock::os
