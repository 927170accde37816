// SPDX-License-Identifier: MIT
//
// Readers and writers in one queue; and more waiters than a lock has slots, none of which is idle while
// somebody waits for one.
#include "queueing/scenario.h"

namespace redlock::sim::queueing {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Forty readers wait after a writer, and each of them stays for long. From afar, one after the
/// other would take more than a second. On several servers they agree on one number after the
/// other: the last one asks for a number as often as there are readers.
Result together(World& world, Time distance) {
  constexpr Time kFree = seconds(3);
  hold_first(world, kFree);
  ProcessPlan plan;
  plan.mode.reads = true;
  plan.distance = {distance, distance / 10};
  plan.job = seconds(2);
  start_waiters(world, 40, milliseconds(100), milliseconds(20), plan);
  world.run_until(kFree + milliseconds(600));
  const std::size_t entered = world.jobs();
  world.run_until_all_served(seconds(60));
  Result result(world.numbers(), {.most_asked = world.hosts().size() == 1 ? 40U : 60U, .slow_per_cent = 100});
  result.note(std::to_string(entered - 1) + " readers after 600 ms");
  result.demand(entered == 41, "readers that wait one after the other do not enter together");
  return result;
}

/// Runs that come again and again, so that one of them always has the lock, and now and then a run
/// that wants it alone.
struct Storm {
  Mode mode;
  std::size_t comers;
  milliseconds apart;  ///< between their first times
  std::size_t writers;
  milliseconds between;  ///< two writers
  milliseconds limit;    ///< for a writer's wait
};

Result storm(World& world, const Storm& kind) {
  ProcessPlan comer;
  comer.mode = kind.mode;
  comer.loops = true;
  comer.job = milliseconds(150);
  start_waiters(world, kind.comers, milliseconds(10), kind.apart, comer);
  ProcessPlan writer;
  writer.job = milliseconds(30);
  start_waiters(world, kind.writers, milliseconds(500), kind.between, writer);
  world.run_until(seconds(11));
  world.end_loops();
  world.run_until_all_served(seconds(30));
  const Numbers& numbers = world.numbers();
  Result result(numbers, {});
  result.note("a writer waited " + milliseconds_text(numbers.longest_wait) + " at most");
  result.demand(numbers.longest_wait < kind.limit, "a writer waits too long");
  return result;
}

Result storm_of_readers(World& world) {
  return storm(world, {{.reads = true}, 12, milliseconds(13), 12, milliseconds(700), milliseconds(500)});
}

/// With many writers: readers do not starve either.
Result readers_and_writers(World& world) {
  hold_first(world, seconds(1));
  ProcessPlan plan;
  plan.job = milliseconds(20);
  for (int i = 0; i < 60; ++i) {
    plan.mode.reads = world.random().percent(60);
    world.start_at(milliseconds(100) + i * milliseconds(30), plan);
  }
  world.run_until_all_served(seconds(60));
  return {world.numbers(), {}};
}

constexpr Mode kOfThree{.slots = 3};

/// Sixty runs, all of them there from the beginning.
Result crowd(World& world) {
  ProcessPlan plan;
  plan.mode = kOfThree;
  plan.job = milliseconds(100);
  start_waiters(world, 60, milliseconds(10), milliseconds(5), plan);
  world.run_until_all_served(seconds(60));
  Result result(world.numbers(), {.longest_stall = milliseconds(1500)});
  result.note("done after " + milliseconds_text(world.now()));
  result.demand(world.now() < seconds(4), "sixty runs of 100 ms take three slots too long");
  return result;
}

/// Two long jobs have a slot each: the others share what is left, whichever slot that is.
Result one_slot_left(World& world) {
  ProcessPlan plan;
  plan.mode = kOfThree;
  plan.job = seconds(60);
  world.start(plan);
  world.run_until(milliseconds(100));
  world.start(plan);
  plan.job = milliseconds(50);
  start_waiters(world, 30, milliseconds(500), milliseconds(30), plan);
  world.run_until(seconds(10));
  Result result(world.numbers(), {.longest_stall = milliseconds(1500)});
  result.demand(world.jobs() == 32, "a waiter for the slot that is left does not get it");
  return result;
}

/// One slot is always free.
Result storm_of_slots(World& world) {
  return storm(world, {kOfThree, 2, milliseconds(75), 8, milliseconds(1000), milliseconds(600)});
}

/// An operator sets the clocks while slots are held: one forward, on which all holders seem to be
/// over; later all of them back, by an hour each.
Result slots_and_clocks(World& world) {
  ProcessPlan plan;
  plan.mode = kOfThree;
  plan.job = milliseconds(200);
  plan.loops = true;
  start_waiters(world, 8, milliseconds(10), milliseconds(20), plan);
  const auto server = world.random().below(3);
  world.at(seconds(1), [&] { world.hosts()[server].set_clock_by(std::chrono::hours(1)); });
  world.at(seconds(14), [&] {
    for (Host& host : world.hosts()) host.set_clock_by(-std::chrono::hours(1));
  });
  world.run_until(seconds(16));
  world.end_loops();
  world.run_until_all_served(seconds(60));
  return {world.numbers(), {.longest_stall = milliseconds(1500)}};
}

constexpr Scenario kShared[] = {
    {"readers_together", {.servers = 1}, [](World& w) { return together(w, milliseconds(10)); }},
    {"readers_together_on_five", {.servers = 5},
     [](World& w) { return together(w, milliseconds(2)); }},
    {"storm_of_readers", {}, storm_of_readers},
    {"readers_and_writers", {}, readers_and_writers},
    {"crowd_for_slots", {.servers = 1}, crowd},
    {"crowd_for_slots_of_five", {.servers = 5}, crowd},
    {"one_slot_left", {}, one_slot_left},
    {"storm_of_slots", {}, storm_of_slots},
    {"slots_and_clocks", {}, slots_and_clocks},
};

}  // namespace

std::span<const Scenario> shared_scenarios() {
  return kShared;
}

}  // namespace redlock::sim::queueing
