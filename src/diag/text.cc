// SPDX-License-Identifier: MIT
#include "diag/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "os/clock.h"
#include "records/records.h"

namespace redlock::diag {

namespace {

/// Follows the big blocks of Unicode's EastAsianWidth.txt: CJK, Hangul, full-width forms and
/// pictographs count as two; combining characters count as none.
std::size_t columns_of(std::string_view character) {
  const char32_t code = os::code_of(character);
  const bool none = (code >= 0x300 && code <= 0x36f) || (code >= 0x200b && code <= 0x200d) ||
                    (code >= 0x20d0 && code <= 0x20ff) || (code >= 0xfe00 && code <= 0xfe0f);
  if (none) return 0;
  const bool wide = (code >= 0x1100 && code <= 0x115f) || (code >= 0x2e80 && code <= 0xa4cf) ||
                    (code >= 0xac00 && code <= 0xd7a3) || (code >= 0xf900 && code <= 0xfaff) ||
                    (code >= 0xfe30 && code <= 0xfe6f) || (code >= 0xff00 && code <= 0xff60) ||
                    (code >= 0x1f300 && code <= 0x1faff) || (code >= 0x20000 && code <= 0x3fffd);
  return wide ? 2 : 1;
}

}  // namespace

std::size_t columns(std::string_view text) {
  std::size_t count = 0;
  while (!text.empty()) count += columns_of(os::take_first(text));
  return count;
}

std::string cut(std::string_view text, std::size_t width, Charset charset) {
  if (columns(text) <= width) return std::string(text);
  const std::string_view dots = charset == Charset::utf8 ? "…" : width > 3 ? "..." : "";
  if (width == 0) return {};
  std::string out;
  std::size_t used = columns(dots);
  while (!text.empty()) {
    const std::string_view character = os::take_first(text);
    used += columns_of(character);
    if (used > width) break;
    out += character;
  }
  return out.append(dots);
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  std::size_t used = 0;  // columns of the last line
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    std::string& line = lines.back();
    const std::size_t more = columns(word);
    if (line.empty()) {
      line = word;
      used = more;
    } else if (used + 1 + more <= width) {
      line.append(" ").append(word);
      used += 1 + more;
    } else {
      lines.emplace_back(word);
      used = more;
    }
  }
  return lines;
}

std::string lock_name(std::string_view name) {
  return "lock \"" + bare_name(name) + '"';
}

std::string bare_name(std::string_view name) {
  return printable(name, 255);
}

std::string command_about(std::string_view name, std::vector<std::string> words,
                          const std::vector<std::string>& where) {
  words.insert(words.end(), where.begin(), where.end());
  words.emplace_back(name);
  return printable(records::shell_like(words, kNoLimit));
}

std::string paint(std::string text, Tint tint, const Screen& screen) {
  if (!screen.colors || tint == Tint::none || text.empty()) return text;
  const std::string color = "\x1b[" + std::to_string(static_cast<int>(tint)) + "m";
  return color + text + "\x1b[m";
}

std::string for_screen(std::string text, const Screen& screen) {
  const bool ascii = screen.terminal && screen.charset == Charset::ascii;
  return ascii ? os::to_ascii(text) : std::move(text);
}

std::string label_value(std::string_view key) {
  constexpr std::size_t kMost = 255;  // no key is longer
  std::string text = "\"";
  for (const char letter : printable(key, kMost)) {
    if (letter == '"' || letter == '\\') text += '\\';
    text += letter;
  }
  return text + '"';
}

std::string for_people(std::chrono::nanoseconds length) {
  using namespace std::chrono;
  // Two digits below ten. A length that rounds up to the next unit is shown in that unit.
  const auto shown = [](double number, std::string_view unit) {
    const int digits = number < 1 ? 1 : number < 9.95 ? 2 : 3;
    // Not std::round(): nothing else here needs libm, which costs each start of the program time.
    if (digits > 2) return fmt::format("{} {}", static_cast<int>(number + 0.5), unit);
    return fmt::format("{:.{}g} {}", number, digits, unit);
  };
  if (length < microseconds(999'500)) {
    return shown(std::max(duration<double, std::milli>(length).count(), 0.0), "ms");
  }
  if (length < milliseconds(59'500)) return shown(duration<double>(length).count(), "s");
  const auto whole = std::max(duration_cast<seconds>(length), seconds(60)).count();
  if (whole < 3600) return fmt::format("{}m {}s", whole / 60, whole % 60);
  if (whole < 2 * 86400) return fmt::format("{}h {}m", whole / 3600, whole % 3600 / 60);
  return fmt::format("{}d {}h", whole / 86400, whole % 86400 / 3600);
}

std::string round_for_people(std::chrono::nanoseconds length) {
  std::string text = for_people(length);
  if (text.ends_with(" 0s") || text.ends_with(" 0m") || text.ends_with(" 0h"))
    text.resize(text.size() - 3);
  return text;
}

std::optional<std::chrono::milliseconds> ago(std::chrono::milliseconds unix_time) {
  const std::chrono::milliseconds now = os::unix_now();
  if (unix_time.count() <= 0 || unix_time >= now) return std::nullopt;
  return now - unix_time;
}

std::string without_hold(std::string_view lock) {
  return fmt::format(
      "no maintenance hold of {} follows (--hold-on-failure), so the next run may go on", lock);
}

std::string_view without_mark(lock::Mark mark) {
  switch (mark) {
    case lock::Mark::once:
      return "--once may let the job run again";
    case lock::Mark::build:
      return "--build may let an older build run";
    case lock::Mark::none:
      break;
  }
  return {};
}

std::optional<Usual> usual_of(std::span<const std::chrono::milliseconds> latest_first) {
  const auto lengths = latest_first.first(std::min<std::size_t>(latest_first.size(), 5));
  if (lengths.size() < 2) return std::nullopt;
  const auto [least, most] = std::ranges::minmax(lengths);
  return Usual{lengths.size(), least, most};
}

std::string range_of(const Usual& usual) {
  using namespace std::chrono;
  const auto roughly = [](milliseconds length) {
    if (length < seconds(1)) return for_people(length);
    if (length < minutes(1)) return for_people(round<seconds>(length));
    return round_for_people(round<minutes>(length));
  };
  const std::string least = roughly(usual.least);
  const std::string most = roughly(usual.most);
  return least == most ? "about " + least : least + " to " + most;
}

std::string describe(const Usual& usual) {
  return fmt::format("last {} runs took {}", usual.runs, range_of(usual));
}

}  // namespace redlock::diag
