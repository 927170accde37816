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
/// Answers Kill{SIGKILL}: it reached a process that none had reached before.
struct Killed {
  bool found_new;
};
/// Answers Measure: how long it takes until all processes of the job have got a KILL and are dead.
struct KillCost {
  Duration length;
};
/// redlock itself got a signal while it has no job; one whose default action ends a process ends
/// the session, or the keeper. While there is a job, signals are the job's, and the process on top
/// passes them on.
struct Signal {
  int number;
  bool ends_waiting;
};
/// redlock's process on top is dead: nobody waits for the job any more.
struct SupervisorGone {};

/// Word has come that concerns our lock, or may have been sent before we listened. It decides
/// nothing: a renewal shows what is so.
struct Notice {
  bool released = false;  ///< by the owner of a lock that is kept; of use to Keeping alone
};

/// A server says that the lock may be free for whoever is in its queue; or from now on it would,
/// and may have before. It decides nothing: a round shows what is so.
struct Woken {
  bool next = false;  ///< another waiter was woken first, and shall have its chance
};

using Event = std::variant<Tick, Reply, JobStarted, JobTooLate, JobFailedToStart, JobExited,
                           JobTreeGone, Killed, KillCost, Signal, SupervisorGone, Notice, Woken>;

}  // namespace redlock::lock
