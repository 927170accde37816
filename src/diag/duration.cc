// SPDX-License-Identifier: MIT
#include "diag/duration.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "os/clock.h"

namespace redlock::diag {

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
