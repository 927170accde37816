// SPDX-License-Identifier: MIT
//
// The meaning of a setting's text. Each function to_…() throws Error (64) with the expected form.
// It does not know the setting (config/table.h does).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::config {

/// The same in every locale.
constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// The longest valid duration. Its sum with an instant cannot overflow.
inline constexpr std::chrono::hours kLongestDuration{100 * 365 * 24};

/// Reads a duration: a decimal number of seconds (`90`, `1.5`, `.007`, as for flock(1)), or numbers
/// with units, the largest unit first: `500ms`, `30s`, `5m`, `2h`, `1d`, `1w`, `1h30m`, `1m1.5s`.
/// It may have neither sign nor exponent nor blanks. Returns nothing for any other text and for
/// more than kLongestDuration. Rounds fractions of a nanosecond up, so that a positive time never
/// becomes zero.
std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text);

/// For people, in the notation of parse_duration: `500ms`, `1500ms`, `30s`, `1h30m`, `24h`, `30d`.
std::string format_duration(std::chrono::nanoseconds duration);

[[noreturn]] void refuse(const std::string& expected, std::string_view value);

struct Bounds {
  std::chrono::nanoseconds least;
  std::chrono::nanoseconds most;
};
inline constexpr Bounds kAnyTime{std::chrono::nanoseconds(0), kLongestDuration};

std::chrono::nanoseconds to_duration(std::string_view value, Bounds bounds = kAnyTime);

std::chrono::milliseconds in_milliseconds(std::chrono::nanoseconds time);

/// A moment in the future, at least 1 s and at most `most` ahead, in Unix time. If the clock shows
/// it twice, a warning says which one it is.
std::chrono::milliseconds to_future_moment(std::string_view value, std::chrono::nanoseconds most,
                                           std::vector<std::string>& warnings);

/// The same for a moment in the past.
std::chrono::milliseconds to_moment(std::string_view value, std::vector<std::string>& warnings);

int to_integer(std::string_view value, int least, int most);

/// A signal as kill(1) takes it: TERM, SIGTERM or 15.
int to_signal(std::string_view value);

std::string to_file(std::string_view value);

/// The parts of `text` that are not empty, between any of the separators.
std::vector<std::string_view> parts_of(std::string_view text, std::string_view separators);

/// What separates the servers of a list in one text.
inline constexpr std::string_view kBlanks = " \t\r\n\v\f";

}  // namespace redlock::config
