// SPDX-License-Identifier: MIT
#include "inspect/timeline.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

namespace redlock::inspect {

namespace {

using std::chrono::milliseconds;

std::tm local(milliseconds time) {
  return fmt::localtime(std::time_t{std::chrono::floor<std::chrono::seconds>(time).count()});
}

}  // namespace

Timeline::Timeline(milliseconds begin, milliseconds end, std::size_t width, diag::Charset charset)
    : begin_(begin),
      length_(std::max(end - begin, milliseconds(1))),
      width_(std::max<std::size_t>(width, 1)),
      charset_(charset) {}

std::size_t Timeline::half_cell(milliseconds time) const {
  const double part =
      static_cast<double>((time - begin_).count()) / static_cast<double>(length_.count());
  const double place = part * 2 * static_cast<double>(width_);
  return static_cast<std::size_t>(std::clamp(place, 0.0, static_cast<double>(2 * width_ - 1)));
}

std::string Timeline::head() const {
  const std::tm from = local(begin_);
  const std::tm to = local(begin_ + length_);
  const bool one_day = from.tm_year == to.tm_year && from.tm_yday == to.tm_yday;
  const bool seconds = length_ < std::chrono::minutes(2) && width_ >= 17;
  const auto text = [&](const std::tm& time) {
    if (!one_day) return fmt::format("{:%m-%d}", time);
    return seconds ? fmt::format("{:%H:%M:%S}", time) : fmt::format("{:%H:%M}", time);
  };
  const std::string left = text(from);
  const std::string right = one_day && text(to) == left ? "" : text(to);
  if (left.size() + right.size() + 1 > width_) return std::string(width_, ' ');
  return left + std::string(width_ - left.size() - right.size(), ' ') + right;
}

std::string Timeline::bar(milliseconds from, milliseconds to) const {
  const std::size_t first = half_cell(from);
  const std::size_t last = std::max(half_cell(to), first);
  std::string text;
  for (std::size_t cell = 0; cell < width_; ++cell) {
    const bool left = first <= 2 * cell && 2 * cell <= last;
    const bool right = first <= 2 * cell + 1 && 2 * cell + 1 <= last;
    if (!left && !right) {
      text += ' ';
    } else if (charset_ == diag::Charset::ascii) {
      text += '#';
    } else {
      text += left && right ? "█" : left ? "▌" : "▐";
    }
  }
  return text;
}

std::string Timeline::mark(milliseconds at, char character) const {
  std::string text(width_, ' ');
  text[half_cell(at) / 2] = character;
  return text;
}

}  // namespace redlock::inspect
