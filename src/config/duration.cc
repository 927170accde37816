// SPDX-License-Identifier: MIT
//
// Whole numbers throughout. In floating point, `0.3` would be a nanosecond off, and this file would
// have to refuse nan, inf and hexadecimal by hand.
#include "config/duration.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

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

}  // namespace redlock::config
