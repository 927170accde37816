// SPDX-License-Identifier: MIT
//
// The parts of a schedule that say who wants what (hosts that read, that want a slot, and runs with
// several locks), and those about servers with replicas.
#include <algorithm>
#include <string>

#include "lock/stages.h"
#include "schedule.h"
#include "story.h"

namespace redlock::sim {

using namespace std::chrono_literals;

using Kind = Fault::Kind;

/// In every second schedule, and by numbers of their own: some hosts read. A run inside the job
/// of a reader reads, too.
void Schedule::draw_readers() {
  Random random(seed ^ 0x72656164657273U);
  if (slow_client != kMostClients || !random.percent(50)) return;
  const std::uint32_t part = random.one_of(40U, 70U, 100U);
  for (std::size_t i = 0; i < clients; ++i) {
    client[i].mode.reads =
        random.percent(part) || (client[i].inside && client[*client[i].inside].mode.reads);
    if (client[i].mode.reads) client[i].min_hold = client[i].once = 0s;
  }
}

/// In every third schedule, by numbers of their own: more hosts than slots want one; in some of
/// these schedules a host wants the lock in another way, as another one of as many slots. A run
/// inside the job of the first asks as it does.
void Schedule::draw_slots() {
  Random random(seed ^ 0x736c6f7473U);
  if (slow_client != kMostClients || !random.percent(33)) return;
  const auto number = random.one_of<std::size_t>(2, 2, 3, 4);
  const std::size_t before = clients;
  clients = std::min(kMostClients, number + 1 + random.below(2));
  clients = std::max(clients, before);
  for (std::size_t i = before; i < clients; ++i) {
    client[i] = {
        .rate = client[0].rate, .starts = random.between(0s, client[0].starts), .tries_once = cron};
  }
  const std::uint32_t others = random.one_of(0U, 0U, 20U, 40U);
  for (std::size_t i = 0; i < clients; ++i) {
    ClientHost& host = client[i];
    const bool other = host.inside ? client[*host.inside].mode.slots == 0 : random.percent(others);
    const bool confused = other && !host.inside && random.percent(40);
    if (other && !confused) continue;
    const std::size_t wants = confused ? 2 + number % 3 : number;
    host.mode = {.slots = static_cast<std::uint8_t>(wants)};
    if (host.inside) host.mode = client[*host.inside].mode;
    host.min_hold = host.once = 0s;
  }
}

/// In every third schedule, by numbers of their own: two to four locks on the same servers, and
/// runs that take one or several of them. In half of these schedules runs of all kinds meet.
void Schedule::draw_several() {
  Random random(seed ^ 0x616c736fU);
  if (slow_client != kMostClients || !random.percent(33)) return;
  locks = random.one_of<std::size_t>(2, 2, 3, 4);
  if (random.percent(50)) draw_mixture(random);
  const std::size_t runs = clients;
  for (std::size_t i = 0; i < runs; ++i) {
    if (!client[i].inside) draw_locks(random, static_cast<std::uint8_t>(i));
  }
  for (std::size_t i = 0; i < runs; ++i) {
    if (!client[i].inside) continue;
    client[i].inside = last_stage(*client[i].inside);
    client[i].lock = client[*client[i].inside].lock;
  }
  spread_faults(random);
}

/// At least one host reads, one wants a slot, and one wants its locks alone. A run inside the
/// job of another asks as that one does.
void Schedule::draw_mixture(Random& random) {
  const std::uint32_t first = random.below(3);
  const auto number = random.one_of<std::uint8_t>(2, 2, 3);
  const std::array<Mode, 3> modes = {Mode{}, Mode{.reads = true}, Mode{.slots = number}};
  std::uint32_t hosts = 0;
  for (std::size_t i = 0; i < clients || hosts < 3; ++i) {
    ClientHost& host = client[i];
    if (i == clients) {
      ++clients;
      host = {.rate = client[0].rate, .starts = client[0].starts, .tries_once = cron};
    }
    if (host.inside) {
      host.mode = client[*host.inside].mode;
    } else {
      host.mode = modes[hosts < 3 ? (first + hosts) % 3 : random.below(3)];
      ++hosts;
    }
    if (host.mode.reads || host.mode.slots != 0) host.min_hold = host.once = 0s;
  }
}

/// Some of the locks, named in any order. A keeper has one.
void Schedule::draw_locks(Random& random, std::uint8_t run) {
  std::vector<std::string> names;
  for (std::size_t lock = 0; lock < locks; ++lock) names.push_back(lock_name(lock));
  for (std::size_t i = locks; i-- > 1;) {
    std::swap(names[i], names[random.index(i + 1)]);
  }
  const auto wanted = random.one_of<std::size_t>(1, 2, 2, 2, 3, 4);
  names.resize(client[run].keeps ? 1 : std::min(wanted, locks));
  names = lock::in_order(std::move(names));
  std::uint8_t stage = run;
  client[run].lock = lock_named(names.front());
  for (std::size_t i = 1; i < names.size() && clients < kMostClients; ++i) {
    const auto next = static_cast<std::uint8_t>(clients++);
    client[next] = {.rate = client[run].rate,
                    .tries_once = client[run].tries_once,
                    .mode = client[run].mode,
                    .lock = lock_named(names[i]),
                    .before = stage};
    client[stage].after = next;
    stage = next;
  }
  if (stage != run) client[run].min_hold = client[run].once = 0s;
}

std::size_t Schedule::first_stage(std::size_t index) const {
  while (client[index].before) index = *client[index].before;
  return index;
}

std::uint8_t Schedule::last_stage(std::uint8_t index) const {
  while (const auto next = next_stage(index)) index = *next;
  return index;
}

/// A fault of a host that has several locks is one of any of its redlocks; a broken network may
/// concern all of them.
void Schedule::spread_faults(Random& random) {
  std::vector<Fault> more;
  for (Fault& fault : faults) {
    fault.lock = random.index(locks);
    const bool of_network =
        fault.kind == Kind::deaf || fault.kind == Kind::mute || fault.kind == Kind::isolate;
    const bool all = of_network && random.percent(50);
    std::vector<std::uint8_t> stages = {fault.client};
    while (const auto next = next_stage(stages.back())) stages.push_back(*next);
    if (fault.kind == Kind::suspend || stages.size() == 1) continue;
    fault.client = stages[random.index(stages.size())];
    for (const std::uint8_t each : stages) {
      if (!all || each == fault.client) continue;
      more.push_back(fault);
      more.back().client = each;
    }
  }
  faults.insert(faults.end(), more.begin(), more.end());
  std::ranges::stable_sort(faults, {}, &Fault::at);
}

bool Schedule::votes_are_forgotten() const {
  const bool ahead = std::ranges::any_of(
      server, [](const ServerHost& host) { return host.replica_ahead != Time{}; });
  return steps_forward || (replicated && (!waits_for_replicas || ahead));
}

/// In every eighth schedule, by numbers of their own: servers fail over to their replicas, which
/// lag. No server forgets in another way.
void Schedule::draw_fail_overs() {
  Random random(seed ^ 0x6661696c6f766572U);
  if (cron || twins || slow_client != kMostClients || !random.percent(12)) return;
  replicated = true;
  waits_for_replicas = random.percent(40);
  if (random.percent(25)) servers = 1;
  for (Fault& fault : faults) {
    if (loses_data(fault.kind)) fault.kind = Kind::crash_kept;
    if (servers == 1) fault.server = fault.kind == Kind::isolate ? 1 : 0;
  }
  // A replica may lack a hold on the lock, too. The checks know of votes only.
  if (!waits_for_replicas) client[clients - 1].inside.reset();
  fences_rise = random.percent(80);
  Time ahead{};
  if (waits_for_replicas && random.percent(40)) {
    fences_rise = random.percent(30);  // many of these fail-overs are quick
    ahead = random.one_of<Time>(50ms, timing.ttl / 3, 2s);
    for (ServerHost& host : server) host.replica_ahead = ahead * random.one_of(-1, 0, 1);
  }
  draw_fail_over_faults(random, clocks_apart() + ahead + 20ms);
}

void Schedule::draw_fail_over_faults(Random& random, Time apart) {
  const bool all = random.percent(40);
  const std::uint32_t count = all ? static_cast<std::uint32_t>(servers) : 1 + random.below(3);
  const Time together = random.between(0s, calm_from);
  for (std::uint32_t i = 0; i < count; ++i) {
    Fault fault{.kind = Kind::fail_over};
    fault.at = all ? together + random.between(0s, timing.ttl / 6) : random.between(0s, calm_from);
    fault.server = all ? static_cast<std::uint8_t>(i) : random.index(servers);
    fault.length = random.between(5ms, timing.ttl / 2);
    if (fences_rise) fault.length = std::max(fault.length, apart);
    faults.push_back(fault);
    if (!random.percent(70)) continue;
    // The replica has nothing of what the server did in the time before.
    Fault lag = fault;
    lag.kind = Kind::lag;
    lag.at = std::max<Time>(fault.at - random.between(0s, timing.ttl), {});
    lag.length = fault.at - lag.at + 1ms;
    faults.push_back(lag);
  }
}

/// In every fifth schedule, by numbers of their own: operators set the clocks of some servers, or
/// of all. Forward, a server forgets locks, marks and tombstones; no other server does so in
/// another way.
void Schedule::draw_steps() {
  Random random(seed ^ 0x636c6f636b73U);
  if (cron || twins || replicated || slow_client != kMostClients || !random.percent(20)) return;
  clocks_step = true;
  const bool only_back = random.percent(50);
  const std::uint32_t count = 1 + random.below(4);
  const bool all = random.percent(50);
  const Time together = random.between(0s, calm_from);
  std::array<Time, kMostServers> back{};
  for (std::uint32_t i = 0; i < (all ? servers : count); ++i) {
    Fault fault{.at = all ? together : random.between(0s, calm_from), .kind = Kind::step};
    fault.server = all ? static_cast<std::uint8_t>(i) : random.index(servers);
    fault.length = draw_step(random);
    if (only_back && fault.length > 0s) fault.length = -fault.length;
    if (fault.length < 0s) back[fault.server] -= fault.length;
    steps_forward |= fault.length > 0s;
    faults.push_back(fault);
  }
  longest_step_back = *std::ranges::max_element(back);
  // Holds on the lock of another end early, too. The checks know of votes only.
  if (steps_forward) client[clients - 1].inside.reset();
  for (Fault& fault : faults) {
    if (!loses_data(fault.kind)) continue;
    fences_rise = false;
    if (steps_forward) fault.kind = Kind::crash_kept;
  }
}

}  // namespace redlock::sim
