// SPDX-License-Identifier: MIT
//
// What a user reads: standard error, which never blocks here, and the terminal.
#pragma once

#include <sys/types.h>
#include <termios.h>

#include <chrono>
#include <deque>
#include <optional>

#include "os/fd.h"

namespace redlock::os {

/// For a process without memory: writes the line (with its newline) to standard error, unless that
/// would block.
void last_words(std::string_view line) noexcept;

/// Standard error that does not make us wait: nothing may delay a renewal, neither a full pipe, nor
/// a terminal that Ctrl-S stopped or that stops background writers. A line that cannot be written
/// now waits (with up to 199 others) for the next line and for drain(). A write to a file blocks if
/// its file system hangs: see keep_lines_for_file().
class Stderr {
 public:
  /// Writes or keeps the line. Replaces control characters and the like by "?".
  void line(std::string text);

  /// Writes `text`, which has `columns` columns, as the live line: the next show() overwrites it,
  /// and line() removes it first. Does nothing if that would block, and in the background, where
  /// the shell's prompt is. Only for a terminal.
  void show(const std::string& text, std::size_t columns);

  /// Removes the live line. False: it stays, as a write would block.
  bool hide();

  /// Writes the kept lines: to a file however long it takes, else for at most `patience`.
  void drain(std::chrono::milliseconds patience = std::chrono::milliseconds(100));

  /// For a process that must not wait for a file system: only drain() writes to a file.
  void keep_lines_for_file() { keeps_for_file_ = true; }

  /// Forgets the kept lines: a forked child will write them.
  void leave_to_child() { kept_.clear(); }

  /// For a forked child that writes nothing more: closes what this has opened.
  void let_go() { reopened_.reset(); }

  static bool is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

 private:
  enum class Kind { unknown, socket, stream, file };

  void open();
  bool write_front();
  void write_out();
  [[nodiscard]] std::size_t live_columns_after(std::size_t columns) const;
  [[nodiscard]] bool write_now(const std::string& text);

  Kind kind_ = Kind::unknown;
  Fd reopened_;  ///< for a stream: the same pipe or terminal, non-blocking for us alone
  bool keeps_for_file_ = false;
  std::deque<std::string> kept_;
  std::string live_;              ///< the latest text of show()
  std::size_t live_columns_ = 0;  ///< its columns on the screen; 0: it is not there
};

/// The columns and the lines of the terminal `fd`, if it is one and knows them.
std::optional<std::size_t> terminal_width(int fd);
std::optional<std::size_t> terminal_height(int fd);

/// Whether TERM names a terminal that knows escape sequences.
bool terminal_knows_escapes();

/// Whether LC_ALL, LC_CTYPE or LANG, the first that is set, names UTF-8.
bool locale_is_utf8();

/// The controlling terminal of a job that gets it for itself. Only if this process leads the
/// terminal's foreground group, below a shell with job control, and is no part of a pipeline: in
/// `redlock run L -- job 2>&1 >file | less`, the kernel would stop `less` when it reads a key.
class Terminal {
 public:
  /// Nothing if the job belongs in our own process group.
  static std::optional<Terminal> of_foreground_leader();

  [[nodiscard]] int fd() const { return fd_.get(); }

  /// The process group in the foreground, or -1.
  [[nodiscard]] pid_t foreground() const { return ::tcgetpgrp(fd_.get()); }

  /// Gives the terminal to a group, even from the background.
  void give_to(pid_t group) const;

  /// Gives the terminal to our own group if `group` has it, or a group that no longer exists.
  /// False: another group has it, such as a shell.
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
