// SPDX-License-Identifier: MIT
//
// The part of a schedule in which operators change the list of servers, host by host.
#include <algorithm>

#include "schedule.h"

namespace redlock::sim {

using namespace std::chrono_literals;

using Kind = Fault::Kind;

std::size_t Schedule::list_of(std::size_t index, Time now) const {
  std::size_t list = servers;
  for (const ListChange& each : client[first_stage(index)].lists) {
    if (each.at <= now) list = each.servers;
  }
  return list;
}

std::size_t Schedule::smallest_list() const {
  std::size_t smallest = servers;
  for (std::size_t i = 0; i < clients; ++i) {
    for (const ListChange& each : client[i].lists) {
      if (each.servers != 0) smallest = std::min(smallest, each.servers);
    }
  }
  return smallest;
}

/// In every sixth schedule, by numbers of their own. A list never has two servers more than another
/// one that is still in use.
void Schedule::draw_roll_out() {
  Random random(seed ^ 0x6c69737473U);
  if (cron || twins || replicated || seized || slow_client != kMostClients) return;
  if (!random.percent(17)) return;
  rolls_out = true;
  const bool two_steps = random.percent(30);
  servers = two_steps ? random.one_of<std::size_t>(3, 4, 5, 5)
                      : random.one_of<std::size_t>(2, 3, 3, 4, 4, 4, 5);
  for (Fault& fault : faults) {
    const auto number = static_cast<std::uint8_t>(servers);
    if (fault.kind != Kind::isolate) fault.server %= number;
  }
  if (two_steps) {
    draw_two_steps(random, servers);
  } else if (!clocks_step && random.percent(20)) {
    draw_forgotten_vote(random);
  } else {
    draw_host_by_host(random, servers - 1);
  }
  draw_losses(random);
}

/// To one server more and back, and back again, at moments that each host has for itself.
void Schedule::draw_host_by_host(Random& random, std::size_t smaller) {
  const bool grows = random.percent(50);
  const std::uint32_t most = random.one_of(1U, 1U, 3U);
  for (std::size_t i = 0; i < clients; ++i) {
    std::vector<ListChange>& lists = client[i].lists;
    lists.push_back({0s, grows ? smaller : smaller + 1});
    const std::uint32_t changes = 1 + random.below(most);
    std::vector<Time> moments;
    for (std::uint32_t n = 0; n < changes; ++n) moments.push_back(random.between(0s, calm_from));
    std::ranges::sort(moments);
    for (const Time at : moments) {
      lists.push_back({at, lists.back().servers == smaller ? smaller + 1 : smaller});
    }
  }
}

/// The first host has the list with an odd number of servers and reaches no more than a quorum of
/// it, the last ones; one of these loses its data beside the host's job. The others have the list
/// with an even number: servers that never had the host's lock and the one that forgot it can be a
/// quorum.
void Schedule::draw_forgotten_vote(Random& random) {
  std::erase_if(faults, [](const Fault& each) { return loses_data(each.kind); });
  calm_from = std::max<Time>(calm_from, timing.ttl * 3);
  const std::size_t even = servers / 2 * 2;
  const std::size_t odd = servers % 2 == 1 ? servers : servers - 1;
  const std::size_t missed = odd - lock::quorum(odd);
  const std::uint8_t forgets = random.index(std::min(odd, even) - missed);
  const Fault loss{.at = random.between(delay_high * 4, timing.ttl),
                   .kind = random.one_of(Kind::crash_empty, Kind::crash_old),
                   .server = static_cast<std::uint8_t>(missed + forgets),
                   .length = clocks_apart() + random.between(20ms, timing.ttl / 4)};
  faults.push_back(loss);
  faults.push_back({.kind = Kind::isolate,
                    .server = static_cast<std::uint8_t>((1U << missed) - 1),
                    .length = calm_from});
  const bool is_new = random.percent(50);
  for (std::size_t i = 0; i < clients; ++i) {
    client[i].lists = {{0s, i == 0 ? odd : even}};
    client[i].starts = i == 0 ? 0s : client[i].starts + (is_new ? loss.at + loss.length : 0s);
  }
  for (ServerHost& host : server) {
    host.up_for = restart_grace * 3;
    if (is_new) host.fence = 0;
  }
}

/// To one server less, and again. Some names are rarely used: nobody takes the lock with the list
/// between.
void Schedule::draw_two_steps(Random& random, std::size_t first) {
  calm_from = std::max<Time>(calm_from, timing.ttl * 3);
  const Time middle = calm_from / 2;
  const bool idle = random.percent(60);
  for (std::size_t i = 0; i < clients; ++i) {
    client[i].lists = {{0s, first},
                       {random.between(0s, middle), idle ? 0 : first - 1},
                       {random.between(middle, calm_from), first - 2}};
  }
  // The quorums of the first list and of the last one have no server in common, and so only clocks
  // count.
  if (clocks_step) fences_rise = false;
}

/// Hosts that do not reach a server, so that they take the lock on no more than a quorum, and
/// servers that lose their data.
void Schedule::draw_losses(Random& random) {
  for (std::uint8_t i = 0; i < clients; ++i) {
    if (random.percent(50)) continue;
    faults.push_back({.at = random.between(0s, calm_from / 2),
                      .kind = Kind::isolate,
                      .client = i,
                      .server = static_cast<std::uint8_t>(1U << random.index(servers)),
                      .length = random.between(timing.ttl / 2, calm_from)});
  }
  if (clocks_step) return;
  const std::uint32_t count = random.below(4);
  for (std::uint32_t i = 0; i < count; ++i) {
    faults.push_back({.at = random.between(0s, calm_from),
                      .kind = random.one_of(Kind::crash_empty, Kind::crash_old),
                      .server = random.index(servers),
                      .length = clocks_apart() + random.between(20ms, timing.ttl / 4)});
  }
}

}  // namespace redlock::sim
