// SPDX-License-Identifier: MIT
//
// redlock_sim: schedules of faults around the real src/lock, each from one seed.
//
//   redlock_sim [-n COUNT | --seeds FROM..TO]   runs them, stops at the first violation
//   redlock_sim --seed N [-v]                   one; with -v everything that happens in it
//   redlock_sim --search [-n STEPS]             all that two clients and three servers can do
//
//   --mutation NAME                             with a known mistake made (see mutation.h)
//   --only CHECK                                looks for violations of one check alone
//
// Exit status: 0 all is well, 1 a violation, 64 usage.
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include "modes.h"
#include "options.h"

namespace {

using redlock::sim::Options;
using redlock::sim::Result;
using redlock::sim::Schedule;
using redlock::sim::World;

void print_violation(World& world, const Schedule& schedule, const Result& result) {
  const Schedule shorter = redlock::sim::shrink(world, schedule, result.violation->check);
  const Result again = world.run(shorter, true);
  const std::string hosts = redlock::sim::describe(shorter);
  std::printf("%s%s", hosts.c_str(), world.story().c_str());
  std::printf(
      "VIOLATION %.*s: %s (seed %llu, %zu of its %zu faults; --seed %llu -v shows it whole)\n",
      static_cast<int>(again.violation->check.size()), again.violation->check.data(),
      again.violation->what.c_str(), static_cast<unsigned long long>(schedule.seed),
      shorter.faults.size(), schedule.faults.size(),
      static_cast<unsigned long long>(schedule.seed));
}

/// True if there was no violation.
bool run(const Options& options, bool whole) {
  redlock::sim::check_mistakes();
  const auto began = std::chrono::steady_clock::now();
  const auto world = std::make_unique<World>(options.mistake);
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
      std::printf("%s%s", redlock::sim::describe(schedule).c_str(), world->story().c_str());
    }
    if (!result.violation) continue;
    if (whole) {
      std::printf("VIOLATION %s: %s\n", std::string(result.violation->check).c_str(),
                  result.violation->what.c_str());
    } else {
      print_violation(*world, schedule, result);
    }
    return false;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  const auto schedules = static_cast<double>(options.last - options.first + 1);
  std::printf("%.0f schedules, %llu events, %llu jobs, no violation; %.0f schedules/s of %.0f events\n",
              schedules, static_cast<unsigned long long>(events),
              static_cast<unsigned long long>(jobs), schedules / took.count(),
              static_cast<double>(events) / schedules);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Options options{.last = 0};
  bool verbose = false;
  bool search = false;
  const std::pair<std::string_view, bool*> flags[] = {{"-v", &verbose}, {"--search", &search}};
  if (!redlock::sim::read_options({argv, static_cast<std::size_t>(argc)}, options, flags)) {
    std::fputs("usage: redlock_sim [-n COUNT | --seeds FROM..TO | --seed N [-v]] [--only CHECK]"
               " [--mutation NAME]\n"
               "       redlock_sim --search [-n STEPS] [--only SITUATION] [--mutation NAME]\n",
               stderr);
    return 64;
  }
  if (options.last == 0) options.last = search ? 8 : 20'000;
  const bool well = search ? redlock::sim::search(options.mistake, options.last, options.only)
                           : run(options, verbose && options.one());
  return well ? 0 : 1;
}
