// SPDX-License-Identifier: MIT
//
// Encodes requests as commands. Absent on purpose: when to ask (lock/), the queue's commands
// (queue.h), and the reading of replies (answer.h).
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "lock/vote.h"
#include "redis/wire/uri.h"

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

/// A release after which a late request may put its token back: it leaves a tombstone, too. Not for
/// a process that joined: the token is not its own.
Flight with_tombstone(Flight release, const LockContext& context, const Secrets& secrets);

/// The flight for a node to which a Cluster is moving the key: each command behind an ASKING.
Flight with_asking(const Flight& flight);

Flight encode_request(const lock::Ask& ask, const LockContext& context, const Secrets& secrets);

/// AUTH, SELECT and `question`, a command or empty, as far as they are needed.
Flight encode_handshake(const Endpoint& endpoint, const std::string& question);

/// The flight as this server gets it. Its scripts and commands send messages with PUBLISH, which a
/// Cluster carries to every node. There they try SPUBLISH first, which only reaches the nodes that
/// have the lock's slot (https://redis.io/docs/latest/develop/pubsub/, "Sharded Pub/Sub"). For all
/// other servers the flight stays as it is.
Flight for_server(Flight flight, const Endpoint& endpoint);

/// A line of the log that every server keeps of a lock; its content: records/holder.h.
struct LogLine {
  std::string event;  ///< "acquired", "released", "lost", "revoked", "skipped"
  std::string token;  ///< of the run; only its digest gets into the log
  std::string data;   ///< JSON, redlock-protocol(7)
};

/// A command that writes a line into the log of the lock with this key. The log keeps about `most`
/// lines (1 or more). Best effort: its one reply says nothing, no client waits for it, and the
/// script leaves out all that the user may not do.
std::string encode_log(std::string_view lock_key, const LogLine& line, unsigned most);

}  // namespace redlock::redis
