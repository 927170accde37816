// SPDX-License-Identifier: MIT
//
// redlock_sim: schedules of faults around the real src/lock, each from one seed.
//
//   redlock_sim [-n COUNT | --seeds FROM..TO]   runs them, stops at the first violation
//   redlock_sim --seed N [-v]                   one; with -v everything that happens in it
//   redlock_sim --search [-n STEPS]             all that two clients and three servers can do
//
//   --only CHECK                                looks for violations of one check alone
//
// Exit status: 0 all is well, 1 a violation, 64 usage.
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include "options.h"
#include "search.h"
#include "story.h"
#include "world.h"

namespace {

using namespace redlock::sim;

bool fails(World& world, const Schedule& schedule, std::string_view check) {
  const Result result = world.run(schedule, false);
  return result.violation && result.violation->check == check;
}

std::string in_ms(Time length) {
  return std::to_string(length / std::chrono::milliseconds(1)) + " ms";
}

/// The same schedule with every fault left out that the violation does not need.
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

/// The hosts and the settings, for a person.
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

void print_violation(World& world, const Schedule& schedule, const Result& result) {
  const Schedule shorter = shrink(world, schedule, result.violation->check);
  const Result again = world.run(shorter, true);
  // A mutant's script may take another of several values the second time.
  const Violation& seen = again.violation ? *again.violation : *result.violation;
  const std::string seed = std::to_string(schedule.seed);
  std::printf("%s%s", describe(shorter).c_str(), world.story().c_str());
  std::printf("VIOLATION %s: %s (seed %s, %zu of its %zu faults; --seed %s -v shows it whole)\n",
              seen.check, seen.what.c_str(), seed.c_str(), shorter.faults.size(),
              schedule.faults.size(), seed.c_str());
}

/// True if there was no violation.
bool run(const Options& options, bool whole) {
  const auto began = std::chrono::steady_clock::now();
  const auto world = std::make_unique<World>();
  world->look_only_for(options.only);
  Schedule schedule;
  std::uint64_t events = 0;
  std::uint64_t jobs = 0;
  for (std::uint64_t seed = options.first; seed <= options.last; ++seed) {
    schedule.draw(seed);
    const Result result = world->run(schedule, whole);
    events += result.events;
    jobs += result.jobs;
    if (whole) {
      std::printf("%s%s", describe(schedule).c_str(), world->story().c_str());
    }
    if (!result.violation) continue;
    if (whole) {
      std::printf("VIOLATION %s: %s\n", result.violation->check, result.violation->what.c_str());
    } else {
      print_violation(*world, schedule, result);
    }
    return false;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  const auto schedules = static_cast<double>(options.last - options.first + 1);
  std::printf(
      "%.0f schedules, %llu events, %llu jobs, no violation; %.0f schedules/s of %.0f events\n",
      schedules, static_cast<unsigned long long>(events), static_cast<unsigned long long>(jobs),
      schedules / took.count(), static_cast<double>(events) / schedules);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Options options{.last = 0};
  bool verbose = false;
  bool searches = false;
  const std::pair<std::string_view, bool*> flags[] = {{"-v", &verbose}, {"--search", &searches}};
  if (!read_options({argv, static_cast<std::size_t>(argc)}, options, flags)) {
    std::fputs(
        "usage: redlock_sim [-n COUNT | --seeds FROM..TO | --seed N [-v]] [--only CHECK]\n"
        "       redlock_sim --search [-n STEPS] [--only SITUATION]\n",
        stderr);
    return 64;
  }
  if (options.last == 0) options.last = searches ? 8 : 20'000;
  const bool well =
      searches ? search(options.last, options.only) : run(options, verbose && options.one());
  return well ? 0 : 1;
}
