// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace redlock::config {

/// What a person may write for a moment that has passed, in Unix time:
///
///   90s, 2h, 3d, 1w                         so long ago (as a duration, but with a unit)
///   2026-11-20, 2026-11-20T02:30[:15]       local time; a blank in place of the T will do
///   2026-11-20T02:30Z, …+01:00, …-0330      of that zone
///   02:30[:15]                              the last time it was so late: today, or yesterday
///   today, yesterday, now                   the first two: when the day began
///
/// `now`: Unix time. Nothing for all else, and for days and times that no calendar has.
std::optional<std::chrono::milliseconds> parse_moment(std::string_view text,
                                                      std::chrono::milliseconds now);

}  // namespace redlock::config
