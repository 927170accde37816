// SPDX-License-Identifier: MIT
//
// The meaning of a setting's text. Each function to_…() throws Error (64) with the expected form.
// It does not know the setting (config/table.h does).
#pragma once

#include <chrono>
#include <ctime>
#include <optional>

#include "redis/wire/uri.h"

namespace redlock::config {

/// The longest valid duration. Its sum with an instant cannot overflow.
inline constexpr std::chrono::hours kLongestDuration{100 * 365 * 24};

/// A maintenance hold may last this long: the servers keep the fence of an idle lock as long.
inline constexpr std::chrono::hours kLongestHold{30 * 24};

/// Reads a time as redlock(1) describes it, the largest unit first; `.007` is one, too. Returns
/// nothing for any other text and for more than kLongestDuration. Rounds fractions of a nanosecond
/// up, so that a positive time never becomes zero.
std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text);

/// The notation of parse_duration: `500ms`, `1500ms`, `30s`, `1h30m`, `24h`, `30d`.
std::string format_duration(std::chrono::nanoseconds duration);

[[noreturn]] void reject(const std::string& expected, std::string_view value);

struct Bounds {
  std::chrono::nanoseconds least;
  std::chrono::nanoseconds most;
};
inline constexpr Bounds kAnyTime{std::chrono::nanoseconds(0), kLongestDuration};

std::chrono::nanoseconds to_duration(std::string_view value, Bounds bounds = kAnyTime);

int to_integer(std::string_view value, int least, int most);

/// A signal as kill(1) takes it: TERM, SIGTERM or 15.
int to_signal(std::string_view value);

/// The servers of a list that white space separates: at least one. `before`: how many servers are
/// known already, for the number of a server in messages.
std::vector<redis::Endpoint> to_servers(std::string_view value, std::size_t before);

/// The parts of `text` that are not empty, between any of the separators.
std::vector<std::string_view> parts_of(std::string_view text, std::string_view separators);

/// What separates the servers of a list in one text.
inline constexpr std::string_view kBlanks = " \t\r\n\v\f";

/// The user's text for a one-line message: in single quotes, with unprintable characters as `\n` or
/// `\x1b`, cut after 80 bytes. Of a URI it shows only the scheme, since a password may be anywhere
/// in the rest.
std::string quote(std::string_view text);

/// The candidate that the user probably meant by a mistyped word ("did you mean"); empty if all are
/// too different. An abbreviation, which redlock never accepts, is the nearest.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// Moments: moment.cc.

enum class Tense { past, future };

struct Moment {
  std::chrono::milliseconds at;  ///< Unix time
  bool repeated = false;  ///< the clock shows this twice, as in the hour before summer time ends
};

/// Reads a moment in the past (--since in redlock-status(1) has the forms) or in the future
/// (--until in redlock-hold(1)). Understands each time that redlock prints. `now`: Unix time.
/// Returns nothing for any other text, and for days and times that do not exist. A date may mean a
/// moment that is not in the past, or not in the future. Of a day and a time that the clock shows
/// twice it takes the first one.
std::optional<Moment> parse_moment(std::string_view text, std::chrono::milliseconds now,
                                   Tense tense);

/// Unix time in this host's zone.
std::tm local_time(std::chrono::milliseconds moment);

/// The same as "2026-11-20 02:30:00 +0100".
std::string format_moment(std::chrono::milliseconds moment);

/// Reads a moment for a setting as parse_moment() does: in the past, or at least 1 s and at most
/// kLongestHold ahead. If the clock shows it twice, a warning says which one it is. Throws Error
/// (64).
std::chrono::milliseconds to_moment(std::string_view value, Tense tense,
                                    std::vector<std::string>& warnings);

}  // namespace redlock::config
