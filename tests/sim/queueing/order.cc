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
Result in_order(const Settings& settings, std::size_t stopped) {
  World world(settings);
  for (std::size_t i = 0; i < stopped; ++i) world.hosts().back().stop();
  hold_first(world, milliseconds(1500));
  ProcessPlan plan;
  plan.distance.jitter = milliseconds(1);
  start_waiters(world, 25, milliseconds(100), milliseconds(30), plan);
  world.run_until_all_served(seconds(30));
  return {world.numbers(), {}};
}

Result one_server(std::uint64_t seed, const Mistake& mistake) {
  return in_order({.servers = 1, .seed = seed, .mistake = mistake}, 0);
}

Result five_servers(std::uint64_t seed, const Mistake& mistake) {
  return in_order({.servers = 5, .seed = seed, .mistake = mistake}, 1);
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
Result mixed_distances(std::uint64_t seed, const Mistake& mistake) {
  World world({.servers = 5, .seed = seed, .mistake = mistake});
  hold_first(world, seconds(2));
  start_from_afar(world, 60, milliseconds(20));
  world.run_until_all_served(seconds(60));
  return {world.numbers(), {}};
}

/// Clocks that are up to an hour apart: a ticket from the fastest one counts on all servers.
Result clocks_apart(std::uint64_t seed, const Mistake& mistake) {
  World world({.servers = 5, .seed = seed, .mistake = mistake});
  for (Host& host : world.hosts()) {
    host.set_clock_by(world.random().between(-hours(1), hours(1)));
  }
  hold_first(world, seconds(2));
  start_from_afar(world, 60, milliseconds(20));
  world.run_until_all_served(seconds(60));
  return {world.numbers(), {}};
}

/// Two waiters far away, and runs beside the server, one after the other without a pause.
Result far_away(std::size_t servers, std::uint64_t seed, const Mistake& mistake) {
  World world({.servers = servers, .timeout = seconds(1), .seed = seed, .mistake = mistake});
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
Result lost_in_between(std::uint64_t seed, const Mistake& mistake) {
  World world({.servers = 1, .seed = seed, .mistake = mistake});
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
    {"order", one_server},
    {"order_of_five", five_servers},
    {"mixed_distances", mixed_distances},
    {"clocks_apart", clocks_apart},
    {"distance", [](auto seed, auto& m) { return far_away(1, seed, m); }},
    {"distance_of_three", [](auto seed, auto& m) { return far_away(3, seed, m); }},
    {"lost_in_between", lost_in_between},
};

}  // namespace

std::span<const Scenario> order_scenarios() {
  return kOrder;
}

}  // namespace redlock::sim::queueing
