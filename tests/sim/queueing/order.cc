// SPDX-License-Identifier: MIT
//
// Who came first is served first, from near and from far.
#include "queueing/scenario.h"

namespace redlock::sim::queueing {

namespace {

using namespace std::chrono_literals;

/// 25 waiters, 30 ms apart.
Result in_order(World& world) {
  hold_first(world, 1500ms);
  start_waiters(world, 25, 100ms, 30ms, {.distance = {.jitter = 1ms}});
  return serve_all(world, 30s);
}

Result one_of_five_stopped(World& world) {
  world.hosts().back().stop();
  return in_order(world);
}

/// Every process has its own distance from every server, so they hear of the processes in different
/// orders.
Result mixed_distances(World& world) {
  hold_first(world, 2s);
  for (int i = 0; i < 60; ++i) {
    ProcessPlan plan;
    plan.farther.resize(world.hosts().size());
    for (Time& each : plan.farther) each = world.random().between(0s, 40ms);
    world.start_at(100ms + i * 20ms, plan);
  }
  return serve_all(world, 60s);
}

/// Clocks that are up to an hour apart: a ticket from the fastest one counts on all servers.
Result clocks_apart(World& world) {
  for (Host& host : world.hosts()) host.set_clock_by(world.random().between(-1h, 1h));
  return mixed_distances(world);
}

/// Two waiters far away, and runs beside the server, one after the other without a pause.
Result far_away(World& world) {
  world.start({.distance = {50us, 10us}, .job = 50ms, .loops = true});
  std::vector<Process*> far;
  for (const Time one_way : {60ms, 150ms}) {
    world.run_until(world.now() + 700ms);
    far.push_back(&world.start({.distance = {one_way, 1ms}}));
  }
  world.run_until(world.now() + 20s);
  world.end_loops();
  Result result = serve_all(world, world.now() + 20s, {.most_overtaken = 2, .slow_per_cent = 20});
  for (const Process* each : far) {
    result.note("overtaken by " + std::to_string(each->notes.overtaken));
  }
  return result;
}

/// A release while its waiter is still about to subscribe: it asks once more when it has.
Result lost_in_between(World& world) {
  for (Time late = 0s; late < 60ms; late += 1ms) {
    hold_first(world, 60ms);
    world.run_until(world.now() + late);
    world.start({.distance = {5ms, 100us}});
    world.run_until_all_served(world.now() + 10s);
    world.run_until(world.now() + 1s);
  }
  return {world.numbers(), {.longest_stall = 60ms}};
}

constexpr Scenario kOrder[] = {
    {"order", {.servers = 1}, in_order},
    {"order_of_five", {.servers = 5}, one_of_five_stopped},
    {"mixed_distances", {.servers = 5}, mixed_distances},
    {"clocks_apart", {.servers = 5}, clocks_apart},
    {"distance", {.servers = 1, .timeout = 1s}, far_away},
    {"distance_of_three", {.timeout = 1s}, far_away},
    {"lost_in_between", {.servers = 1}, lost_in_between},
};

}  // namespace

const Scenarios order_scenarios = kOrder;

}  // namespace redlock::sim::queueing
