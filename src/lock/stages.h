// SPDX-License-Identifier: MIT
//
// The rules of a run with several locks (`--also`), which takes one lock after the other: each lock
// is a stage of the run. How a stage starts the next one is in run/stage.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lock/time.h"

namespace redlock::lock {

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
