// SPDX-License-Identifier: MIT
//
// Readers and writers in one queue; and more waiters than a lock has slots, none of which is idle
// while somebody waits for one.
#include "queueing/scenario.h"

namespace redlock::sim::queueing {

namespace {

using namespace std::chrono_literals;

/// Forty readers wait after a writer, and each of them stays for long. From afar, one after the
/// other would take more than a second. On several servers they agree on one number after the
/// other: the last one asks for a number as often as there are readers.
template <int distance_ms, std::size_t most_asked>
Result together(World& world) {
  constexpr Time kDistance = distance_ms * 1ms;
  hold_first(world, 3s);
  start_waiters(world, 40, 100ms, 20ms,
                {.distance = {kDistance, kDistance / 10}, .mode = {.reads = true}, .job = 2s});
  world.run_until(3600ms);
  const std::size_t entered = world.jobs();
  return serve_all(world, 60s, {.most_asked = most_asked, .slow_per_cent = 100})
      .note(std::to_string(entered - 1) + " readers after 600 ms")
      .demand(entered == 41, "readers that wait one after the other do not enter together");
}

/// Runs that come again and again, so that one of them always has the lock, and now and then a run
/// that wants it alone.
struct Storm {
  Mode mode;
  int comers;
  Time apart;  ///< between their first times
  int writers;
  Time between;  ///< two writers
  Time limit;    ///< for a writer's wait
};

Result storm(World& world, const Storm& kind) {
  start_waiters(world, kind.comers, 10ms, kind.apart,
                {.mode = kind.mode, .job = 150ms, .loops = true});
  start_waiters(world, kind.writers, 500ms, kind.between, {.job = 30ms});
  world.run_until(11s);
  world.end_loops();
  Result result = serve_all(world, 30s);
  const Time longest = world.numbers().longest_wait;
  return result.note("a writer waited " + milliseconds_text(longest) + " at most")
      .demand(longest < kind.limit, "a writer waits too long");
}

Result storm_of_readers(World& world) {
  return storm(world, {{.reads = true}, 12, 13ms, 12, 700ms, 500ms});
}

/// With many writers: readers do not starve either.
Result readers_and_writers(World& world) {
  hold_first(world, 1s);
  for (int i = 0; i < 60; ++i) {
    world.start_at(100ms + i * 30ms, {.mode = {.reads = world.random().percent(60)}});
  }
  return serve_all(world, 60s);
}

constexpr Mode kOfThree{.slots = 3};

/// Sixty runs, all of them there from the beginning.
Result crowd(World& world) {
  start_waiters(world, 60, 10ms, 5ms, {.mode = kOfThree, .job = 100ms});
  return serve_all(world, 60s, {.longest_stall = 1500ms})
      .note("done after " + milliseconds_text(world.now()))
      .demand(world.now() < 4s, "sixty runs of 100 ms take three slots too long");
}

/// Two long jobs have a slot each: the others share what is left, whichever slot that is.
Result one_slot_left(World& world) {
  start_waiters(world, 2, 0s, 100ms, {.mode = kOfThree, .job = 60s});
  start_waiters(world, 30, 500ms, 30ms, {.mode = kOfThree, .job = 50ms});
  world.run_until(10s);
  return Result(world.numbers(), {.longest_stall = 1500ms})
      .demand(world.jobs() == 32, "a waiter for the slot that is left does not get it");
}

/// One slot is always free.
Result storm_of_slots(World& world) {
  return storm(world, {kOfThree, 2, 75ms, 8, 1000ms, 600ms});
}

/// An operator sets the clocks while slots are held: one forward, on which all holders seem to be
/// over; later all of them back.
Result slots_and_clocks(World& world) {
  start_waiters(world, 8, 10ms, 20ms, {.mode = kOfThree, .job = 200ms, .loops = true});
  const auto server = world.random().below(3);
  world.at(
      1s, [&] { world.hosts()[server].set_clock_by(std::chrono::abs(draw_step(world.random()))); });
  world.at(14s, [&] {
    for (Host& host : world.hosts())
      host.set_clock_by(-std::chrono::abs(draw_step(world.random())));
  });
  world.run_until(16s);
  world.end_loops();
  return serve_all(world, 60s, {.longest_stall = 1500ms});
}

constexpr Scenario kShared[] = {
    {"readers_together", {.servers = 1}, together<10, 40>},
    {"readers_together_on_five", {.servers = 5}, together<2, 60>},
    {"storm_of_readers", {}, storm_of_readers},
    {"readers_and_writers", {}, readers_and_writers},
    {"crowd_for_slots", {.servers = 1}, crowd},
    {"crowd_for_slots_of_five", {.servers = 5}, crowd},
    {"one_slot_left", {}, one_slot_left},
    {"storm_of_slots", {}, storm_of_slots},
    {"slots_and_clocks", {}, slots_and_clocks},
};

}  // namespace

const Scenarios shared_scenarios = kShared;

}  // namespace redlock::sim::queueing
