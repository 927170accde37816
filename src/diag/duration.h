// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "lock/time.h"

namespace redlock::diag {

/// A length of time: "250 ms", "1.4 s", "28 s", "3m 2s", "1h 5m", "3d 4h".
std::string for_people(std::chrono::nanoseconds length);

/// The same for a length in any unit, however long.
template <class Rep, class Period>
std::string for_people(std::chrono::duration<Rep, Period> length) {
  return for_people(lock::saturated(length));
}

/// The same for a length that the user chose: "10m" and "1h", not "10m 0s" and "1h 0m".
std::string round_for_people(std::chrono::nanoseconds length);

/// The time since a moment that this or another host recorded, unless it is 0 or in the future.
std::optional<std::chrono::milliseconds> ago(std::chrono::milliseconds unix_time);

/// How long the last successful runs took.
struct Usual {
  std::size_t runs;  ///< at least 2
  std::chrono::milliseconds least;
  std::chrono::milliseconds most;
};

/// `latest_first`: how long the successful runs took; the first five count, if there are two.
std::optional<Usual> usual_of(std::span<const std::chrono::milliseconds> latest_first);

/// "4m to 6m", "about 4m": without the digits that do not matter.
std::string range_of(const Usual& usual);

/// "last 5 runs took 4m to 6m"
std::string describe(const Usual& usual);

}  // namespace redlock::diag
