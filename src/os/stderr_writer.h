// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "os/fd.h"

namespace redlock::os {

/// A child process that writes to standard error in our place if that is a file. O_NONBLOCK has no
/// effect on files: on a file system that hangs (NFS, fsfreeze(8)) a write blocks, and not even
/// SIGKILL ends it. A thread is not enough: a process does not end before its last thread has
/// returned from the kernel.
///
/// The child blocks all signals, has a session of its own and only standard error of our
/// descriptors, and ends when it has written everything and we have closed the line to it.
class StderrWriter {
 public:
  /// None if the system gives no descriptor or no process.
  static std::optional<StderrWriter> start();

  [[nodiscard]] pid_t pid() const { return pid_; }

  /// False in a process that was forked since: the child belongs to its parent.
  [[nodiscard]] bool is_ours() const;

  enum class Sent {
    yes,
    not_now,  ///< the line to it is full
    never,    ///< the child is dead
  };
  /// Never blocks. Cuts a text longer than 64 KiB.
  Sent send(const std::string& text);

  /// Waits for `patience` at most until the child has written all texts. Returns whether it has.
  bool settle(std::chrono::milliseconds patience);

  /// Lets the child end, and waits for its death for `patience` at most.
  void end(std::chrono::milliseconds patience);

 private:
  StderrWriter(Fd line, pid_t pid, pid_t owner)
      : line_(std::move(line)), pid_(pid), owner_(owner) {}

  Fd line_;  ///< a packet for each text, and a byte back once the text is written
  pid_t pid_;
  pid_t owner_;
  std::size_t unwritten_ = 0;
};

}  // namespace redlock::os
