// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "os/fd.h"
#include "os/stderr_writer.h"

namespace redlock::os {

/// Standard error that never makes us wait: a full pipe, a terminal stopped by Ctrl-S or one that
/// stops who writes from the background, and a file system that hangs must not hold up a renewal.
/// What cannot be written now is kept (a bounded number of lines) and tried again with the next
/// line and at the end. To a file a child process writes (os/stderr_writer.h), started when there
/// is something to be written: it is waited for, so that lines come in order, but for 20 ms at
/// most.
class Stderr {
 public:
  Stderr() = default;

  /// Writes the line and a newline, or keeps them. Control characters and the like become "?".
  void line(std::string text);

  /// Writes `text`, which has that many columns, over the live line: one that is rewritten, and
  /// that makes way for every line(). Where it cannot be written now it is dropped, not kept. For a
  /// terminal, and in the foreground only: in the background the shell's prompt stands there.
  void show(const std::string& text, std::size_t columns);

  /// Takes the live line away. False: it is there, and stays, as that cannot be written now.
  bool hide();

  /// Tries to get rid of what was kept, for at most `patience`; or of what goes to a file, for half
  /// a second in the whole life of this object. Ends the child process.
  void drain(std::chrono::milliseconds patience);

  /// `started` gets the PID of each child process that writes for us.
  void on_writer(std::function<void(pid_t)> started) { started_ = std::move(started); }

  /// Forgets what was kept: a forked child will write it.
  void leave_to_child() { kept_.clear(); }

  /// The same, and lets go of standard error: another one is to take its place in this process.
  void let_go();

  /// Standard error is a terminal.
  static bool is_terminal();

 private:
  enum class Kind { unknown, socket, stream, file };

  static Kind find_kind();
  void open();
  bool write_front();
  bool send_front();
  void write_out();
  void drain_file();
  [[nodiscard]] std::size_t live_columns_behind(std::size_t columns) const;
  [[nodiscard]] bool write_now(const std::string& text);

  Kind kind_ = Kind::unknown;
  Fd reopened_;  ///< of a stream: the same pipe or terminal, non-blocking for us alone
  std::optional<StderrWriter> writer_;  ///< of a file
  std::chrono::milliseconds patience_left_{500};
  std::function<void(pid_t)> started_;
  std::deque<std::string> kept_;
  std::string live_;              ///< what show() has written last
  std::size_t live_columns_ = 0;  ///< that are on the screen; 0: it is not there
};

}  // namespace redlock::os
