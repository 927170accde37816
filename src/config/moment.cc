// SPDX-License-Identifier: MIT
#include "config/moment.h"

#include <ctime>
#include <string>

#include "config/digits.h"
#include "config/duration.h"

namespace redlock::config {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

/// Removes exactly `digits` digits from `text`, and returns their number.
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
  int value = 0;
  if (text.size() < digits) return std::nullopt;
  for (const char c : text.substr(0, digits)) {
    if (!is_digit(c)) return std::nullopt;
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

/// "2026-11-20"
bool take_date(std::string_view& text, std::tm& moment) {
  const auto year = take_number(text, 4);
  if (!year || *year < 1970 || !take(text, '-')) return false;
  const auto month = take_number(text, 2);
  if (!month || !take(text, '-')) return false;
  const auto day = take_number(text, 2);
  if (!day) return false;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  moment.tm_year = *year - 1900;
  moment.tm_mon = *month - 1;
  moment.tm_mday = *day;
  return date.ok();
}

/// "02:30", "2:30", "02:30:15"
bool take_time(std::string_view& text, std::tm& moment) {
  const auto two_digits = take_number(text, 2);
  const auto hour = two_digits ? two_digits : take_number(text, 1);
  if (!hour || !take(text, ':')) return false;
  const auto minute = take_number(text, 2);
  if (!minute) return false;
  const auto second = take(text, ':') ? take_number(text, 2) : std::optional(0);
  if (!second) return false;
  moment.tm_hour = *hour;
  moment.tm_min = *minute;
  moment.tm_sec = *second;
  return *hour < 24 && *minute < 60 && *second < 60;
}

/// "Z", "+01:00", "-0330": the zone's offset, to subtract from its local time.
std::optional<minutes> take_zone(std::string_view& text) {
  if (take(text, 'Z')) return minutes(0);
  const bool east = text.starts_with('+');
  if (!east && !text.starts_with('-')) return std::nullopt;
  text.remove_prefix(1);
  const auto hour = take_number(text, 2);
  take(text, ':');
  const auto minute = take_number(text, 2);
  if (!hour || !minute || *hour > 14 || *minute > 59) return std::nullopt;
  const minutes offset = hours(*hour) + minutes(*minute);
  return east ? offset : -offset;
}

/// In this host's zone, which decides about daylight saving time.
std::optional<milliseconds> local(std::tm moment) {
  moment.tm_isdst = -1;
  const std::time_t time = std::mktime(&moment);
  if (time < 0) return std::nullopt;
  return seconds(time);
}

std::tm local_day(milliseconds now, int days_later) {
  const auto time = static_cast<std::time_t>(std::chrono::floor<seconds>(now).count());
  std::tm day{};
  ::localtime_r(&time, &day);
  day.tm_mday += days_later;
  day.tm_hour = day.tm_min = day.tm_sec = 0;
  return day;
}

std::optional<milliseconds> parse_day_and_time(std::string_view text) {
  std::tm moment{};
  if (!take_date(text, moment)) return std::nullopt;
  if (text.empty()) return local(moment);
  if (!take(text, 'T') && !take(text, ' ')) return std::nullopt;
  if (!take_time(text, moment)) return std::nullopt;
  if (text.empty()) return local(moment);
  const auto offset = take_zone(text);
  if (!offset || !text.empty()) return std::nullopt;
  return seconds(::timegm(&moment)) - *offset;
}

enum class Tense { past, future };

std::optional<milliseconds> parse_time(std::string_view text, milliseconds now, Tense tense) {
  std::tm moment = local_day(now, 0);
  if (!take_time(text, moment) || !text.empty()) return std::nullopt;
  const auto today = local(moment);
  if (!today || (tense == Tense::past ? *today <= now : *today > now)) return today;
  moment.tm_mday += tense == Tense::past ? -1 : 1;
  return local(moment);
}

/// A number without a unit may be a mistaken year or time.
std::optional<milliseconds> parse_distance(std::string_view text) {
  const char unit = text.empty() ? '0' : text.back();
  const auto distance = is_digit(unit) || unit == '.' ? std::nullopt : parse_duration(text);
  if (!distance) return std::nullopt;
  return std::chrono::ceil<milliseconds>(*distance);
}

}  // namespace

std::optional<milliseconds> parse_moment(std::string_view text, milliseconds now) {
  if (text == "now") return now;
  if (text == "today") return local(local_day(now, 0));
  if (text == "yesterday") return local(local_day(now, -1));
  if (const auto age = parse_distance(text)) {
    return *age <= now ? std::optional(now - *age) : std::nullopt;
  }
  if (const auto moment = parse_day_and_time(text)) return moment;
  return parse_time(text, now, Tense::past);
}

std::optional<milliseconds> parse_future_moment(std::string_view text, milliseconds now) {
  if (text == "tomorrow") return local(local_day(now, 1));
  if (const auto distance = parse_distance(text)) return now + *distance;
  if (const auto moment = parse_day_and_time(text)) return moment;
  return parse_time(text, now, Tense::future);
}

}  // namespace redlock::config
