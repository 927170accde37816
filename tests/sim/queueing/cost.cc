// SPDX-License-Identifier: MIT
//
// A hand-over costs the same with ten waiters and with a thousand.
#include <cstdio>

#include "queueing/scenario.h"

namespace redlock::sim::queueing {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Cost {
  double hand_over;   ///< EVALs for each and server
  double idle_every;  ///< an idle waiter asks a server once in so many seconds
};

/// Of a queue of that length, in which each who was served comes back at the end.
Cost cost_of(std::size_t waiters, const Settings& settings, Result& result) {
  World world(settings);
  ProcessPlan plan;
  plan.loops = true;
  plan.job = milliseconds(20);
  hold_first(world, seconds(3));
  for (std::size_t i = 0; i < waiters; ++i) {
    world.start_at(milliseconds(100) + milliseconds(2) * static_cast<int>(i), plan);
  }
  world.run_until(seconds(8));
  world.measure_afresh();
  world.run_until(seconds(18));
  const Numbers& numbers = world.numbers();
  result.add_faults({numbers, {}});
  const auto each = static_cast<double>(settings.servers);
  const double waited = static_cast<double>(numbers.waited / milliseconds(1)) / 1000;
  return {static_cast<double>(numbers.evals) / static_cast<double>(numbers.jobs) / each,
          waited * each / static_cast<double>(numbers.idle_evals)};
}

Result cost(World& world) {
  Result result;
  std::vector<Cost> costs;
  for (const std::size_t waiters : {10U, 100U, 1000U}) {
    costs.push_back(cost_of(waiters, world.settings(), result));
    char text[80];
    std::snprintf(text, sizeof text, "%.1f EVALs with %zu waiters", costs.back().hand_over,
                  waiters);
    result.note(text);
  }
  char text[80];
  std::snprintf(text, sizeof text, "an idle one asks every %.1f s", costs[2].idle_every);
  result.note(text);
  result.demand(costs[2].hand_over < costs[0].hand_over * 1.2 + 0.2 &&
                    costs[1].hand_over < costs[0].hand_over * 1.2 + 0.2,
                "a hand-over costs more when many wait");
  result.demand(costs[0].hand_over < 7.6, "a hand-over costs too much");
  // 256 of them ask every 1.7 s, the others every 5 s.
  result.demand(costs[2].idle_every > 3.5, "an idle waiter asks too often");
  return result;
}

/// The polls of idle waiters cost a server that answers last no more than the others.
Result cost_of_slow(World& world) {
  hold_first(world, seconds(60));
  ProcessPlan plan;
  plan.farther = {Time::zero(), Time::zero(), milliseconds(10)};
  start_waiters(world, 20, milliseconds(100), milliseconds(2), plan);
  world.run_until(seconds(10));
  world.measure_afresh();
  world.run_until(seconds(50));
  std::vector<double> evals;
  for (const Host& host : world.hosts()) evals.push_back(static_cast<double>(host.evals()) / 20);
  world.run_until_all_served(seconds(90));
  Result result(world.numbers(), {});
  char text[80];
  std::snprintf(text, sizeof text, "%.1f, %.1f and %.1f EVALs of each in 40 s", evals[0], evals[1],
                evals[2]);
  result.note(text);
  result.demand(evals[2] < evals[0] * 1.1, "the slow server gets more requests than the others");
  return result;
}

constexpr Scenario kCosts[] = {
    {"cost", {.servers = 1}, cost, 2},
    {"cost_of_three", {}, cost, 2},
    {"cost_of_slow", {}, cost_of_slow},
};

}  // namespace

std::span<const Scenario> cost_scenarios() {
  return kCosts;
}

}  // namespace redlock::sim::queueing
