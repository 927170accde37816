// SPDX-License-Identifier: MIT
//
// `-n` at one instant: exactly one runs, and the others are soon gone.
#include "queueing/scenario.h"

namespace redlock::sim::queueing {

namespace {

using namespace std::chrono_literals;

const ProcessPlan kSingleTry{.distance = {.jitter = 2ms}, .tries_once = true, .job = 5s};

/// Of the last that began, exactly one runs, and nobody is left.
Result judge(const World& world, std::size_t size) {
  std::size_t runs = 0;
  std::size_t gone = 0;
  for (const auto& each : std::span(world.processes()).last(size)) {
    runs += each->ran() ? 1 : 0;
    gone += each->state() == Process::State::refused ? 1 : 0;
  }
  return Result()
      .demand(runs == 1, std::to_string(runs) + " of " + std::to_string(size) + " ran")
      .demand(runs + gone == size, std::to_string(size - runs - gone) + " were not gone in time");
}

template <std::size_t size>
Result herd_of(World& world) {
  for (std::size_t i = 0; i < size; ++i) world.start(kSingleTry);
  world.run_until(2050ms);
  const std::size_t evals = world.numbers().evals / size / world.hosts().size();
  return Result(world.numbers(), {.longest_stall = 2s, .slow_per_cent = 100})
      .add_faults(judge(world, size))
      .note(std::to_string(evals) + " EVALs for each and server");
}

/// From all distances: they must fall out of step, too.
Result herd_from_afar(World& world) {
  for (int i = 0; i < 50; ++i) {
    ProcessPlan plan = kSingleTry;
    plan.distance.one_way = world.random().between(20ms, 100ms);
    world.start(plan);
  }
  world.run_until(2500ms);
  return Result(world.numbers(), {.longest_stall = 2s, .slow_per_cent = 100})
      .add_faults(judge(world, 50));
}

/// A stopped waiter alone in the queue, and herds beside it. The first herd comes when the lock has
/// just expired: it is that waiter's turn. With one server the turn is all that a round shows.
Result frozen_beside_herds(World& first) {
  Settings settings = first.settings();
  if (settings.seed % 2 == 0) settings.servers = 1;
  World world(settings);
  Process& holder = world.start({.job = 60s});
  world.run_until(300ms);
  Process& waiter = world.start({});
  world.run_until(800ms);
  waiter.freeze();
  holder.kill();
  world.run_until(4s);
  ProcessPlan plan = kSingleTry;
  plan.job = 2s;
  Result faults;
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 20; ++i) world.start(plan);
    world.run_until(world.now() + 2050ms);
    faults.add_faults(judge(world, 20));
    world.run_until(world.now() + 3s);
  }
  waiter.resume();
  return serve_all(world, world.now() + 10s, {.slow_per_cent = 100}).add_faults(faults);
}

constexpr Scenario kHerds[] = {
    {"herd_of_50", {.servers = 5, .timeout = 500ms}, herd_of<50>},
    {"herd_of_300", {.servers = 5, .timeout = 500ms}, herd_of<300>},
    {"herd_of_10000", {.servers = 5, .timeout = 500ms}, herd_of<10'000>, 8},
    {"herd_from_afar", {.timeout = 500ms}, herd_from_afar},
    {"frozen_beside_herds", {.ttl = 3s}, frozen_beside_herds},
};

}  // namespace

const Scenarios herd_scenarios = kHerds;

}  // namespace redlock::sim::queueing
