// SPDX-License-Identifier: MIT
//
// Whole numbers throughout. In floating point, `0.3` would be a nanosecond off, and this file would
// have to refuse nan, inf and hexadecimal by hand.
#include "config/duration.h"

#include <cstdint>

#include "config/digits.h"

namespace redlock::config {
namespace {

using std::chrono::nanoseconds;

constexpr std::uint64_t kLongest =
    static_cast<std::uint64_t>(nanoseconds{kLongestDuration}.count());

struct Unit {
  std::string_view name;
  std::uint64_t in_nanoseconds;
};
constexpr Unit kUnits[] = {
    {"", 1'000'000'000},
    {"s", 1'000'000'000},
    {"ms", 1'000'000},
    {"m", 60 * std::uint64_t{1'000'000'000}},
    {"h", 3600 * std::uint64_t{1'000'000'000}},
};

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

}  // namespace

std::optional<nanoseconds> parse_duration(std::string_view text) {
  const std::string_view whole = take_digits(text);
  std::string_view decimals;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    decimals = take_digits(text);
  }
  if (whole.empty() && decimals.empty()) return std::nullopt;
  for (const Unit& unit : kUnits) {
    if (text != unit.name) continue;
    const auto value = whole_part(whole, unit.in_nanoseconds);
    if (!value) return std::nullopt;
    const std::uint64_t sum = *value + fraction(decimals, unit.in_nanoseconds);
    if (sum > kLongest) return std::nullopt;
    return nanoseconds{static_cast<std::int64_t>(sum)};
  }
  return std::nullopt;
}

std::optional<std::chrono::milliseconds> parse_long_duration(std::string_view text) {
  const char unit = text.empty() ? '0' : text.back();
  const int hours = unit == 'd' ? 24 : unit == 'w' ? 7 * 24 : 0;
  const std::string plain =
      hours == 0 ? std::string(text) : std::string(text.substr(0, text.size() - 1)) + "h";
  const auto duration = parse_duration(plain);
  if (!duration) return std::nullopt;
  return std::chrono::ceil<std::chrono::milliseconds>(*duration) * (hours == 0 ? 1 : hours);
}

std::string format_duration(nanoseconds duration) {
  if (duration < nanoseconds::zero()) return "-" + format_duration(-duration);
  const auto count = static_cast<std::uint64_t>(duration.count());
  if (count == 0) return "0s";
  for (const std::string_view name : {"h", "m", "s", "ms"}) {
    for (const Unit& unit : kUnits) {
      if (unit.name != name || count % unit.in_nanoseconds != 0) continue;
      return std::to_string(count / unit.in_nanoseconds) + std::string(name);
    }
  }
  constexpr std::uint64_t second = 1'000'000'000;
  std::string decimals = std::to_string(second + count % second).substr(1);
  while (decimals.ends_with('0')) decimals.pop_back();
  return std::to_string(count / second) + "." + decimals + "s";
}

}  // namespace redlock::config
