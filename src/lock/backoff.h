// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "lock/time.h"

namespace redlock::lock {

/// A small deterministic generator (splitmix64) for jitter. Its seed comes from outside, so that
/// the same input always gives the same output. Not for secrets.
class Jitter {
 public:
  explicit Jitter(std::uint64_t seed) : state_(seed) {}

  /// Evenly distributed in [low, high]; low <= high.
  Duration between(Duration low, Duration high);

 private:
  std::uint64_t state_;
};

/// Exponential back-off: a window that doubles from `first` to `most`. Each pause is drawn from the
/// upper half of the window, so that contenders fall out of step but none asks much too early.
class Backoff {
 public:
  constexpr Backoff(Duration first, Duration most) : first_(first), most_(most), window_(first) {}

  /// `at_least`: of the window, which never becomes longer than the most.
  Duration next(Jitter& jitter, Duration at_least = Duration::zero());
  void reset() { window_ = first_; }

 private:
  Duration first_;
  Duration most_;
  Duration window_;
};

}  // namespace redlock::lock
