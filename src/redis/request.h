// SPDX-License-Identifier: MIT
//
// One vote on the wire: lock::Op to commands, replies to lock::Answer. Absent on purpose: when to
// ask, and what to make of the answers (lock/), sockets (link.h).
#pragma once

#include <chrono>
#include <string>

#include "lock/vote.h"
#include "redis/resp.h"

namespace redlock::redis {

/// What every request on one lock says.
struct LockContext {
  std::string lock_key;
  std::string holder_key;
  std::string fence_key;
  std::string dead_key;
  std::string done_key;
  std::chrono::milliseconds ttl{};  ///< for so long a hold counts that is not heard of
  std::string holder_json;
  std::chrono::seconds restart_grace{};  ///< 0: servers are trusted as soon as they run
};

/// The commands of one request, to be sent in one flight. The first is the request, the others are
/// best effort: their replies are read and ignored.
struct Flight {
  /// Of a request that is answered again and again (SUBSCRIBE): every reply is told.
  static constexpr unsigned kEndless = static_cast<unsigned>(-1);
  std::string wire;
  unsigned replies = 1;
};

/// What an attempt is known by.
struct Secrets {
  std::string token;  ///< the lock's value
  std::string hold;   ///< the same, or, for who joins, an own one
  /// Another process took the lock, and may be renewing it: it is told of a release, in two ways. A
  /// channel may not be permitted; a note on the server is found when it is looked for.
  bool adopted = false;
};

Flight encode_request(const lock::Ask& ask, const LockContext& context, const Secrets& secrets);

/// The reply to the first command of a flight. Anything but what our scripts give is Unreachable:
/// an error to an acquire means "maybe granted" (a failing script does not roll back).
lock::Answer read_answer(lock::Op op, const LockContext& context, const Value& reply);

}  // namespace redlock::redis
