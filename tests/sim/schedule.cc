// SPDX-License-Identifier: MIT
#include "schedule.h"

#include <algorithm>

namespace redlock::sim {

using namespace std::chrono_literals;

using Kind = Fault::Kind;

namespace {

/// Relative drift within the bound (1 % and 2 ms of the ttl): half of it for either side.
constexpr std::int64_t kHalfDrift = 4'900;

enum Profile : std::uint32_t { calm, network, servers_fail, clients_fail, everything, agreeing };

/// Not lock::quorum: that is under test.
std::size_t quorum(std::size_t n) {
  return n / 2 + 1;
}

bool restarts(Kind kind) {
  return kind == Kind::crash_kept || kind == Kind::crash_old || kind == Kind::crash_empty;
}

}  // namespace

bool loses_data(Fault::Kind kind) {
  return kind == Kind::crash_old || kind == Kind::crash_empty || kind == Kind::flush;
}

std::string_view text(Fault::Kind kind) {
  constexpr std::string_view kTexts[] = {
      "cut",        "deaf",      "mute",        "isolate", "stop",      "snapshot",
      "crash_kept", "crash_old", "crash_empty", "flush",   "fail_over", "lag",
      "step",       "foreign",   "pause",       "suspend", "kill",      "signal",
      "revoke",     "seize",     "hand_back",   "rumour"};
  return kTexts[static_cast<std::size_t>(kind)];
}

void Schedule::draw(std::uint64_t new_seed) {
  *this = {};
  seed = new_seed;
  Random random(seed);
  run_seed = random.next();

  servers = random.one_of<std::size_t>(1, 2, 3, 3, 3, 3, 3, 4, 5, 5);
  clients = random.one_of<std::size_t>(1, 2, 2, 2, 3, 3, 4);
  timing.ttl = random.one_of<Time>(1s, 1s, 2s, 5s);
  timing.grace = random.one_of<Time>(timing.ttl / 6, timing.ttl / 6, 0s, timing.ttl / 3);
  restart_grace = timing.ttl * random.one_of(0, 1, 1, 1, 2);
  server_timeout = std::min<Time>(200ms, timing.ttl / 10);
  connect_timeout = timing.ttl / 10;
  delay_low = 300us;
  delay_high = random.one_of<Time>(600us, 2ms, 10ms);
  late_percent = random.one_of(0U, 0U, 1U, 5U);
  late = random.one_of<Time>(20ms, server_timeout * 2, timing.ttl / 2);
  stall_percent = random.one_of(0U, 0U, 10U);
  calm_from = random.between(timing.ttl / 2, timing.ttl * 3);
  draw_hosts(random);
  draw_faults(random);
  draw_swarm();
  draw_revocations();
  draw_slow_connections();
  keep_fences(random);
  draw_holds(random);
  draw_nesting(random);
  draw_keepers();
  draw_readers();
  draw_slots();
  draw_fail_overs();
  draw_steps();
  draw_roll_out();
  std::ranges::stable_sort(faults, {}, &Fault::at);
  draw_several();
  draw_failure_holds();
  jobs_leave = Random(seed ^ 0x656e6473U).percent(25);
  if (assumptions_hold) keep_assumptions();
  if (rolls_out)
    between_steps = std::max(timing.ttl, longest_hold()) * 51 / 50 + 10ms + clocks_apart();
  const bool forgets = std::ranges::any_of(faults, loses_data, &Fault::kind);
  holds_are_kept =
      assumptions_hold && !votes_are_forgotten() && (!forgets || longest_hold() <= restart_grace);
  // Nobody waits until a replica has a mark or a tombstone.
  marks_are_kept = assumptions_hold && !forgets && !twins && !replicated && !steps_forward &&
                   smallest_list() + 2 > servers;  // else no server needs to know both lists' marks
  seizures_are_kept = assumptions_hold && !forgets && !replicated && !steps_forward;
  clients_stop = stall_percent > 0;
  troubled = late_percent + break_percent > 0;
  for (const Fault& each : faults) {
    clients_stop |= each.kind == Kind::pause || each.kind == Kind::suspend;
    troubled |= each.kind != Kind::hand_back && each.kind != Kind::rumour;
  }
}

/// The last client runs inside the jobs of the first.
void Schedule::draw_nesting(Random& random) {
  if (clients < 2 || cron || twins || !random.percent(25)) return;
  ClientHost& inner = client[clients - 1];
  inner.inside = 0;
  inner.min_hold = inner.once = 0s;
}

/// Minimum holds in every third schedule, of some hosts; runs that are needed only once in others.
void Schedule::draw_holds(Random& random) {
  if (random.percent(25)) {
    const Time period = random.between(timing.ttl / 2, timing.ttl * 4);
    for (ClientHost& host : few()) {
      host.once = random.one_of<Time>({period, period, period, period * 2, 0s});
    }
  }
  if (!random.percent(33)) return;
  for (ClientHost& host : few()) {
    const Time length = random.between(1ms, timing.ttl * 3);
    host.min_hold = random.one_of<Time>({0s, timing.ttl, length, length});
  }
}

/// In every fifth schedule, by numbers of their own: what a run that failed leaves, of some hosts
/// that have one lock, and have it alone. Nobody waits until a replica has it.
void Schedule::draw_failure_holds() {
  Random random(seed ^ 0x6661696cU);
  if (cron || waits_for_replicas || !random.percent(20)) return;
  for (std::size_t i = 0; i < clients; ++i) {
    ClientHost& host = client[i];
    const Time length = random.between(1ms, timing.ttl * 3);
    const bool alone = !host.mode.reads && host.mode.slots == 0 && !host.before && !host.after;
    if (!alone || host.keeps || host.inside) continue;
    host.hold_on_failure = random.one_of<Time>({0s, timing.ttl, length, length});
  }
}

Time Schedule::longest_hold() const {
  Time longest{};
  for (std::size_t i = 0; i < clients; ++i) {
    longest = std::max({longest, client[i].min_hold, client[i].hold_on_failure});
  }
  return longest;
}

void Schedule::draw_hosts(Random& random) {
  const std::int64_t drift = random.one_of<std::int64_t>(0, kHalfDrift, kHalfDrift);
  const Time skew = random.one_of<Time>(0s, 50ms, 2s);
  const std::uint32_t age = random.below(4);
  for (std::size_t i = 0; i < kMostServers; ++i) {
    ServerHost& host = server[i];
    host.rate = drift * random.one_of(-1, 0, 1, 1);
    host.wall_offset = random.between(0s, skew);
    host.same_as = static_cast<std::uint8_t>(i);
    host.up_for = age == 0 ? 0s : restart_grace * random.one_of(3, 3, age == 1 ? 0 : 3);
    if (age == 3 && random.percent(80)) {
      host.fence = kStartMs - 100'000 + random.below(3);
      host.fence_of_this_life = !random.percent(10);
    }
  }
  cron = clients > 1 && random.percent(8);
  const bool together = cron || random.percent(30);
  for (ClientHost& host : few()) {
    host.rate = drift * random.one_of(-1, -1, 0, 1);
    host.starts = random.between(0s, together ? Time(3ms) : timing.ttl / 2);
    host.tries_once = cron;
  }
  if (servers >= 3 && !cron && random.percent(4)) {
    twins = true;
    server[1].same_as = 0;
  }
}

void Schedule::draw_faults(Random& random) {
  const std::uint32_t profile =
      random.one_of<std::uint32_t>(calm, network, network, servers_fail, servers_fail, servers_fail,
                                   clients_fail, everything, everything, agreeing);
  if (cron) {
    late_percent = 0;
    stall_percent = 0;
    for (ServerHost& host : server) {
      host.up_for = restart_grace * 3;
      host.fence_of_this_life = true;
    }
    return;
  }
  if (profile == calm) return;
  break_percent = random.one_of(0U, 0U, 0U, 2U);
  if (profile == agreeing) return draw_disagreement(random);
  if (random.percent(15)) {
    assumptions_hold = false;
    for (ClientHost& host : few()) host.rate *= random.one_of(1, 10);
    for (ServerHost& host : server) host.rate *= random.one_of(1, 10);
  }
  const std::uint32_t count = 1 + random.below(profile == everything ? 8 : 5);
  for (std::uint32_t i = 0; i < count; ++i) faults.push_back(draw_fault(random, profile));
}

/// In every fifth schedule; in every third of these at the same time. By numbers of their own: the
/// other schedules are what they were without.
void Schedule::draw_revocations() {
  Random random(seed ^ 0x7265766f6b65U);
  if (cron || !random.percent(20)) return;
  seized = !twins && random.percent(33);
  const std::uint32_t count = 1 + random.below(3);
  for (std::uint32_t i = 0; i < count; ++i) {
    const Fault fault{.at = random.between(0s, calm_from),
                      .kind = seized ? Kind::seize : Kind::revoke,
                      .server = random.index(servers),
                      .length = random.one_of<Time>(1ms, 20ms, timing.ttl / 2)};
    faults.push_back(fault);
    if (seized && random.percent(60)) draw_straddling(random, fault);
  }
}

/// What holders send to one server before it is asked to delete their locks arrives after that.
void Schedule::draw_straddling(Random& random, const Fault& takeover) {
  Fault fault{.at = std::max<Time>(takeover.at - random.between(0s, timing.ttl / 3), {}),
              .kind = Kind::deaf,
              .server = random.index(servers)};
  const Time end = takeover.at + takeover.length * 2 + random.between(0s, timing.ttl / 6);
  fault.length = end - fault.at;
  for (std::uint8_t i = 0; i < clients; ++i) {
    fault.client = i;
    faults.push_back(fault);
  }
}

/// In every fifth schedule, too, and by numbers of their own: a host or all keep the lock for
/// somebody.
void Schedule::draw_keepers() {
  Random random(seed ^ 0x6b6565706572U);
  if (cron || twins || client[clients - 1].inside || !random.percent(20)) return;
  const bool all = random.percent(50);
  for (std::size_t i = 0; i < (all ? clients : 1); ++i) {
    client[i].keeps = true;
    client[i].min_hold = client[i].once = 0s;
  }
  const std::uint32_t count = 1 + random.below(4);
  for (std::uint32_t i = 0; i < count; ++i) {
    Fault fault;
    fault.at = random.between(0s, calm_from);
    fault.kind = random.percent(15) ? Kind::rumour : Kind::hand_back;
    fault.server = random.index(servers);
    fault.client = random.index(clients);
    fault.length = random.one_of<Time>(1ms, 20ms, timing.ttl / 2);
    faults.push_back(fault);
  }
}

/// In every twentieth schedule, by numbers of their own: a client that waits for all answers, as it
/// looks for marks, is stopped beyond the ttl when one server has granted it the lock and it has no
/// connection to the others yet. Of these, the other clients do not reach one. Either they take the
/// lock on two servers and release it; or they have it when one of the two forgets it.
void Schedule::draw_slow_connections() {
  Random random(seed ^ 0x636f6e6e656374U);
  if (cron || twins || clients < 2 || !random.percent(5)) return;
  servers = 3;
  calm_from = std::max<Time>(calm_from, timing.ttl * 5);
  for (ServerHost& host : server) {
    host.up_for = restart_grace * 3;
    host.fence = kStartMs - 100'000;
    host.fence_of_this_life = true;
    host.rate = 0;
    host.wall_offset = {};
  }
  for (ClientHost& host : few()) host.starts = timing.ttl / 8 + host.starts;
  slow_client = random.index(clients);
  client[slow_client].starts = random.between(0s, 5ms);
  client[slow_client].once = 1ms;
  const Time begin = client[slow_client].starts + random.between(delay_high * 4, timing.ttl / 10);
  const Time length = timing.ttl + random.between(timing.ttl / 4, timing.ttl * 3 / 2);
  faults.push_back({.at = begin, .kind = Kind::pause, .client = slow_client, .length = length});

  const auto quick = static_cast<std::uint8_t>(random.below(3));
  const auto untouched = static_cast<std::uint8_t>((quick + 1 + random.below(2)) % 3);
  const auto other = static_cast<std::uint8_t>(3 - quick - untouched);
  server[untouched].connects_after = server[other].connects_after = timing.ttl / 10;
  server[untouched].connects_in = server[other].connects_in = timing.ttl;
  for (std::uint8_t i = 0; i < clients; ++i) {
    const auto servers_missed = static_cast<std::uint8_t>(1U << untouched);
    const Fault missed{
        .kind = Kind::isolate, .client = i, .server = servers_missed, .length = begin + length};
    if (i != slow_client) faults.push_back(missed);
  }
  short_jobs = random.percent(50);
  if (!short_jobs) {
    constexpr Time kDown = 20ms;
    const Time at = begin + timing.ttl + random.between(20ms, length - timing.ttl);
    faults.push_back({.at = at, .kind = Kind::crash_empty, .server = other, .length = kDown});
    server[other].connects_after = at + kDown + 5ms;
    server[other].connects_in = std::max(begin + length, server[other].connects_after);
  }
}

/// Servers whose counters differ, so that every grant needs a commit, and lines that break during
/// it.
void Schedule::draw_disagreement(Random& random) {
  servers = std::max<std::size_t>(servers, 3);
  late_percent = 20;
  break_percent = 10;
  late = server_timeout * 2;
  for (ServerHost& host : server) {
    host.up_for = restart_grace * 3;
    host.fence = kStartMs - 100'000 + random.below(3);
    host.fence_of_this_life = true;
  }
  const std::uint32_t count = 3 + random.below(6);
  for (std::uint32_t i = 0; i < count; ++i) {
    Fault fault = draw_fault(random, network);
    if (random.percent(60)) fault.kind = Kind::cut;
    faults.push_back(fault);
  }
}

Fault Schedule::draw_fault(Random& random, std::uint32_t profile) const {
  Fault fault{.at = random.between(0s, calm_from)};
  const auto pick = profile == everything
                        ? random.one_of<std::uint32_t>(network, servers_fail, clients_fail)
                        : profile;
  if (pick == network) {
    fault.kind =
        random.one_of(Kind::cut, Kind::deaf, Kind::mute, Kind::isolate, Kind::isolate, Kind::stop);
  } else if (pick == servers_fail) {
    fault.kind = random.one_of(Kind::stop, Kind::snapshot, Kind::snapshot, Kind::crash_kept,
                               Kind::crash_old, Kind::crash_old, Kind::crash_empty,
                               Kind::crash_empty, Kind::isolate, Kind::foreign);
    if (!assumptions_hold && random.percent(10)) fault.kind = Kind::flush;
  } else {
    fault.kind = random.one_of(Kind::pause, Kind::pause, Kind::suspend, Kind::kill, Kind::signal,
                               Kind::isolate);
  }
  draw_target(random, fault);
  return fault;
}

void Schedule::draw_target(Random& random, Fault& fault) const {
  fault.client = random.index(clients);
  fault.server = random.index(servers);
  if (fault.kind == Kind::isolate) {
    fault.server = static_cast<std::uint8_t>(1 + random.below((1U << servers) - 1));
  }
  fault.length =
      random.one_of<Time>({random.between(1ms, 60ms), random.between(20ms, timing.ttl / 2),
                           random.between(timing.ttl / 2, timing.ttl * 2)});
}

/// In every fourth schedule, by numbers of their own: only some kinds of faults, each at a rate
/// that is drawn for this schedule. Where everything may happen a little, nothing happens often.
void Schedule::draw_swarm() {
  Random random(seed ^ 0x737761726dU);
  if (cron || twins || !random.percent(25)) return;
  faults.clear();
  for (const Kind kind : {Kind::cut, Kind::deaf, Kind::mute, Kind::isolate, Kind::stop,
                          Kind::snapshot, Kind::crash_kept, Kind::crash_old, Kind::crash_empty,
                          Kind::foreign, Kind::pause, Kind::suspend, Kind::kill, Kind::signal}) {
    if (random.percent(65)) continue;
    for (std::uint32_t count = 1 + random.below(5); count > 0; --count) {
      Fault fault{.at = random.between(0s, calm_from), .kind = kind};
      draw_target(random, fault);
      faults.push_back(fault);
    }
  }
  late_percent = random.one_of({0U, random.below(30)});
  break_percent = random.one_of({0U, random.below(15)});
  stall_percent = random.one_of({0U, random.below(30)});
}

/// Of each list in use, fewer than a quorum of servers forget within one lease, and none without a
/// restart: servers beyond that number keep their data.
void Schedule::keep_assumptions() {
  const Time life = std::max(timing.ttl, longest_hold());
  const Time lease = life + life / 50 + 10ms;
  for (std::size_t i = 0; i < faults.size(); ++i) {
    Fault& fault = faults[i];
    if (!loses_data(fault.kind)) continue;
    std::uint32_t forgot = 0;
    for (std::size_t j = 0; j < i; ++j) {
      const Fault& before = faults[j];
      // An earlier one may still be down: it forgets when it comes back.
      if (loses_data(before.kind) && before.at + before.length + lease >= fault.at) {
        forgot |= 1U << server[before.server].same_as;
      }
    }
    forgot |= 1U << server[fault.server].same_as;
    std::size_t votes = 0;
    bool too_many = restart_grace == 0s;
    for (std::size_t s = 0; s < servers; ++s) {
      votes += forgot >> server[s].same_as & 1U;
      const std::size_t list = s + 1;  // the first servers
      // A quorum of twins has fewer servers than votes: those that really are there must not
      // forget.
      const std::size_t real = twins ? list - 1 : list;
      if (list >= smallest_list()) too_many |= votes >= quorum(list) || votes >= quorum(real);
      // If a holder with one server more has a quorum with it, and the others forget that holder,
      // a list of four knows nothing and looks new. The manual forbids restarts then.
      if (list >= smallest_list() && list > 2 && list < servers)
        too_many |= votes + 1 >= quorum(list + 1);
    }
    if (too_many) fault.kind = Kind::crash_kept;
  }
}

/// The times of day of servers differ by at most this.
Time Schedule::clocks_apart() const {
  std::int64_t rate = 0;
  Time skew{};
  for (const ServerHost& host : server) {
    rate = std::max(rate, host.rate < 0 ? -host.rate : host.rate);
    skew = std::max(skew, host.wall_offset);
  }
  return skew + Time(2 * rate * (calm_from * 6 + 30s).count() / 1'000'000);
}

/// The fence's promise: a server that loses data is away for longer than clocks disagree.
void Schedule::keep_fences(Random& random) {
  if (std::ranges::none_of(faults, loses_data, &Fault::kind)) return;
  const bool flushes = std::ranges::find(faults, Kind::flush, &Fault::kind) != faults.end();
  if (flushes || random.percent(50)) {
    for (ServerHost& host : server) {
      host.wall_offset = 0s;
      host.rate = 0;
    }
  }
  const Time apart = clocks_apart();
  for (Fault& fault : faults) {
    if (restarts(fault.kind) || fault.kind == Kind::flush) {
      fault.length = std::max<Time>(fault.length, apart + 20ms);
    }
  }
}

}  // namespace redlock::sim
