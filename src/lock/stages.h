// SPDX-License-Identifier: MIT
//
// The rules of a run with several locks (`--also`), which takes one lock after the other: each lock
// is a stage of the run. How a stage starts the next one is in run/stage.h.
//
// If the command must be killed, the later stages must live on for a moment, to give their locks
// back. So a stage first kills only the main process of the next one, its supervisor. The worker
// below notices that, kills its job in the same way without any grace, waits until no process of it
// is left, and releases its lock. Some time later, but before its own lease ends, the stage kills
// everything that is left, as it does without --also.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "lock/time.h"

namespace redlock::lock {

/// Which neighbours a stage has.
struct Neighbours {
  bool earlier = false;  ///< our supervisor's death is the order to kill the job at once
  bool later = false;    ///< our job is the next stage
};

/// How long the later stages get at most to end the command and to give their locks back.
inline constexpr Duration kLongestUnwinding = std::chrono::seconds(1);

/// The order in which a run takes its locks, whatever order the user named them in. It is the same
/// for all runs, so no two of them wait for each other.
std::vector<std::string> in_order(std::vector<std::string> names);

/// When the waits of all stages together must end, if the first one begins now; kNever: they need
/// not. `wait`: as in Patience.
Instant limit_of_waits(const std::optional<Duration>& wait, Instant now);

/// How long a stage that begins now may wait for its lock; as in Patience. Never zero because of
/// the limit: zero would mean to try once.
std::optional<Duration> wait_of_stage(const std::optional<Duration>& wait, Instant limit,
                                      Instant now);

}  // namespace redlock::lock
