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

/// Standard error that never makes us wait: nothing may delay a renewal, neither a full pipe, nor a
/// terminal that Ctrl-S stopped or that stops background writers, nor a file system that hangs. If
/// a line cannot be written now, this keeps it (up to a number of lines) and tries again with the
/// next line and at the end. If standard error is a file, a child process writes to it
/// (os/stderr_writer.h). This starts the child with the first line and waits for it at most 20 ms,
/// to keep lines in order.
class Stderr {
 public:
  Stderr() = default;

  /// Writes the line and a newline, or keeps them. Replaces control characters and the like by "?".
  void line(std::string text);

  /// Writes `text`, which has `columns` columns, over the live line: this line is rewritten in
  /// place, and every line() removes it first. If it cannot be written now, it is dropped, not
  /// kept. Only for a terminal, and only in the foreground: in the background the shell's prompt is
  /// there.
  void show(const std::string& text, std::size_t columns);

  /// Removes the live line. False: it stays, as nothing can be written now.
  bool hide();

  /// Tries to write the kept lines, for at most `patience`; to a file, for half a second in the
  /// whole life of this object. Ends the child process.
  void drain(std::chrono::milliseconds patience);

  /// Calls `started` with the PID of each child process that writes for us.
  void on_writer(std::function<void(pid_t)> started) { started_ = std::move(started); }

  /// Forgets the kept lines: a forked child will write them.
  void leave_to_child() { kept_.clear(); }

  /// The same, and gives up standard error: another one will take its place in this process.
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
  Fd reopened_;  ///< for a stream: the same pipe or terminal, non-blocking for us alone
  std::optional<StderrWriter> writer_;  ///< for a file
  std::chrono::milliseconds patience_left_{500};
  std::function<void(pid_t)> started_;
  std::deque<std::string> kept_;
  std::string live_;              ///< the latest text of show()
  std::size_t live_columns_ = 0;  ///< its columns on the screen; 0: it is not there
};

}  // namespace redlock::os
