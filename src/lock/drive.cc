// SPDX-License-Identifier: MIT
#include "lock/drive.h"

#include <algorithm>
#include <utility>

namespace redlock::lock {

namespace {

/// However the steps end, also by an exception: then what was to follow is forgotten with them.
class Stepping {
 public:
  Stepping(bool& flag, std::deque<Event>& events) : flag_(flag), events_(events) { flag_ = true; }
  ~Stepping() {
    flag_ = false;
    events_.clear();
  }
  Stepping(const Stepping&) = delete;
  Stepping& operator=(const Stepping&) = delete;

 private:
  bool& flag_;
  std::deque<Event>& events_;
};

}  // namespace

void Drive::step(Event event, Instant now) {
  events_.push_back(std::move(event));
  if (stepping_) return;
  const Stepping stepping(stepping_, events_);
  while (!events_.empty()) {
    const Event next = std::move(events_.front());
    events_.pop_front();
    Effects effects = machine_->step(next, now);
    performer_->stepped();
    std::stable_partition(effects.begin(), effects.end(), [](const Effect& effect) {
      return std::holds_alternative<Kill>(effect);
    });
    for (const Effect& effect : effects) performer_->perform(effect, now);
  }
}

}  // namespace redlock::lock
