// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "commands/held.h"
#include "diag/reporter.h"
#include "lock/session.h"
#include "os/loop.h"
#include "os/process_tree.h"
#include "os/signals.h"
#include "os/stderr.h"
#include "redis/server_set.h"

namespace redlock::commands {

struct Job {
  std::string lock_name;
  Place place;       ///< the lock, as REDLOCK_HELD calls it
  std::string held;  ///< REDLOCK_HELD as we found it
  std::vector<std::string> argv;
};

/// The heart of `redlock run`: one loop that turns what happens (replies, signals, the job's end,
/// time passing) into events for the session, and carries out the effects it returns.
class Runner {
 public:
  Runner(const lock::Plan& plan, Job job, redis::ServerSet& servers, os::Stderr& out,
         diag::Reporter& reporter);

  /// Until the job has ended and the lock is given back, or the attempt has failed.
  lock::Outcome run();

 private:
  void turn();
  void step(lock::Event event, lock::Instant now);
  std::optional<lock::Event> perform(const lock::Effect& effect, lock::Instant now);
  lock::Event spawn(const lock::Spawn& order);
  void reap(lock::Instant now);

  Job job_;
  os::SignalSource signals_;  // first: from here on no signal ends us with a lock in our hands
  os::ProcessTree tree_;
  os::Loop loop_;
  redis::ServerSet& servers_;
  os::Stderr& out_;
  diag::Reporter& reporter_;
  lock::Session session_;
  std::vector<os::Interest> interests_;
  pid_t job_pid_ = -1;
};

}  // namespace redlock::commands
