// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "records/holder.h"
#include "redis/requests/queue.h"

namespace redlock::inspect {

/// A process that waits for a lock, as the servers see it.
struct Waiting {
  std::chrono::milliseconds waited{};  ///< at least
  std::optional<records::Holder> who;  ///< its own record; without the start of its wait
};

struct WaitingQueue {
  std::vector<Waiting> known;  ///< the longest waiter first
  std::size_t others = 0;      ///< at least so many more waiters, about whom nothing is known
};

/// Merges the queues of all servers: a waiter that came while a server was down is missing there.
/// None if no server has a queue that we may read. `holder`: does not count as a waiter, even if it
/// was one a moment ago.
std::optional<WaitingQueue> merge(const std::vector<std::optional<redis::Queue>>& queues,
                                  const std::optional<records::Holder>& holder);

}  // namespace redlock::inspect
