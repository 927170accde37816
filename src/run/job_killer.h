// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "lock/time.h"
#include "os/process_tree.h"
#include "os/stderr.h"

namespace redlock::run {

/// Signals that end the job. Says once which processes redlock is not permitted to kill: they may
/// go on beside the next holder of the lock.
class JobKiller {
 public:
  /// `lock`: how messages call it.
  JobKiller(os::ProcessTree& tree, os::Stderr& out, const std::string& lock);

  /// To every process of the job. Returns whether a KILL reached one that none had reached before.
  bool signal(int number);
  /// And CONT behind it, so that also those that are stopped act on it.
  void signal_and_continue(int number);

  /// How long it takes until every process of the job has got a KILL and is dead.
  [[nodiscard]] lock::Duration cost();

 private:
  void say_refused(const std::vector<pid_t>& refused);

  os::ProcessTree& tree_;
  os::Stderr& out_;
  std::string lock_;
  bool told_ = false;
};

}  // namespace redlock::run
