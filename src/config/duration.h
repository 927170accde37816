// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::config {

/// The longest valid duration. Its sum with an instant cannot overflow.
inline constexpr std::chrono::hours kLongestDuration{100 * 365 * 24};

/// Reads a duration: a decimal number of seconds (`90`, `1.5`, `.007`, as for flock(1)), or a
/// number with a unit: `500ms`, `30s`, `5m`, `2h`. It may have neither sign nor exponent nor
/// blanks. Returns nothing for any other text and for more than kLongestDuration. Rounds fractions
/// of a nanosecond up, so that a positive time never becomes zero.
std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text);

/// The same, and days and weeks: `3d`, `1w`. Only for options about which nobody errs by a day.
/// Rounds up to milliseconds.
std::optional<std::chrono::milliseconds> parse_long_duration(std::string_view text);

/// For people, in the notation of parse_duration, with the largest unit that divides the duration:
/// `500ms`, `1500ms`, `30s`, `5m`, `2h`. Below a millisecond: a decimal number of seconds.
std::string format_duration(std::chrono::nanoseconds duration);

}  // namespace redlock::config
