// SPDX-License-Identifier: MIT
//
// `-n` at one instant: exactly one runs, and the others are soon gone.
#include "queueing/scenario.h"

namespace redlock::sim::queueing {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Herd {
  std::size_t first;
  std::size_t size;
  Time began;
};

Herd start_herd(World& world, std::size_t size, const ProcessPlan& plan) {
  const Herd herd{world.processes().size(), size, world.now()};
  for (std::size_t i = 0; i < size; ++i) world.start(plan);
  return herd;
}

ProcessPlan single_try() {
  ProcessPlan plan;
  plan.tries_once = true;
  plan.job = seconds(5);
  plan.distance.jitter = milliseconds(2);
  return plan;
}

/// Exactly one runs, and nobody is left.
void judge(World& world, const Herd& herd, Result& result) {
  std::size_t runs = 0;
  std::size_t gone = 0;
  for (std::size_t i = herd.first; i < herd.first + herd.size; ++i) {
    const Process& process = *world.processes()[i];
    runs += process.ran() ? 1 : 0;
    gone += process.state() == Process::State::refused ? 1 : 0;
  }
  result.demand(runs == 1, std::to_string(runs) + " of " + std::to_string(herd.size) + " ran");
  result.demand(runs + gone == herd.size,
                std::to_string(herd.size - runs - gone) + " were not gone in time");
}

Result herd_of(World& world, std::size_t size) {
  const Herd herd = start_herd(world, size, single_try());
  world.run_until(herd.began + seconds(2) + milliseconds(50));
  Result result(world.numbers(), {.longest_stall = seconds(2), .slow_per_cent = 100});
  judge(world, herd, result);
  const std::size_t evals = world.numbers().evals;
  result.note(std::to_string(evals / size / world.hosts().size()) + " EVALs for each and server");
  return result;
}

/// From all distances: they must fall out of step, too.
Result herd_from_afar(World& world) {
  const Herd herd{0, 50, world.now()};
  for (std::size_t i = 0; i < herd.size; ++i) {
    ProcessPlan plan = single_try();
    plan.distance.one_way = world.random().between(milliseconds(20), milliseconds(100));
    world.start(plan);
  }
  world.run_until(herd.began + milliseconds(2500));
  Result result(world.numbers(), {.longest_stall = seconds(2), .slow_per_cent = 100});
  judge(world, herd, result);
  return result;
}

/// A stopped waiter alone in the queue, and herds beside it. The first herd comes when the lock has
/// just expired: it is that waiter's turn. With one server the turn is all that a round shows.
Result frozen_beside_herds(World& first) {
  Settings settings = first.settings();
  if (settings.seed % 2 == 0) settings.servers = 1;
  World world(settings);
  Process& holder = world.start({.job = seconds(60)});
  world.run_until(milliseconds(300));
  Process& waiter = world.start({});
  world.run_until(milliseconds(800));
  world.freeze(waiter);
  world.kill(holder);
  world.run_until(seconds(4));
  ProcessPlan plan = single_try();
  plan.job = seconds(2);
  Result faults;
  for (int round = 0; round < 6; ++round) {
    const Herd herd = start_herd(world, 20, plan);
    world.run_until(herd.began + seconds(2) + milliseconds(50));
    judge(world, herd, faults);
    world.run_until(world.now() + seconds(3));
  }
  world.resume(waiter);
  world.run_until_all_served(world.now() + seconds(10));
  Result result(world.numbers(), {.slow_per_cent = 100});
  result.add_faults(faults);
  return result;
}

constexpr Scenario kHerds[] = {
    {"herd_of_50", {.servers = 5, .timeout = milliseconds(500)},
     [](World& w) { return herd_of(w, 50); }},
    {"herd_of_300", {.servers = 5, .timeout = milliseconds(500)},
     [](World& w) { return herd_of(w, 300); }},
    {"herd_of_10000", {.servers = 5, .timeout = milliseconds(500)},
     [](World& w) { return herd_of(w, 10'000); }, 8},
    {"herd_from_afar", {.timeout = milliseconds(500)}, herd_from_afar},
    {"frozen_beside_herds", {.ttl = seconds(3)}, frozen_beside_herds},
};

}  // namespace

std::span<const Scenario> herd_scenarios() {
  return kHerds;
}

}  // namespace redlock::sim::queueing
