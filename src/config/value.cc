// SPDX-License-Identifier: MIT
#include "config/value.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>

#include "config/moment.h"
#include "config/quote.h"
#include "error.h"
#include "os/clock.h"
#include "os/signals.h"

namespace redlock::config {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using namespace std::chrono_literals;

namespace {

// Durations are whole numbers throughout. In floating point, `0.3` would be a nanosecond off, and
// this file would have to refuse nan, inf and hexadecimal by hand.

constexpr std::uint64_t kLongest =
    static_cast<std::uint64_t>(nanoseconds{kLongestDuration}.count());

struct Unit {
  std::string_view name;
  std::uint64_t in_nanoseconds;
};
constexpr std::uint64_t kSecond = 1'000'000'000;
/// The largest first.
constexpr Unit kUnits[] = {{"w", 7 * 24 * 3600 * kSecond},
                           {"d", 24 * 3600 * kSecond},
                           {"h", 3600 * kSecond},
                           {"m", 60 * kSecond},
                           {"s", kSecond},
                           {"ms", 1'000'000}};

/// Removes the leading digits from `text`, and returns them.
std::string_view take_digits(std::string_view& text) {
  std::size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

std::optional<std::uint64_t> whole_part(std::string_view digits, std::uint64_t unit) {
  std::uint64_t value = 0;
  for (const char digit : digits) {
    value = value * 10 + static_cast<std::uint64_t>(digit - '0');
    if (value > kLongest / unit) return std::nullopt;
  }
  return value * unit;
}

/// Each digit is worth a tenth of the digit before it. A division loses less than a nanosecond. If
/// any division loses something, one extra nanosecond compensates.
std::uint64_t fraction(std::string_view digits, std::uint64_t unit) {
  std::uint64_t value = 0;
  bool lost = false;
  for (const char digit : digits) {
    lost = lost || (digit != '0' && (unit == 0 || unit % 10 != 0));
    unit /= 10;
    value += static_cast<std::uint64_t>(digit - '0') * unit;
  }
  return value + (lost ? 1 : 0);
}

std::string_view take_unit(std::string_view& text) {
  std::size_t count = 0;
  while (count < text.size() && text[count] >= 'a' && text[count] <= 'z') ++count;
  const std::string_view unit = text.substr(0, count);
  text.remove_prefix(count);
  return unit;
}

/// A number and its unit, taken from the beginning of a text.
struct Part {
  std::uint64_t nanoseconds;
  const Unit* unit;  ///< null: without one, so in seconds
  bool fraction;
};

std::optional<Part> take_part(std::string_view& text) {
  const std::string_view whole = take_digits(text);
  std::string_view decimals;
  const bool point = text.starts_with('.');
  if (point) {
    text.remove_prefix(1);
    decimals = take_digits(text);
  }
  if (whole.empty() && decimals.empty()) return std::nullopt;
  const std::string_view name = take_unit(text);
  const Unit* const unit = std::ranges::find(kUnits, name, &Unit::name);
  if (unit == std::end(kUnits) && !name.empty()) return std::nullopt;
  const std::uint64_t length = name.empty() ? kSecond : unit->in_nanoseconds;
  const auto value = whole_part(whole, length);
  if (!value) return std::nullopt;
  return Part{*value + fraction(decimals, length), name.empty() ? nullptr : unit, point};
}

void warn_if(Repeated repeated, std::string_view value, milliseconds moment,
             std::vector<std::string>& warnings) {
  if (repeated == Repeated::no) return;
  warnings.push_back("the clock shows " + quote(value) + " twice; redlock takes " +
                     local_time(moment));
}

std::optional<int> whole_number(std::string_view text) {
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && stop == end ? std::optional(number) : std::nullopt;
}

}  // namespace

std::optional<nanoseconds> parse_duration(std::string_view text) {
  std::uint64_t sum = 0;
  const Unit* last = nullptr;
  do {
    const auto part = take_part(text);
    if (!part) return std::nullopt;
    const bool more = !text.empty();
    // Only the last part may have a fraction, and only a lone part may have no unit.
    if (more && (part->fraction || part->unit == nullptr)) return std::nullopt;
    if (last != nullptr && (part->unit == nullptr || part->unit <= last)) return std::nullopt;
    last = part->unit;
    sum += part->nanoseconds;
    if (sum > kLongest) return std::nullopt;
  } while (!text.empty());
  return nanoseconds{static_cast<std::int64_t>(sum)};
}

std::string format_duration(nanoseconds duration) {
  if (duration < nanoseconds::zero()) return "-" + format_duration(-duration);
  auto left = static_cast<std::uint64_t>(duration.count());
  if (left == 0) return "0s";
  const bool seconds = left % kSecond == 0;
  if (left < 60 * kSecond && !seconds && left % 1'000'000 == 0) {
    return std::to_string(left / 1'000'000) + "ms";
  }
  std::string text;
  for (const Unit& unit : kUnits) {
    if (unit.name == "w" || unit.in_nanoseconds <= kSecond) continue;
    // Up to two days, people count hours.
    if (left < (unit.name == "d" ? 2 : 1) * unit.in_nanoseconds) continue;
    text += std::to_string(left / unit.in_nanoseconds) + std::string(unit.name);
    left %= unit.in_nanoseconds;
  }
  if (left == 0) return text;
  text += std::to_string(left / kSecond);
  if (left % kSecond != 0) {
    std::string decimals = std::to_string(kSecond + left % kSecond).substr(1);
    while (decimals.ends_with('0')) decimals.pop_back();
    text += "." + decimals;
  }
  return text + "s";
}

std::vector<std::string_view> parts_of(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  std::size_t begin = text.find_first_not_of(separators);
  while (begin != std::string_view::npos) {
    const std::size_t end = text.find_first_of(separators, begin);
    parts.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(separators, end);
  }
  return parts;
}

void refuse(const std::string& expected, std::string_view value) {
  throw Error(ExitStatus::usage, "expected " + expected + ", not " + quote(value));
}

nanoseconds to_duration(std::string_view value, Bounds bounds) {
  const auto parsed = parse_duration(value);
  if (parsed && *parsed >= bounds.least && *parsed <= bounds.most) return *parsed;
  std::string range;
  if (bounds.most < kLongestDuration) {
    range = " from " + format_duration(bounds.least) + " to " + format_duration(bounds.most);
  } else if (bounds.least > 0ns) {
    range = " of at least " + format_duration(bounds.least);
  }
  refuse("a time" + range + " (90, 1.5, 500ms, 30s, 5m, 1h30m, 2d, 1w)", value);
}

milliseconds in_milliseconds(nanoseconds time) {
  return std::chrono::floor<milliseconds>(time);
}

milliseconds to_future_moment(std::string_view value, nanoseconds most,
                              std::vector<std::string>& warnings) {
  const milliseconds now = os::unix_now();
  Repeated repeated = Repeated::no;
  const auto parsed = parse_future_moment(value, now, &repeated);
  if (parsed && *parsed >= now + 1s && *parsed <= now + in_milliseconds(most)) {
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

int to_integer(std::string_view value, int least, int most) {
  const auto number = whole_number(value);
  if (number && *number >= least && *number <= most) return *number;
  refuse("a whole number from " + std::to_string(least) + " to " + std::to_string(most), value);
}

int to_signal(std::string_view value) {
  const auto number = whole_number(value);
  const std::string_view name = value.starts_with("SIG") ? value.substr(3) : value;
  for (const os::KnownSignal& signal : os::known_signals()) {
    if (number ? signal.number == *number : signal.name == name) return signal.number;
  }
  refuse("a signal (TERM, SIGTERM, 15)", value);
}

std::string to_file(std::string_view value) {
  if (value.empty()) refuse("the name of a file", value);
  return std::string(value);
}

}  // namespace redlock::config
