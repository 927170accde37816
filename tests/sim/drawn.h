// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace redlock::sim {

/// Draws the schedules of these seeds, without running them, and prints how many of them have what.
/// False: there is something that none of them has.
bool count_drawn(std::uint64_t first, std::uint64_t last);

}  // namespace redlock::sim
