// SPDX-License-Identifier: MIT
#include "queueing/scenario.h"

namespace redlock::sim::queueing {

std::string milliseconds_text(Time length) {
  return std::to_string(length / std::chrono::milliseconds(1)) + " ms";
}

constexpr Time kProgress = std::chrono::seconds(3);

Result::Result(const Numbers& numbers, const Limits& limits) {
  const auto most = [this](const char* what, std::size_t value, std::size_t limit) {
    if (value > limit) {
      faults_.push_back(std::to_string(value) + ' ' + what + ", more than " +
                        std::to_string(limit));
    }
  };
  most("jobs beside another one", numbers.two_at_once, 0);
  most("waiters never served", numbers.never_served, 0);
  most("inversions", numbers.inversions, limits.inversions);
  most("jobs stopped that had their lock", numbers.needless_losses, 0);
  most("locks left behind without a word", numbers.unsaid, 0);
  most("keys that never expire", numbers.for_ever, 0);
  most("processes that ended with the wrong status", numbers.lies, 0);
  most("requests of one process to a server in a second", numbers.most_asked, limits.most_asked);
  note(std::to_string(numbers.most_asked) + " asked");
  if (numbers.longest_stuck > kProgress) {
    faults_.push_back("nobody got the lock for " + milliseconds_text(numbers.longest_stuck) +
                      ", though somebody could have won");
  }
  most("others before a waiter", numbers.most_overtaken, limits.most_overtaken);
  most("entries left behind", numbers.left_behind, limits.left_behind);
  most("per cent of hand-overs above 400 ms",
       numbers.jobs == 0 ? 0 : numbers.slow * 100 / numbers.jobs, limits.slow_per_cent);
  if (numbers.longest_stall > limits.longest_stall) {
    faults_.push_back("the lock was free for " + milliseconds_text(numbers.longest_stall) +
                      ", longer than " + milliseconds_text(limits.longest_stall));
  }
  note(std::to_string(numbers.jobs) + " jobs");
  if (numbers.inversions > 0) note(std::to_string(numbers.inversions) + " inversions");
  note("longest stall " + milliseconds_text(numbers.longest_stall));
  if (numbers.slow > 0) note(std::to_string(numbers.slow) + " above 400 ms");
}

void hold_first(World& world, Time length) {
  world.start({.job = length});
}

void start_waiters(World& world, int count, Time from, Time apart, const ProcessPlan& plan) {
  for (int i = 0; i < count; ++i) world.start_at(from + i * apart, plan);
}

Result serve_all(World& world, Time until, const Limits& limits) {
  world.run_until_all_served(until);
  return {world.numbers(), limits};
}

}  // namespace redlock::sim::queueing
