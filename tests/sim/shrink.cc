// SPDX-License-Identifier: MIT
#include "modes.h"

#include <cstdio>

#include "story.h"

namespace redlock::sim {

namespace {

bool fails(World& world, const Schedule& schedule, std::string_view check) {
  const Result result = world.run(schedule, false);
  return result.violation && result.violation->check == check;
}

std::string in_ms(Time length) {
  return std::to_string(length / std::chrono::milliseconds(1)) + " ms";
}

}  // namespace

Schedule shrink(World& world, const Schedule& schedule, std::string_view check) {
  Schedule shortest = schedule;
  for (std::size_t i = shortest.faults.size(); i-- > 0;) {
    Schedule shorter = shortest;
    shorter.faults.erase(shorter.faults.begin() + static_cast<std::ptrdiff_t>(i));
    if (fails(world, shorter, check)) shortest = shorter;
  }
  const auto attempt = [&](auto change) {
    Schedule simpler = shortest;
    change(simpler);
    if (fails(world, simpler, check)) shortest = simpler;
  };
  attempt([](Schedule& s) { s.late_percent = 0; });
  attempt([](Schedule& s) { s.break_percent = 0; });
  attempt([](Schedule& s) { s.stall_percent = 0; });
  while (shortest.clients > 1) {
    Schedule fewer = shortest;
    --fewer.clients;
    for (Fault& fault : fewer.faults) {
      if (fault.client >= fewer.clients) fault.client = 0;
    }
    if (!fails(world, fewer, check)) break;
    shortest = fewer;
  }
  return shortest;
}

std::string describe(const Schedule& schedule) {
  std::string text = "seed " + std::to_string(schedule.seed) + ": " +
                     std::to_string(schedule.servers) + " servers, " +
                     std::to_string(schedule.clients) + " clients, ttl " +
                     in_ms(schedule.timing.ttl) + ", grace " + in_ms(schedule.timing.grace) +
                     ", restart grace " + in_ms(schedule.restart_grace);
  if (!schedule.assumptions_hold) text += ", the assumptions do not hold";
  if (schedule.cron) text += ", all try once";
  text += '\n';
  for (std::size_t i = 0; i < schedule.servers; ++i) {
    const ServerHost& host = schedule.server[i];
    text += "  " + server_name(i) + ": clock " + std::to_string(host.rate) + " ppm, wall clock +" +
            in_ms(host.wall_offset) + ", up for " + in_ms(host.up_for);
    if (host.fence != 0) text += ", fence " + std::to_string(host.fence);
    if (host.same_as != i) text += ", the same as " + server_name(host.same_as);
    text += '\n';
  }
  for (std::size_t i = 0; i < schedule.clients; ++i) {
    const ClientHost& host = schedule.client[i];
    text += "  " + client_name(i) + ": clock " + std::to_string(host.rate) + " ppm";
    if (schedule.locks > 1) text += ", lock " + lock_name(host.lock);
    if (host.before) text += ", inside " + client_name(*host.before);
    text += '\n';
  }
  return text;
}

}  // namespace redlock::sim
