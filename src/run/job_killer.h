// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "os/process_tree.h"
#include "os/stderr.h"

namespace redlock::run {

/// Kills the job. Says once which processes redlock is not permitted to kill: they may run at the
/// same time as the next holder of the lock.
class JobKiller {
 public:
  JobKiller(os::ProcessTree& tree, os::Stderr& out, const std::string& lock);

  /// KILL to every process of the job. True: it reached one that no KILL had reached before.
  bool kill();

  /// The time from the first KILL until every process of the job is dead.
  [[nodiscard]] lock::Duration cost();

  /// Reports that redlock ends although processes of the job are left (kLastAttempts).
  void say_left();

 private:
  void say_refused(const std::vector<pid_t>& refused);

  os::ProcessTree& tree_;
  os::Stderr& out_;
  std::string lock_;  ///< as sentences name it
  bool said_refused_ = false;
};

}  // namespace redlock::run
