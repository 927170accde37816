// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "records/holder.h"
#include "redis/queue.h"

namespace redlock::inspect {

/// One who waits for a lock, by what the servers say.
struct Waiting {
  std::chrono::milliseconds waited{};  ///< at least
  std::optional<records::Holder> who;  ///< as it says of itself; since when it waits is not in it
};

struct WaitingLine {
  std::vector<Waiting> known;  ///< who has waited longest is the first
  std::size_t others = 0;      ///< at least so many more, of whom nothing is known
};

/// What all servers know together: who came while one of them was down is missing there. None if
/// no server may tell. `holder`: it may have been waiting only just now, and does not count.
std::optional<WaitingLine> merge(const std::vector<std::optional<redis::Queue>>& queues,
                                 const std::optional<records::Holder>& holder);

}  // namespace redlock::inspect
