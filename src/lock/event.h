// SPDX-License-Identifier: MIT
//
// What may happen to the state machine (lock/session.h, keeping.h, by_token.h).
#pragma once

#include <variant>

#include "lock/time.h"
#include "lock/vote.h"

namespace redlock::lock {

struct Tick {};
/// The job runs. Answers Spawn.
struct JobStarted {};
/// Answers Spawn: Spawn::latest had passed.
struct JobTooLate {};
/// Answers Spawn: the command cannot be run; `status` is redlock's exit status for it.
struct JobFailedToStart {
  int status;
};
/// The job's main process is dead. `status`: its exit status, 128 + n for signal n.
struct JobExited {
  int status;
};
/// The job's main process is dead and so is every descendant. Expected only while
/// Session::watching_tree().
struct JobTreeGone {};
/// Answers Kill{SIGKILL}. `found_new`: the KILL reached a process that no KILL had reached before.
struct Killed {
  bool found_new;
};
/// Answers Measure: how long it takes until all processes of the job have received KILL and are
/// dead.
struct KillCost {
  Duration length;
};
/// redlock itself received a signal while it has no job. A signal whose default action ends a
/// process ends the session, or the keeper. While there is a job, signals are for the job, and the
/// supervisor passes them on.
struct Signal {
  int number;
  bool ends_waiting;
};
/// The supervisor is dead: no process waits for the job any more.
struct SupervisorGone {
  /// It had been told to end the job: if there is a stage before (lock/stages.h), that has probably
  /// killed it.
  bool ordered = false;
};

/// A notice about our lock has come, or may have been sent before we subscribed. It decides
/// nothing: a renewal shows what is true.
struct Notice {
  bool released = false;  ///< the owner of a kept lock released it; only Keeping uses this
};

/// A server says when the lock may be ours. It decides nothing: a round shows what is true.
struct Woken {
  /// Zero: now, and it is our turn. Otherwise another waiter has its turn until then, or the lock
  /// cools.
  Duration in{};
};
/// From now on we hear this server's wake-ups. One may have been sent before.
struct Subscribed {
  ServerIndex server;
};

using Event =
    std::variant<Tick, Reply, JobStarted, JobTooLate, JobFailedToStart, JobExited, JobTreeGone,
                 Killed, KillCost, Signal, SupervisorGone, Notice, Woken, Subscribed>;

}  // namespace redlock::lock
