// SPDX-License-Identifier: MIT
//
// redlock_queue_sim: waiters of the real src/lock in the queue, in named situations.
//
//   redlock_queue_sim [-n SEEDS] [--seed N] [--only NAME]
//
// runs every scenario with the seeds 1 to SEEDS (2), those that take long with some of them, or
// with one seed, and prints what it measured with the last one.
//
// Exit status: 0 all limits are kept, 1 one is not, 64 usage.
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

#include "options.h"
#include "queueing/scenario.h"

namespace {

using namespace redlock::sim::queueing;
using redlock::sim::Options;

/// True if it kept its limits.
bool run(const Scenario& scenario, const Options& options) {
  const auto began = std::chrono::steady_clock::now();
  const std::string name(scenario.name);
  std::string notes;
  for (std::uint64_t seed = options.first; seed <= options.last; ++seed) {
    if (!options.one() && seed % scenario.every != 0) continue;
    Settings settings = scenario.settings;
    settings.seed = seed;
    World world(settings);
    const Result result = scenario.run(world);
    notes = result.notes();
    if (result.faults().empty()) continue;
    for (const std::string& fault : result.faults()) {
      std::printf("VIOLATION %s: %s (seed %llu)\n", name.c_str(), fault.c_str(),
                  static_cast<unsigned long long>(seed));
    }
    std::printf("  %s\n", notes.c_str());
    return false;
  }
  if (notes.empty()) return true;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  std::printf("%-20s %5.1f s  %s\n", name.c_str(), took.count(), notes.c_str());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Options options{.last = 2};
  if (!redlock::sim::read_options({argv, static_cast<std::size_t>(argc)}, options, {})) {
    std::fputs("usage: redlock_queue_sim [-n SEEDS | --seed N | --seeds FROM..TO] [--only NAME]\n",
               stderr);
    return 64;
  }
  bool well = true;
  bool found = false;
  for (const auto scenarios :
       {order_scenarios, fault_scenarios, soak_scenarios, herd_scenarios, cost_scenarios,
        shared_scenarios, edge_scenarios, newest_scenarios, list_scenarios}) {
    for (const Scenario& each : scenarios) {
      if (each.name.find(options.only) == std::string_view::npos) continue;
      found = true;
      well = run(each, options) && well;
    }
  }
  if (!found)
    std::fprintf(stderr, "redlock_queue_sim: no situation is called %s\n",
                 std::string(options.only).c_str());
  return !found ? 64 : well ? 0 : 1;
}
