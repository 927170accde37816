// SPDX-License-Identifier: MIT
//
// redlock_sim: schedules of faults around the real src/lock, each from one seed.
//
//   redlock_sim [-n COUNT | --seeds FROM..TO]   runs them, stops at the first violation
//   redlock_sim --seed N [-v]                   one; with -v everything that happens in it
//   redlock_sim --drawn [-n COUNT]              prints what is drawn how often
//   redlock_sim --search [-n STEPS]             all that two clients and three servers can do
//
//   redlock_sim --mutants                       shows that known mistakes are seen
//
//   redlock_sim --slots-at-once                 why servers must not count holders of slots
//
//   --mutation NAME                             with one of them made (see mutation.h)
//   --only CHECK                                looks for violations of one check alone
//   -j JOBS                                     in so many processes
//
// Exit status: 0 all is well, 1 a violation, 64 usage.
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "modes.h"

namespace {

using redlock::sim::Mistake;
using redlock::sim::Result;
using redlock::sim::Schedule;
using redlock::sim::World;

struct Options {
  std::uint64_t first = 1;
  std::uint64_t last = 20'000;
  std::uint64_t jobs = 1;
  bool one = false;
  bool verbose = false;
  bool mutants = false;
  bool slots_at_once = false;
  bool drawn = false;
  bool search = false;
  Mistake mistake;
  std::string_view only;
};

int usage() {
  std::fputs(
      "usage: redlock_sim [-n COUNT | --seeds FROM..TO | --seed N [-v]] [-j JOBS]"
      " [--mutation NAME] [--only CHECK]\n"
      "       redlock_sim --search [-n STEPS] [--only SITUATION] [--mutation NAME]\n"
      "       redlock_sim --drawn [-n COUNT | --seeds FROM..TO]\n"
      "       redlock_sim --mutants | --slots-at-once\n",
      stderr);
  return 64;
}

bool read_number(std::string_view text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

bool read_range(std::string_view text, Options& options) {
  const std::size_t dots = text.find("..");
  return dots != std::string_view::npos && read_number(text.substr(0, dots), options.first) &&
         read_number(text.substr(dots + 2), options.last);
}

std::optional<Options> read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "-v") {
      options.verbose = true;
    } else if (word == "--drawn") {
      options.drawn = true;
    } else if (word == "--search") {
      options.search = true;
      options.last = 8;
    } else if (word == "--slots-at-once") {
      options.slots_at_once = true;
    } else if (word == "--mutants") {
      options.mutants = true;
    } else if (i + 1 == argc) {
      return std::nullopt;
    } else if (word == "-n") {
      if (!read_number(argv[++i], options.last)) return std::nullopt;
    } else if (word == "-j") {
      if (!read_number(argv[++i], options.jobs) || options.jobs == 0) return std::nullopt;
    } else if (word == "--seeds") {
      if (!read_range(argv[++i], options)) return std::nullopt;
    } else if (word == "--seed") {
      options.one = true;
      if (!read_number(argv[++i], options.first)) return std::nullopt;
      options.last = options.first;
    } else if (word == "--only") {
      options.only = argv[++i];
    } else if (word == "--mutation") {
      const auto mistake = redlock::sim::mistake_named(argv[++i]);
      if (!mistake) return std::nullopt;
      options.mistake = *mistake;
    } else {
      return std::nullopt;
    }
  }
  return options;
}

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

struct Totals {
  std::uint64_t schedules = 0;
  std::uint64_t events = 0;
  std::uint64_t jobs = 0;
  bool violated = false;
};

/// Every `options.jobs`th seed.
Totals run(const Options& options) {
  const auto world = std::make_unique<World>(options.mistake);
  world->look_only_for(options.only);
  Schedule schedule;
  Totals totals;
  const bool whole = options.one && options.verbose;
  for (std::uint64_t seed = options.first; seed <= options.last && !totals.violated;
       seed += options.jobs) {
    schedule.draw(seed);
    const Result result = world->run(schedule, whole);
    ++totals.schedules;
    totals.events += result.events;
    totals.jobs += result.jobs;
    totals.violated = result.violation.has_value();
    if (whole) {
      std::printf("%s%s", redlock::sim::describe(schedule).c_str(), world->story().c_str());
      if (!result.violation) continue;
      std::printf("VIOLATION %s: %s\n", std::string(result.violation->check).c_str(),
                  result.violation->what.c_str());
    } else if (result.violation) {
      print_violation(*world, schedule, result);
    }
  }
  return totals;
}

/// One process for each part of the seeds.
Totals run_in_parts(Options options) {
  int pipe[2];
  if (::pipe(pipe) != 0) throw std::runtime_error("no pipe");
  for (std::uint64_t job = 0; job < options.jobs; ++job, ++options.first) {
    if (::fork() != 0) continue;
    const Totals totals = run(options);
    std::fflush(stdout);
    ::_exit(::write(pipe[1], &totals, sizeof totals) == sizeof totals ? 0 : 1);
  }
  ::close(pipe[1]);
  Totals sum;
  std::uint64_t parts = 0;
  for (Totals part; ::read(pipe[0], &part, sizeof part) == sizeof part; ++parts) {
    sum.schedules += part.schedules;
    sum.events += part.events;
    sum.jobs += part.jobs;
    sum.violated = sum.violated || part.violated;
  }
  if (parts != options.jobs) throw std::runtime_error("one of the processes has died");
  return sum;
}

int run_and_report(const Options& options) {
  redlock::sim::check_mistakes();
  const auto began = std::chrono::steady_clock::now();
  const Totals totals = options.jobs == 1 ? run(options) : run_in_parts(options);
  if (totals.violated) return 1;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  const auto schedules = static_cast<double>(totals.schedules);
  std::printf(
      "%.0f schedules, %llu events, %llu jobs, no violation; %.0f schedules/s of %.0f events\n",
      schedules, static_cast<unsigned long long>(totals.events),
      static_cast<unsigned long long>(totals.jobs), schedules / took.count(),
      static_cast<double>(totals.events) / schedules);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = read_options(argc, argv);
  if (!options) return usage();
  if (options->mutants) {
    ::execl(REDLOCK_SIM_MUTANTS, REDLOCK_SIM_MUTANTS, nullptr);
    std::fprintf(stderr, "redlock_sim: %s: %s\n", REDLOCK_SIM_MUTANTS, std::strerror(errno));
    return 1;
  }
  if (options->slots_at_once) return redlock::sim::slots_at_once() ? 0 : 1;
  if (options->search)
    return redlock::sim::search(options->mistake, options->last, options->only) ? 0 : 1;
  if (options->drawn) return redlock::sim::count_drawn(options->first, options->last) ? 0 : 1;
  return run_and_report(*options);
}
