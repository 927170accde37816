// SPDX-License-Identifier: MIT
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <string_view>
#include <utility>

#include "diag/blocker.h"
#include "diag/duration.h"
#include "diag/person.h"
#include "diag/text.h"
#include "inspect/grid.h"
#include "inspect/history_view.h"
#include "inspect/timeline.h"
#include "records/holder.h"

namespace redlock::inspect {

namespace {

using Ending = PastRun::Ending;
using std::chrono::milliseconds;

enum Column : std::size_t {
  when,
  name,
  held,
  outcome,
  holder,
  pid,
  waited,
  fence,
  command,
  count_
};
constexpr std::array<std::string_view, count_> kHeads = {
    "WHEN", "NAME", "HELD", "OUTCOME", "HOLDER", "PID", "WAITED", "FENCE", "COMMAND"};
/// These columns are left out if the terminal is too narrow, in this order.
constexpr std::array<std::size_t, 6> kLeftOut = {fence, pid, command, waited, holder, held};

/// From these widths on there is room for a time with its year, and for a longer outcome.
constexpr std::size_t kFullTime = 60;
constexpr std::size_t kManyWords = 110;
constexpr std::size_t kMostOutcome = 24;
/// A timeline gets at least a fifth of the width, but no more than kMostTimeline columns for that.
/// The table has no timeline if fewer than kLeastTimeline columns are free.
constexpr std::size_t kTimelinePart = 5;
constexpr std::size_t kLeastTimeline = 5;
constexpr std::size_t kMostTimeline = 48;

milliseconds unix_now() {
  return std::chrono::floor<milliseconds>(std::chrono::system_clock::now().time_since_epoch());
}

std::string time_of(milliseconds unix_time, std::size_t width) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(unix_time).count();
  const std::tm local = fmt::localtime(std::time_t{seconds});
  return width < kFullTime ? fmt::format("{:%m-%d %H:%M}", local)
                           : fmt::format("{:%Y-%m-%d %H:%M:%S}", local);
}

std::optional<milliseconds> length_of(const PastRun& run, milliseconds now) {
  if (run.ending == Ending::skipped) return std::nullopt;
  if (run.ended) return *run.ended - run.began;
  if (run.goes_on && run.knows_beginning && run.began < now) return now - run.began;
  return std::nullopt;
}

/// A command that failed, and a lock that did not last as long as it should.
diag::Tint tint_of(const PastRun& run) {
  switch (run.ending) {
    case Ending::ended:
      return run.entry.status.value_or(0) == 0 ? diag::Tint::none : diag::Tint::bad;
    case Ending::lost:
    case Ending::unknown:
      return diag::Tint::bad;
    case Ending::forced:
    case Ending::unclear:
      return diag::Tint::notice;
    case Ending::running:
      return diag::Tint::good;
    case Ending::skipped:
    case Ending::expired:
      break;
  }
  return diag::Tint::none;
}

Line line_of(const PastRun& run, milliseconds now, const diag::Screen& screen) {
  const std::size_t width = screen.width;
  const records::Holder& who = run.entry.who;
  const bool wide = width >= kManyWords;
  Line line(count_, {"-"});
  line[name].text = diag::printable(run.lock, 255);
  if (run.knows_beginning) line[when].text = time_of(run.began, width);
  if (const auto length = length_of(run, now)) line[held].text = diag::for_people(*length);
  line[outcome] = {outcome_of(run, wide ? Length::more : Length::few), tint_of(run)};
  if (!wide) line[outcome].text = diag::cut(line[outcome].text, kMostOutcome, screen.charset);
  if (!who.host.empty()) {
    line[holder].text = diag::person(who.user, who.host);
    if (!who.maintenance) line[pid].text = std::to_string(who.pid);
    if (std::string work = diag::work_of(who); !work.empty()) line[command].text = std::move(work);
  }
  if (run.entry.waited) line[waited].text = diag::for_people(*run.entry.waited);
  if (run.entry.fence > 0) line[fence].text = std::to_string(run.entry.fence);
  return line;
}

/// The time from the first run to the last, or to now if a run goes on.
Timeline timeline_of(const std::vector<PastRun>& runs, const cli::History& request,
                     milliseconds now, std::size_t width, diag::Charset charset) {
  milliseconds end = runs.front().began;
  for (const PastRun& run : runs) {
    end = std::max(end, run.goes_on ? now : run.ended.value_or(run.began));
  }
  if (request.since) end = now;
  const PastRun& first = runs.front();
  const milliseconds begin = first.began > milliseconds::zero() ? first.began : now;
  return {request.since.value_or(begin), end, width, charset};
}

std::string drawn(const PastRun& run, const Timeline& timeline, milliseconds now) {
  if (run.ending == Ending::skipped) return timeline.mark(run.began, '.');
  if (!run.knows_beginning) return timeline.mark(now, '?');
  if (run.ended) return timeline.bar(run.began, *run.ended);
  if (run.goes_on) return timeline.bar(run.began, now);
  return timeline.mark(run.began, '?');
}

/// Cuts long names, so that the time and the outcome stay visible, and on a wide screen the
/// timeline.
void cut_names(std::vector<Line>& lines, const diag::Screen& screen, Beside beside) {
  constexpr std::size_t kLeastName = 8;
  if (screen.width == diag::kNoLimit) return;
  std::size_t others = widest(lines, when) + widest(lines, outcome) + 2 * kGap;
  if (beside == Beside::timeline && screen.width >= kFullTime) {
    others += std::clamp(screen.width / kTimelinePart, kLeastTimeline, kMostTimeline) + kGap;
  }
  const std::size_t room = screen.width - std::min(screen.width, others);
  const std::size_t most = std::clamp(room, kLeastName, std::max(screen.width / 2, kLeastName));
  for (Line& line : lines) line[name].text = diag::cut(line[name].text, most, screen.charset);
}

}  // namespace

std::string as_table(const std::vector<PastRun>& runs, const cli::History& request,
                     const diag::Screen& screen, Beside beside) {
  if (runs.empty()) return {};
  const std::size_t width = screen.width;
  const milliseconds now = unix_now();
  std::vector<Line> lines(1, heading(kHeads));
  const bool several =
      std::ranges::any_of(runs, [](const PastRun& run) { return !run.lock.empty(); });
  if (!several) lines.front()[name].text.clear();
  for (const PastRun& run : runs) lines.push_back(line_of(run, now, screen));
  fit_charset(lines, screen);
  if (several) cut_names(lines, screen, beside);
  if (beside == Beside::nothing) {
    return lay_out(lines, fit(lines, kLeftOut, {command, kLeastCommand}, width), screen);
  }
  const std::size_t least = std::clamp(width / kTimelinePart, kLeastTimeline, kMostTimeline);
  const std::size_t kept = least + kGap;
  Widths widths = fit(lines, kLeftOut, {command, kLeastCommand}, width - std::min(width, kept));
  if (widths[command] > 0) {
    // Command and timeline share the rest of the line.
    const std::size_t others = sum(widths) - widths[command];
    const std::size_t room = width - std::min(width, others + kept);
    widths[command] = std::min(widths[command], std::max(room / 2, kLeastCommand));
    for (Line& line : lines)
      line[command].text = diag::cut(line[command].text, widths[command], screen.charset);
  }
  const std::size_t used = sum(widths) + kGap;
  if (used + kLeastTimeline > width) return lay_out(lines, widths, screen);
  widths.push_back(std::clamp(width - std::min(width, used), least, kMostTimeline));
  const Timeline timeline = timeline_of(runs, request, now, widths.back(), screen.charset);
  lines.front().push_back({timeline.head(), diag::Tint::faint});
  for (std::size_t run = 0; run < runs.size(); ++run) {
    lines[run + 1].push_back({drawn(runs[run], timeline, now), tint_of(runs[run])});
  }
  return lay_out(lines, widths, screen);
}

}  // namespace redlock::inspect
