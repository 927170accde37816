// SPDX-License-Identifier: MIT
//
// The named situations in which waiters are watched, and what is demanded of each.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "queueing/world.h"

namespace redlock::sim::queueing {

/// What must hold. Where a scenario says nothing else, this does.
struct Limits {
  std::size_t inversions = 0;
  std::size_t most_overtaken = SIZE_MAX;
  std::size_t left_behind = 0;
  std::size_t most_asked = 40;
  Time longest_stall = std::chrono::seconds(6);
  std::size_t slow_per_cent = 2;  ///< of the hand-overs may take more than 400 ms
};

class Result {
 public:
  /// Compares; each number beyond its limit is a fault.
  Result(const Numbers& numbers, const Limits& limits);
  Result() = default;

  Result& demand(bool fulfilled, const std::string& fault) {
    if (!fulfilled) faults_.push_back(fault);
    return *this;
  }
  /// Its faults are ours, too.
  Result& add_faults(const Result& other) {
    faults_.insert(faults_.end(), other.faults_.begin(), other.faults_.end());
    return *this;
  }
  Result& note(const std::string& text) {
    notes_ += (notes_.empty() ? "" : "; ") + text;
    return *this;
  }

  [[nodiscard]] const std::vector<std::string>& faults() const { return faults_; }
  /// The numbers, for a person.
  [[nodiscard]] const std::string& notes() const { return notes_; }

 private:
  std::vector<std::string> faults_;
  std::string notes_;
};

struct Scenario {
  std::string_view name;
  Settings settings;
  Result (*run)(World& world);
  unsigned every = 1;  ///< how many seeds before it is run: it takes long
};

using Scenarios = std::span<const Scenario>;

/// Those of order and of distance, of faults, of many faults, of `-n`, of cost, of readers and
/// slots, of waiters that cannot win, of --newest, and of lists of servers that change.
extern const Scenarios order_scenarios, fault_scenarios, soak_scenarios, herd_scenarios,
    cost_scenarios, shared_scenarios, edge_scenarios, newest_scenarios, list_scenarios;

// What several scenarios do.

/// A process that holds the lock first, for that long.
void hold_first(World& world, Time length);
/// Processes that begin one after the other.
void start_waiters(World& world, int count, Time from, Time apart, const ProcessPlan& plan = {});
/// Runs until all are served, or until then, and judges.
Result serve_all(World& world, Time until, const Limits& limits = {});
std::string milliseconds_text(Time length);

}  // namespace redlock::sim::queueing
