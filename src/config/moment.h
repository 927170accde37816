// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::config {

/// Whether the clock shows a local time twice, as in the hour before summer time ends.
enum class Repeated { no, yes };

/// Reads a moment in the past, and returns it in Unix time. Understands each time that redlock
/// prints:
///
///   90s, 2h, 3d, 1w                         that long ago (a duration with a unit)
///   2026-11-20, 2026-11-20T02:30[:15]       local time; a blank may replace the T
///   2026-11-20T02:30Z, …+01:00, …-0330      the time in that zone; a blank may precede it
///   11-20, 11-20T02:30[:15]                 the most recent one
///   02:30[:15]                              the most recent time the clock showed 02:30
///   1795172400000                           milliseconds since 1970, at least 12 digits
///   today, yesterday, now                   today and yesterday: the beginning of that day
///
/// `now`: Unix time. Returns nothing for any other text, and for days and times that do not exist.
/// Of a day and a time that the clock shows twice it takes the first one.
std::optional<std::chrono::milliseconds> parse_moment(std::string_view text,
                                                      std::chrono::milliseconds now,
                                                      Repeated* repeated = nullptr);

/// The same for a moment in the future:
///
///   90s, 2h, 3d, 1w                         in that time
///   2026-11-20, 2026-11-20T02:30…           as above
///   11-20, 11-20T02:30[:15]                 the next one
///   02:30[:15]                              the next time the clock shows 02:30
///   tomorrow                                the beginning of that day
///
/// Also returns moments in the past: a date may be one.
std::optional<std::chrono::milliseconds> parse_future_moment(std::string_view text,
                                                             std::chrono::milliseconds now,
                                                             Repeated* repeated = nullptr);

/// Unix time as "2026-11-20 02:30:00 +0100", in this host's zone.
std::string local_time(std::chrono::milliseconds moment);

}  // namespace redlock::config
