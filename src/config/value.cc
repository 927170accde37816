// SPDX-License-Identifier: MIT
#include "config/value.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "error.h"
#include "os/printable.h"
#include "os/signals.h"

namespace redlock::config {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

namespace {

// Durations are whole numbers throughout. In floating point, `0.3` would be a nanosecond off, and
// this file would have to reject nan, inf and hexadecimal by hand.

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

/// Longer names, also in the plural: `5min`, `2hours`.
constexpr std::pair<std::string_view, std::string_view> kLongNames[] = {
    {"week", "w"}, {"day", "d"},    {"hour", "h"}, {"hr", "h"},   {"minute", "m"},
    {"min", "m"},  {"second", "s"}, {"sec", "s"},  {"msec", "ms"}};

/// Null if there is no such unit.
const Unit* unit_of(std::string_view name) {
  for (const auto& [longer, shorter] : kLongNames) {
    if (name == longer || (name.ends_with('s') && name.substr(0, name.size() - 1) == longer)) {
      name = shorter;
    }
  }
  const Unit* const unit = std::ranges::find(kUnits, name, &Unit::name);
  return unit == std::end(kUnits) ? nullptr : unit;
}

/// Removes the leading characters of `text` that are in `set`, and returns them.
std::string_view take(std::string_view& text, std::string_view set) {
  const std::string_view taken = text.substr(0, text.find_first_not_of(set));
  text.remove_prefix(taken.size());
  return taken;
}

/// Returns nothing for more than kLongest. Each decimal is worth a tenth of the digit before it. A
/// division loses less than a nanosecond. If any division loses something, one extra nanosecond
/// compensates.
std::optional<std::uint64_t> nanoseconds_of(std::string_view whole, std::string_view decimals,
                                            std::uint64_t unit) {
  std::uint64_t value = 0;
  for (const char digit : whole) {
    value = value * 10 + static_cast<std::uint64_t>(digit - '0');
    if (value > kLongest / unit) return std::nullopt;
  }
  value *= unit;
  bool lost = false;
  for (const char digit : decimals) {
    lost = lost || (digit != '0' && (unit == 0 || unit % 10 != 0));
    unit /= 10;
    value += static_cast<std::uint64_t>(digit - '0') * unit;
  }
  return value + (lost ? 1 : 0);
}

/// A number and its unit, taken from the beginning of a text.
struct Part {
  std::uint64_t nanoseconds;
  const Unit* unit;  ///< null if the text has no unit, so the number is in seconds
  bool fraction;
};

std::optional<Part> take_part(std::string_view& text) {
  constexpr std::string_view kDigits = "0123456789";
  const std::string_view whole = take(text, kDigits);
  const bool point = text.starts_with('.');
  if (point) text.remove_prefix(1);
  const std::string_view decimals = point ? take(text, kDigits) : "";
  if (whole.empty() && decimals.empty()) return std::nullopt;
  const std::string_view name = take(text, "abcdefghijklmnopqrstuvwxyz");
  const Unit* const unit = unit_of(name);
  if (unit == nullptr && !name.empty()) return std::nullopt;
  const auto length =
      nanoseconds_of(whole, decimals, unit == nullptr ? kSecond : unit->in_nanoseconds);
  if (!length) return std::nullopt;
  return Part{*length, unit, point};
}

constexpr std::size_t kLongestShown = 80;

/// Only the parser knows where a URI has its password, and it may have rejected this text.
std::string without_uri(std::string_view text) {
  const std::size_t scheme = text.find("://");
  if (scheme == std::string_view::npos) return std::string(text);
  return std::string(text.substr(0, scheme + 3)) + "***";
}

std::string escaped(std::string_view character) {
  constexpr std::string_view hex = "0123456789abcdef";
  if (character == "\n") return "\\n";
  if (character == "\t") return "\\t";
  if (os::is_printable(character)) return std::string(character);
  std::string out;
  for (const char c : character) {
    const auto byte = static_cast<unsigned char>(c);
    out.append("\\x").append({hex[byte >> 4U], hex[byte & 15U]});
  }
  return out;
}

/// Levenshtein's edit distance, where two swapped neighbours also count as one mistake.
std::size_t distance(std::string_view one, std::string_view other) {
  std::vector<std::size_t> before;  // the last row but one
  std::vector<std::size_t> last(other.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 0; i < one.size(); ++i) {
    std::vector<std::size_t> row(last.size(), i + 1);
    for (std::size_t j = 0; j < other.size(); ++j) {
      const std::size_t replaced = last[j] + (one[i] == other[j] ? 0 : 1);
      row[j + 1] = std::min({replaced, row[j] + 1, last[j + 1] + 1});
      const bool swapped = i > 0 && j > 0 && one[i] == other[j - 1] && one[i - 1] == other[j];
      if (swapped) row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
    }
    before = std::move(last);
    last = std::move(row);
  }
  return last.back();
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

void reject(const std::string& expected, std::string_view value) {
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
  reject("a time" + range + " (90, 1.5, 500ms, 30s, 5m, 1h30m, 2d, 1w)", value);
}

int to_integer(std::string_view value, int least, int most) {
  const auto number = os::whole_number<int>(value);
  if (number && *number >= least && *number <= most) return *number;
  reject("a whole number from " + std::to_string(least) + " to " + std::to_string(most), value);
}

int to_signal(std::string_view value) {
  const auto number = os::whole_number<int>(value);
  const std::string_view name = value.starts_with("SIG") ? value.substr(3) : value;
  for (const os::KnownSignal& signal : os::known_signals()) {
    if (number ? signal.number == *number : signal.name == name) return signal.number;
  }
  reject("a signal (TERM, SIGTERM, 15)", value);
}

std::vector<redis::Endpoint> to_servers(std::string_view value, std::size_t before) {
  const std::vector<std::string_view> uris = parts_of(value, kBlanks);
  if (uris.empty()) reject("a URI such as redis://host:6379", value);
  if (value.front() == '"' || value.front() == '\'') {
    throw Error(ExitStatus::usage,
                "the value begins with a quotation mark; remove it, and the one at the end "
                "(docker's --env-file keeps them)");
  }
  // Without a scheme in the whole value, a word is no part of a password with blanks.
  const std::string meant = value.find("://") == value.npos ? redis::with_scheme(uris.front()) : "";
  if (!meant.empty()) {
    throw Error(ExitStatus::usage,
                '"' + std::string(uris.front()) + "\" is not a server's URI; write " + meant);
  }
  const auto parse = [&](std::size_t index) {
    try {
      return redis::parse_uri(uris[index]);
    } catch (const Error& error) {
      // The message may not repeat the URI, so it says the URI's number.
      const std::size_t number = before + index + 1;
      if (number == 1 && uris.size() == 1) throw;
      throw Error(error.status(), "server " + std::to_string(number) + ": " + error.what());
    }
  };
  // A blank in a password cuts its URI in two. A message about the first half might show it, so
  // redlock rejects the second half first.
  const auto without_scheme = std::ranges::find_if(
      uris, [](std::string_view uri) { return uri.find("://") == std::string_view::npos; });
  if (without_scheme != uris.end()) {
    parse(static_cast<std::size_t>(without_scheme - uris.begin()));
  }
  std::vector<redis::Endpoint> servers;
  for (std::size_t index = 0; index < uris.size(); ++index) servers.push_back(parse(index));
  return servers;
}

std::string quote(std::string_view text) {
  std::string shown = without_uri(text);
  std::string_view rest;
  if (shown.size() > kLongestShown) {
    shown.resize(os::clip(shown, kLongestShown).size());
    rest = "...";
  }
  std::string out = "'";
  for (std::string_view left = shown; !left.empty();) out += escaped(os::take_first(left));
  return out.append(rest).append("'");
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t limit = 3;  // the next one must be nearer than that
  for (const std::string& candidate : candidates) {
    const bool abbreviated = word.size() > 1 && candidate.starts_with(word);
    if (word.size() > candidate.size() + limit) continue;  // distance() would take seconds
    const std::size_t measured = abbreviated ? 0 : distance(word, candidate);
    if (measured >= limit || measured * 2 >= std::max(word.size(), candidate.size())) continue;
    best = candidate;
    limit = measured;
  }
  return best;
}

}  // namespace redlock::config
