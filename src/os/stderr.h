// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
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

  /// Writes the line and a newline, or keeps them.
  void line(std::string text);

  /// Writes `text`, which has that many columns, over the live line: one that is rewritten, and that
  /// makes way for every line(). Where it cannot be written now it is dropped, not kept. For a
  /// terminal, and in the foreground only: in the background the shell's prompt stands there.
  void show(const std::string& text, std::size_t columns);

  /// Takes the live line away. False: it is there, and stays, as that cannot be written now.
  bool hide();

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
  [[nodiscard]] std::size_t live_columns_behind(std::size_t columns) const;
  [[nodiscard]] bool write_now(const std::string& text);

  bool opened_ = false;
  Fd reopened_;  ///< the same pipe or terminal, non-blocking for us alone
  bool socket_ = false;
  bool regular_ = false;  ///< a file: cannot block, and must share the offset with the job
  std::deque<std::string> kept_;
  std::string live_;              ///< what show() has written last
  std::size_t live_columns_ = 0;  ///< that are on the screen; 0: it is not there
};

}  // namespace redlock::os
