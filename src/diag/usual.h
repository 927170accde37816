// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace redlock::diag {

/// How long the last successful runs took.
struct Usual {
  std::size_t runs;  ///< at least 2
  std::chrono::milliseconds least;
  std::chrono::milliseconds most;
};

/// So many runs count.
constexpr std::size_t kUsualRuns = 5;

/// `latest_first`: how long the successful runs took. None: fewer than 2.
std::optional<Usual> usual_of(std::span<const std::chrono::milliseconds> latest_first);

/// "4m to 6m", "about 4m"
std::string range_of(const Usual& usual);

/// "last 5 runs took 4m to 6m"
std::string describe(const Usual& usual);

}  // namespace redlock::diag
