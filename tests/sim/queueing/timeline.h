// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "clock.h"

namespace redlock::sim::queueing {

/// What is to happen, in the order of time; at the same time, in the order it was asked for.
class Timeline {
 public:
  void at(Time when, std::function<void()> what) {
    heap_.push_back({std::max(when, now_), ++count_, std::move(what)});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  void after(Time pause, std::function<void()> what) { at(now_ + pause, std::move(what)); }

  /// Carries out all that happens until then.
  void run_until(Time end) {
    while (!heap_.empty() && heap_.front().when <= end) {
      std::pop_heap(heap_.begin(), heap_.end(), later);
      const Happening next = std::move(heap_.back());
      heap_.pop_back();
      now_ = next.when;
      next.what();
    }
    now_ = std::max(now_, end);
  }

  [[nodiscard]] Time now() const { return now_; }

 private:
  struct Happening {
    Time when;
    std::uint64_t number;
    std::function<void()> what;
  };
  static bool later(const Happening& a, const Happening& b) {
    return a.when != b.when ? a.when > b.when : a.number > b.number;
  }

  std::vector<Happening> heap_;
  Time now_{};
  std::uint64_t count_ = 0;
};

}  // namespace redlock::sim::queueing
