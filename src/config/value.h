// SPDX-License-Identifier: MIT
//
// The meaning of a setting's text. Each function throws Error (64) with the expected form. It does
// not know the setting (config/table.h does).
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "config/duration.h"

namespace redlock::config {

[[noreturn]] void refuse(const std::string& expected, std::string_view value);

struct Bounds {
  std::chrono::nanoseconds least;
  std::chrono::nanoseconds most;
};
inline constexpr Bounds kAnyTime{std::chrono::nanoseconds(0), kLongestDuration};

std::chrono::nanoseconds to_duration(std::string_view value, Bounds bounds = kAnyTime);

std::chrono::milliseconds in_milliseconds(std::chrono::nanoseconds time);

/// A moment in the future, at least 1 s and at most `most` ahead, in Unix time.
std::chrono::milliseconds to_future_moment(std::string_view value, std::chrono::nanoseconds most);

/// A moment in the past, in Unix time.
std::chrono::milliseconds to_moment(std::string_view value);

int to_integer(std::string_view value, int least, int most);

/// A signal as kill(1) takes it: TERM, SIGTERM or 15.
int to_signal(std::string_view value);

/// The names that to_signal() takes, without SIG, in the order of their numbers.
std::vector<std::string> signal_names();

std::string to_file(std::string_view value);

/// What separates the servers of a list in one text.
inline constexpr std::string_view kBlanks = " \t\r\n\v\f";

}  // namespace redlock::config
