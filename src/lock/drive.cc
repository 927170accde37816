// SPDX-License-Identifier: MIT
#include "lock/drive.h"

#include <algorithm>
#include <utility>

namespace redlock::lock {

void Drive::step(Event event, Instant now) {
  events_.push_back({std::move(event), now});
  if (events_.size() > 1) return;
  for (; !events_.empty(); events_.pop_front()) {
    latest_ = std::max(latest_, events_.front().at);
    Effects effects = machine_->step(events_.front().event, latest_);
    performer_->stepped();
    std::stable_partition(effects.begin(), effects.end(), [](const Effect& effect) {
      return std::holds_alternative<Kill>(effect);
    });
    for (const Effect& effect : effects) performer_->perform(effect, latest_);
  }
}

}  // namespace redlock::lock
