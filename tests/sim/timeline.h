// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "clock.h"

namespace redlock::sim {

/// What is to happen, in the order of time; at the same time, in the order it was asked for.
class Timeline {
 public:
  using What = std::function<void()>;

  void reset() {
    heap_.clear();
    now_ = Time::zero();
    count_ = 0;
  }

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
