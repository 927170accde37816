// SPDX-License-Identifier: MIT
//
// Readers and writers in one line.
#include "queueing/scenario.h"

namespace redlock::sim::queueing {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Forty readers stand behind a writer, and each of them stays for long. From afar, one after the
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
  result.demand(entered == 41, "readers that stand behind one another do not enter together");
  return result;
}

/// Twelve readers come again and again, so that there is always one; and now and then a writer.
Result storm_of_readers(World& world) {
  ProcessPlan reader;
  reader.mode.reads = true;
  reader.loops = true;
  reader.job = milliseconds(150);
  start_waiters(world, 12, milliseconds(10), milliseconds(13), reader);
  ProcessPlan writer;
  writer.job = milliseconds(30);
  start_waiters(world, 12, milliseconds(500), milliseconds(700), writer);
  world.run_until(seconds(11));
  world.end_loops();
  world.run_until_all_served(seconds(30));
  const Numbers& numbers = world.numbers();
  Result result(numbers, {});
  result.note("a writer waited " + milliseconds_text(numbers.longest_wait) + " at most");
  result.demand(numbers.longest_wait < milliseconds(500), "a writer waits too long for readers");
  return result;
}

/// The same with many writers: readers do not starve either.
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

constexpr Scenario kReaders[] = {
    {"readers_together", {.servers = 1}, [](World& w) { return together(w, milliseconds(10)); }},
    {"readers_together_on_five", {.servers = 5},
     [](World& w) { return together(w, milliseconds(2)); }},
    {"storm_of_readers", {}, storm_of_readers},
    {"readers_and_writers", {}, readers_and_writers},
};

}  // namespace

std::span<const Scenario> reader_scenarios() {
  return kReaders;
}

}  // namespace redlock::sim::queueing
