// SPDX-License-Identifier: MIT
//
// The kernel tells a process who sent it a signal, but not whether the sender meant this process
// alone, its process group (kill -TERM -PGID, Ctrl-C) or every process of a service. A witness is
// one more process that gets what the group gets, and notes it.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "lock/time.h"

namespace redlock::os {

/// In shared memory: for each signal, when a process last got it, in ns on the lock::BootClock.
class SignalNotes {
 public:
  void note(int signal);
  [[nodiscard]] bool has(int signal, lock::Instant since) const;

 private:
  std::array<std::atomic<std::int64_t>, 65> times_{};
};

/// Whether the kernel has this signal for a process that blocks it and has not run since. False if
/// that cannot be read.
bool has_pending(pid_t pid, int signal) noexcept;

/// A child process that does nothing else. Job control stops it with its group. It dies with us.
class SignalWitness {
 public:
  enum class Group { ours, own };

  /// If the system refuses a process, there is no witness, and no notes.
  SignalWitness(SignalNotes& notes, Group group);
  ~SignalWitness() { end(); }
  SignalWitness(const SignalWitness&) = delete;
  SignalWitness& operator=(const SignalWitness&) = delete;

  /// -1: none.
  [[nodiscard]] pid_t pid() const { return pid_; }

  /// Continues the witness. To be called when somebody has continued this process, maybe without
  /// its group.
  void proceed() const;
  /// The caller has reaped a child.
  void reaped(pid_t pid) {
    if (pid == pid_) pid_ = -1;
  }
  void end();

 private:
  pid_t pid_;
};

}  // namespace redlock::os
