// SPDX-License-Identifier: MIT
#include "diag/duration.h"

#include <fmt/format.h>

#include <algorithm>

#include "os/clock.h"

namespace redlock::diag {

std::string for_people(std::chrono::nanoseconds length) {
  using namespace std::chrono;
  // A length that three digits would round up to the next unit is shown in that unit.
  constexpr nanoseconds almost_second = microseconds(999'500);
  constexpr nanoseconds almost_minute = milliseconds(59'950);
  if (length < almost_second) {
    return fmt::format("{:.3g} ms", std::max(duration<double, std::milli>(length).count(), 0.0));
  }
  if (length < almost_minute) return fmt::format("{:.3g} s", duration<double>(length).count());
  const auto whole = std::max(duration_cast<seconds>(length), seconds(60)).count();
  if (whole < 3600) return fmt::format("{}m {}s", whole / 60, whole % 60);
  return fmt::format("{}h {}m", whole / 3600, whole % 3600 / 60);
}

std::string round_for_people(std::chrono::nanoseconds length) {
  std::string text = for_people(length);
  if (text.ends_with(" 0s") || text.ends_with(" 0m")) text.resize(text.size() - 3);
  return text;
}

std::string roughly(std::chrono::nanoseconds length) {
  using namespace std::chrono;
  if (length < seconds(1)) return for_people(round<milliseconds>(length));
  if (length < minutes(1)) return for_people(round<seconds>(length));
  return round_for_people(round<minutes>(length));
}

std::optional<std::chrono::milliseconds> ago(std::chrono::milliseconds unix_time) {
  const std::chrono::milliseconds now = os::unix_now();
  if (unix_time.count() <= 0 || unix_time >= now) return std::nullopt;
  return now - unix_time;
}

}  // namespace redlock::diag
