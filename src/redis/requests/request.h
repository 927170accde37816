// SPDX-License-Identifier: MIT
//
// Makes commands of requests. Those of the queue of waiters are best effort: a user without the
// permission for it waits all the same. Absent on purpose: when to ask (lock/), replies (answer.h).
#pragma once

#include "lock/judgement.h"
#include "lock/vote.h"
#include "redis/requests/command.h"
#include "redis/requests/keys.h"
#include "redis/wire/uri.h"

namespace redlock::redis {

/// A lock, and how we ask for it: all that its requests need to know. Built once, in
/// driver/setup.h.
struct LockContext {
  std::string lock_key;      ///< prefix and name
  bool redisson = false;     ///< the key is a hash, as Redisson's are: scripts/redisson.lua
  bool shared = false;       ///< we ask as one of many readers
  std::size_t slots = 0;     ///< of the lock; 0: it has none
  std::string held_token{};  ///< of the lock that an ancestor holds; empty: none
  bool keeps = false;        ///< our release may leave the lock cooling, or held for maintenance
  bool newest = false;       ///< of the waiters that say so, only the newest goes on
  std::optional<std::uint64_t> build{};
  unsigned replicas = 0;     ///< of each server: this many must have a grant before it counts
  unsigned log_entries = 0;  ///< about how many lines the lock's log keeps; 0: nothing is logged
  std::string list{};        ///< the id of our list of servers: 8 hex digits
  std::chrono::milliseconds ttl{};       ///< how long a hold counts without a renewal
  std::chrono::seconds restart_grace{};  ///< 0: we trust servers as soon as they run
  std::string waiter{};                  ///< our name in the queue of waiters: by ServerSet
  std::string holder_json{};             ///< describes us, for each round of requests: by ServerSet
  std::string hold_json{};               ///< describes the hold that a run that failed leaves
  std::string holder_key = helper_key(lock_key, "holder");
  std::string fence_key = helper_key(lock_key, "fence");
  std::string dead_key = helper_key(lock_key, "dead");
  std::string done_key = helper_key(lock_key, "done");
  std::string build_key = helper_key(lock_key, "build");
  std::string readers_key = helper_key(lock_key, "readers");

  [[nodiscard]] bool is_shared() const { return shared || slots > 0; }
};

/// The secrets of an attempt.
struct Secrets {
  std::string token;  ///< the lock's value
  std::string hold;   ///< the same, or, for a process that joins, one of its own
  /// Another process took the lock, and may be renewing it. A release notifies it by a channel, for
  /// which the user may lack permission, and by a note on the server.
  bool adopted = false;
};

/// Whether replicas must have the result before it counts.
bool is_replicated(lock::Op op);

/// Lets the flight wait until `replicas` replicas have its results, or `limit` has passed.
Flight with_wait(Flight flight, unsigned replicas, std::chrono::milliseconds limit);

/// A release after which a late request may put its token back: it leaves a tombstone, too. Not for
/// a process that joined: others have the token.
Flight with_tombstone(Flight release, const LockContext& context, const Secrets& secrets);

Flight encode_request(const lock::Operation& operation, const LockContext& context,
                      const Secrets& secrets);

/// AUTH, SELECT and `question`, if there is one, as far as they are needed.
Flight encode_handshake(const Endpoint& endpoint, const std::optional<Command>& question);

/// The channel for a waiter's wake-ups.
std::string wake_channel(std::string_view lock_key, std::string_view waiter);

/// The waiter stays in the queue for another 20 s. `who`: JSON, redlock-protocol(7).
Command encode_join_queue(std::string_view lock_key, std::string_view waiter, std::string_view who,
                          lock::Ticket ticket);

/// That waiter leaves the queue, if given. If the lock is free, the first waiter gets its turn.
/// `shared`: the lock has readers or slots, as far as we know.
Command encode_hand_on(std::string_view lock_key, std::string_view leaves = {},
                       bool shared = false);

/// Asks for the waiters: see read_waiting().
Command encode_waiting(std::string_view lock_key);

/// A command that writes a line into the log of the lock with this key, best effort: its one reply
/// says nothing. The log keeps about `most` lines (1 or more); their content: records/records.h.
/// `event`: records::word_for(). `token`: of the run; only its digest gets into the log. `data`:
/// JSON.
Command encode_log(std::string_view lock_key, std::string_view event, std::string_view token,
                   std::string_view data, unsigned most);

/// Remembers that a run on `host` gave up because another one had the lock. Its reply says nothing.
/// `host`: 1 to 64 bytes without blanks. `data`: JSON.
Command encode_refuse(std::string_view lock_key, std::string_view host, std::string_view data);

/// The last successful build (--build) is forgotten.
Command encode_forget_build(std::string_view lock_key);

/// Asks for what encode_refuse() has left: see read_refusals().
Command encode_refusals(std::string_view lock_key);

/// Revokes the lock `key` with this token, for `redlock release --force`: it gets `value`, unless
/// it has changed since the user saw it. Notifies the holder, also if it was revoked before.
Command encode_revoke(const std::string& key, const std::string& token, const std::string& value);

/// Deletes the key that the user saw, unless it has changed since. `token`: of its lock; empty for
/// a key of another program. `readers`: the tokens of all that hold a shared lock, on any server.
Flight encode_remove(const std::string& key, const lock::Sighting& seen, const std::string& token,
                     const std::vector<std::string>& readers);

}  // namespace redlock::redis
