// SPDX-License-Identifier: MIT
//
// The queue that every server keeps of those who wait for a lock: what is sent to join and leave
// it, to wake who is first, and to look at it. All of it is best effort: but for a look, and our
// place in it, the replies say nothing, and a user who may not do this waits all the same.
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

/// The channel on which a waiter is woken.
std::string wake_channel(std::string_view lock_key, std::string_view waiter);

/// The waiter stands in the queue for another 20 s. `who`: JSON, redlock-protocol(7); not empty.
std::string encode_join_queue(std::string_view lock_key, std::string_view waiter,
                              std::string_view who);

/// It does not any more; if the lock is free, the next one is woken.
std::string encode_leave_queue(std::string_view lock_key, std::string_view waiter);

/// Whoever is first is woken, if the lock is free.
std::string encode_wake(std::string_view lock_key);

/// Untrusted, as all that comes from a server.
struct Waiter {
  std::string id;
  std::chrono::milliseconds waited;  ///< since it joined the queue
  std::string who;                   ///< JSON as stored by the waiter, empty if not known
};

struct Queue {
  std::size_t length = 0;
  std::vector<Waiter> first;  ///< of them, in their order; at most 20
};

/// When a waiter joins, so many entries at the head of the queue are counted for its place.
inline constexpr std::size_t kMostPlaces = 32;

/// Where we stand in the queue of a server, by its answer to encode_join_queue().
struct QueuePlace {
  std::size_t place = 0;  ///< from 1
  std::size_t length = 0;
};

/// None if we stand farther behind, or it makes no sense.
std::optional<QueuePlace> read_joined(const Value& reply);

/// Asks who waits.
std::string encode_waiting(std::string_view lock_key);

/// The answer. None if the user may not know it, or it makes no sense.
std::optional<Queue> read_waiting(const Value& reply);

}  // namespace redlock::redis
