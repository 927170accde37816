// SPDX-License-Identifier: MIT
//
// The queue of waiters that every server keeps of a lock: the commands to join it, to leave it, to
// hand a free lock on, and to read it. All of this is best effort: a user without the permission
// waits all the same. Absent on purpose: the refusals that the queue leads to (request.h).
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lock/time.h"
#include "lock/vote.h"
#include "redis/wire/resp.h"

namespace redlock::redis {

/// When a wake-up tells its waiter to ask: at once; after the turn of the waiter before it; or when
/// the lock has cooled. None: it is no wake-up of ours.
std::optional<lock::Duration> read_wake_up(std::string_view text);

/// The beginning of the names of the keys and channels of a lock's line: "redlock:{key}:".
std::string queue_prefix(std::string_view lock_key);

/// The channel for a waiter's wake-ups.
std::string wake_channel(std::string_view lock_key, std::string_view waiter);

/// The waiter stays in the queue for another 20 s. `who`: JSON, redlock-protocol(7).
std::string encode_join_queue(std::string_view lock_key, std::string_view waiter,
                              std::string_view who, lock::Ticket ticket);

/// The waiter leaves the queue; if the lock is free, the server hands it on.
std::string encode_leave_queue(std::string_view lock_key, std::string_view waiter);

/// If the lock is free, the server gives the first waiter its turn.
std::string encode_hand_on(std::string_view lock_key);

/// Untrusted, like everything from a server.
struct Waiter {
  std::string id;
  std::chrono::milliseconds waited;  ///< since it joined the queue
  std::string who;                   ///< JSON as the waiter stored it, empty if unknown
};

struct Queue {
  std::size_t length = 0;
  std::vector<Waiter> first;  ///< the first ones, in their order; at most 20
};

/// Asks for the waiters.
std::string encode_waiting(std::string_view lock_key);

/// The answer. None if the user may not read the queue, or the answer makes no sense.
std::optional<Queue> read_waiting(const Value& reply);

}  // namespace redlock::redis
