// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <deque>
#include <string>

#include "os/fd.h"

namespace redlock::os {

/// Standard error that never makes us wait: a full pipe, a terminal stopped by Ctrl-S or one that
/// stops who writes from the background must not hold up a renewal. What cannot be written now is
/// kept (a bounded number of lines) and tried again with the next line and at the end.
class Stderr {
 public:
  Stderr() = default;

  /// Writes the line and a newline, or keeps them. Control characters and the like become "?".
  void line(std::string text);

  /// Tries to get rid of what was kept, for at most `patience`.
  void drain(std::chrono::milliseconds patience);

  /// Forgets what was kept: a forked child will write it.
  void leave_to_child() { kept_.clear(); }

  /// The same, and lets go of standard error: another one is to take its place in this process.
  void let_go();

  /// Standard error is a terminal.
  static bool is_terminal();

 private:
  void open();
  bool write_front();

  bool opened_ = false;
  Fd reopened_;  ///< the same pipe or terminal, non-blocking for us alone
  bool socket_ = false;
  bool regular_ = false;  ///< a file: cannot block, and must share the offset with the job
  std::deque<std::string> kept_;
};

}  // namespace redlock::os
