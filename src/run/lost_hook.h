// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "os/process_tree.h"
#include "os/signals.h"
#include "os/stderr.h"

namespace redlock::run {

/// `--on-lost COMMAND`: /bin/sh runs it once, when redlock stops the job because of the lock. It is
/// no part of the job: redlock does not stop it, and the release of the lock does not wait for it.
class LostHook {
 public:
  /// `command`: empty if there is none. `environment`: its own.
  LostHook(std::string command, std::vector<std::string> environment)
      : command_(std::move(command)), environment_(std::move(environment)) {}

  /// Starts the command; does nothing if called again.
  void start(os::ProcessTree& tree, const os::SignalSource& signals, os::Stderr& out);

  /// The process group of the command and of what it leaves in the background; -1: not started.
  [[nodiscard]] pid_t group() const { return group_; }

  /// The latest moment at which finish() returns.
  [[nodiscard]] lock::Instant limit() const { return limit_; }

  void reaped(pid_t pid) {
    if (pid == pid_) pid_ = -1;
  }

  /// Waits for the command, for at most 10 s from its start, and then kills it. Reaps children.
  void finish(os::Stderr& out);

 private:
  std::string command_;
  std::vector<std::string> environment_;
  pid_t pid_ = -1;
  pid_t group_ = -1;
  lock::Instant limit_{};
};

}  // namespace redlock::run
