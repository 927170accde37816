// SPDX-License-Identifier: MIT
#include "modes.h"

#include <algorithm>
#include <cstdio>
#include <memory>

namespace redlock::sim {

namespace {

constexpr std::uint64_t kSchedules = 100;

std::size_t most_at_once(World& world, std::size_t servers, std::uint8_t slots,
                         std::size_t clients) {
  std::size_t most = 0;
  Schedule schedule;
  for (std::uint64_t seed = 1; seed <= kSchedules; ++seed) {
    schedule.draw_crowd(seed, servers, slots, clients);
    most = std::max(most, world.run(schedule, false).most_at_once);
  }
  return most;
}

}  // namespace

bool slots_at_once() {
  const auto naive = std::make_unique<World>(*mistake_named("slots_counted"));
  const auto ours = std::make_unique<World>(Mistake{});
  // The first violation would end the schedule.
  naive->look_only_for("nothing");
  bool right = true;
  std::puts("servers  slots  jobs at once: counted by each server  at most  redlock");
  for (std::size_t servers = 3; servers <= kMostServers; servers += 2) {
    for (std::uint8_t slots = 2; slots <= kMostSlots; ++slots) {
      const std::size_t bound = servers * slots / (servers / 2 + 1);
      const std::size_t clients = bound + 2;
      const std::size_t counted = most_at_once(*naive, servers, slots, clients);
      const std::size_t numbered = most_at_once(*ours, servers, slots, clients);
      const bool as_said = counted == bound && numbered == slots;
      right = right && as_said;
      std::printf("%7zu  %5u  %36zu  %7zu  %7zu%s\n", servers, unsigned{slots}, counted, bound,
                  numbered, as_said ? "" : "  WRONG");
    }
  }
  return right;
}

}  // namespace redlock::sim
