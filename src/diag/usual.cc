// SPDX-License-Identifier: MIT
#include "diag/usual.h"

#include <fmt/format.h>

#include <algorithm>

#include "diag/duration.h"

namespace redlock::diag {

std::optional<Usual> usual_of(std::span<const std::chrono::milliseconds> latest_first) {
  const auto lengths = latest_first.first(std::min(latest_first.size(), kUsualRuns));
  if (lengths.size() < 2) return std::nullopt;
  const auto [least, most] = std::ranges::minmax(lengths);
  return Usual{lengths.size(), least, most};
}

std::string range_of(const Usual& usual) {
  const std::string least = roughly(usual.least);
  const std::string most = roughly(usual.most);
  return least == most ? "about " + least : least + " to " + most;
}

std::string describe(const Usual& usual) {
  return fmt::format("last {} runs took {}", usual.runs, range_of(usual));
}

}  // namespace redlock::diag
