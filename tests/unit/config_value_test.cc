// SPDX-License-Identifier: MIT
#include "config/value.h"

#include "doctest.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "config/table.h"
#include "contains.h"
#include "each_of.h"
#include "error.h"
#include "os/signals.h"

namespace redlock::config {
namespace {

using namespace std::chrono_literals;
using tests::contains;

TEST_CASE("durations: what people write") {
  struct Case {
    const char* text;
    std::chrono::nanoseconds value;
  };
  for (const Case& c : {Case{"90", 90s},
                        {"1.5", 1500ms},
                        {".007", 7ms},
                        {"5.", 5s},
                        {"0", 0s},
                        {"0.0", 0s},
                        {"500ms", 500ms},
                        {"30s", 30s},
                        {"5m", 5min},
                        {"2h", 2h},
                        {"0.3", 300ms},
                        {"1.5h", 90min},
                        {"0.5ms", 500us},
                        {"1d", 24h},
                        {"1w", 168h},
                        {"1.5d", 36h},
                        {"1h30m", 90min},
                        {"5min", 5min},
                        {"5sec", 5s},
                        {"2hours", 2h},
                        {"1day12hrs", 36h},
                        {"1hour30mins", 90min},
                        {"3weeks", 504h},
                        {"20msecs", 20ms},
                        {"2d12h", 60h},
                        {"1w2d3h4m5s6ms", 219h + 4min + 5s + 6ms},
                        {"1m1.5s", 61500ms},
                        {"007", 7s},
                        {"1.123456789", 1'123'456'789ns},
                        {"876000h", kLongestDuration}}) {
    CAPTURE(c.text);
    REQUIRE(parse_duration(c.text).has_value());
    CHECK(parse_duration(c.text)->count() == c.value.count());
  }
}

TEST_CASE("durations: a positive time is never rounded to zero, which means not to wait") {
  CHECK(parse_duration("0.0000000000001") == 1ns);
  CHECK(parse_duration("0.0000001ms") == 1ns);
  CHECK(parse_duration("0.00000000000000000000000000000000000000000") == 0ns);
}

TEST_CASE("durations: all else is refused") {
  for (const char* text :
       tests::each_of("", ".", "s", "ms", "-5", "-0", "+5", "nan", "inf", "NaN", "1e3", "0x10",
                      "1,5", " 5", "5 ", "5 s", "5S", "5se", "5minss", "30min1hour", "5mss", "1h30",
                      "30m1h", "1h1h", "1.5h30m", "1h.", "1h 30m", "1hm", "1y", "5215w", "1.2.3",
                      "5us", "5ms1", "876000.1h", "99999999999999999999", "9223372036854775807",
                      "18446744073709551616", "\xD9\xA5", "5\n")) {
    CAPTURE(text);
    CHECK_FALSE(parse_duration(text).has_value());
  }
  CHECK_FALSE(parse_duration(std::string_view("5\0", 2)).has_value());
}

TEST_CASE("durations: printed as they are read") {
  for (const char* text : {"500ms", "1500ms", "30s", "1m30s", "5m", "2h", "1h30m", "30d", "24h",
                           "2d2h3m4.005s", "0s", "0.0000005s"}) {
    CHECK(format_duration(parse_duration(text).value()) == text);
  }
  CHECK(format_duration(-5s) == "-5s");
  CHECK(format_duration(120s) == "2m");
  CHECK(format_duration(90min) == "1h30m");
  CHECK(format_duration(168h) == "7d");
}

TEST_CASE(
    "durations: the least and the most of each setting, and what is said of one beyond them") {
  const std::string longest = "876000h";  // a hundred years
  const std::map<std::string_view, std::pair<std::string, std::string>> bounds = {
      {"ttl", {"1s", "24h"}},
      {"renew-ttl", {"1s", "24h"}},
      {"for", {"1s", "30d"}},
      {"min-hold", {"0s", "30d"}},
      {"once", {"1s", "30d"}},
      {"hold-on-failure", {"1s", "30d"}},
      {"restart-grace", {"0s", "2d"}},
      {"interval", {"100ms", "24h"}},
      {"server-timeout", {"1ms", longest}}};
  for (const Row& row : table()) {
    if (row.type != Type::duration) continue;
    CAPTURE(row.name);
    const auto known = bounds.find(row.name);
    const auto [least, most] =
        known == bounds.end() ? std::pair(std::string("0s"), longest) : known->second;
    const auto said = [&row](const std::string& value) -> std::string {
      Draft draft;
      try {
        store(row, draft, value, {Origin::flag});
      } catch (const Error& error) {
        return error.what();
      }
      return "";
    };
    const auto off = [](const std::string& text, int step) {
      return format_duration(*parse_duration(text) + step * 1ns);
    };
    CHECK(said(least).empty());
    CHECK(said(most).empty());
    const std::string range = most != longest ? "a time from " + least + " to " + most + " ("
                              : least != "0s" ? "a time of at least " + least + " ("
                                              : "a time (";
    CHECK(contains(said(off(most, 1)), "expected " + range));
    if (least != "0s") CHECK(contains(said(off(least, -1)), "expected " + range));
  }
}

TEST_CASE("quote: one line, no secrets") {
  CHECK(quote("") == "''");
  CHECK(quote("a b") == "'a b'");
  CHECK(quote("a\nb\t\x1b[1m\x7f") == "'a\\nb\\t\\x1b[1m\\x7f'");
  CHECK(quote("redis://:geheim@db1:6379") == "'redis://***'");
  CHECK(quote("redis://u:ge@heim@db1") == "'redis://***'");
  CHECK(quote("redis://db1?password=geheim") == "'redis://***'");
  CHECK(quote("--sever=redis://:geheim") == "'--sever=redis://***'");
  CHECK(quote("unix:///a/b") == "'unix://***'");
  CHECK(quote("user@host") == "'user@host'");
  CHECK(quote("grüße") == "'grüße'");
  CHECK(quote(std::string(80, 'x')) == "'" + std::string(80, 'x') + "'");
  CHECK(quote(std::string(79, 'x') + "\xC3\xBC!") == "'" + std::string(79, 'x') + "...'");
}

TEST_CASE("signals: each by its number, and by its name with and without SIG") {
  std::vector<std::string> names;
  for (const os::KnownSignal& signal : os::known_signals()) {
    const std::string name(signal.name);
    names.push_back(name);
    CAPTURE(name);
    const int number = to_signal(name);
    CHECK(to_signal("SIG" + name) == number);
    CHECK(to_signal(std::to_string(number)) == number);
  }
  CHECK(to_signal("TERM") == SIGTERM);
#ifdef __GLIBC__
  for (int number = 1; number < SIGRTMIN; ++number) {
    const char* const name = ::sigabbrev_np(number);
    if (name == nullptr) continue;  // libc keeps it for itself
    CAPTURE(name);
    CHECK(to_signal(name) == number);
    CHECK(std::ranges::find(names, name) != names.end());
  }
#endif
}

TEST_CASE("signals: all else is refused") {
  for (const std::string value :
       {"", "0", "-1", "32", "33", "34", "64", "15x", "SIG", "term", "TERMS"}) {
    CAPTURE(value);
    CHECK_THROWS_AS(to_signal(value), Error);
  }
}

}  // namespace
}  // namespace redlock::config
