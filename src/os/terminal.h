// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <cstddef>
#include <optional>

#include "os/fd.h"

namespace redlock::os {

/// The columns of the terminal `fd`; none if it is not a terminal, or does not know.
std::optional<std::size_t> terminal_width(int fd);

/// Its lines; none likewise.
std::optional<std::size_t> terminal_height(int fd);

/// Whether LC_ALL, LC_CTYPE or LANG, the first that is set, names UTF-8.
bool locale_is_utf8();

/// The controlling terminal of a job that gets it for itself. Only if this process leads the
/// terminal's foreground group, below a shell with job control, and none of its standard
/// descriptors is part of a pipeline, as in `redlock run L -- job 2>&1 >file | less`: there a job
/// in a group of its own would take the terminal, and the kernel would stop `less` when it reads a
/// key.
class Terminal {
 public:
  /// None if the job belongs in our own process group.
  static std::optional<Terminal> of_foreground_leader();

  [[nodiscard]] int fd() const { return fd_.get(); }

  /// The process group in the foreground, or -1.
  [[nodiscard]] pid_t foreground() const;

  /// Gives the terminal to a group, even from the background.
  void give_to(pid_t group) const;

  /// Gives the terminal to our own group if `group` has it, or a group that no longer exists; not
  /// if a shell took it meanwhile. Returns whether it did.
  [[nodiscard]] bool take_back_from(pid_t group) const;

  /// Restores echo and the like to their state when this object was constructed.
  void restore_modes() const;

 private:
  explicit Terminal(Fd fd);

  Fd fd_;
  termios modes_{};
  bool has_modes_;
};

}  // namespace redlock::os
