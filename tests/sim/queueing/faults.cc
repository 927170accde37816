// SPDX-License-Identifier: MIT
//
// Waiters, holders and servers that die, stop, lose their connections or forget; clocks that are
// set; wake-ups that get lost; other programs.
#include <algorithm>

#include "queueing/scenario.h"

namespace redlock::sim::queueing {

namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// It reaches fewer than a quorum until then.
void cut_off_from_most(World& world, Process& process, Time until) {
  const std::size_t servers = world.hosts().size();
  const std::size_t reached = world.random().below(static_cast<std::uint32_t>(servers));
  for (std::size_t i = (servers - 1) / 2; i < servers; ++i) {
    world.cut(process, (reached + i) % servers, until);
  }
}

/// The first `count` of 180 waiters each lose most servers for a minute.
Result cut_off(World& world, std::size_t count) {
  hold_first(world, seconds(4));
  start_waiters(world, 180, milliseconds(100), milliseconds(15));
  world.run_until(milliseconds(3500));
  std::size_t left = count;
  for (Process* each : world.queue()) {
    if (left-- == 0) break;
    cut_off_from_most(world, *each, world.now() + seconds(60));
  }
  world.run_until(seconds(40));
  const std::size_t held_up = world.numbers().never_served - count;
  world.run_until_all_served(seconds(120));
  world.run_until(world.now() + seconds(21));
  Result result(world.numbers(), {.slow_per_cent = 5});
  result.demand(held_up == 0, std::to_string(held_up) + " waiters were held up by those cut off");
  return result;
}

/// All are stopped but the last one, which nobody wakes: it finds out with its next request.
Result all_before_stopped(World& world) {
  hold_first(world, seconds(20));
  start_waiters(world, 31, milliseconds(100), milliseconds(15));
  // From hardly any time to the whole time between two requests of the last one before the release.
  world.run_until(seconds(20) - milliseconds(1 + world.random().below(5000)));
  const std::vector<Process*> queue = world.queue();
  for (std::size_t i = 0; i < 30; ++i) world.freeze(*queue[i]);
  world.run_until(seconds(30));
  Result result(world.numbers(), {.slow_per_cent = 100});
  result.demand(world.jobs() == 2, "the last waiter was not served");
  for (std::size_t i = 0; i < 30; ++i) world.resume(*queue[i]);
  world.run_until_all_served(seconds(120));
  result.demand(world.numbers().never_served == 0, "one that was stopped was never served");
  return result;
}

/// On two of three servers, while the lock is held for long; some of those in the queue die then.
Result clocks_set_back(World& world) {
  hold_first(world, seconds(30));
  start_waiters(world, 20, milliseconds(100), milliseconds(30));
  world.run_until(seconds(1));
  world.hosts()[0].set_clock_by(-hours(1));
  world.hosts()[1].set_clock_by(-hours(1));
  const std::vector<Process*> queue = world.queue();
  for (std::size_t i = 5; i < 9 && i < queue.size(); ++i) world.kill(*queue[i]);
  start_waiters(world, 20, world.now() + milliseconds(100), milliseconds(30));
  world.run_until(seconds(28));
  const std::size_t left_behind = world.numbers().left_behind;
  world.run_until_all_served(seconds(90));
  ProcessPlan later;
  later.job = seconds(25);
  world.start(later);
  start_waiters(world, 5, world.now() + milliseconds(100), milliseconds(30));
  world.run_until_all_served(world.now() + seconds(60));
  Result result(world.numbers(), {});
  result.demand(left_behind == 0, "those that died count for longer than 20 s");
  return result;
}

/// While a turn is on: it seems to last for an hour.
Result clock_set_back_in_turn(World& world) {
  hold_first(world, seconds(1));
  start_waiters(world, 20, milliseconds(100), milliseconds(20));
  world.run_until(milliseconds(900));
  Process* head = world.queue().front();
  world.freeze(*head);
  world.run_until(milliseconds(1100));  // it has the turn
  world.hosts()[0].set_clock_by(-hours(1));
  world.hosts()[1].set_clock_by(-hours(1));
  world.run_until_all_served(seconds(60));
  return {world.numbers(), {.slow_per_cent = 10}};
}

/// One server after the other, all within the time of one job; everybody comes back to the old
/// order.
Result servers_restarted(World& world) {
  hold_first(world, seconds(40));
  start_waiters(world, 40, milliseconds(100), milliseconds(30));
  for (std::size_t server = 0; server < 3; ++server) {
    const Time when = seconds(5 + 10 * static_cast<int>(server));
    world.at(when, [&world, server] { world.hosts()[server].crash(); });
    world.at(when + milliseconds(500),
             [&world, server] { world.hosts()[server].come_back(Server::Restart::empty); });
  }
  world.run_until_all_served(seconds(90));
  return {world.numbers(), {}};
}

/// Two of three servers stop for a while, so that nobody in the queue reaches a quorum; everybody
/// comes back to the old order, before those who came meanwhile.
Result quorum_lost(World& world) {
  hold_first(world, seconds(30));
  start_waiters(world, 40, milliseconds(100), milliseconds(30));
  world.run_until(seconds(5));
  for (const std::size_t server : {0U, 1U}) {
    world.hosts()[server].stop();
    world.at(seconds(16), [&world, server] { world.hosts()[server].resume(); });
  }
  start_waiters(world, 20, seconds(20), milliseconds(30));
  world.run_until_all_served(seconds(90));
  return {world.numbers(), {}};
}

/// One of five servers is stopped, and nobody knows that yet. Every other process is far from two
/// of the servers, so after its release the next waiter finds the lock free on two others only. It
/// does not wait for the silent server.
Result one_silent(World& world) {
  world.hosts()[4].stop();
  hold_first(world, milliseconds(500));
  ProcessPlan far;
  far.farther = {Time::zero(), Time::zero(), milliseconds(20), milliseconds(20), Time::zero()};
  start_waiters(world, 20, milliseconds(100), milliseconds(10));
  start_waiters(world, 20, milliseconds(105), milliseconds(10), far);
  world.run_until_all_served(seconds(60));
  return {world.numbers(), {.longest_stall = milliseconds(300), .slow_per_cent = 0}};
}

/// The first ones in the queue die, all at once: nobody hears their turns.
Result heads_killed(World& world) {
  hold_first(world, seconds(3));
  start_waiters(world, 40, milliseconds(100), milliseconds(20));
  world.run_until(seconds(2));
  const std::vector<Process*> queue = world.queue();
  for (std::size_t i = 0; i < 20; ++i) world.kill(*queue[i]);
  world.run_until_all_served(seconds(60));
  return {world.numbers(), {.longest_stall = milliseconds(400)}};
}

/// A stopped waiter at the head of a queue that moves: it costs one turn, and holds up nobody
/// again.
Result head_frozen(World& world) {
  hold_first(world, seconds(1));
  start_waiters(world, 100, milliseconds(100), milliseconds(5));
  world.run_until(milliseconds(900));
  const std::vector<Process*> queue = world.queue();
  for (const std::size_t i : {0U, 10U, 50U}) world.freeze(*queue[i]);
  world.run_until_all_served(seconds(60));
  Result result(world.numbers(), {.longest_stall = milliseconds(800), .slow_per_cent = 5});
  for (const std::size_t i : {0U, 10U, 50U}) world.resume(*queue[i]);
  world.run_until_all_served(seconds(70));
  result.demand(world.numbers().never_served == 0, "one that was stopped was never served");
  return result;
}

/// Behind two stopped waiters stand far ones, and near ones behind those. When the turns of the two
/// are over, the server calls all of them. The far ones need longer to ask, and keep their places.
Result frozen_before_far(World& world) {
  hold_first(world, seconds(6));
  start_waiters(world, 2, milliseconds(100), milliseconds(20));
  ProcessPlan plan;
  plan.distance.one_way = milliseconds(5);
  start_waiters(world, 1, milliseconds(200), milliseconds(20), plan);
  plan.distance.one_way = milliseconds(150);
  start_waiters(world, 3, milliseconds(300), milliseconds(20), plan);
  start_waiters(world, 30, seconds(1), milliseconds(70));
  world.run_until(milliseconds(5900));
  const std::vector<Process*> queue = world.queue();
  for (const std::size_t i : {0U, 1U}) world.freeze(*queue[i]);
  world.run_until(seconds(30));
  for (const std::size_t i : {0U, 1U}) world.resume(*queue[i]);
  world.run_until_all_served(seconds(40));
  return {world.numbers(), {.longest_stall = seconds(2), .slow_per_cent = 20}};
}

/// The holder dies, and its lock expires; processes begin all the time.
Result holder_killed(World& world) {
  hold_first(world, seconds(60));
  start_waiters(world, 300, milliseconds(100), milliseconds(3));
  world.run_until(milliseconds(1500));
  world.kill(*world.holder());
  start_waiters(world, 200, milliseconds(1600), milliseconds(25));
  const std::size_t dead = 1;
  while (world.jobs() == dead && world.now() < seconds(10)) {
    world.run_until(world.now() + milliseconds(1));
  }
  const std::size_t before = world.numbers().evals + world.numbers().idle_evals;
  world.run_until(world.now() + milliseconds(100));
  const std::size_t evals = (world.numbers().evals + world.numbers().idle_evals - before) / 3;
  world.run_until_all_served(seconds(90));
  Result result(world.numbers(), {});
  result.note(std::to_string(evals) + " EVALs on each server within 100 ms of the expiry");
  result.demand(evals < 150, std::to_string(evals) + " EVALs within 100 ms of an expiry");
  return result;
}

/// Every run leaves the lock cooling for a while, which ends long before what waiters were told.
Result cooling(World& world) {
  ProcessPlan plan;
  plan.min_hold = seconds(1);
  start_waiters(world, 5, Time::zero(), milliseconds(30), plan);
  world.run_until_all_served(seconds(120));
  return {world.numbers(), {.longest_stall = milliseconds(400)}};
}

/// Another program takes the lock in between, and deletes it without a word.
Result foreign_program(World& world) {
  hold_first(world, seconds(1));
  start_waiters(world, 30, milliseconds(100), milliseconds(20));
  const auto everywhere = [&world](Time when, auto what) {
    world.at(when, [&world, what] {
      for (Host& host : world.hosts()) what(host);
    });
  };
  for (const int when : {1200, 1400}) {
    const Time from = milliseconds(when);
    for (int i = 0; i < 100; ++i) {
      everywhere(from + milliseconds(i), [](Host& host) { host.set_foreign(20'000); });
    }
    everywhere(from + seconds(4 + when / 1400), [](Host& host) {
      if (client_of(host.owner()) == kForeigner) host.delete_key();
    });
  }
  world.run_until_all_served(seconds(90));
  return {world.numbers(), {.slow_per_cent = 10}};
}

/// Five of twelve may not SUBSCRIBE.
Result silent_waiters(World& world) {
  hold_first(world, milliseconds(500));
  for (int i = 0; i < 40; ++i) {
    ProcessPlan plan;
    plan.may_subscribe = i % 5 > 1;
    plan.job = milliseconds(50);
    plan.loops = true;
    world.start_at(milliseconds(100 + 30 * i), plan);
  }
  world.run_until(seconds(30));
  world.end_loops();
  world.run_until_all_served(seconds(60));
  return {world.numbers(), {.most_overtaken = 40}};
}

constexpr Scenario kFaults[] = {
    {"heads_cut_off", {}, [](World& w) { return cut_off(w, 12); }},
    {"many_heads_cut_off", {}, [](World& w) { return cut_off(w, 30); }},
    {"many_of_one", {.servers = 1}, [](World& w) { return cut_off(w, 30); }},
    {"many_of_five", {.servers = 5}, [](World& w) { return cut_off(w, 30); }},
    {"last_of_one", {.servers = 1}, all_before_stopped},
    {"last_of_five", {.servers = 5}, all_before_stopped},
    {"one_silent", {.servers = 5, .timeout = seconds(1)}, one_silent},
    {"heads_killed", {}, heads_killed},
    {"head_frozen", {}, head_frozen},
    {"frozen_before_far", {.servers = 1, .timeout = seconds(1)}, frozen_before_far},
    {"holder_killed", {.ttl = seconds(4)}, holder_killed},
    {"quorum_lost", {.ttl = seconds(60)}, quorum_lost},
    {"clocks_set_back", {}, clocks_set_back},
    {"clock_set_back_in_turn", {}, clock_set_back_in_turn},
    {"servers_restarted", {}, servers_restarted},
    {"cooling", {.ttl = seconds(30)}, cooling},
    {"foreign_program", {}, foreign_program},
    {"silent_waiters", {}, silent_waiters},
};

}  // namespace

std::span<const Scenario> fault_scenarios() {
  return kFaults;
}

}  // namespace redlock::sim::queueing
