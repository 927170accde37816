// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "lock/time.h"
#include "os/process_tree.h"
#include "os/signals.h"
#include "os/stderr.h"

namespace redlock::run {

/// `--on-lost COMMAND`: run by /bin/sh once, when the job is stopped because of the lock. It is no
/// part of the job: it is not stopped with it, and the lock's release does not wait for it.
class LostHook {
 public:
  /// `command`: empty for none. `environment`: the job's.
  LostHook(std::string command, std::vector<std::string> environment)
      : command_(std::move(command)), environment_(std::move(environment)) {}

  /// Starts it, the first time.
  void start(os::ProcessTree& tree, const os::SignalSource& signals, os::Stderr& out);

  /// The process group of the command and all that it leaves in the background; -1: not started.
  [[nodiscard]] pid_t group() const { return group_; }

  /// When finish() ends at the latest.
  [[nodiscard]] lock::Instant limit() const { return limit_; }

  /// A child has been reaped.
  void reaped(pid_t pid) {
    if (pid == pid_) pid_ = -1;
  }

  /// Waits for its end, for at most 10 s from its start; then it is killed. Reaps children.
  void finish(os::Stderr& out);

 private:
  std::string command_;
  std::vector<std::string> environment_;
  pid_t pid_ = -1;
  pid_t group_ = -1;
  lock::Instant limit_{};
};

}  // namespace redlock::run
