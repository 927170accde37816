// SPDX-License-Identifier: MIT
#include "modes.h"

#include <algorithm>
#include <cstdio>
#include <span>
#include <string_view>

namespace redlock::sim {

namespace {

using Kind = Fault::Kind;

bool has_host(const Schedule& schedule, bool (*is_such)(const ClientHost&)) {
  return std::ranges::any_of(std::span(schedule.client).first(schedule.clients), is_such);
}

bool has_fault(const Schedule& schedule, Kind kind) {
  return std::ranges::find(schedule.faults, kind, &Fault::kind) != schedule.faults.end();
}

bool has_writer(const Schedule& schedule) {
  return has_host(schedule, [](const ClientHost& host) {
    return !host.inside && !host.mode.reads && host.mode.slots == 0;
  });
}

bool has_reader(const Schedule& schedule) {
  return has_host(schedule, [](const ClientHost& host) { return host.mode.reads; });
}

bool has_slots(const Schedule& schedule) {
  return has_host(schedule, [](const ClientHost& host) { return host.mode.slots != 0; });
}

bool has_stages(const Schedule& schedule) {
  return has_host(schedule, [](const ClientHost& host) { return host.before.has_value(); });
}

bool has_all_kinds(const Schedule& schedule) {
  return has_writer(schedule) && has_reader(schedule) && has_slots(schedule) &&
         has_stages(schedule);
}

constexpr struct {
  std::string_view what;
  bool (*is_such)(const Schedule&);
} kKinds[] = {
    {"runs that want a lock alone", has_writer},
    {"readers", has_reader},
    {"slots", has_slots},
    {"runs with several locks", has_stages},
    {"… and four locks", [](const Schedule& s) { return has_stages(s) && s.locks == 4; }},
    {"all of these kinds", has_all_kinds},
    {"… and a fail-over",
     [](const Schedule& s) { return has_all_kinds(s) && has_fault(s, Kind::fail_over); }},
    {"… and a server that forgets",
     [](const Schedule& s) {
       return has_all_kinds(s) && std::ranges::any_of(s.faults, loses_data, &Fault::kind);
     }},
    {"… and -n for all", [](const Schedule& s) { return has_all_kinds(s) && s.cron; }},
    {"runs inside the job of another",
     [](const Schedule& s) {
       return has_host(s, [](const ClientHost& host) { return host.inside.has_value(); });
     }},
    {"--min-hold",
     [](const Schedule& s) {
       return has_host(s, [](const ClientHost& host) { return host.min_hold > Time{}; });
     }},
    {"--once",
     [](const Schedule& s) {
       return has_host(s, [](const ClientHost& host) { return host.once > Time{}; });
     }},
    {"locks that are kept for their owner",
     [](const Schedule& s) {
       return has_host(s, [](const ClientHost& host) { return host.keeps; });
     }},
    {"locks taken by force",
     [](const Schedule& s) { return has_fault(s, Kind::revoke) || has_fault(s, Kind::seize); }},
    {"fail-overs", [](const Schedule& s) { return has_fault(s, Kind::fail_over); }},
    {"assumptions that do not hold", [](const Schedule& s) { return !s.assumptions_hold; }},
};

}  // namespace

bool count_drawn(std::uint64_t first, std::uint64_t last) {
  std::array<std::uint64_t, std::size(kKinds)> counts{};
  Schedule schedule;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    schedule.draw(seed);
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += kKinds[i].is_such(schedule);
  }
  const auto all = static_cast<double>(last - first + 1);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    std::printf("%5.1f %%  %s\n", 100.0 * static_cast<double>(counts[i]) / all,
                kKinds[i].what.data());
  }
  return std::ranges::find(counts, 0U) == counts.end();
}

}  // namespace redlock::sim
