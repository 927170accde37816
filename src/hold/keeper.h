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

#include "driver/driver.h"
#include "lock/keeping.h"
#include "lock/session.h"
#include "os/fd.h"
#include "os/loop.h"
#include "os/process.h"
#include "os/signals.h"
#include "records/holder.h"
#include "redis/servers/server_set.h"

namespace redlock::hold {

struct Ward {
  os::Process process;
  int lost_signal;  ///< the keeper sends it if it cannot keep the lock; 0: none
};

/// A message over the pair of sockets: one byte. At the end-of-file, the other process is dead.
enum class KeeperMessage : char {
  running = 'r',  ///< from the keeper: it has left its caller's session and descriptors
  go = 'g',       ///< to the keeper: the token is known, keep the lock
  end = 'e',      ///< to the keeper: end, and leave the lock alone
};

/// What a keeper needs from the system before it can report that it runs.
struct KeeperReserve {
  os::Fd ours;      ///< the parent's end of the pair of sockets
  os::Fd keepers;   ///< the keeper's
  os::Loop loop;    ///< the keeper's own
  KeeperReserve();  ///< throws Error (71)
};

class Keeper : private driver::Host {
 public:
  /// In the forked child. `session` waits for the answer to Spawn, and goes on here with `servers`.
  /// `who` and `won` are for the lock's log.
  Keeper(lock::Session& session, redis::ServerSet& servers, os::SignalSource& signals,
         const Ward& ward, os::Fd parent, os::Loop loop, records::Holder who, const lock::Log& won);

  /// Leaves the caller's session, waits for the parent's message, and keeps the lock. Ends the
  /// process. `patience`: how long it waits for its subscriptions. If the system refuses something
  /// after the parent's death, the keeper releases the lock.
  [[noreturn]] void keep(lock::Duration patience);

 private:
  enum class Parent { gone, says_go, says_end };

  void listen(lock::Instant limit);
  Parent await_message() noexcept;
  bool perform(const lock::Effect&, lock::Instant) override { return false; }
  /// The descriptor of a dead ward would always be ready.
  [[nodiscard]] os::Interest watch() const override {
    return {.fd = ward_gone_ ? -1 : ward_.process.fd(), .read = true};
  }
  bool take_signal(const lock::Signal& signal, lock::Instant now) override;
  void look(bool woken, lock::Instant now) override;
  void turned(lock::Instant) override {
    if (keeping_.warns()) tell_ward();
  }
  void tell_ward();

  redis::ServerSet& servers_;
  const Ward& ward_;
  os::Fd parent_;
  records::Holder who_;
  lock::Log won_;  ///< how redlock acquired the lock
  lock::Keeping keeping_;
  driver::Driver driver_;
  bool ward_gone_ = false;
  bool signalled_ = false;  ///< the ward has its signal, or gets none
};

}  // namespace redlock::hold
