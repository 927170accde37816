// SPDX-License-Identifier: MIT
#include "lock/backoff.h"

#include <algorithm>

namespace redlock::lock {

Duration Jitter::between(Duration low, Duration high) {
  state_ += 0x9e3779b97f4a7c15U;
  std::uint64_t mixed = state_;
  mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
  mixed ^= mixed >> 31U;
  const auto span = static_cast<std::uint64_t>((high - low).count()) + 1;
  return low + Duration(static_cast<Duration::rep>(mixed % span));
}

Duration Backoff::next(Jitter& jitter, Duration at_least) {
  window_ = std::min(std::max(window_, at_least), most_);
  const Duration pause = jitter.between(window_ / 2, window_);
  window_ = std::min(window_ * 2, most_);
  return pause;
}

}  // namespace redlock::lock
