// SPDX-License-Identifier: MIT
//
// The part of a schedule that is about servers with replicas.
#include <algorithm>

#include "schedule.h"

namespace redlock::sim {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

using Kind = Fault::Kind;

}  // namespace

bool Schedule::fail_overs_forget() const {
  const bool ahead = std::ranges::any_of(
      server, [](const ServerHost& host) { return host.replica_ahead != Time{}; });
  return replicated && (!waits_for_replicas || ahead);
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
    ahead = random.one_of<Time>(milliseconds(50), timing.ttl / 3, seconds(2));
    for (ServerHost& host : server) host.replica_ahead = ahead * random.one_of(-1, 0, 1);
  }
  draw_fail_over_faults(random, clocks_apart() + ahead + milliseconds(20));
}

void Schedule::draw_fail_over_faults(Random& random, Time apart) {
  const bool all = random.percent(40);
  const std::uint32_t count = all ? static_cast<std::uint32_t>(servers) : 1 + random.below(3);
  const Time together = random.between(Time::zero(), calm_from);
  for (std::uint32_t i = 0; i < count; ++i) {
    Fault fault;
    fault.kind = Kind::fail_over;
    fault.at = all ? together + random.between(Time::zero(), timing.ttl / 6)
                   : random.between(Time::zero(), calm_from);
    fault.server = all ? static_cast<std::uint8_t>(i) : random.index(servers);
    fault.length = random.between(milliseconds(5), timing.ttl / 2);
    if (fences_rise) fault.length = std::max(fault.length, apart);
    faults.push_back(fault);
    if (random.percent(70)) draw_lag(random, fault);
  }
  sort_faults();
}

/// The replica has nothing of what the server did in the time before.
void Schedule::draw_lag(Random& random, const Fault& fail_over) {
  Fault fault = fail_over;
  fault.kind = Kind::lag;
  fault.at = std::max<Time>(fail_over.at - random.between(Time::zero(), timing.ttl), {});
  fault.length = fail_over.at - fault.at + milliseconds(1);
  faults.push_back(fault);
}

}  // namespace redlock::sim
