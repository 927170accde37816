// SPDX-License-Identifier: MIT
//
// Moments: instants that the user names by the clock, a date or a distance from now.
#include "config/value.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <span>
#include <string>

#include "os/clock.h"

namespace redlock::config {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;

/// A form of strptime(3), and the texts that it is for: these have a digit for each 0. strptime
/// alone would accept blanks, signs and missing digits.
struct Form {
  std::string_view shape;
  const char* form;
};
constexpr Form kDay[] = {{"0000-00-00", "%Y-%m-%d"}};
constexpr Form kDayOfYear[] = {{"00-00", "%m-%d"}};
constexpr Form kTime[] = {
    {"00:00", "%H:%M"}, {"0:00", "%H:%M"}, {"00:00:00", "%H:%M:%S"}, {"0:00:00", "%H:%M:%S"}};
constexpr Form kOffset[] = {{"0000", "%H%M"}, {"00:00", "%H:%M"}};

/// False: `text` has none of the forms, or a number in it is too large.
bool read(std::string_view text, std::span<const Form> forms, std::tm& moment) {
  std::string shape(text);
  std::ranges::replace_if(shape, is_digit, '0');
  const auto form = std::ranges::find(forms, shape, &Form::shape);
  if (form == forms.end()) return false;
  const std::string whole(text);
  const char* const end = ::strptime(whole.c_str(), form->form, &moment);
  return end != nullptr && *end == '\0' && moment.tm_sec < 60;
}

bool is_day_of(const std::tm& moment, int year) {
  return std::chrono::year_month_day(std::chrono::year(year),
                                     std::chrono::month(static_cast<unsigned>(moment.tm_mon + 1)),
                                     std::chrono::day(static_cast<unsigned>(moment.tm_mday)))
      .ok();
}

/// The time after a day: `T02:30`, ` 02:30`.
bool read_time_after_day(std::string_view text, std::tm& moment) {
  return (text.starts_with('T') || text.starts_with(' ')) && read(text.substr(1), kTime, moment);
}

/// "Z", "+01:00", " -0330", " UTC": the zone's offset, to subtract from its local time.
std::optional<minutes> read_zone(std::string_view text) {
  if (text.starts_with(' ')) text.remove_prefix(1);
  if (text == "Z" || text == "UTC") return minutes(0);
  const bool east = text.starts_with('+');
  std::tm time{};
  if (!east && !text.starts_with('-')) return std::nullopt;
  if (!read(text.substr(1), kOffset, time) || time.tm_hour > 14) return std::nullopt;
  const minutes offset = hours(time.tm_hour) + minutes(time.tm_min);
  return east ? offset : -offset;
}

/// When the clock shows a local time: the same moment twice, unless it shows that time twice.
struct Local {
  milliseconds first;
  milliseconds second;
};

/// In this host's zone, which decides about daylight saving time.
std::optional<Local> local(std::tm moment) {
  moment.tm_isdst = -1;
  const std::time_t time = std::mktime(&moment);
  if (time < 0) return std::nullopt;
  Local found{seconds(time), seconds(time)};
  // The steps by which zones set the clock back.
  for (const seconds step : {seconds(minutes(30)), seconds(hours(1)), seconds(hours(2))}) {
    for (const seconds other : {seconds(time) - step, seconds(time) + step}) {
      const std::time_t candidate = other.count();
      std::tm shown{};
      ::localtime_r(&candidate, &shown);
      if (shown.tm_mday != moment.tm_mday || shown.tm_hour != moment.tm_hour ||
          shown.tm_min != moment.tm_min) {
        continue;
      }
      found.first = std::min<milliseconds>(found.first, other);
      found.second = std::max<milliseconds>(found.second, other);
    }
  }
  return found;
}

std::tm local_day(milliseconds now, int days_later) {
  const auto time = static_cast<std::time_t>(std::chrono::floor<seconds>(now).count());
  std::tm day{};
  ::localtime_r(&time, &day);
  day.tm_mday += days_later;
  day.tm_hour = day.tm_min = day.tm_sec = 0;
  return day;
}

enum class Tense { past, future };

/// What a text means, relative to `now`.
class Reading {
 public:
  Reading(milliseconds now, Tense tense) : now_(now), tense_(tense) {}

  std::optional<milliseconds> day_and_time(std::string_view text) {
    std::tm moment{};
    if (!read(text.substr(0, kDay->shape.size()), kDay, moment)) return std::nullopt;
    const int year = moment.tm_year + 1900;
    if (year < 1970 || !is_day_of(moment, year)) return std::nullopt;
    text.remove_prefix(kDay->shape.size());
    if (text.empty()) return first_of(local(moment));
    const std::size_t end = std::min(text.find_first_not_of("0123456789:", 1), text.size());
    if (!read_time_after_day(text.substr(0, end), moment)) return std::nullopt;
    if (end == text.size()) return first_of(local(moment));
    const auto offset = read_zone(text.substr(end));
    if (!offset) return std::nullopt;
    return seconds(::timegm(&moment)) - *offset;
  }

  /// Without the year.
  std::optional<milliseconds> day_of_year(std::string_view text) {
    std::tm moment{};
    if (!read(text.substr(0, kDayOfYear->shape.size()), kDayOfYear, moment)) return std::nullopt;
    text.remove_prefix(kDayOfYear->shape.size());
    if (!text.empty() && !read_time_after_day(text, moment)) return std::nullopt;
    const int this_year = local_day(now_, 0).tm_year + 1900;
    const int step = tense_ == Tense::past ? -1 : 1;
    for (int years = 0; years <= 8; ++years) {  // 29 February may be eight years away
      const int year = this_year + step * years;
      if (!is_day_of(moment, year)) continue;
      moment.tm_year = year - 1900;
      if (const auto found = nearest_of(local(moment))) return found;
    }
    return std::nullopt;
  }

  std::optional<milliseconds> time_of_day(std::string_view text) {
    std::tm moment = local_day(now_, 0);
    if (!read(text, kTime, moment)) return std::nullopt;
    if (const auto today = nearest_of(local(moment))) return today;
    moment.tm_mday += tense_ == Tense::past ? -1 : 1;
    return nearest_of(local(moment));
  }

  [[nodiscard]] Repeated repeated() const { return repeated_; }

 private:
  void note(const Local& found) {
    repeated_ = found.first == found.second ? Repeated::no : Repeated::yes;
  }

  std::optional<milliseconds> first_of(const std::optional<Local>& found) {
    if (!found) return std::nullopt;
    note(*found);
    return found->first;
  }

  /// The last one in the past, or the first one in the future, if there is such a one.
  std::optional<milliseconds> nearest_of(const std::optional<Local>& found) {
    if (!found) return std::nullopt;
    note(*found);
    if (tense_ == Tense::future) {
      if (found->first > now_) return found->first;
      return found->second > now_ ? std::optional(found->second) : std::nullopt;
    }
    if (found->second <= now_) return found->second;
    return found->first <= now_ ? std::optional(found->first) : std::nullopt;
  }

  milliseconds now_;
  Tense tense_;
  Repeated repeated_ = Repeated::no;
};

/// This is how --json shows it. Fewer digits may be a mistaken year or time.
std::optional<milliseconds> parse_unix_time(std::string_view text) {
  if (text.size() < 12 || text.size() > 14 || !std::ranges::all_of(text, is_digit)) {
    return std::nullopt;
  }
  return milliseconds(std::stoll(std::string(text)));
}

std::optional<milliseconds> beginning_of(const std::tm& day) {
  const auto found = local(day);
  return found ? std::optional(found->first) : std::nullopt;
}

std::optional<milliseconds> parse_time(std::string_view text, milliseconds now, Tense tense,
                                       Repeated* repeated) {
  if (const auto time = parse_unix_time(text)) return time;
  Reading reading(now, tense);
  auto moment = reading.day_and_time(text);
  if (!moment) moment = reading.day_of_year(text);
  if (!moment) moment = reading.time_of_day(text);
  if (repeated != nullptr) *repeated = reading.repeated();
  return moment;
}

/// A number without a unit may be a mistaken year or time.
std::optional<milliseconds> parse_distance(std::string_view text) {
  const char unit = text.empty() ? '0' : text.back();
  const auto distance = is_digit(unit) || unit == '.' ? std::nullopt : parse_duration(text);
  if (!distance) return std::nullopt;
  return std::chrono::ceil<milliseconds>(*distance);
}

void warn_if(Repeated repeated, std::string_view value, milliseconds moment,
             std::vector<std::string>& warnings) {
  if (repeated == Repeated::no) return;
  warnings.push_back("the clock shows " + quote(value) + " twice; redlock takes " +
                     local_time(moment));
}

}  // namespace

std::optional<milliseconds> parse_moment(std::string_view text, milliseconds now,
                                         Repeated* repeated) {
  if (repeated != nullptr) *repeated = Repeated::no;
  if (text == "now") return now;
  if (text == "today" || text == "yesterday") {
    return beginning_of(local_day(now, text == "today" ? 0 : -1));
  }
  if (const auto age = parse_distance(text)) {
    return *age <= now ? std::optional(now - *age) : std::nullopt;
  }
  return parse_time(text, now, Tense::past, repeated);
}

std::optional<milliseconds> parse_future_moment(std::string_view text, milliseconds now,
                                                Repeated* repeated) {
  if (repeated != nullptr) *repeated = Repeated::no;
  if (text == "tomorrow") return beginning_of(local_day(now, 1));
  if (const auto distance = parse_distance(text)) return now + *distance;
  return parse_time(text, now, Tense::future, repeated);
}

std::string local_time(milliseconds moment) {
  const auto time = static_cast<std::time_t>(std::chrono::floor<seconds>(moment).count());
  std::tm parts{};
  ::localtime_r(&time, &parts);
  std::array<char, 40> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S %z", &parts);
  return {text.data(), size};
}

milliseconds to_future_moment(std::string_view value, nanoseconds most,
                              std::vector<std::string>& warnings) {
  const milliseconds now = os::unix_now();
  Repeated repeated = Repeated::no;
  const auto parsed = parse_future_moment(value, now, &repeated);
  if (parsed && *parsed >= now + seconds(1) && *parsed <= now + in_milliseconds(most)) {
    warn_if(repeated, value, *parsed, warnings);
    return *parsed;
  }
  refuse("a time in the future, at most " +
             std::to_string(std::chrono::floor<std::chrono::days>(most).count()) +
             " days ahead (2h, 3d, 02:30, tomorrow, 2026-11-20, 2026-11-20T02:30)",
         value);
}

milliseconds to_moment(std::string_view value, std::vector<std::string>& warnings) {
  const milliseconds now = os::unix_now();
  Repeated repeated = Repeated::no;
  const auto parsed = parse_moment(value, now, &repeated);
  if (parsed && *parsed <= now) {
    warn_if(repeated, value, *parsed, warnings);
    return *parsed;
  }
  refuse("a time in the past (2h, 3d, 02:30, yesterday, 2026-11-20, 2026-11-20T02:30)", value);
}

}  // namespace redlock::config
