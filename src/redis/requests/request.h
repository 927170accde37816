// SPDX-License-Identifier: MIT
//
// Encodes lock::Op as commands, and reads replies as lock::Answer. Absent on purpose: when to ask,
// and what follows from an answer (lock/); sockets (link.h).
#pragma once

#include <chrono>
#include <string>

#include "lock/vote.h"
#include "redis/wire/resp.h"

namespace redlock::redis {

/// The parts that all requests for one lock have in common.
struct LockContext {
  std::string lock_key;
  std::string holder_key;
  std::string fence_key;
  std::string dead_key;
  std::string done_key;
  std::string readers_key{};
  std::string waiter;               ///< our name in the queue of waiters
  std::chrono::milliseconds ttl{};  ///< how long a hold counts without a renewal
  std::string holder_json;
  std::chrono::seconds restart_grace{};  ///< 0: we trust servers as soon as they run
  unsigned replicas = 0;                 ///< so many must have the grant before it counts
};

/// The commands of one request, to be sent together. The first one is the request, the others are
/// best effort: we read and ignore their replies.
struct Flight {
  /// For a request with any number of replies (SUBSCRIBE): each of them is an arrival.
  static constexpr unsigned kEndless = static_cast<unsigned>(-1);
  std::string wire;
  unsigned replies = 1;
  unsigned answer_at = 0;  ///< which reply is the answer, from 0
  /// The last command is WAIT: the request is answered once this command is, too.
  bool waits = false;
};

/// The secrets of an attempt.
struct Secrets {
  std::string token;  ///< the lock's value
  std::string hold;   ///< the same, or, for a process that joins, one of its own
  /// Another process took the lock, and may be renewing it. A release notifies it in two ways: by a
  /// channel, which the user may lack permission for, and by a note on the server, which the
  /// process finds when it asks for it.
  bool adopted = false;
};

/// Whether replicas must have the result of such a request before it counts.
bool is_replicated(lock::Op op);

/// Lets the flight wait until `replicas` replicas have its results, or `limit` has passed.
Flight with_wait(Flight flight, unsigned replicas, std::chrono::milliseconds limit);

/// The answer, unless fewer than `replicas` replicas have the result. `waited`: the reply to WAIT.
lock::Answer read_waited(lock::Answer answer, const Value& waited, unsigned replicas);

/// The flight for a node to which a Cluster is moving the key: each command behind an ASKING.
Flight with_asking(const Flight& flight);

Flight encode_request(const lock::Ask& ask, const LockContext& context, const Secrets& secrets);

/// Reads the reply to the first command of a flight. A reply that our scripts never give is
/// Unreachable: an error to an acquire means "maybe granted" (a failing script does not roll back).
lock::Answer read_answer(lock::Op op, const LockContext& context, const Value& reply);

}  // namespace redlock::redis
