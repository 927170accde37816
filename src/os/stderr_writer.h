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

/// A child process that writes to standard error in our place, where that is a file. A write to a
/// file knows no O_NONBLOCK: on a file system that hangs (NFS, fsfreeze(8)) it blocks, and not even
/// SIGKILL ends it. A thread would not do: a process does not end before its last thread has
/// returned from the kernel.
///
/// The child is deaf to signals, has a session of its own and none of our descriptors but standard
/// error, and ends when it has written all and we have closed the line to it.
class StderrWriter {
 public:
  /// None where the system gives no descriptor or no process.
  static std::optional<StderrWriter> start();

  [[nodiscard]] pid_t pid() const { return pid_; }

  /// False in a process that was forked since: this is its parent's.
  [[nodiscard]] bool is_ours() const;

  enum class Sent {
    yes,
    not_now,  ///< the line to it is full
    never,    ///< it is dead
  };
  /// Never blocks. Cuts a text that is longer than 64 KiB.
  Sent send(const std::string& text);

  /// Waits for `patience` at most until all that was sent has been written. Returns whether it is.
  bool settle(std::chrono::milliseconds patience);

  /// Lets it end, and waits for its death for `patience` at most.
  void end(std::chrono::milliseconds patience);

 private:
  StderrWriter(Fd line, pid_t pid, pid_t owner)
      : line_(std::move(line)), pid_(pid), owner_(owner) {}

  Fd line_;  ///< a packet for each text, and a byte back when it is written
  pid_t pid_;
  pid_t owner_;
  std::size_t unwritten_ = 0;
};

}  // namespace redlock::os
