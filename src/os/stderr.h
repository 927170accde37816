// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

#include "os/fd.h"

namespace redlock::os {

/// If there is no memory even for a message: writes the line (with its newline) to standard error,
/// if that takes it at once.
void last_words(std::string_view line) noexcept;

/// Standard error that does not make us wait: nothing may delay a renewal, neither a full pipe, nor
/// a terminal that Ctrl-S stopped or that stops background writers. If a line cannot be written
/// now, this keeps it (up to a number of lines) and tries again with the next line and at the end.
/// A write to a file blocks if its file system hangs: see keep_lines_for_file().
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

  /// Tries to write the kept lines, for at most `patience`, but waits for a file as long as it
  /// takes.
  void drain(std::chrono::milliseconds patience);

  /// From now on, if standard error is a file, only drain() writes to it: for a process that must
  /// not wait for a file system.
  void keep_lines_for_file() { keeps_for_file_ = true; }

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
  void write_out();
  [[nodiscard]] std::size_t live_columns_behind(std::size_t columns) const;
  [[nodiscard]] bool write_now(const std::string& text);

  Kind kind_ = Kind::unknown;
  Fd reopened_;  ///< for a stream: the same pipe or terminal, non-blocking for us alone
  bool keeps_for_file_ = false;
  std::deque<std::string> kept_;
  std::string live_;              ///< the latest text of show()
  std::size_t live_columns_ = 0;  ///< its columns on the screen; 0: it is not there
};

}  // namespace redlock::os
