// SPDX-License-Identifier: MIT
//
// The rules of a run with several locks (`--also`), which takes one lock after the other: each lock
// is a stage of the run. How a stage starts the next one is in run/stage.h.
//
// If the command must be killed, a stage first kills only the supervisor of the next one. The
// worker below notices that, kills its job in the same way without any grace, waits until no
// process of it is left, and releases its lock. Some time later, but before its own lease ends, the
// stage kills everything that is left, as it does without --also.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "lock/time.h"

namespace redlock::lock {

/// How long the later stages get at most to end the command and to give their locks back.
inline constexpr Duration kLongestUnwinding = std::chrono::seconds(1);

/// The order in which a run takes its locks, whatever order the user named them in. It is the same
/// for all runs, so no two of them wait for each other.
inline std::vector<std::string> in_order(std::vector<std::string> names) {
  std::ranges::sort(names);
  return names;
}

/// Two locks of a run inside of another one.
struct OutOfOrder {
  std::string missing;  ///< this run must take it
  std::string held;     ///< the outer run holds it, but it comes later in the order
};

/// Whether the run would take a lock out of the order: a run that has `missing` and waits for
/// `held`, and this one, would wait for each other. `names`: in order; `held`: for each name
/// whether an outer run holds it.
inline std::optional<OutOfOrder> out_of_order(const std::vector<std::string>& names,
                                              const std::vector<bool>& held) {
  const auto missing = std::ranges::find(held, false);
  const auto later = std::find(missing, held.end(), true);
  if (later == held.end()) return std::nullopt;
  const auto name_at = [&](auto each) {
    return names[static_cast<std::size_t>(each - held.begin())];
  };
  return OutOfOrder{.missing = name_at(missing), .held = name_at(later)};
}

/// When the waits of all stages together must end, if the first one begins now; kNever: they need
/// not. `wait`: as in Patience.
inline Instant limit_of_waits(const std::optional<Duration>& wait, Instant now) {
  if (!wait || *wait <= Duration::zero()) return kNever;
  return moment_after(now, *wait);
}

/// How long a stage that begins now may wait for its lock; as in Patience. Never zero because of
/// the limit: zero would mean to try once.
inline std::optional<Duration> wait_of_stage(const std::optional<Duration>& wait, Instant limit,
                                             Instant now) {
  if (limit == kNever) return wait;
  return std::max<Duration>(limit - now, std::chrono::milliseconds(1));
}

}  // namespace redlock::lock
