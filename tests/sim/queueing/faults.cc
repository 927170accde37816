// SPDX-License-Identifier: MIT
//
// Waiters, holders and servers that die, stop, lose their connections or forget; clocks that are
// set; wake-ups that get lost; other programs.
#include "queueing/scenario.h"

namespace redlock::sim::queueing {

namespace {

using namespace std::chrono_literals;

/// It reaches fewer than a quorum until then.
void cut_off_from_most(World& world, Process& process, Time until) {
  const std::size_t servers = world.hosts().size();
  const std::size_t reached = world.random().index(servers);
  for (std::size_t i = (servers - 1) / 2; i < servers; ++i) {
    process.cut((reached + i) % servers, until);
  }
}

/// The first `count` of 180 waiters each lose most servers for a minute.
template <std::size_t count>
Result cut_off(World& world) {
  hold_first(world, 4s);
  start_waiters(world, 180, 100ms, 15ms);
  world.run_until(3500ms);
  std::size_t left = count;
  for (Process* each : world.queue()) {
    if (left-- == 0) break;
    cut_off_from_most(world, *each, world.now() + 60s);
  }
  world.run_until(40s);
  const std::size_t held_up = world.numbers().never_served - count;
  world.run_until_all_served(120s);
  world.run_until(world.now() + 21s);
  // When the first waiters have missed their turns, each server calls many waiters at the same
  // time. Two of them may then get the lock in the wrong order.
  return Result(world.numbers(), {.inversions = 1, .slow_per_cent = 5})
      .demand(held_up == 0, std::to_string(held_up) + " waiters were held up by those cut off");
}

/// All are stopped but the last one, which nobody wakes: it finds out with its next request.
Result all_before_stopped(World& world) {
  hold_first(world, 20s);
  start_waiters(world, 31, 100ms, 15ms);
  // From hardly any time to the whole time between two requests of the last one before the release.
  world.run_until(20s - (1 + world.random().below(5000)) * 1ms);
  const std::vector<Process*> queue = world.queue();
  for (std::size_t i = 0; i < 30; ++i) queue[i]->freeze();
  world.run_until(30s);
  Result result(world.numbers(), {.slow_per_cent = 100});
  result.demand(world.jobs() == 2, "the last waiter was not served");
  for (std::size_t i = 0; i < 30; ++i) queue[i]->resume();
  world.run_until_all_served(120s);
  return result.demand(world.numbers().never_served == 0, "one that was stopped was never served");
}

void set_back(World& world, std::size_t server) {
  world.hosts()[server].set_clock_by(-std::chrono::abs(draw_step(world.random())));
}

/// On two of three servers, while the lock is held for long; some of those in the queue die then.
Result clocks_set_back(World& world) {
  hold_first(world, 30s);
  start_waiters(world, 20, 100ms, 30ms);
  world.run_until(1s);
  for (const std::size_t server : {0U, 1U}) set_back(world, server);
  const std::vector<Process*> queue = world.queue();
  for (std::size_t i = 5; i < 9 && i < queue.size(); ++i) queue[i]->kill();
  start_waiters(world, 20, world.now() + 100ms, 30ms);
  world.run_until(28s);
  const std::size_t left_behind = world.numbers().left_behind;
  world.run_until_all_served(90s);
  hold_first(world, 25s);
  start_waiters(world, 5, world.now() + 100ms, 30ms);
  return serve_all(world, world.now() + 60s)
      .demand(left_behind == 0, "those that died count for longer than 20 s");
}

/// On all servers, while a process has the lock, or reads, or while all slots are taken. It renews
/// its lock, and dies.
template <bool reads, std::uint8_t slots>
Result set_back_and_killed(World& world) {
  start_waiters(world, slots == 0 ? 1 : slots, 0s, 20ms, {.mode = {reads, slots}, .job = 60s});
  start_waiters(world, 20, 100ms, 20ms, {.mode = {.slots = slots}});
  for (std::size_t i = 0; i < world.hosts().size(); ++i) {
    world.at(world.random().between(1s, 2s), [&world, i] { set_back(world, i); });
  }
  world.at(5s, [&world] { world.holder()->kill(); });
  return serve_all(world, 20s);
}

/// While a turn is on: it seems to last for long.
Result clock_set_back_in_turn(World& world) {
  hold_first(world, 1s);
  start_waiters(world, 20, 100ms, 20ms);
  world.run_until(900ms);
  world.queue().front()->freeze();
  world.run_until(1100ms);  // it has the turn
  for (const std::size_t server : {0U, 1U}) set_back(world, server);
  return serve_all(world, 60s, {.slow_per_cent = 10});
}

/// One server after the other, all within the time of one job; everybody comes back to the old
/// order.
Result servers_restarted(World& world) {
  hold_first(world, 40s);
  start_waiters(world, 40, 100ms, 30ms);
  Time when = 5s;
  for (Host& host : world.hosts()) {
    world.at(when, [&host] { host.crash(); });
    world.at(when + 500ms, [&host] { host.come_back(Server::Restart::empty); });
    when += 10s;
  }
  return serve_all(world, 90s);
}

/// Two of three servers stop for a while, so that nobody in the queue reaches a quorum; everybody
/// comes back to the old order, before those who came since then.
Result quorum_lost(World& world) {
  hold_first(world, 30s);
  start_waiters(world, 40, 100ms, 30ms);
  world.run_until(5s);
  for (const std::size_t server : {0U, 1U}) {
    world.hosts()[server].stop();
    world.at(16s, [&world, server] { world.hosts()[server].resume(); });
  }
  start_waiters(world, 20, 20s, 30ms);
  return serve_all(world, 90s);
}

/// One of five servers is stopped, and nobody knows that yet. Every other process is far from two
/// of the servers, so after its release the next waiter finds the lock free on two others only. It
/// does not wait for the silent server.
Result one_silent(World& world) {
  world.hosts()[4].stop();
  hold_first(world, 500ms);
  start_waiters(world, 20, 100ms, 10ms);
  start_waiters(world, 20, 105ms, 10ms, {.farther = {0s, 0s, 20ms, 20ms, 0s}});
  return serve_all(world, 60s, {.longest_stall = 300ms, .slow_per_cent = 0});
}

/// The first ones in the queue die, all at the same time: nobody hears their turns.
Result heads_killed(World& world) {
  hold_first(world, 3s);
  start_waiters(world, 40, 100ms, 20ms);
  world.run_until(2s);
  const std::vector<Process*> queue = world.queue();
  for (std::size_t i = 0; i < 20; ++i) queue[i]->kill();
  return serve_all(world, 60s, {.longest_stall = 400ms});
}

/// A stopped waiter at the head of a queue that moves: it costs one turn, and holds up nobody
/// again.
Result head_frozen(World& world) {
  hold_first(world, 1s);
  start_waiters(world, 100, 100ms, 5ms);
  world.run_until(900ms);
  const std::vector<Process*> queue = world.queue();
  for (const std::size_t i : {0U, 10U, 50U}) queue[i]->freeze();
  Result result = serve_all(world, 60s, {.longest_stall = 800ms, .slow_per_cent = 5});
  for (const std::size_t i : {0U, 10U, 50U}) queue[i]->resume();
  world.run_until_all_served(70s);
  return result.demand(world.numbers().never_served == 0, "one that was stopped was never served");
}

/// After two stopped waiters stand far ones, and near ones after those. When the turns of the two
/// are over, the server calls all of them. The far ones need longer to ask, and keep their places.
Result frozen_before_far(World& world) {
  hold_first(world, 6s);
  start_waiters(world, 2, 100ms, 20ms);
  start_waiters(world, 1, 200ms, 20ms, {.distance = {.one_way = 5ms}});
  start_waiters(world, 3, 300ms, 20ms, {.distance = {.one_way = 150ms}});
  start_waiters(world, 30, 1s, 70ms);
  world.run_until(5900ms);
  const std::vector<Process*> queue = world.queue();
  for (const std::size_t i : {0U, 1U}) queue[i]->freeze();
  world.run_until(30s);
  for (const std::size_t i : {0U, 1U}) queue[i]->resume();
  return serve_all(world, 40s, {.longest_stall = 2s, .slow_per_cent = 20});
}

/// The holder dies, and its lock expires; processes begin all the time.
Result holder_killed(World& world) {
  hold_first(world, 60s);
  start_waiters(world, 300, 100ms, 3ms);
  world.run_until(1500ms);
  world.holder()->kill();
  start_waiters(world, 200, 1600ms, 25ms);
  const std::size_t dead = 1;
  while (world.jobs() == dead && world.now() < 10s) world.run_until(world.now() + 1ms);
  const auto all_evals = [&] { return world.numbers().evals + world.numbers().idle_evals; };
  const std::size_t before = all_evals();
  world.run_until(world.now() + 100ms);
  const std::size_t evals = (all_evals() - before) / 3;
  const std::string text =
      std::to_string(evals) + " EVALs on each server within 100 ms of an expiry";
  return serve_all(world, 90s).note(text).demand(evals < 150, text);
}

/// Every run leaves the lock cooling for a while, which ends long before what waiters were told.
/// All of them come during the first run.
Result cooling(World& world) {
  start_waiters(world, 5, 0s, 20ms, {.job = 100ms, .min_hold = 1s});
  return serve_all(world, 120s, {.longest_stall = 400ms});
}

/// Another program takes the lock in between, and deletes it without a word.
Result foreign_program(World& world) {
  hold_first(world, 1s);
  start_waiters(world, 30, 100ms, 20ms);
  const auto everywhere = [&world](Time when, auto what) {
    world.at(when, [&world, what] {
      for (Host& host : world.hosts()) what(host);
    });
  };
  for (const int when : {1200, 1400}) {
    for (int i = 0; i < 100; ++i) {
      everywhere((when + i) * 1ms, [](Host& host) { host.set_foreign(20'000); });
    }
    everywhere(when * 1ms + (4 + when / 1400) * 1s, [](Host& host) {
      if (client_of(host.owner()) == kForeigner) host.delete_key();
    });
  }
  return serve_all(world, 90s, {.slow_per_cent = 10});
}

/// Five of twelve may not SUBSCRIBE.
Result silent_waiters(World& world) {
  hold_first(world, 500ms);
  for (int i = 0; i < 40; ++i) {
    world.start_at(100ms + i * 30ms, {.may_subscribe = i % 5 > 1, .job = 50ms, .loops = true});
  }
  world.run_until(30s);
  world.end_loops();
  return serve_all(world, 60s, {.most_overtaken = 40});
}

constexpr Scenario kFaults[] = {
    {"heads_cut_off", {}, cut_off<12>},
    {"many_heads_cut_off", {}, cut_off<30>},
    {"many_of_one", {.servers = 1}, cut_off<30>},
    {"many_of_five", {.servers = 5}, cut_off<30>},
    {"last_of_one", {.servers = 1}, all_before_stopped},
    {"last_of_five", {.servers = 5}, all_before_stopped},
    {"one_silent", {.servers = 5, .timeout = 1s}, one_silent},
    {"heads_killed", {}, heads_killed},
    {"head_frozen", {}, head_frozen},
    {"frozen_before_far", {.servers = 1, .timeout = 1s}, frozen_before_far},
    {"holder_killed", {.ttl = 4s}, holder_killed},
    {"quorum_lost", {.ttl = 60s}, quorum_lost},
    {"clocks_set_back", {}, clocks_set_back},
    {"set_back_and_killed", {.ttl = 3s}, set_back_and_killed<false, 0>},
    {"reader_set_back", {.ttl = 3s}, set_back_and_killed<true, 0>},
    {"slot_set_back", {.ttl = 3s}, set_back_and_killed<false, 3>},
    {"clock_set_back_in_turn", {}, clock_set_back_in_turn},
    {"servers_restarted", {}, servers_restarted},
    {"cooling", {.ttl = 30s}, cooling},
    {"foreign_program", {}, foreign_program},
    {"silent_waiters", {}, silent_waiters},
};

}  // namespace

const Scenarios fault_scenarios = kFaults;

}  // namespace redlock::sim::queueing
