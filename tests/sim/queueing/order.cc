// SPDX-License-Identifier: MIT
//
// Who came first is served first, from near and from far.
#include "queueing/scenario.h"

namespace redlock::sim::queueing {

namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// 25 waiters, 30 ms apart.
Result in_order(World& world) {
  hold_first(world, milliseconds(1500));
  ProcessPlan plan;
  plan.distance.jitter = milliseconds(1);
  start_waiters(world, 25, milliseconds(100), milliseconds(30), plan);
  world.run_until_all_served(seconds(30));
  return {world.numbers(), {}};
}

Result one_of_five_stopped(World& world) {
  world.hosts().back().stop();
  return in_order(world);
}

/// Every process has its own distance from every server.
void start_from_afar(World& world, int count, Time apart) {
  for (int i = 0; i < count; ++i) {
    ProcessPlan plan;
    for (std::size_t server = 0; server < world.hosts().size(); ++server) {
      plan.farther.push_back(world.random().between(Time::zero(), milliseconds(40)));
    }
    world.start_at(milliseconds(100) + i * apart, plan);
  }
}

/// Servers hear of the processes in different orders.
Result mixed_distances(World& world) {
  hold_first(world, seconds(2));
  start_from_afar(world, 60, milliseconds(20));
  world.run_until_all_served(seconds(60));
  return {world.numbers(), {}};
}

/// Clocks that are up to an hour apart: a ticket from the fastest one counts on all servers.
Result clocks_apart(World& world) {
  for (Host& host : world.hosts()) {
    host.set_clock_by(world.random().between(-hours(1), hours(1)));
  }
  hold_first(world, seconds(2));
  start_from_afar(world, 60, milliseconds(20));
  world.run_until_all_served(seconds(60));
  return {world.numbers(), {}};
}

/// Two waiters far away, and runs beside the server, one after the other without a pause.
Result far_away(World& world) {
  ProcessPlan beside;
  beside.distance = {microseconds(50), microseconds(10)};
  beside.job = milliseconds(50);
  beside.loops = true;
  world.start(beside);
  std::vector<Process*> far;
  for (const Time one_way : {milliseconds(60), milliseconds(150)}) {
    world.run_until(world.now() + milliseconds(700));
    ProcessPlan plan;
    plan.distance = {one_way, milliseconds(1)};
    far.push_back(&world.start(plan));
  }
  world.run_until(world.now() + seconds(20));
  world.end_loops();
  world.run_until_all_served(world.now() + seconds(20));
  Result result(world.numbers(), {.most_overtaken = 2, .slow_per_cent = 20});
  for (const Process* each : far) {
    result.note("overtaken by " + std::to_string(each->notes.overtaken));
  }
  return result;
}

/// A release while its waiter is still about to subscribe: it asks once more when it has.
Result lost_in_between(World& world) {
  for (Time late = Time::zero(); late < milliseconds(60); late += milliseconds(1)) {
    hold_first(world, milliseconds(60));
    world.run_until(world.now() + late);
    ProcessPlan plan;
    plan.distance = {milliseconds(5), microseconds(100)};
    world.start(plan);
    world.run_until_all_served(world.now() + seconds(10));
    world.run_until(world.now() + seconds(1));
  }
  return {world.numbers(), {.longest_stall = milliseconds(60)}};
}

constexpr Scenario kOrder[] = {
    {"order", {.servers = 1}, in_order},
    {"order_of_five", {.servers = 5}, one_of_five_stopped},
    {"mixed_distances", {.servers = 5}, mixed_distances},
    {"clocks_apart", {.servers = 5}, clocks_apart},
    {"distance", {.servers = 1, .timeout = seconds(1)}, far_away},
    {"distance_of_three", {.timeout = seconds(1)}, far_away},
    {"lost_in_between", {.servers = 1}, lost_in_between},
};

}  // namespace

std::span<const Scenario> order_scenarios() {
  return kOrder;
}

}  // namespace redlock::sim::queueing
