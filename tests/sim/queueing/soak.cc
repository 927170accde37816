// SPDX-License-Identifier: MIT
//
// Random deaths and stops of waiters, holders and servers for a minute; then everybody is served,
// and nothing is left behind.
#include "queueing/scenario.h"

namespace redlock::sim::queueing {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

class Soak {
 public:
  /// `rough`: every process is at another distance, some may not SUBSCRIBE, and some lose servers.
  Soak(World& world, bool rough) : world_(world), random_(world.settings().seed), rough_(rough) {}

  void start(int count) {
    for (int i = 0; i < count; ++i) world_.start_at(i * milliseconds(5), plan());
  }

  void run(Time until) {
    for (Time now = seconds(2); now < until; now += milliseconds(500)) {
      world_.run_until(now);
      disturb();
    }
    for (Process* each : frozen_) world_.resume(*each);
  }

 private:
  [[nodiscard]] ProcessPlan plan() {
    ProcessPlan plan;
    plan.loops = true;
    plan.distance.jitter = milliseconds(2);
    if (!rough_) return plan;
    plan.job = random_.between(milliseconds(1), milliseconds(60));
    plan.distance = {random_.between(microseconds(100), milliseconds(15)), milliseconds(5)};
    plan.may_subscribe = !random_.percent(15);
    plan.tries_once = random_.percent(10);
    return plan;
  }

  [[nodiscard]] Process* somebody(const std::vector<Process*>& queue) {
    return queue[random_.below(static_cast<std::uint32_t>(queue.size()))];
  }

  void replace(Process& process) {
    world_.kill(process);
    world_.start(plan());
  }

  void disturb() {
    const std::vector<Process*> queue = world_.queue();
    const std::uint32_t what = random_.below(rough_ ? 8 : 6);
    if (what == 5) return stop_servers();
    if (what == 0 && world_.holder() != nullptr) return replace(*world_.holder());
    if (what == 4 && !frozen_.empty()) {
      world_.resume(*frozen_.back());
      return frozen_.pop_back();
    }
    if (queue.empty()) return;
    if (what == 1 || what == 2) return replace(*somebody(queue));
    if (what == 3) {
      world_.freeze(*queue.front());
      frozen_.push_back(queue.front());
    } else if (what > 5) {
      const Time length = random_.between(milliseconds(50), seconds(8));
      world_.cut(*somebody(queue), random_.below(5), world_.now() + length);
    }
  }

  /// Two, so that a quorum answers.
  void stop_servers() {
    const std::size_t first = random_.below(5);
    for (const std::size_t server : {first, (first + 1) % 5}) {
      world_.hosts()[server].stop();
      world_.at(world_.now() + milliseconds(450),
                [this, server] { world_.hosts()[server].resume(); });
    }
  }

  World& world_;
  Random random_;
  bool rough_;
  std::vector<Process*> frozen_;
};

Result soak_for_a_minute(World& world, int count, bool rough) {
  Soak soak(world, rough);
  soak.start(count);
  soak.run(seconds(60));
  world.end_loops();
  world.run_until_all_served(seconds(150));
  // Short jobs: a waiter near the head hears of some thirty hand-overs in a second, as the next one and as the
  // first one.
  Result result(world.numbers(), {.inversions = 100,
                                  .left_behind = SIZE_MAX,
                                  .most_asked = 100,
                                  .slow_per_cent = rough ? 20U : 10U});
  world.run_until(world.now() + seconds(21));
  result.demand(world.queue().empty(), "somebody is still in the queue");
  return result;
}

constexpr Scenario kSoaks[] = {
    {"soak", {.servers = 5, .ttl = seconds(3)},
     [](World& w) { return soak_for_a_minute(w, 300, false); }, 2},
    {"rough_soak", {.servers = 5, .ttl = seconds(4), .publishes_lost = 5},
     [](World& w) { return soak_for_a_minute(w, 60, true); }, 2},
};

}  // namespace

std::span<const Scenario> soak_scenarios() {
  return kSoaks;
}

}  // namespace redlock::sim::queueing
