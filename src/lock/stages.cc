// SPDX-License-Identifier: MIT
#include "lock/stages.h"

#include <algorithm>

namespace redlock::lock {

std::vector<std::string> in_order(std::vector<std::string> names) {
  std::ranges::sort(names);
  return names;
}

Instant limit_of_waits(const std::optional<Duration>& wait, Instant now) {
  if (!wait || *wait <= Duration::zero()) return kNever;
  return *wait < kNever - now ? now + *wait : kNever;
}

std::optional<Duration> wait_of_stage(const std::optional<Duration>& wait, Instant limit,
                                      Instant now) {
  if (limit == kNever) return wait;
  return std::max<Duration>(limit - now, std::chrono::milliseconds(1));
}

}  // namespace redlock::lock
