// SPDX-License-Identifier: MIT
//
// Random deaths and stops of waiters, holders and servers for a minute; then everybody is served,
// and nothing is left.
#include "queueing/scenario.h"

namespace redlock::sim::queueing {

namespace {

using namespace std::chrono_literals;

class Soak {
 public:
  /// `rough`: every process is at another distance, some may not SUBSCRIBE, and some lose servers.
  Soak(World& world, bool rough) : world_(world), random_(world.settings().seed), rough_(rough) {}

  void start(int count) {
    for (int i = 0; i < count; ++i) world_.start_at(i * 5ms, plan());
  }

  void run(Time until) {
    for (Time now = 2s; now < until; now += 500ms) {
      world_.run_until(now);
      disturb();
    }
    for (Process* each : frozen_) each->resume();
  }

 private:
  [[nodiscard]] ProcessPlan plan() {
    ProcessPlan plan;
    plan.loops = true;
    plan.distance.jitter = 2ms;
    if (!rough_) return plan;
    plan.job = random_.between(1ms, 60ms);
    plan.distance = {random_.between(100us, 15ms), 5ms};
    plan.may_subscribe = !random_.percent(15);
    plan.tries_once = random_.percent(10);
    return plan;
  }

  [[nodiscard]] Process* somebody(const std::vector<Process*>& queue) {
    return queue[random_.below(static_cast<std::uint32_t>(queue.size()))];
  }

  void replace(Process& process) {
    process.kill();
    world_.start(plan());
  }

  void disturb() {
    const std::vector<Process*> queue = world_.queue();
    const std::uint32_t what = random_.below(rough_ ? 8 : 6);
    if (what == 5) return stop_servers();
    if (what == 0 && world_.holder() != nullptr) return replace(*world_.holder());
    if (what == 4 && !frozen_.empty()) {
      frozen_.back()->resume();
      return frozen_.pop_back();
    }
    if (queue.empty()) return;
    if (what == 1 || what == 2) return replace(*somebody(queue));
    if (what == 3) {
      queue.front()->freeze();
      frozen_.push_back(queue.front());
    } else if (what > 5) {
      const Time length = random_.between(50ms, 8s);
      const std::size_t server = random_.below(5);
      somebody(queue)->cut(server, world_.now() + length);
    }
  }

  /// Two, so that a quorum answers.
  void stop_servers() {
    const std::size_t first = random_.below(5);
    for (const std::size_t server : {first, (first + 1) % 5}) {
      world_.hosts()[server].stop();
      world_.at(world_.now() + 450ms, [this, server] { world_.hosts()[server].resume(); });
    }
  }

  World& world_;
  Random random_;
  bool rough_;
  std::vector<Process*> frozen_;
};

template <int count, bool rough>
Result soak_for_a_minute(World& world) {
  Soak soak(world, rough);
  soak.start(count);
  soak.run(60s);
  world.end_loops();
  // Short jobs: a waiter near the head hears of some thirty hand-overs in a second, as the next one
  // and as the first one.
  Result result = serve_all(world, 150s,
                            {.inversions = 100,
                             .left_behind = SIZE_MAX,
                             .most_asked = 100,
                             .slow_per_cent = rough ? 20U : 10U});
  world.run_until(world.now() + 21s);
  return result.demand(world.queue().empty(), "somebody is still in the queue");
}

constexpr Scenario kSoaks[] = {
    {"soak", {.servers = 5, .ttl = 3s}, soak_for_a_minute<300, false>, 2},
    {"rough_soak", {.servers = 5, .ttl = 4s, .publishes_lost = 5}, soak_for_a_minute<60, true>, 2},
};

}  // namespace

const Scenarios soak_scenarios = kSoaks;

}  // namespace redlock::sim::queueing
