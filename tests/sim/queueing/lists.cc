// SPDX-License-Identifier: MIT
//
// The list of servers changes host by host, one server for each step, while servers are down. A
// waiter whose own list has no quorum must not keep a free lock from those of the other list.
#include "queueing/scenario.h"

namespace redlock::sim::queueing {

namespace {

using namespace std::chrono_literals;

constexpr ServerList kReplaced[] = {{0, 3}, {0, 4}, {1, 3}};  // 3 → 4 → 3, with another server
constexpr ServerList kOneLess[] = {{0, 3}, {0, 2}, {0, 3}};
constexpr ServerList kOneMore[] = {{0, 1}, {0, 2}, {1, 1}};  // 1 → 2 → 1, with another server
constexpr ServerList kSteady[] = {{0, 3}, {0, 3}, {0, 3}};   // to compare with

constexpr int kHosts = 12;
constexpr Time kStep = 10s;

class RollOut {
 public:
  explicit RollOut(World& world) : world_(world), random_(world.settings().seed) {}

  /// Each host runs one job after the other, with the list that it has then.
  void begin(const ServerList& list) {
    lists_.assign(kHosts, list);
    for (const ServerList& each : lists_) {
      world_.start({.job = random_.between(20ms, 300ms), .loops = true, .list = &each});
    }
    world_.run_until(2s);
  }

  /// All hosts get the list; the step ends when nobody has another one.
  void step(const ServerList& list) {
    take_down(lists_.front(), list);
    for (ServerList& each : lists_) {
      world_.at(world_.now() + random_.between(0s, kStep), [&each, list] { each = list; });
    }
    world_.run_until(world_.now() + 2 * kStep);
    const Time limit = world_.now() + 60s;
    const auto is_old = [&](const auto& each) { return each->alive() && each->list() != list; };
    while (std::ranges::any_of(world_.processes(), is_old) && world_.now() < limit) {
      world_.run_until(world_.now() + 100ms);
    }
    late_ = late_ || world_.now() >= limit;
  }

  [[nodiscard]] Result end() {
    world_.end_loops();
    return serve_all(world_, world_.now() + 60s,
                     {.inversions = SIZE_MAX, .most_asked = 100, .slow_per_cent = 10})
        .note("longest stuck " + milliseconds_text(world_.numbers().longest_stuck))
        .demand(!late_, "somebody had the old list for a minute");
  }

 private:
  [[nodiscard]] static bool has_quorum(const ServerList& list, std::uint32_t down) {
    std::size_t up = 0;
    for (std::size_t i = list.first; i < list.first + list.count; ++i) up += ~down >> i & 1U;
    return up >= list.quorum();
  }

  /// Servers that leave a quorum to one of the lists, and, where that can be, not to the other one.
  void take_down(const ServerList& before, const ServerList& after) {
    std::uint32_t down = 0;
    for (int tries = 0; tries < 50; ++tries) {
      const std::uint32_t drawn = 1 + random_.below((1U << world_.hosts().size()) - 1);
      const int winners = has_quorum(before, drawn) + has_quorum(after, drawn);
      if (winners > 0) down = drawn;
      if (winners == 1) break;
    }
    const Time from = world_.now() + random_.between(0s, kStep);
    const Time until = from + random_.between(1s, kStep);
    const bool stops = random_.percent(50);
    for (Host& host : world_.hosts()) {
      if ((down >> host.index() & 1U) == 0) continue;
      world_.at(from, [&host, stops] { stops ? host.stop() : host.crash(); });
      world_.at(until,
                [&host, stops] { stops ? host.resume() : host.come_back(Server::Restart::kept); });
    }
  }

  World& world_;
  Random random_;
  std::vector<ServerList> lists_;  ///< of each host
  bool late_ = false;
};

template <const ServerList (&lists)[3]>
Result rolls(World& world) {
  RollOut roll_out(world);
  roll_out.begin(lists[0]);
  for (const int step : {1, 2, 1, 0}) roll_out.step(lists[step]);
  return roll_out.end();
}

constexpr Scenario kLists[] = {
    {"lists_steady", {.ttl = 4s}, rolls<kSteady>},
    {"lists_replaced", {.servers = 4, .ttl = 4s}, rolls<kReplaced>},
    {"lists_one_less", {.ttl = 4s}, rolls<kOneLess>},
    {"lists_one_more", {.servers = 2, .ttl = 4s}, rolls<kOneMore>},
};

}  // namespace

const Scenarios list_scenarios = kLists;

}  // namespace redlock::sim::queueing
