// SPDX-License-Identifier: MIT
#pragma once

#include <csignal>
#include <string>
#include <vector>

#include "lock/time.h"
#include "os/process_tree.h"
#include "os/stderr.h"

namespace redlock::run {

/// Sends the signals that end the job. Says once which processes redlock is not permitted to kill:
/// they may run at the same time as the next holder of the lock.
class JobKiller {
 public:
  JobKiller(os::ProcessTree& tree, os::Stderr& out, const std::string& lock);

  /// Signals every process of the job. Returns whether a KILL reached a process that no KILL had
  /// reached before.
  bool signal(int number);
  /// Sends CONT afterwards, so that stopped processes act on the signal, too.
  void signal_and_continue(int number) { static_cast<void>(tree_.signal(number, SIGCONT)); }

  /// KILL to the main process alone, which is the next stage.
  void kill_next_stage() { tree_.kill_leader(); }

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
