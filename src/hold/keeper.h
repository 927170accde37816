// SPDX-License-Identifier: MIT
//
// The keeper of `redlock acquire --keep-for PID`: this process renews the lock until PID ends.
//
//   the caller
//    └─ redlock acquire --keep-for PID    takes the lock, forks, prints the token, ends
//        └─ keeper                        in a session of its own, and init's child from then on
//
// The two communicate over a pair of sockets: the keeper reports that it runs, and does nothing
// before it hears that the token has been printed. If nobody has read the token, the parent
// releases the lock or, if somebody has killed the parent, the keeper does.
//
// Before that report, the keeper subscribes to the notices on its lock: `redlock release` notifies
// it that the token has been released. lock/keeping.h decides what follows from each event.
//
// The keeper never frees a lock while PID lives, with one exception: when its owner has released
// the token. If it cannot keep the lock, it signals PID, if --on-lost-signal asks for that, and
// lets the lock expire.
#pragma once

#include "lock/effect.h"
#include "lock/session.h"
#include "os/fd.h"
#include "os/loop.h"
#include "os/process.h"
#include "os/signals.h"
#include "records/records.h"
#include "redis/servers/server_set.h"

namespace redlock::hold {

struct Ward {
  pid_t pid;
  os::Fd process;   ///< pidfd
  int lost_signal;  ///< the keeper sends it if it cannot keep the lock; 0: none
};

/// A message over the pair of sockets: one byte. At the end-of-file, the other process is dead.
enum class KeeperMessage : char {
  running = 'r',  ///< from the keeper: it has left its caller's session and descriptors
  go = 'g',       ///< to the keeper: the token is known, keep the lock
  end = 'e',      ///< to the keeper: end, and leave the lock alone
};

/// A dead keeper needs no message. A live one must get it: without a message the keeper takes us
/// for dead, and would release a lock whose token is known. So this tries for a second.
void send_message(const os::Fd& keeper, KeeperMessage message);

/// What a keeper needs from the system before it can report that it runs.
struct KeeperReserve {
  os::Fd ours;      ///< the parent's end of the pair of sockets
  os::Fd keepers;   ///< the keeper's
  os::Loop loop;    ///< the keeper's own
  KeeperReserve();  ///< throws Error (71)
};

/// In the forked child: leaves the caller's session, waits for the parent's message, keeps the
/// lock, and ends the process. `session` waits for the answer to Spawn, and goes on here with
/// `servers`. `who` and `won` are for the lock's log. `patience`: how long the keeper waits for its
/// subscriptions. If a system call fails after the parent's death, the keeper releases the
/// lock.
[[noreturn]] void be_keeper(lock::Session& session, redis::ServerSet& servers,
                            os::SignalSource& signals, const Ward& ward, KeeperReserve& reserve,
                            const records::Holder& who, const lock::Log& won,
                            lock::Duration patience) noexcept;

}  // namespace redlock::hold
