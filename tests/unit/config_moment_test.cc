// SPDX-License-Identifier: MIT
#include "config/value.h"

#include "doctest.h"

#include <cstdlib>
#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "each_of.h"

namespace redlock::config {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

/// The zone of a test, an hour east in winter and two in summer.
class Zone {
 public:
  explicit Zone(const char* zone = "CET-1CEST,M3.5.0,M10.5.0/3") { set(zone); }
  ~Zone() { set("UTC0"); }
  Zone(const Zone&) = delete;
  Zone& operator=(const Zone&) = delete;

 private:
  static void set(const char* zone) {
    ::setenv("TZ", zone, 1);
    ::tzset();
  }
};

// 2026-11-20 12:00:00 there
constexpr milliseconds kNow = 1'795'172'400s;

std::optional<milliseconds> in(Tense tense, std::string_view text, milliseconds now,
                               bool* repeated) {
  const auto moment = parse_moment(text, now, tense);
  if (repeated != nullptr) *repeated = moment && moment->repeated;
  return moment ? std::optional(moment->at) : std::nullopt;
}
std::optional<milliseconds> past(std::string_view text, milliseconds now,
                                 bool* repeated = nullptr) {
  return in(Tense::past, text, now, repeated);
}
std::optional<milliseconds> future(std::string_view text, milliseconds now) {
  return in(Tense::future, text, now, nullptr);
}

TEST_CASE("moments: a time ago, and times alone") {
  const Zone zone;
  CHECK(past("2h", kNow) == kNow - 2h);
  CHECK(past("90s", kNow) == kNow - 90s);
  CHECK(past("500ms", kNow) == kNow - 500ms);
  CHECK(past("3d", kNow) == kNow - 72h);
  CHECK(past("1.5d", kNow) == kNow - 36h);
  CHECK(past("2w", kNow) == kNow - 336h);
  CHECK(past("0.1ms", kNow) == kNow - 1ms);
  CHECK(past("now", kNow) == kNow);
  CHECK(past("2:30", kNow) == kNow - 9h - 30min);
  CHECK(past("12:00", kNow) == kNow);
  CHECK(past("12:00:01", kNow) == kNow - 24h + 1s);
}

TEST_CASE("moments: dates and times, of this zone unless another one is named") {
  const Zone zone;
  CHECK(past("2026-11-20", kNow) == kNow - 12h);
  CHECK(past("2026-11-20T12:00", kNow) == kNow);
  CHECK(past("2026-11-20 12:00:07", kNow) == kNow + 7s);
  CHECK(past("2026-11-20T11:00Z", kNow) == kNow);
  CHECK(past("2026-11-20T11:00:00+00:00", kNow) == kNow);
  CHECK(past("2026-11-20T07:30-0330", kNow) == kNow);
  CHECK(past("2026-07-01T12:00", kNow) == past("2026-07-01T10:00Z", kNow));
  CHECK(past("2024-02-29", kNow));
}

TEST_CASE("moments: each time that redlock prints") {
  const Zone zone;
  CHECK(past("2026-10-25 02:30:00 +0200", kNow) == past("2026-10-25T00:30Z", kNow));
  CHECK(past("2026-10-25 02:30:00 +0100", kNow) == past("2026-10-25T01:30Z", kNow));
  CHECK(past("2026-11-20 11:00:00 UTC", kNow) == kNow);
  CHECK(past("11-20 12:00", kNow) == kNow);
  CHECK(past("11-20 12:01", kNow) == past("2025-11-20T12:01", kNow));
  CHECK(past("11-19", kNow) == kNow - 36h);
  CHECK(past("02-29", kNow) == past("2024-02-29", kNow));
  CHECK(future("11-20 12:01", kNow) == kNow + 1min);
  CHECK(future("11-20 12:00", kNow) == past("2027-11-20T12:00", kNow));
  CHECK(past("1795172400000", kNow) == kNow);
  CHECK(past("2026-11-20T11:00:00.000Z", kNow) == kNow);
  CHECK(past("2026-11-20T10:59:59.999Z", kNow) == kNow - 1ms);
}

TEST_CASE("moments: an hour that comes twice") {
  const Zone zone;
  const milliseconds first = *past("2026-10-25T00:30Z", kNow);
  bool repeated = false;
  CHECK(past("2026-10-25 02:30", kNow, &repeated) == first);
  CHECK(repeated);
  CHECK(format_moment(first) == "2026-10-25 02:30:00 +0200");
  CHECK(format_moment(first + 1h) == "2026-10-25 02:30:00 +0100");
  // Of a time alone, the most recent one or the next one.
  CHECK(past("02:30", first + 20min) == first);
  CHECK(past("02:30", first + 80min, &repeated) == first + 1h);
  CHECK(repeated);
  CHECK(past("02:30", first + 20h) == first + 1h);
  CHECK(future("02:30", first - 1min) == first);
  CHECK(future("02:30", first + 1min) == first + 1h);
  for (const char* text :
       {"2026-10-25 02:30 +0200", "2026-10-25 01:30", "2026-10-25 03:00", "2h"}) {
    CAPTURE(text);
    CHECK(past(text, kNow, &repeated));
    CHECK_FALSE(repeated);
  }
}

TEST_CASE("moments: a day by its name begins with the first of two midnights, without a warning") {
  const Zone zone("CST5CDT,M3.2.0/0,M11.1.0/1");  // Cuba
  const milliseconds first = *past("2026-11-01T04:00Z", kNow);
  bool repeated = false;
  CHECK(past("2026-11-01", kNow, &repeated) == first);
  CHECK(past("11-01 00:00", kNow, &repeated) == first + 1h);
  CHECK(repeated);
  for (const auto& each : {std::pair{"today", 12h}, {"yesterday", 36h}, {"tomorrow", -12h}}) {
    CAPTURE(each.first);
    const auto& [day, now] = each;
    const Tense tense = now < 0h ? Tense::future : Tense::past;
    CHECK(in(tense, day, first + now, &repeated) == first);
    CHECK_FALSE(repeated);
  }
}

/// Of the moments in `from` … `to`, in steps of half an hour, the first one that fits. kNow is a
/// full half hour.
std::optional<milliseconds> found(milliseconds from, milliseconds to,
                                  const std::function<bool(const std::tm& local)>& fits) {
  for (milliseconds at = from; from <= to ? at <= to : at >= to;
       at += from <= to ? 30min : -30min) {
    if (fits(local_time(at))) return at;
  }
  return std::nullopt;
}

TEST_CASE("moments: on each day of two years, days by their names and times alone") {
  const Zone zone;
  for (int day = 0; day < 731; ++day) {
    for (const milliseconds of_day : {12h + 30min, 24h + 0min, 26h + 30min, 35h + 30min}) {
      const milliseconds now = kNow + day * 24h - 12h + of_day;
      CAPTURE(format_moment(now));
      const auto begins = [](const std::tm& local) {
        return local.tm_hour == 0 && local.tm_min == 0;
      };
      const milliseconds midnight = *found(now, now - 26h, begins);
      CHECK(past("today", now) == midnight);
      CHECK(past("yesterday", now) == found(midnight - 30min, now - 50h, begins));
      CHECK(future("tomorrow", now) == found(midnight + 30min, now + 50h, begins));
      for (const auto& each :
           {std::pair{"00:00", 0}, std::pair{"02:30", 2}, std::pair{"23:00", 23}}) {
        const char* const text = each.first;
        const int hour = each.second;
        CAPTURE(text);
        const int minute = text[3] == '3' ? 30 : 0;
        const auto shows = [&](const std::tm& local) {
          return local.tm_hour == hour && local.tm_min == minute;
        };
        // Of this day or the one beside it, unless the clock skips that time on one of them.
        const auto last = found(now, now - 50h, shows);
        const auto next = found(now + 30min, now + 50h, shows);
        const bool skipped = !found(midnight, midnight + 22h + 30min, shows) && hour == 2;
        if (last && !skipped && now - *last < 25h) CHECK(past(text, now) == last);
        if (next && !skipped && *next - now < 25h) CHECK(future(text, now) == next);
      }
    }
  }
}

TEST_CASE("moments: invalid ones") {
  const Zone zone;
  for (const char* text : tests::each_of(
           "", " ", "90", "1.5", "2026", "d", "h", "-2h", "2h ", "1e3s", "tomorrow", "2026-11",
           "2026-13-01", "2026-02-29", "2026-11-31", "2026-00-10", "1969-12-31", "2026-11-20T",
           "24:00", "12:60", "12:00:60", "1:0", ":00", "12", "2026-11-20T12", "2026-11-20T12:00X",
           "2026-11-20 12:00  +0100", "2026-11-20 12:00 ", "2026-11-20 +0100", "13-01", "02-30",
           "11-20 +0100", "11-20x12:00", "17951724000", "1795172400000x", "2026-11-20T12:00:00.5Z",
           "2026-11-20T12:00:00.000", "2026-02-30T12:00:00.000Z", "99999999999999999999",
           "2026-11-20T12:00+1", "2026-11-20T12:00+15:00", "2026-11-20T12:00Zx", "2026-11-20x12:00",
           "99999999999w", "2969w", "600w w", "10000w", "nanh", "2026-11-20T12:00:")) {
    CAPTURE(text);
    CHECK_FALSE(past(text, kNow));
  }
}

TEST_CASE("moments in the future") {
  const Zone zone;
  CHECK(future("2h", kNow) == kNow + 2h);
  CHECK(future("3d", kNow) == kNow + 72h);
  CHECK(future("0.1ms", kNow) == kNow + 1ms);
  CHECK(future("1w", kNow) == kNow + 168h);
  CHECK(future("12:00:01", kNow) == kNow + 1s);
  CHECK(future("12:00", kNow) == kNow + 24h);
  CHECK(future("2:30", kNow) == kNow + 14h + 30min);
  CHECK(future("2026-11-21T12:00", kNow) == kNow + 24h);
  CHECK(future("2026-11-20T12:00Z", kNow) == kNow + 1h);
  for (const char* text : {"", "90", "now", "today", "yesterday", "-2h", "24:00", "soon"}) {
    CAPTURE(text);
    CHECK_FALSE(future(text, kNow));
  }
}

}  // namespace
}  // namespace redlock::config
