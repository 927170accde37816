// SPDX-License-Identifier: MIT
//
// A live waiter or a live run beside those that cannot win, and beside the remains of others. Each
// situation is one that a review found: somebody must have the lock within 3 s all the same.
#include "queueing/scenario.h"

namespace redlock::sim::queueing {

namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Mode kWriter{};
constexpr Mode kReader{.reads = true};
constexpr Mode kThreeSlots{.slots = 3};

const Limits kStalls{.longest_stall = hours(1), .slow_per_cent = 100};

ProcessPlan of(const Mode& mode, Time job = milliseconds(50)) {
  ProcessPlan plan;
  plan.mode = mode;
  plan.job = job;
  return plan;
}

/// Exactly one of five that try once has run after two seconds.
void start_herd_of_five(World& world, Result& result) {
  const std::size_t before = world.jobs();
  ProcessPlan plan = of(kWriter, seconds(5));
  plan.tries_once = true;
  for (int i = 0; i < 5; ++i) world.start(plan);
  world.run_until(world.now() + milliseconds(2100));
  const std::size_t runs = world.jobs() - before;
  result.demand(runs == 1, std::to_string(runs) + " of a herd of five ran");
}

/// The third server has a key that another program left. Those in front reach this one and the
/// second: a quorum answers them, but they cannot win.
enum class After { nobody, herd, waiter };
Result behind_losers(World& world, std::size_t losers, After after) {
  world.hosts()[2].set_foreign(3'600'000);
  hold_first(world, seconds(5));
  for (std::size_t i = 0; i < losers; ++i) {
    world.start_at(seconds(1) + milliseconds(100) * static_cast<int>(i), {});
  }
  world.run_until(milliseconds(900));
  for (std::size_t i = 0; i < losers; ++i) {
    world.run_until(seconds(1) + milliseconds(100) * static_cast<int>(i));
    world.cut(*world.processes().back(), 0, hours(1));
  }
  world.run_until(seconds(3));
  if (after == After::waiter) world.start({.wait = seconds(30), .job = milliseconds(50)});
  world.run_until(seconds(6));
  Result herd;
  if (after == After::herd) start_herd_of_five(world, herd);
  world.run_until(seconds(20));
  const bool served = after != After::waiter || world.processes().back()->ran();
  herd.demand(served, "the waiter behind them was not served");
  Numbers numbers = world.numbers();
  numbers.never_served = 0;
  Result result(numbers, kStalls);
  result.add_faults(herd);
  return result;
}

/// A waiter of another kind is killed or stopped beside holders that a live one could join.
enum class Fate { killed, frozen };
Result dead_beside(World& world, const Mode& holder, Fate fate, bool once) {
  world.start(of(holder, seconds(60)));
  world.run_until(seconds(1));
  Process& writer = world.start(of(kWriter));
  world.run_until(seconds(3));
  fate == Fate::killed ? world.kill(writer) : world.freeze(writer);
  world.run_until(milliseconds(3300));
  ProcessPlan plan = of(holder);
  plan.tries_once = once;
  Process& live = world.start(plan);
  world.run_until(seconds(30));
  Result result(world.numbers(), kStalls);
  result.demand(live.ran(), "one that could have joined the holder did not");
  return result;
}

/// Many of one kind are stopped while they wait.
void start_frozen(World& world, std::size_t count, const Mode& mode) {
  hold_first(world, seconds(8));
  start_waiters(world, count, milliseconds(100), milliseconds(10), of(mode));
  world.run_until(seconds(4));
  for (const auto& each : world.processes()) {
    if (each->waits()) world.freeze(*each);
  }
}

/// A live one of another kind comes after them.
Result behind_frozen(World& world, std::size_t count, const Mode& frozen, const Mode& live) {
  start_frozen(world, count, frozen);
  Process& last = world.start(of(live));
  world.run_until(seconds(40));
  Result result(world.numbers(), kStalls);
  result.demand(last.ran(), "the live one was not served");
  return result;
}

/// A herd of `-n` after 150 stopped ones of that kind.
Result herd_behind_frozen(World& world, const Mode& frozen) {
  start_frozen(world, 150, frozen);
  world.run_until(seconds(9));
  Result herd;
  start_herd_of_five(world, herd);
  Result result(world.numbers(), kStalls);
  result.add_faults(herd);
  return result;
}

/// A hold of eight hours is released while one server is down, which comes back with it.
Result released_while_down(World& world) {
  hold_first(world, seconds(5));
  world.run_until(seconds(2));
  world.hosts()[2].crash();
  world.run_until(seconds(30));
  world.hosts()[2].come_back(Server::Restart::kept);
  world.run_until(seconds(31));
  return {world.numbers(), kStalls};
}

/// Two of three servers restarted lately. The first in the queue does not trust them, the next one
/// does.
Result different_graces(World& world) {
  hold_first(world, seconds(12));
  world.run_until(seconds(1));
  ProcessPlan plan;
  plan.restart_grace_s = 60;
  Process& first = world.start(plan);
  world.run_until(seconds(2));
  Process& next = world.start({});
  world.run_until(seconds(4));
  for (const std::size_t server : {0U, 1U}) {
    world.hosts()[server].crash();
    world.hosts()[server].come_back(Server::Restart::kept);
  }
  world.run_until(seconds(20));
  Numbers numbers = world.numbers();
  numbers.never_served = 0;
  Result result(numbers, {.inversions = 1, .longest_stall = hours(1), .slow_per_cent = 100});
  result.demand(next.ran(), "the waiter that trusts the servers was not served");
  world.run_until(seconds(120));
  result.demand(first.ran(), "the waiter that does not was never served");
  return result;
}

/// Another program plants 256 readers that end before the holders of both slots.
Result planted_readers(World& world) {
  const Mode of_two{.slots = 2};
  world.start(of(of_two, seconds(50)));
  world.run_until(milliseconds(200));
  world.start(of(of_two, seconds(50)));
  world.run_until(seconds(1));
  for (Host& host : world.hosts()) {
    const std::string ends = std::to_string(host.server().now_ms(world.now()) + 30'000);
    for (int i = 0; i < 256; ++i) {
      const std::string name = "planted" + std::to_string(i);
      const std::string_view words[] = {"ZADD", "redlock:{a}:readers", ends, name};
      host.server().keyspace().run(words);
    }
  }
  ProcessPlan third = of(of_two);
  third.tries_once = true;
  Process& live = world.start(third);
  world.run_until(seconds(5));
  Result result(world.numbers(), kStalls);
  result.demand(!live.ran(), "a third job runs");
  return result;
}

/// A server forgets everything while a job runs: a quorum of the others has its lock.
Result server_emptied(World& world) {
  hold_first(world, seconds(30));
  world.run_until(seconds(2) + milliseconds(world.random().below(5000)));
  world.hosts()[2].crash();
  world.hosts()[2].come_back(Server::Restart::empty);
  world.run_until(seconds(40));
  return {world.numbers(), kStalls};
}

/// Another has the lock; then two of three servers stop.
Result waits_in_vain(World& world) {
  hold_first(world, seconds(50));
  world.run_until(seconds(1));
  Process& early = world.start({.wait = seconds(3)});
  world.run_until(seconds(5));
  world.hosts()[0].stop();
  world.hosts()[1].stop();
  Process& late = world.start({.wait = seconds(6)});
  world.run_until(seconds(20));
  Result result(world.numbers(), kStalls);
  result.demand(!early.alive() && !late.alive(), "one waits for longer than it may");
  return result;
}

/// Another program holds the lock and deletes it without a word.
Result foreign_holder(World& world) {
  for (Host& host : world.hosts()) host.set_foreign(60'000);
  start_waiters(world, 3, milliseconds(100), milliseconds(10));
  world.run_until(seconds(8) + milliseconds(world.random().below(4000)));
  for (Host& host : world.hosts()) host.delete_key();
  world.run_until_all_served(seconds(60));
  return {world.numbers(), {.longest_stall = milliseconds(350), .slow_per_cent = 100}};
}

constexpr Scenario kEdges[] = {
    {"loser_alone", {}, [](World& w) { return behind_losers(w, 1, After::nobody); }},
    {"loser_before_herd", {}, [](World& w) { return behind_losers(w, 1, After::herd); }},
    {"loser_before_waiter", {}, [](World& w) { return behind_losers(w, 1, After::waiter); }},
    {"losers_before_herd", {}, [](World& w) { return behind_losers(w, 3, After::herd); }},
    {"losers_before_waiter", {}, [](World& w) { return behind_losers(w, 3, After::waiter); }},
    {"writer_killed_beside_readers", {},
     [](World& w) { return dead_beside(w, kReader, Fate::killed, false); }},
    {"writer_killed_before_single_reader", {},
     [](World& w) { return dead_beside(w, kReader, Fate::killed, true); }},
    {"writer_frozen_beside_readers", {},
     [](World& w) { return dead_beside(w, kReader, Fate::frozen, false); }},
    {"writer_killed_beside_slots", {},
     [](World& w) { return dead_beside(w, kThreeSlots, Fate::killed, false); }},
    {"writer_frozen_beside_slots", {},
     [](World& w) { return dead_beside(w, kThreeSlots, Fate::frozen, false); }},
    {"writer_behind_40_writers", {},
     [](World& w) { return behind_frozen(w, 40, kWriter, kWriter); }},
    {"writer_behind_40_readers", {},
     [](World& w) { return behind_frozen(w, 40, kReader, kWriter); }},
    {"writer_behind_40_slots", {},
     [](World& w) { return behind_frozen(w, 40, kThreeSlots, kWriter); }},
    {"reader_behind_40_writers", {},
     [](World& w) { return behind_frozen(w, 40, kWriter, kReader); }},
    {"slot_behind_40_writers", {},
     [](World& w) { return behind_frozen(w, 40, kWriter, kThreeSlots); }},
    {"reader_behind_40_readers", {},
     [](World& w) { return behind_frozen(w, 40, kReader, kReader); }},
    {"slot_behind_40_slots", {},
     [](World& w) { return behind_frozen(w, 40, kThreeSlots, kThreeSlots); }},
    {"slot_behind_40_readers", {},
     [](World& w) { return behind_frozen(w, 40, kReader, kThreeSlots); }},
    {"reader_behind_40_slots", {},
     [](World& w) { return behind_frozen(w, 40, kThreeSlots, kReader); }},
    {"writer_behind_150_writers", {},
     [](World& w) { return behind_frozen(w, 150, kWriter, kWriter); }},
    {"writer_behind_150_readers", {},
     [](World& w) { return behind_frozen(w, 150, kReader, kWriter); }},
    {"writer_behind_150_slots", {},
     [](World& w) { return behind_frozen(w, 150, kThreeSlots, kWriter); }},
    {"herd_behind_150_writers", {}, [](World& w) { return herd_behind_frozen(w, kWriter); }},
    {"herd_behind_150_readers", {}, [](World& w) { return herd_behind_frozen(w, kReader); }},
    {"herd_behind_150_slots", {}, [](World& w) { return herd_behind_frozen(w, kThreeSlots); }},
    {"server_emptied", {}, server_emptied},
    {"waits_in_vain", {.ttl = seconds(60)}, waits_in_vain},
    {"released_while_down", {.ttl = hours(8)}, released_while_down},
    {"different_graces", {}, different_graces},
    {"planted_readers", {.ttl = seconds(60)}, planted_readers},
    {"foreign_holder", {.servers = 1}, foreign_holder},
    {"foreign_holder_on_three", {}, foreign_holder},
};

}  // namespace

std::span<const Scenario> edge_scenarios() {
  return kEdges;
}

}  // namespace redlock::sim::queueing
