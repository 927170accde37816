// SPDX-License-Identifier: MIT
//
// Encodes requests as commands. Those of the queue of waiters are best effort: a user without the
// permission for it waits all the same. Absent on purpose: when to ask (lock/), replies (answer.h).
#pragma once

#include "lock/judgement.h"
#include "lock/vote.h"
#include "redis/requests/keys.h"
#include "redis/wire/uri.h"

namespace redlock::redis {

/// The parts that all requests for one lock have in common.
struct LockContext {
  std::string lock_key;
  std::string waiter{};             ///< our name in the queue of waiters
  std::chrono::milliseconds ttl{};  ///< how long a hold counts without a renewal
  std::string holder_json{};
  std::chrono::seconds restart_grace{};  ///< 0: we trust servers as soon as they run
  std::string holder_key = helper_key(lock_key, "holder");
  std::string fence_key = helper_key(lock_key, "fence");
  std::string dead_key = helper_key(lock_key, "dead");
  bool newest = false;                   ///< as in LockKeys
  std::optional<std::uint64_t> build{};  ///< as in LockKeys
  std::string done_key = helper_key(lock_key, "done");
  std::string build_key = helper_key(lock_key, "build");
  std::string readers_key = helper_key(lock_key, "readers");
};

/// The commands of one request, to be sent together. The first one is the request, the others are
/// best effort: we read and ignore their replies.
struct Flight {
  /// A request with any number of replies (SUBSCRIBE): each of them is an arrival.
  static constexpr unsigned kEndless = static_cast<unsigned>(-1);
  std::string wire;
  unsigned replies = 1;
  unsigned answer_at = 0;  ///< which reply is the answer, from 0
  /// The request is answered once the last command is, too: it is WAIT, or may have to be repeated.
  bool waits = false;
  bool hashed = false;  ///< commands name their script by its hash
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

/// The flight for a node to which a Cluster is moving the key: each command after an ASKING.
Flight with_asking(const Flight& flight);

Flight encode_request(const lock::Ask& ask, const LockContext& context, const Secrets& secrets);

/// AUTH, SELECT and `question`, a command or empty, as far as they are needed.
Flight encode_handshake(const Endpoint& endpoint, const std::string& question);

/// The flight as this server gets it. Its scripts and commands send messages with PUBLISH, which a
/// Cluster carries to every node: there they try SPUBLISH first, which only reaches the nodes that
/// have the lock's slot (https://redis.io/docs/latest/develop/pubsub/, "Sharded Pub/Sub").
/// `redisson_key`: the lock's key if it is a hash, as Redisson's are (scripts/redisson.lua).
Flight for_server(Flight flight, const Endpoint& endpoint, std::string_view redisson_key = {});

/// The flight with the SHA-1 sum in place of each script that may go by hash (scripts.h).
Flight by_hash(Flight flight);

/// Undoes by_hash(), for a server that has answered such a command with an error.
Flight in_full(Flight flight);

/// That command of the flight, counted from 0, if it names its script by its hash; or empty.
std::string hashed_command(const Flight& flight, unsigned index);

/// The channel for a waiter's wake-ups.
std::string wake_channel(std::string_view lock_key, std::string_view waiter);

/// The waiter stays in the queue for another 20 s. `who`: JSON, redlock-protocol(7).
std::string encode_join_queue(std::string_view lock_key, std::string_view waiter,
                              std::string_view who, lock::Ticket ticket);

/// That waiter leaves the queue, if given. If the lock is free, the first waiter gets its turn.
std::string encode_hand_on(std::string_view lock_key, std::string_view leaves = {});

/// Our waiter leaves the queue. `has_lock`: because it has got the lock.
Flight encode_leave_queue(const LockContext& context, bool has_lock);

/// Asks for the waiters: see read_waiting().
std::string encode_waiting(std::string_view lock_key);

/// A command that writes a line into the log of the lock with this key, best effort: its one reply
/// says nothing. The log keeps about `most` lines (1 or more); their content: records/records.h.
/// `event`: records::word_for(). `token`: of the run; only its digest gets into the log. `data`:
/// JSON.
std::string encode_log(std::string_view lock_key, std::string_view event, std::string_view token,
                       std::string_view data, unsigned most);

/// Remembers that a run on `host` gave up because another one had the lock. Its reply says nothing.
/// `host`: 1 to 64 bytes without blanks. `data`: JSON.
std::string encode_refuse(std::string_view lock_key, std::string_view host, std::string_view data);

/// The last successful build (--build) is forgotten.
std::string encode_forget_build(std::string_view lock_key);

/// Asks for what encode_refuse() has left: see read_refusals().
std::string encode_refusals(std::string_view lock_key);

/// Revokes the lock `key` with this token, for `redlock release --force`: it gets `value`, unless
/// it has changed since the user saw it. Notifies the holder, also if it was revoked before.
Flight encode_revoke(const std::string& key, const std::string& token, const std::string& value);

/// Deletes the key that the user saw, unless it has changed since. `token`: of its lock; empty for
/// a key of another program. `readers`: the tokens of all that hold a shared lock, on any server.
Flight encode_remove(const std::string& key, const lock::Sighting& seen, const std::string& token,
                     const std::vector<std::string>& readers);

}  // namespace redlock::redis
