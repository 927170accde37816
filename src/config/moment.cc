// SPDX-License-Identifier: MIT
//
// Moments: instants that the user names by the clock, a date or a distance from now.
#include "config/value.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "os/clock.h"
#include "os/printable.h"

namespace redlock::config {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

/// A form of strptime(3), and the shape of the texts that it is for. strptime alone would accept
/// blanks, signs and missing digits.
struct Form {
  std::string_view shape;
  const char* form;
};
constexpr Form kDay[] = {{"0000-00-00", "%Y-%m-%d"}};
constexpr Form kDayOfYear[] = {{"00-00", "%m-%d"}};
constexpr Form kTime[] = {
    {"00:00:00", "%H:%M:%S"}, {"0:00:00", "%H:%M:%S"}, {"00:00", "%H:%M"}, {"0:00", "%H:%M"}};
constexpr Form kOffset[] = {{"0000", "%H%M"}, {"00:00", "%H:%M"}};

/// Whether `text` is `shape`, with a digit in place of each 0.
bool has_shape(std::string_view text, std::string_view shape) {
  return std::ranges::equal(text, shape, [](char c, char expected) {
    return expected == '0' ? os::is_digit(c) : c == expected;
  });
}

/// Removes the first form that fits from the beginning of `text`. False: none fits, or a number is
/// too large.
bool take(std::string_view& text, std::span<const Form> forms, std::tm& moment) {
  for (const auto& [shape, form] : forms) {
    const std::string head(text.substr(0, shape.size()));
    if (!has_shape(head, shape)) continue;
    text.remove_prefix(head.size());
    const char* const end = ::strptime(head.c_str(), form, &moment);
    return end != nullptr && *end == '\0' && moment.tm_sec < 60;
  }
  return false;
}

bool is_day_of(const std::tm& moment, int year) {
  return std::chrono::year_month_day(std::chrono::year(year),
                                     std::chrono::month(static_cast<unsigned>(moment.tm_mon + 1)),
                                     std::chrono::day(static_cast<unsigned>(moment.tm_mday)))
      .ok();
}

/// The time after a day: `T02:30`, ` 02:30`.
bool take_time_after_day(std::string_view& text, std::tm& moment) {
  if (!text.starts_with('T') && !text.starts_with(' ')) return false;
  text.remove_prefix(1);
  return take(text, kTime, moment);
}

/// "Z", "+01:00", " -0330", " UTC": the zone's offset, to subtract from its local time.
std::optional<minutes> read_zone(std::string_view text) {
  if (text.starts_with(' ')) text.remove_prefix(1);
  if (text == "Z" || text == "UTC") return minutes(0);
  const bool east = text.starts_with('+');
  if (!east && !text.starts_with('-')) return std::nullopt;
  text.remove_prefix(1);
  std::tm time{};
  if (!take(text, kOffset, time) || !text.empty() || time.tm_hour > 14) return std::nullopt;
  const minutes offset = std::chrono::hours(time.tm_hour) + minutes(time.tm_min);
  return east ? offset : -offset;
}

/// The moments at which the clock of this host's zone shows a local time, the first one first: two
/// if the clock is set back over it, none before 1970.
std::vector<Moment> moments_of(std::tm wanted) {
  wanted.tm_isdst = -1;
  const std::time_t time = std::mktime(&wanted);
  if (time < 0) return {};
  std::vector<Moment> found;
  // The minutes by which zones set the clock back.
  for (const int step : {-120, -60, -30, 0, 30, 60, 120}) {
    const Moment moment{seconds(time) + minutes(step)};
    const std::tm shown = local_time(moment.at);
    const bool same = shown.tm_mday == wanted.tm_mday && shown.tm_hour == wanted.tm_hour &&
                      shown.tm_min == wanted.tm_min;
    if (same) found.push_back(moment);
  }
  for (Moment& moment : found) moment.repeated = found.size() > 1;
  return found;
}

std::tm local_day(milliseconds now, int days_later) {
  std::tm day = local_time(now);
  day.tm_mday += days_later;
  day.tm_hour = day.tm_min = day.tm_sec = 0;
  return day;
}

/// The last one in the past, or the first one in the future, if there is such a one.
std::optional<Moment> nearest_moment(std::vector<Moment> moments, milliseconds now, Tense tense) {
  const bool past = tense == Tense::past;
  if (past) std::ranges::reverse(moments);
  const auto fits = std::ranges::find_if(
      moments, [&](const Moment& moment) { return (moment.at <= now) == past; });
  return fits == moments.end() ? std::nullopt : std::optional(*fits);
}

std::optional<Moment> first_moment(const std::vector<Moment>& moments) {
  return moments.empty() ? std::nullopt : std::optional(moments.front());
}

std::optional<Moment> read_day_and_time(std::string_view text) {
  std::tm moment{};
  if (!take(text, kDay, moment)) return std::nullopt;
  const int year = moment.tm_year + 1900;
  if (year < 1970 || !is_day_of(moment, year)) return std::nullopt;
  if (!text.empty() && !take_time_after_day(text, moment)) return std::nullopt;
  if (text.empty()) return first_moment(moments_of(moment));
  const auto offset = read_zone(text);
  if (!offset) return std::nullopt;
  return Moment{seconds(::timegm(&moment)) - *offset};
}

std::optional<Moment> read_day_of_year(std::string_view text, milliseconds now, Tense tense) {
  std::tm moment{};
  if (!take(text, kDayOfYear, moment)) return std::nullopt;
  if (!text.empty() && (!take_time_after_day(text, moment) || !text.empty())) return std::nullopt;
  const int this_year = local_day(now, 0).tm_year + 1900;
  const int step = tense == Tense::past ? -1 : 1;
  for (int years = 0; years <= 8; ++years) {  // 29 February may be eight years away
    const int year = this_year + step * years;
    if (!is_day_of(moment, year)) continue;
    moment.tm_year = year - 1900;
    if (const auto found = nearest_moment(moments_of(moment), now, tense)) return found;
  }
  return std::nullopt;
}

std::optional<Moment> read_time_of_day(std::string_view text, milliseconds now, Tense tense) {
  std::tm moment = local_day(now, 0);
  if (!take(text, kTime, moment) || !text.empty()) return std::nullopt;
  if (const auto today = nearest_moment(moments_of(moment), now, tense)) return today;
  moment.tm_mday += tense == Tense::past ? -1 : 1;
  return nearest_moment(moments_of(moment), now, tense);
}

/// As --json shows it, in both of its forms. A number of fewer digits may be a mistaken year or
/// time.
std::optional<Moment> read_json_time(std::string_view text) {
  if (has_shape(text, "0000-00-00T00:00:00.000Z")) {
    auto moment = read_day_and_time(std::string(text.substr(0, 19)) + "Z");
    if (moment) moment->at += milliseconds(std::stoi(std::string(text.substr(20, 3))));
    return moment;
  }
  if (text.size() < 12 || text.size() > 14 || !std::ranges::all_of(text, os::is_digit)) {
    return std::nullopt;
  }
  return Moment{milliseconds(std::stoll(std::string(text)))};
}

/// A number without a unit may be a mistaken year or time.
std::optional<milliseconds> parse_distance(std::string_view text) {
  const char unit = text.empty() ? '0' : text.back();
  const auto distance = os::is_digit(unit) || unit == '.' ? std::nullopt : parse_duration(text);
  if (!distance) return std::nullopt;
  return std::chrono::ceil<milliseconds>(*distance);
}

}  // namespace

std::optional<Moment> parse_moment(std::string_view text, milliseconds now, Tense tense) {
  const bool past = tense == Tense::past;
  if (past && text == "now") return Moment{now};
  if (past ? text == "today" || text == "yesterday" : text == "tomorrow") {
    const int days_later = text == "today" ? 0 : past ? -1 : 1;
    auto beginning = first_moment(moments_of(local_day(now, days_later)));
    if (beginning) beginning->repeated = false;  // the user has named no time
    return beginning;
  }
  if (const auto distance = parse_distance(text)) {
    if (past && *distance > now) return std::nullopt;
    return Moment{past ? now - *distance : now + *distance};
  }
  auto moment = read_json_time(text);
  if (!moment) moment = read_day_and_time(text);
  if (!moment) moment = read_day_of_year(text, now, tense);
  if (!moment) moment = read_time_of_day(text, now, tense);
  return moment;
}

std::tm local_time(milliseconds moment) {
  const auto time = static_cast<std::time_t>(std::chrono::floor<seconds>(moment).count());
  std::tm parts{};
  ::localtime_r(&time, &parts);
  return parts;
}

std::string format_moment(milliseconds moment) {
  const std::tm parts = local_time(moment);
  std::array<char, 40> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S %z", &parts);
  return {text.data(), size};
}

milliseconds to_moment(std::string_view value, Tense tense, std::vector<std::string>& warnings) {
  const milliseconds now = os::unix_now();
  const bool past = tense == Tense::past;
  const auto moment = parse_moment(value, now, tense);
  const milliseconds least = past ? milliseconds::min() : now + seconds(1);
  const milliseconds most = past ? now : now + kLongestHold;
  const bool fits = moment && moment->at >= least && moment->at <= most;
  if (!fits) {
    reject(past ? "a time in the past (2h, 3d, 02:30, yesterday, 2026-11-20, 2026-11-20T02:30)"
                : "a time in the future, at most 30 days ahead (2h, 3d, 02:30, tomorrow, "
                  "2026-11-20, 2026-11-20T02:30)",
           value);
  }
  if (moment->repeated) {
    warnings.push_back("the clock shows " + quote(value) + " twice; redlock takes " +
                       format_moment(moment->at));
  }
  return moment->at;
}

}  // namespace redlock::config
