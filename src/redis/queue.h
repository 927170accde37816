// SPDX-License-Identifier: MIT
//
// The queue of waiters that every server keeps of a lock: the commands to join it, to leave it, to
// wake its first waiter, and to read it. All of this is best effort: only the replies about the
// queue and our place in it say anything, and a user without the permission waits all the same.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "redis/resp.h"

namespace redlock::redis {

/// The notice to the second waiter in the queue, who asks only if the first one does not get the
/// lock. Any other notice says that the lock may be free now.
inline constexpr std::string_view kNextNotice = "next";

/// The channel for a waiter's wake-ups.
std::string wake_channel(std::string_view lock_key, std::string_view waiter);

/// The waiter stays in the queue for another 20 s. `who`: JSON, redlock-protocol(7); not empty.
std::string encode_join_queue(std::string_view lock_key, std::string_view waiter,
                              std::string_view who);

/// The waiter leaves the queue; if the lock is free, the server wakes the next one.
std::string encode_leave_queue(std::string_view lock_key, std::string_view waiter);

/// The server wakes the first waiter if the lock is free.
std::string encode_wake(std::string_view lock_key);

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

/// How many entries at the head of the queue a server counts to find a waiter's place.
inline constexpr std::size_t kMostPlaces = 32;

/// Our place in the queue of a server, by its answer to encode_join_queue().
struct QueuePlace {
  std::size_t place = 0;  ///< from 1
  std::size_t length = 0;
};

/// None if our place is beyond kMostPlaces, or the answer makes no sense.
std::optional<QueuePlace> read_joined(const Value& reply);

/// Asks for the waiters.
std::string encode_waiting(std::string_view lock_key);

/// The answer. None if the user may not read the queue, or the answer makes no sense.
std::optional<Queue> read_waiting(const Value& reply);

}  // namespace redlock::redis
