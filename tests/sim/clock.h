// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "lock/time.h"
#include "random.h"

namespace redlock::sim {

/// True time, which nobody in the simulation can read: since the start of the schedule.
using Time = lock::Duration;

inline constexpr Time kForever = Time::max();

/// A clock of one host: its own rate and its own zero. Whole numbers only, so that a schedule is
/// the same on every machine.
class Clock {
 public:
  Clock() = default;
  /// `rate`: how much faster it runs than true time, in millionths; |rate| <= 100'000.
  Clock(std::int64_t rate, lock::Duration origin) : rate_(rate), origin_(origin) {}

  /// An operator sets it.
  void step(lock::Duration by) { origin_ += by; }

  [[nodiscard]] lock::Duration shown(Time at) const {
    return origin_ + at + lock::Duration(at.count() * rate_ / kMillion);
  }
  [[nodiscard]] lock::Instant now(Time at) const { return lock::Instant(shown(at)); }

  /// The first true time at which it shows `instant` or more.
  [[nodiscard]] Time when(lock::Instant instant) const {
    const std::int64_t passed = instant.time_since_epoch().count() - origin_.count();
    if (passed <= 0) return Time::zero();
    if (passed > kBeyond) return kForever;
    Time at(passed / (kMillion + rate_) * kMillion +
            passed % (kMillion + rate_) * kMillion / (kMillion + rate_));
    while (now(at) < instant) ++at;
    return at;
  }

  /// True time until it has counted `length`, about.
  [[nodiscard]] Time stretch(lock::Duration length) const {
    return Time(length.count() / (kMillion + rate_) * kMillion);
  }

 private:
  static constexpr std::int64_t kMillion = 1'000'000;
  static constexpr std::int64_t kBeyond =
      10'000'000'000'000;  // 10,000 s: past every schedule's end

  std::int64_t rate_ = 0;
  lock::Duration origin_{};
};

/// By how much an operator corrects the clock of a server, forward or back.
inline lock::Duration draw_step(Random& random) {
  using namespace std::chrono_literals;
  const auto size = random.one_of<lock::Duration>({random.between(1s, 10s), 1h, 24h});
  return random.percent(50) ? size : -size;
}

/// What is to happen, in the order of time; at the same time, in the order it was asked for.
class Timeline {
 public:
  using What = std::function<void()>;

  void at(Time when, What what) {
    heap_.push_back({std::max(when, now_), ++count_, std::move(what)});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  void after(Time pause, What what) { at(now_ + pause, std::move(what)); }

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  /// The time becomes that of the next event. The caller carries it out.
  What next() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    What what = std::move(heap_.back().what);
    now_ = heap_.back().when;
    heap_.pop_back();
    return what;
  }
  void run_until(Time end) {
    while (!heap_.empty() && heap_.front().when <= end) next()();
    now_ = std::max(now_, end);
  }

  [[nodiscard]] const Time& now() const { return now_; }

 private:
  struct Happening {
    Time when;
    std::uint64_t number;
    What what;
  };
  static bool later(const Happening& a, const Happening& b) {
    return a.when != b.when ? a.when > b.when : a.number > b.number;
  }

  std::vector<Happening> heap_;
  Time now_{};
  std::uint64_t count_ = 0;
};

}  // namespace redlock::sim
