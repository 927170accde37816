// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <deque>
#include <vector>

#include "os/clock.h"
#include "os/loop.h"

namespace redlock::driver {

/// Gives turns to what asks the servers (redis::Inspector, redis::Observer), all at once, until
/// each has finished. Throws Error (71).
template <typename Passive>
void finish(std::deque<Passive>& all) {
  os::Loop loop;
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
