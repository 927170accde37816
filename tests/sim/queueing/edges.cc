// SPDX-License-Identifier: MIT
//
// A live waiter or a live run beside those that cannot win, and beside the remains of others. Each
// situation is one that a review found: somebody must have the lock within 3 s all the same.
#include "queueing/scenario.h"

namespace redlock::sim::queueing {

namespace {

using namespace std::chrono_literals;

constexpr Mode kWriter{};
constexpr Mode kReader{.reads = true};
constexpr Mode kThreeSlots{.slots = 3};

const Limits kStalls{.longest_stall = 1h, .slow_per_cent = 100};

/// Exactly one of five that try once has run after two seconds.
Result herd_of_five(World& world) {
  const std::size_t before = world.jobs();
  for (int i = 0; i < 5; ++i) world.start({.tries_once = true, .job = 5s});
  world.run_until(world.now() + 2100ms);
  const std::size_t runs = world.jobs() - before;
  return Result().demand(runs == 1, std::to_string(runs) + " of a herd of five ran");
}

/// The third server has a key that another program left. Those in front reach this one and the
/// second: a quorum answers them, but they cannot win.
enum class After { nobody, herd, waiter };
template <int losers, After after>
Result behind_losers(World& world) {
  world.hosts()[2].set_foreign(3'600'000);
  hold_first(world, 5s);
  start_waiters(world, losers, 1s, 100ms);
  for (int i = 0; i < losers; ++i) {
    world.run_until(1s + i * 100ms);
    world.processes().back()->cut(0, 1h);
  }
  world.run_until(3s);
  if (after == After::waiter) world.start({.wait = 30s, .job = 50ms});
  world.run_until(6s);
  const Result herd = after == After::herd ? herd_of_five(world) : Result();
  world.run_until(20s);
  const bool served = after != After::waiter || world.processes().back()->ran();
  Numbers numbers = world.numbers();
  numbers.never_served = 0;
  return Result(numbers, kStalls)
      .demand(served, "the waiter after them was not served")
      .add_faults(herd);
}

/// A waiter of another kind is killed or stopped beside holders that a live one could join.
enum class Fate { killed, frozen };
template <Mode holder, Fate fate, bool once = false>
Result dead_beside(World& world) {
  world.start({.mode = holder, .job = 60s});
  world.run_until(1s);
  Process& writer = world.start({.mode = kWriter, .job = 50ms});
  world.run_until(3s);
  fate == Fate::killed ? writer.kill() : writer.freeze();
  world.run_until(3300ms);
  const Process& live = world.start({.tries_once = once, .mode = holder, .job = 50ms});
  world.run_until(30s);
  return Result(world.numbers(), kStalls)
      .demand(live.ran(), "one that could have joined the holder did not");
}

/// Many of one kind are stopped while they wait.
void start_frozen(World& world, int count, const Mode& mode) {
  hold_first(world, 8s);
  start_waiters(world, count, 100ms, 10ms, {.mode = mode, .job = 50ms});
  world.run_until(4s);
  for (const auto& each : world.processes()) {
    if (each->waits()) each->freeze();
  }
}

/// A live one of another kind comes after them.
template <int count, Mode frozen, Mode live>
Result behind_frozen(World& world) {
  start_frozen(world, count, frozen);
  const Process& last = world.start({.mode = live, .job = 50ms});
  world.run_until(40s);
  return Result(world.numbers(), kStalls).demand(last.ran(), "the live one was not served");
}

/// A herd of `-n` after 150 stopped ones of that kind.
template <Mode frozen>
Result herd_behind_frozen(World& world) {
  start_frozen(world, 150, frozen);
  world.run_until(9s);
  const Result herd = herd_of_five(world);
  return Result(world.numbers(), kStalls).add_faults(herd);
}

/// A hold of eight hours is released while one server is down, which comes back with it.
Result released_while_down(World& world) {
  hold_first(world, 5s);
  world.run_until(2s);
  world.hosts()[2].crash();
  world.run_until(30s);
  world.hosts()[2].come_back(Server::Restart::kept);
  world.run_until(31s);
  return {world.numbers(), kStalls};
}

/// Two of three servers restarted lately. The first in the queue does not trust them, the next one
/// does.
Result different_graces(World& world) {
  hold_first(world, 12s);
  world.run_until(1s);
  const Process& first = world.start({.restart_grace_s = 60});
  world.run_until(2s);
  const Process& next = world.start({});
  world.run_until(4s);
  for (const std::size_t server : {0U, 1U}) {
    world.hosts()[server].crash();
    world.hosts()[server].come_back(Server::Restart::kept);
  }
  world.run_until(20s);
  Numbers numbers = world.numbers();
  numbers.never_served = 0;
  Result result(numbers, {.inversions = 1, .longest_stall = 1h, .slow_per_cent = 100});
  result.demand(next.ran(), "the waiter that trusts the servers was not served");
  world.run_until(120s);
  return result.demand(first.ran(), "the waiter that does not was never served");
}

/// Another program plants 256 readers that end before the holders of both slots.
Result planted_readers(World& world) {
  const ProcessPlan plan{.mode = {.slots = 2}, .job = 50s};
  world.start(plan);
  world.run_until(200ms);
  world.start(plan);
  world.run_until(1s);
  for (Host& host : world.hosts()) {
    const std::string ends = std::to_string(host.server().now_ms(world.now()) + 30'000);
    for (int i = 0; i < 256; ++i) {
      const std::string name = "planted" + std::to_string(i);
      const std::string_view words[] = {"ZADD", "redlock:{a}:readers", ends, name};
      host.server().keyspace().run(words);
    }
  }
  const Process& third = world.start({.tries_once = true, .mode = plan.mode, .job = 50ms});
  world.run_until(5s);
  return Result(world.numbers(), kStalls).demand(!third.ran(), "a third job runs");
}

/// A server forgets everything while a job runs: a quorum of the others has its lock.
Result server_emptied(World& world) {
  hold_first(world, 30s);
  world.run_until(2s + world.random().below(5000) * 1ms);
  world.hosts()[2].crash();
  world.hosts()[2].come_back(Server::Restart::empty);
  world.run_until(40s);
  return {world.numbers(), kStalls};
}

/// Another has the lock; then two of three servers stop.
Result waits_in_vain(World& world) {
  hold_first(world, 50s);
  world.run_until(1s);
  const Process& early = world.start({.wait = 3s});
  world.run_until(5s);
  world.hosts()[0].stop();
  world.hosts()[1].stop();
  const Process& late = world.start({.wait = 6s});
  world.run_until(20s);
  return Result(world.numbers(), kStalls)
      .demand(!early.alive() && !late.alive(), "one waits for longer than it may");
}

/// Another program holds the lock and deletes it without a word.
Result foreign_holder(World& world) {
  for (Host& host : world.hosts()) host.set_foreign(60'000);
  start_waiters(world, 3, 100ms, 10ms);
  world.run_until(8s + world.random().below(4000) * 1ms);
  for (Host& host : world.hosts()) host.delete_key();
  return serve_all(world, 60s, {.longest_stall = 350ms, .slow_per_cent = 100});
}

constexpr Scenario kEdges[] = {
    {"loser_alone", {}, behind_losers<1, After::nobody>},
    {"loser_before_herd", {}, behind_losers<1, After::herd>},
    {"loser_before_waiter", {}, behind_losers<1, After::waiter>},
    {"losers_before_herd", {}, behind_losers<3, After::herd>},
    {"losers_before_waiter", {}, behind_losers<3, After::waiter>},
    {"writer_killed_beside_readers", {}, dead_beside<kReader, Fate::killed>},
    {"writer_killed_before_single_reader", {}, dead_beside<kReader, Fate::killed, true>},
    {"writer_frozen_beside_readers", {}, dead_beside<kReader, Fate::frozen>},
    {"writer_killed_beside_slots", {}, dead_beside<kThreeSlots, Fate::killed>},
    {"writer_frozen_beside_slots", {}, dead_beside<kThreeSlots, Fate::frozen>},
    {"writer_behind_40_writers", {}, behind_frozen<40, kWriter, kWriter>},
    {"writer_behind_40_readers", {}, behind_frozen<40, kReader, kWriter>},
    {"writer_behind_40_slots", {}, behind_frozen<40, kThreeSlots, kWriter>},
    {"reader_behind_40_writers", {}, behind_frozen<40, kWriter, kReader>},
    {"slot_behind_40_writers", {}, behind_frozen<40, kWriter, kThreeSlots>},
    {"reader_behind_40_readers", {}, behind_frozen<40, kReader, kReader>},
    {"slot_behind_40_slots", {}, behind_frozen<40, kThreeSlots, kThreeSlots>},
    {"slot_behind_40_readers", {}, behind_frozen<40, kReader, kThreeSlots>},
    {"reader_behind_40_slots", {}, behind_frozen<40, kThreeSlots, kReader>},
    {"writer_behind_150_writers", {}, behind_frozen<150, kWriter, kWriter>},
    {"writer_behind_150_readers", {}, behind_frozen<150, kReader, kWriter>},
    {"writer_behind_150_slots", {}, behind_frozen<150, kThreeSlots, kWriter>},
    {"herd_behind_150_writers", {}, herd_behind_frozen<kWriter>},
    {"herd_behind_150_readers", {}, herd_behind_frozen<kReader>},
    {"herd_behind_150_slots", {}, herd_behind_frozen<kThreeSlots>},
    {"server_emptied", {}, server_emptied},
    {"waits_in_vain", {.ttl = 60s}, waits_in_vain},
    {"released_while_down", {.ttl = 8h}, released_while_down},
    {"different_graces", {}, different_graces},
    {"planted_readers", {.ttl = 60s}, planted_readers},
    {"foreign_holder", {.servers = 1}, foreign_holder},
    {"foreign_holder_on_three", {}, foreign_holder},
};

}  // namespace

const Scenarios edge_scenarios = kEdges;

}  // namespace redlock::sim::queueing
