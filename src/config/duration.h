// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::config {

/// The longest duration accepted, so that whoever adds one to an instant need not fear overflow.
inline constexpr std::chrono::hours kLongestDuration{100 * 365 * 24};

/// What a person may write for a duration: a decimal number of seconds (`90`, `1.5`, `.007`, as for
/// flock(1)), or one with a unit: `500ms`, `30s`, `5m`, `2h`. Neither sign nor exponent nor blanks.
/// Nothing for all else and for more than kLongestDuration. A positive time never becomes zero:
/// what is finer than a nanosecond is rounded up.
std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text);

/// For people, in the notation parse_duration reads, with the largest unit that divides it:
/// `500ms`, `1500ms`, `30s`, `5m`, `2h`. Below a millisecond: a decimal number of seconds.
std::string format_duration(std::chrono::nanoseconds duration);

}  // namespace redlock::config
