// SPDX-License-Identifier: MIT
#include "driver/farewell.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "os/clock.h"

namespace redlock::driver {

namespace {

constexpr std::chrono::milliseconds kMostAnswers{200};

}  // namespace

void bid_farewell(redis::ServerSet& servers, os::Loop& loop) {
  std::vector<os::Interest> interests;
  const lock::Instant limit = os::boot_now() + kMostAnswers;
  while (servers.amid_answers() && os::boot_now() < limit) {
    interests.clear();
    servers.interests(interests);
    loop.wait(interests, std::min(limit, servers.deadline()));
    servers.turn(os::boot_now());
  }
}

}  // namespace redlock::driver
