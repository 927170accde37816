// SPDX-License-Identifier: MIT
//
// `redlock acquire --keep-for PID`: the process that stays behind and renews the lock until PID
// ends.
//
//   the caller
//    └─ redlock acquire --keep-for PID    takes the lock, forks, prints the token, ends
//        └─ keeper                        in a session of its own, and init's child from then on
//
// The two speak over a pair of sockets: the keeper says that it runs, and does nothing before it
// hears that the token has been printed. A token that nobody has got is given back by the parent,
// or, where that has been killed, by the keeper.
//
// Before it says so, the keeper listens for word on its lock: `redlock release` tells it that the
// token is given back. What it makes of that, and of all else, stands in lock/keeping.h.
//
// The keeper never frees a lock while PID lives, but for one: when the token has been released by
// its owner. Where it cannot keep the lock it tells PID, if it was asked to, and lets it expire.
#pragma once

#include <sys/types.h>

#include "driver/driver.h"
#include "driver/rescue.h"
#include "lock/keeping.h"
#include "lock/session.h"
#include "os/fd.h"
#include "os/loop.h"
#include "os/process.h"
#include "os/signals.h"
#include "records/holder.h"
#include "redis/server_set.h"

namespace redlock::hold {

/// Whom a lock is kept for.
struct Ward {
  os::Process process;
  int lost_signal;  ///< for when it cannot be kept; 0: none
};

/// How the lock was had, for the log.
struct Won {
  records::Holder who;
  lock::Log line;
};

/// One end of the pair of sockets. A word is one byte; anything else is somebody's death.
enum class KeeperWord : char {
  running = 'r',  ///< from the keeper: it has left its caller's session and descriptors
  go = 'g',       ///< to the keeper: the token is known, keep the lock
  end = 'e',      ///< to the keeper: just end
};

/// What a keeper needs from the system before it can say that it runs.
struct KeeperReserve {
  os::Fd ours;      ///< the parent's end of the pair of sockets
  os::Fd keepers;   ///< the keeper's
  os::Loop loop;    ///< the keeper's own
  KeeperReserve();  ///< throws Error (71)
};

class Keeper : private driver::Host {
 public:
  /// In the forked child. `session` waits for the answer to Spawn, and goes on here with `servers`.
  Keeper(lock::Session& session, redis::ServerSet& servers, os::SignalSource& signals,
         const Ward& ward, os::Fd parent, os::Loop loop, Won won);

  /// Leaves the caller, waits for the parent's word, and keeps the lock. Ends the process.
  /// `patience` with servers that cannot be listened to at once. If the machine fails under us
  /// when the parent is gone already, `rescue` gives the lock back.
  [[noreturn]] void keep(lock::Duration patience, driver::Rescue& rescue);

 private:
  enum class Parent { gone, says_go, says_end };

  void listen(lock::Instant limit);
  Parent await_word() noexcept;
  bool perform(const lock::Effect&, lock::Instant) override { return false; }
  [[nodiscard]] os::Interest watch() const override;
  bool take_signal(const lock::Signal& signal, lock::Instant now) override;
  void look(bool woken, lock::Instant now) override;
  void turned(lock::Instant now) override;
  void tell_ward();

  redis::ServerSet& servers_;
  const Ward& ward_;
  os::Fd parent_;
  Won won_;
  lock::Keeping keeping_;
  driver::Driver driver_;
  bool ward_gone_ = false;
  bool told_ = false;  ///< the ward, or it is not to be told anything
};

}  // namespace redlock::hold
