// SPDX-License-Identifier: MIT
//
// --newest, --build and --replace: who goes on, who gives way, and that nobody is lost by it.
#include <algorithm>

#include "queueing/scenario.h"

namespace redlock::sim::queueing {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using State = Process::State;

ProcessPlan newest() {
  ProcessPlan plan;
  plan.newest = true;
  plan.distance.jitter = milliseconds(2);
  return plan;
}

/// Of those with --newest, one ran, the others are gone, and none of them came when that one was in
/// line already.
void judge(World& world, Result& result) {
  const Process* ran = nullptr;
  std::size_t runs = 0;
  std::size_t gone = 0;
  for (const auto& each : world.processes()) {
    if (!each->plan().newest) continue;
    runs += each->ran() ? 1 : 0;
    gone += each->state() == State::superseded ? 1 : 0;
    if (each->ran()) ran = each.get();
  }
  result.demand(runs == 1, std::to_string(runs) + " with --newest ran");
  if (ran == nullptr) return;
  std::size_t later = 0;
  std::size_t all = 0;
  for (const auto& each : world.processes()) {
    if (!each->plan().newest) continue;
    ++all;
    later += ran->notes.queued_at && each->began() > *ran->notes.queued_at ? 1 : 0;
  }
  result.demand(runs + gone == all, std::to_string(all - runs - gone) + " did not give way");
  result.demand(later == 0, std::to_string(later) + " came later than the one that ran");
}

std::size_t waiting(const World& world) {
  return static_cast<std::size_t>(std::ranges::count_if(
      world.processes(), [](const auto& each) { return each->waits() && each->plan().newest; }));
}

/// 40 within a second, from different distances; others that wait without it keep their places.
Result newest_of_many(World& world) {
  hold_first(world, seconds(4));
  for (int i = 0; i < 40; ++i) {
    ProcessPlan plan = newest();
    plan.farther.assign(world.hosts().size(), Time::zero());
    for (Time& each : plan.farther) {
      each = world.random().between(Time::zero(), milliseconds(10));
    }
    world.start_at(milliseconds(100) + world.random().between(Time::zero(), seconds(1)), plan);
  }
  start_waiters(world, 3, milliseconds(300), milliseconds(300));
  world.run_until(milliseconds(1100) + seconds(1));
  const std::size_t left = waiting(world);
  world.run_until_all_served(seconds(30));
  Result result(world.numbers(), {});
  judge(world, result);
  result.demand(left == 1, std::to_string(left) + " waited a second after the last one came");
  result.demand(world.jobs() == 5, std::to_string(world.jobs()) + " jobs, not 5");
  return result;
}

Result one_of_five_down(World& world) {
  world.hosts().back().crash();
  return newest_of_many(world);
}

/// The server is stopped, and goes on when everybody has come.
Result one_of_five_late(World& world) {
  world.hosts().back().stop();
  world.at(milliseconds(1500), [&world] { world.hosts().back().resume(); });
  return newest_of_many(world);
}

/// `late` is stopped while `newer` comes. Then `newer` is killed, or has got the lock.
struct Pair {
  Process& late;
  Process& newer;
};
Pair stopped_and_newer(World& world) {
  Process& late = world.start(newest());
  world.run_until(milliseconds(800));
  world.freeze(late);
  ProcessPlan plan = newest();
  plan.job = seconds(1);
  Process& newer = world.start(plan);
  world.run_until(milliseconds(1600));
  return {late, newer};
}

/// The newest dies: whoever is left is served.
Result newest_dies(World& world) {
  hold_first(world, seconds(4));
  world.run_until(milliseconds(100));
  const auto [late, newer] = stopped_and_newer(world);
  world.kill(newer);
  world.run_until(milliseconds(2200));
  world.resume(late);
  world.start({});
  world.run_until_all_served(seconds(30));
  Result result(world.numbers(), {});
  result.demand(late.ran(), "nobody was newer any more, and it gave way");
  result.demand(world.jobs() == 3, std::to_string(world.jobs()) + " jobs, not 3");
  return result;
}

/// A waiter that was stopped does not run after a newer one.
Result stopped_meanwhile(World& world) {
  hold_first(world, milliseconds(1400));
  world.run_until(milliseconds(100));
  const auto [late, newer] = stopped_and_newer(world);
  world.run_until(seconds(6));
  world.resume(late);
  world.run_until_all_served(seconds(30));
  Result result(world.numbers(), {.longest_stall = seconds(6), .slow_per_cent = 100});
  result.demand(newer.ran(), "the newer one did not run");
  result.demand(late.state() == State::superseded, "it ran after a newer one");
  return result;
}

/// Clocks are set back between two runs: nobody gives way to the past.
Result set_back(World& world) {
  Result result;
  for (int round = 0; round < 4; ++round) {
    hold_first(world, milliseconds(700));
    world.run_until(world.now() + milliseconds(100));
    Process& process = world.start(newest());
    world.run_until_all_served(world.now() + seconds(10));
    result.demand(process.ran(), "it gave way to a run that is over");
    for (Host& host : world.hosts()) host.set_clock_by(-seconds(100));
  }
  return result;
}

/// What one more costs does not depend on how many there are.
Result newest_cost(World& world) {
  hold_first(world, seconds(60));
  Result result;
  std::size_t first = 0;
  for (int count = 0; count < 300; count += 100) {
    world.measure_afresh();
    for (int i = 0; i < 100; ++i) world.start_at(world.now() + i * milliseconds(10), newest());
    world.run_until(world.now() + seconds(2));
    const std::size_t cost = world.numbers().evals;
    if (first == 0) first = cost;
    result.demand(cost < first + first / 5, std::to_string(cost) + " EVALs for 100, after " +
                                                std::to_string(first) + " for the first");
    result.note(std::to_string(cost / 100 / world.hosts().size()) + " EVALs for each and server");
    result.demand(waiting(world) == 1, std::to_string(waiting(world)) + " wait");
  }
  return result;
}

/// The numbers of the builds that ran, in their order.
std::vector<std::uint64_t> builds_of(World& world) {
  std::vector<const Process*> ran;
  for (const auto& each : world.processes()) {
    if (each->ran() && each->plan().build) ran.push_back(each.get());
  }
  std::ranges::sort(ran, {}, &Process::job_began);
  std::vector<std::uint64_t> numbers;
  for (const Process* each : ran) numbers.push_back(*each->plan().build);
  return numbers;
}

/// 50 in a random order. Without --newest, those in between may run, too.
Result builds_with(World& world, bool with_newest) {
  if (with_newest) hold_first(world, seconds(2));
  std::vector<std::uint64_t> order;
  for (std::uint64_t number = 1; number <= 50; ++number) order.push_back(number);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[world.random().index(i)]);
  for (const std::uint64_t number : order) {
    ProcessPlan plan = newest();
    plan.newest = with_newest;
    plan.build = number;
    world.start_at(world.random().between(Time::zero(), seconds(1)), plan);
  }
  world.run_until_all_served(seconds(60));
  Result result(world.numbers(), {.inversions = SIZE_MAX, .slow_per_cent = 100});
  const std::vector<std::uint64_t> ran = builds_of(world);
  result.demand(std::ranges::is_sorted(ran), "an older build ran after a newer one");
  result.demand(!ran.empty() && ran.back() == 50, "the newest build did not run last");
  result.demand(!with_newest || ran.size() == 1, std::to_string(ran.size()) + " of 50 ran");
  result.note(std::to_string(ran.size()) + " of 50 ran");
  return result;
}

Result builds(World& world) { return builds_with(world, false); }
Result newest_builds(World& world) { return builds_with(world, true); }

/// 20 that replace each other: never two at once, and it ends.
Result replacing(World& world) {
  ProcessPlan plan = newest();
  plan.newest = false;
  plan.replaces = true;
  plan.job = seconds(8);
  plan.distance.jitter = milliseconds(5);
  for (int i = 0; i < 20; ++i) world.start_at(i * milliseconds(50), plan);
  world.run_until(seconds(6));
  std::size_t stopped = 0;
  for (const auto& each : world.processes()) stopped += each->state() == State::failed ? 1 : 0;
  Result early;
  early.demand(stopped >= 1, "nobody was replaced");
  early.demand(stopped <= 2, std::to_string(stopped) + " were replaced in a row");
  world.run_until_all_served(seconds(200));
  Result result(world.numbers(), {.inversions = 20, .slow_per_cent = 100});
  result.add_faults(early);
  return result;
}

/// The same with --newest: the last one runs, and not after a minute.
Result cancelling(World& world) {
  ProcessPlan plan = newest();
  plan.replaces = true;
  plan.job = seconds(20);
  for (int i = 0; i < 20; ++i) world.start_at(i * milliseconds(300), plan);
  world.run_until(seconds(12));
  Result result(world.numbers(), {.inversions = 20, .slow_per_cent = 100});
  const auto& last = *world.processes().back();
  result.demand(last.ran() && last.alive(), "the last one does not run");
  result.demand(waiting(world) == 0, std::to_string(waiting(world)) + " wait");
  return result;
}

constexpr Scenario kNewest[] = {
    {"newest_of_many", {.servers = 1}, newest_of_many},
    {"newest_of_many_of_5", {.servers = 5}, newest_of_many},
    {"newest_of_5_one_down", {.servers = 5}, one_of_five_down},
    {"newest_of_5_one_late", {.servers = 5}, one_of_five_late},
    {"newest_messages_lost", {.servers = 5, .publishes_lost = 20}, newest_of_many},
    {"newest_dies", {.servers = 3}, newest_dies},
    {"newest_dies_on_one", {.servers = 1}, newest_dies},
    {"newest_stopped", {.servers = 3}, stopped_meanwhile},
    {"newest_set_back", {.servers = 3}, set_back},
    {"newest_cost", {.servers = 3}, newest_cost},
    {"builds", {.servers = 5}, builds},
    {"newest_builds", {.servers = 5}, newest_builds},
    {"replacing", {.servers = 3, .ttl = seconds(3)}, replacing},
    {"cancelling", {.servers = 3, .ttl = seconds(1)}, cancelling},
};

}  // namespace

std::span<const Scenario> newest_scenarios() {
  return kNewest;
}

}  // namespace redlock::sim::queueing
