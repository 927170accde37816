// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace redlock::config {

/// Reads a moment in the past, and returns it in Unix time:
///
///   90s, 2h, 3d, 1w                         that long ago (a duration with a unit)
///   2026-11-20, 2026-11-20T02:30[:15]       local time; a blank may replace the T
///   2026-11-20T02:30Z, …+01:00, …-0330      the time in that zone
///   02:30[:15]                              the most recent time the clock showed 02:30
///   today, yesterday, now                   today and yesterday: the beginning of that day
///
/// `now`: Unix time. Returns nothing for any other text, and for days and times that do not exist.
std::optional<std::chrono::milliseconds> parse_moment(std::string_view text,
                                                      std::chrono::milliseconds now);

/// The same for a moment in the future:
///
///   90s, 2h, 3d, 1w                         in that time
///   2026-11-20, 2026-11-20T02:30…           as above
///   02:30[:15]                              the next time the clock shows 02:30
///   tomorrow                                the beginning of that day
///
/// Also returns moments in the past: a date may be one.
std::optional<std::chrono::milliseconds> parse_future_moment(std::string_view text,
                                                             std::chrono::milliseconds now);

}  // namespace redlock::config
