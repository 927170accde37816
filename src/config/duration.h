// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::config {

/// The longest valid duration. Its sum with an instant cannot overflow.
inline constexpr std::chrono::hours kLongestDuration{100 * 365 * 24};

/// Reads a duration: a decimal number of seconds (`90`, `1.5`, `.007`, as for flock(1)), or numbers
/// with units, the largest unit first: `500ms`, `30s`, `5m`, `2h`, `1d`, `1w`, `1h30m`, `1m1.5s`. It
/// may have neither sign nor exponent nor blanks. Returns nothing for any other text and for more
/// than kLongestDuration. Rounds fractions of a nanosecond up, so that a positive time never becomes
/// zero.
std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text);

/// For people, in the notation of parse_duration: `500ms`, `1500ms`, `30s`, `1h30m`, `24h`, `30d`.
std::string format_duration(std::chrono::nanoseconds duration);

}  // namespace redlock::config
