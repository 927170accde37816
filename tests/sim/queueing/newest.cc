// SPDX-License-Identifier: MIT
//
// --newest, --build and --replace: who goes on, who gives way, and that nobody is lost by it.
#include <algorithm>
#include <functional>

#include "queueing/scenario.h"

namespace redlock::sim::queueing {

namespace {

using namespace std::chrono_literals;
using State = Process::State;

const ProcessPlan kNewestRun{.distance = {.jitter = 2ms}, .newest = true};

template <class Is>
std::size_t count_newest(const World& world, Is is) {
  return static_cast<std::size_t>(std::ranges::count_if(world.processes(), [&](const auto& each) {
    return each->plan().newest && std::invoke(is, *each);
  }));
}

/// Of those with --newest, one ran, the others are gone, and none of them came when that one was in
/// line already.
void judge(World& world, Result& result) {
  const std::size_t runs = count_newest(world, &Process::ran);
  result.demand(runs == 1, std::to_string(runs) + " with --newest ran");
  const std::size_t left = count_newest(
      world, [](const Process& each) { return !each.ran() && each.state() != State::superseded; });
  result.demand(left == 0, std::to_string(left) + " did not give way");
  const std::size_t later = count_newest(world, [&](const Process& late) {
    return count_newest(world, [&](const Process& each) {
             return each.ran() && each.notes.queued_at && late.began() > *each.notes.queued_at;
           }) > 0;
  });
  result.demand(later == 0, std::to_string(later) + " came later than the one that ran");
}

/// 40 within a second, from different distances; others that wait without it keep their places.
Result newest_of_many(World& world) {
  hold_first(world, 4s);
  for (int i = 0; i < 40; ++i) {
    ProcessPlan plan = kNewestRun;
    plan.farther.resize(world.hosts().size());
    for (Time& each : plan.farther) each = world.random().between(0s, 10ms);
    world.start_at(100ms + world.random().between(0s, 1s), plan);
  }
  start_waiters(world, 3, 300ms, 300ms);
  // Whoever misses a message finds out with its next request, within 1.7 s.
  world.run_until(world.settings().publishes_lost > 0 ? 3s : 2100ms);
  const std::size_t left = count_newest(world, &Process::waits);
  Result result = serve_all(world, 30s);
  judge(world, result);
  return result.demand(left == 1, std::to_string(left) + " still waited after the last one came")
      .demand(world.jobs() == 5, std::to_string(world.jobs()) + " jobs, not 5");
}

Result one_of_five_down(World& world) {
  world.hosts().back().crash();
  return newest_of_many(world);
}

/// The server is stopped, and goes on when everybody has come.
Result one_of_five_late(World& world) {
  world.hosts().back().stop();
  world.at(1500ms, [&world] { world.hosts().back().resume(); });
  return newest_of_many(world);
}

/// `late` is stopped while `newer` comes. Then `newer` is killed, or has got the lock.
struct Pair {
  Process& late;
  Process& newer;
};
Pair stopped_and_newer(World& world) {
  world.run_until(100ms);
  Process& late = world.start(kNewestRun);
  world.run_until(800ms);
  late.freeze();
  ProcessPlan plan = kNewestRun;
  plan.job = 1s;
  Process& newer = world.start(plan);
  world.run_until(1600ms);
  return {late, newer};
}

/// The newest dies: whoever is left is served.
Result newest_dies(World& world) {
  hold_first(world, 4s);
  const auto [late, newer] = stopped_and_newer(world);
  newer.kill();
  world.run_until(2200ms);
  late.resume();
  world.start({});
  return serve_all(world, 30s)
      .demand(late.ran(), "nobody was newer any more, and it gave way")
      .demand(world.jobs() == 3, std::to_string(world.jobs()) + " jobs, not 3");
}

/// A waiter that was stopped does not run after a newer one.
Result stopped_meanwhile(World& world) {
  hold_first(world, 1400ms);
  const auto [late, newer] = stopped_and_newer(world);
  world.run_until(6s);
  late.resume();
  return serve_all(world, 30s, {.longest_stall = 6s, .slow_per_cent = 100})
      .demand(newer.ran(), "the newer one did not run")
      .demand(late.state() == State::superseded, "it ran after a newer one");
}

/// Clocks are set back between two runs: nobody gives way to the past.
Result set_back(World& world) {
  Result result;
  for (int round = 0; round < 4; ++round) {
    hold_first(world, 700ms);
    world.run_until(world.now() + 100ms);
    const Process& process = world.start(kNewestRun);
    world.run_until_all_served(world.now() + 10s);
    result.demand(process.ran(), "it gave way to a run that is over");
    for (Host& host : world.hosts()) host.set_clock_by(-100s);
  }
  return result;
}

/// What one more costs does not depend on how many there are.
Result newest_cost(World& world) {
  hold_first(world, 60s);
  Result result;
  std::size_t first = 0;
  for (int count = 0; count < 300; count += 100) {
    world.measure_afresh();
    start_waiters(world, 100, world.now(), 10ms, kNewestRun);
    world.run_until(world.now() + 2s);
    const std::size_t cost = world.numbers().evals;
    if (first == 0) first = cost;
    const std::size_t wait = count_newest(world, &Process::waits);
    result.demand(cost < first + first / 5, std::to_string(cost) + " EVALs for 100, after " +
                                                std::to_string(first) + " for the first");
    result.note(std::to_string(cost / 100 / world.hosts().size()) + " EVALs for each and server");
    result.demand(wait == 1, std::to_string(wait) + " wait");
  }
  return result;
}

/// The numbers of the builds that ran, in their order.
std::vector<std::uint64_t> builds_of(World& world) {
  std::vector<const Process*> all;
  for (const auto& each : world.processes()) {
    if (each->ran() && each->plan().build) all.push_back(each.get());
  }
  std::ranges::sort(all, {}, &Process::job_began);
  std::vector<std::uint64_t> numbers;
  for (const Process* each : all) numbers.push_back(*each->plan().build);
  return numbers;
}

/// 50 in a random order. Without --newest, those in between may run, too.
template <bool with_newest>
Result builds(World& world) {
  if (with_newest) hold_first(world, 2s);
  std::vector<std::uint64_t> order;
  for (std::uint64_t number = 1; number <= 50; ++number) order.push_back(number);
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[world.random().index(i)]);
  for (const std::uint64_t number : order) {
    ProcessPlan plan = kNewestRun;
    plan.newest = with_newest;
    plan.build = number;
    world.start_at(world.random().between(0s, 1s), plan);
  }
  Result result = serve_all(world, 60s, {.inversions = SIZE_MAX, .slow_per_cent = 100});
  const std::vector<std::uint64_t> numbers = builds_of(world);
  const std::string text = std::to_string(numbers.size()) + " of 50 ran";
  return result.demand(std::ranges::is_sorted(numbers), "an older build ran after a newer one")
      .demand(!numbers.empty() && numbers.back() == 50, "the newest build did not run last")
      .demand(!with_newest || numbers.size() == 1, text)
      .note(text);
}

/// 20 that replace each other: never two at the same time, and it ends.
Result replacing(World& world) {
  start_waiters(world, 20, 0s, 50ms, {.distance = {.jitter = 5ms}, .job = 8s, .replaces = true});
  world.run_until(6s);
  const auto stopped = std::ranges::count_if(
      world.processes(), [](const auto& each) { return each->state() == State::failed; });
  return serve_all(world, 200s, {.inversions = 20, .slow_per_cent = 100})
      .demand(stopped >= 1, "nobody was replaced")
      .demand(stopped <= 2, std::to_string(stopped) + " were replaced in a row");
}

/// The same with --newest: the last one runs, and not after a minute.
Result cancelling(World& world) {
  ProcessPlan plan = kNewestRun;
  plan.replaces = true;
  plan.job = 20s;
  start_waiters(world, 20, 0s, 300ms, plan);
  world.run_until(12s);
  const std::size_t wait = count_newest(world, &Process::waits);
  const Process& last = *world.processes().back();
  return Result(world.numbers(), {.inversions = 20, .slow_per_cent = 100})
      .demand(last.ran() && last.alive(), "the last one does not run")
      .demand(wait == 0, std::to_string(wait) + " wait");
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
    {"builds", {.servers = 5}, builds<false>},
    {"newest_builds", {.servers = 5}, builds<true>},
    {"replacing", {.servers = 3, .ttl = 3s}, replacing},
    {"cancelling", {.servers = 3, .ttl = 1s}, cancelling},
};

}  // namespace

const Scenarios newest_scenarios = kNewest;

}  // namespace redlock::sim::queueing
