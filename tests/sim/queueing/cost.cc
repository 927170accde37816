// SPDX-License-Identifier: MIT
//
// A hand-over costs the same with ten waiters and with a thousand.
#include <cstdio>

#include "queueing/scenario.h"

namespace redlock::sim::queueing {

namespace {

using namespace std::chrono_literals;

struct Cost {
  double hand_over;   ///< EVALs for each and server
  double idle_every;  ///< an idle waiter asks a server once in this many seconds
};

std::string text_of(double number) {
  char text[40];
  std::snprintf(text, sizeof text, "%.1f", number);
  return text;
}

/// Of a queue of that length, in which each who was served comes back at the end.
Cost cost_of(int waiters, const Settings& settings, Result& result) {
  World world(settings);
  hold_first(world, 3s);
  start_waiters(world, waiters, 100ms, 2ms, {.loops = true});
  world.run_until(8s);
  world.measure_afresh();
  world.run_until(18s);
  const Numbers& numbers = world.numbers();
  result.add_faults({numbers, {}});
  const auto each = static_cast<double>(settings.servers);
  const double waited = static_cast<double>(numbers.waited / 1ms) / 1000;
  return {static_cast<double>(numbers.evals) / static_cast<double>(numbers.jobs) / each,
          waited * each / static_cast<double>(numbers.idle_evals)};
}

Result cost(World& world) {
  Result result;
  std::vector<Cost> costs;
  for (const int waiters : {10, 100, 1000}) {
    costs.push_back(cost_of(waiters, world.settings(), result));
    result.note(text_of(costs.back().hand_over) + " EVALs with " + std::to_string(waiters) +
                " waiters");
  }
  const double most = costs[0].hand_over * 1.2 + 0.2;
  return result.note("an idle one asks every " + text_of(costs[2].idle_every) + " s")
      .demand(costs[2].hand_over < most && costs[1].hand_over < most,
              "a hand-over costs more when many wait")
      .demand(costs[0].hand_over < 7.6, "a hand-over costs too much")
      // 256 of them ask every 1.7 s, the others every 5 s.
      .demand(costs[2].idle_every > 3.5, "an idle waiter asks too often");
}

/// The polls of idle waiters cost a server that answers last no more than the others.
Result cost_of_slow(World& world) {
  hold_first(world, 60s);
  start_waiters(world, 20, 100ms, 2ms, {.farther = {0s, 0s, 10ms}});
  world.run_until(10s);
  world.measure_afresh();
  world.run_until(50s);
  std::vector<double> evals;
  for (const Host& host : world.hosts()) evals.push_back(static_cast<double>(host.evals) / 20);
  return serve_all(world, 90s)
      .note(text_of(evals[0]) + ", " + text_of(evals[1]) + " and " + text_of(evals[2]) +
            " EVALs of each in 40 s")
      .demand(evals[2] < evals[0] * 1.1, "the slow server gets more requests than the others");
}

constexpr Scenario kCosts[] = {
    {"cost", {.servers = 1}, cost, 2},
    {"cost_of_three", {}, cost, 2},
    {"cost_of_slow", {}, cost_of_slow},
};

}  // namespace

const Scenarios cost_scenarios = kCosts;

}  // namespace redlock::sim::queueing
