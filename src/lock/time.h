// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <ratio>

namespace redlock::lock {

/// The clock of every instant in redlock: CLOCK_BOOTTIME of clock_gettime(2), which goes on
/// counting while the machine is suspended. It has no now() on purpose: the lock library never
/// reads a clock, its caller passes the time; os/clock.h reads the clock.
struct BootClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;
};

using Instant = BootClock::time_point;
using Duration = BootClock::duration;

/// "No deadline": later than every instant a clock will ever show.
inline constexpr Instant kNever = Instant::max();

/// The instant `length` after `from`, or kNever if no clock will ever show it.
constexpr Instant moment_after(Instant from, Duration length) {
  return length < kNever - from ? from + length : kNever;
}

/// The same length, or the longest (shortest) Duration if it does not fit: a record that others
/// wrote may contain more than 292 years.
template <class Rep, class Period>
constexpr Duration saturated(std::chrono::duration<Rep, Period> length) {
  using Length = std::chrono::duration<Rep, Period>;
  if constexpr (std::ratio_less_v<Duration::period, Period>) {
    if (length > std::chrono::floor<Length>(Duration::max())) return Duration::max();
    if (length < std::chrono::ceil<Length>(Duration::min())) return Duration::min();
  }
  return std::chrono::duration_cast<Duration>(length);
}

}  // namespace redlock::lock
