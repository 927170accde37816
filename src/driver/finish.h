// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <deque>
#include <vector>

#include "driver/setup.h"
#include "os/clock.h"
#include "os/loop.h"

namespace redlock::driver {

/// Gives turns to objects that ask one server each (redis::Inspector, redis::Observer), to all at
/// the same time, until each has finished. Throws Error (71).
template <typename Passive>
void finish(std::deque<Passive>& all) {
  os::Loop loop;
  require_connections(all.size());
  std::vector<os::Interest> interests;
  while (!std::ranges::all_of(all, &Passive::finished)) {
    interests.clear();
    lock::Instant deadline = lock::kNever;
    for (const Passive& one : all) {
      if (one.finished()) continue;
      one.interests(interests);
      deadline = std::min(deadline, one.deadline());
    }
    loop.wait(interests, deadline);
    for (Passive& one : all) {
      if (!one.finished()) one.turn(os::boot_now());
    }
  }
}

}  // namespace redlock::driver
