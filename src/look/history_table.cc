// SPDX-License-Identifier: MIT
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <utility>

#include "config/value.h"
#include "diag/blocker.h"
#include "look/history.h"
#include "look/screen.h"
#include "os/clock.h"

namespace redlock::look {

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
constexpr std::array<std::size_t, 5> kAllButHolder = {fence, pid, command, waited, held};

/// The least widths with room for a time with its year, and for a longer outcome.
constexpr std::size_t kFullTime = 60;
constexpr std::size_t kManyWords = 110;
constexpr std::size_t kMostOutcome = 24;
/// A timeline gets at least a fifth of the width, but no more than kMostTimeline columns for that.
/// The table has no timeline if fewer than kLeastTimeline columns are free.
constexpr std::size_t kTimelinePart = 5;
constexpr std::size_t kLeastTimeline = 5;
constexpr std::size_t kMostTimeline = 48;

std::string time_of(milliseconds unix_time, std::size_t width) {
  const std::tm local = config::local_time(unix_time);
  return width < kFullTime ? fmt::format("{:%m-%d %H:%M}", local)
                           : fmt::format("{:%Y-%m-%d %H:%M:%S}", local);
}

Line line_of(const PastRun& run, milliseconds now, const diag::Screen& screen) {
  const std::size_t width = screen.width;
  const records::Holder& who = run.entry.who;
  const bool wide = width >= kManyWords;
  Line line(count_, {"-"});
  line[name].text = diag::bare_name(run.lock);
  if (run.knows_beginning) line[when].text = time_of(run.began, width);
  if (const auto length = length_of(run, now)) line[held].text = diag::for_people(*length);
  const Outcome known = outcome_of(run);
  line[outcome] = {wide ? known.whole : diag::cut(known.brief, kMostOutcome, screen.charset),
                   known.tint};
  if (!who.host.empty()) {
    line[holder].text = diag::person(who);
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
  if (request.since || request.until) end = request.until.value_or(now);
  const PastRun& first = runs.front();
  const milliseconds begin =
      request.since.value_or(first.began > milliseconds::zero() ? first.began : now);
  return {{begin, std::max(end, begin + milliseconds(1))}, width, charset};
}

std::string drawn(const PastRun& run, const Timeline& timeline, milliseconds now) {
  if (run.ending == Ending::skipped) return timeline.mark(run.began, '.');
  if (!run.knows_beginning) return timeline.mark(now, '?');
  if (run.ended) return timeline.bar(run.began, *run.ended);
  if (run.goes_on) return timeline.bar(run.began, now);
  return timeline.mark(run.began, '?');
}

std::size_t half_cell(const Timeline& line, milliseconds time) {
  const auto halves = static_cast<double>(2 * line.width);
  return static_cast<std::size_t>(std::min(line.span.place(time) * halves, halves - 1));
}

/// The columns that are left on the screen beside these, with the blanks between.
std::size_t room_beside(const std::vector<Line>& lines, std::initializer_list<std::size_t> columns,
                        std::size_t width) {
  std::size_t others = 0;
  for (const std::size_t column : columns) others += widest(lines, column) + kGap;
  return width - std::min(width, others);
}

/// Cuts long outcomes on a wide screen, so that the lengths and the holders have room, and a sixth
/// of the screen for the names.
void cut_outcomes(std::vector<Line>& lines, const diag::Screen& screen) {
  const std::size_t names = std::min(widest(lines, name) + kGap, screen.width / 6);
  const std::size_t room = room_beside(lines, {when, held, holder}, screen.width);
  cut_cells(lines, outcome, std::max(room - std::min(room, names), kMostOutcome), screen.charset);
}

/// Cuts long names to a third of the screen, or to more if the time, the outcome and the holder
/// leave room, and `kept` columns for the timeline; to less if these, or the time and the outcome
/// alone, need it.
void cut_names(std::vector<Line>& lines, const diag::Screen& screen, std::size_t kept) {
  constexpr std::size_t kLeastName = 8;
  const std::size_t width = screen.width - std::min(screen.width, kept);
  const std::size_t third = std::max(screen.width / 3, kLeastName);
  const std::size_t all = room_beside(lines, {when, held, outcome, holder}, screen.width);
  const std::size_t least = std::clamp(
      all >= kLeastName ? all : room_beside(lines, {when, outcome}, width), kLeastName, third);
  const std::size_t most = std::clamp(room_beside(lines, {when, held, outcome, holder}, width),
                                      least, std::max(screen.width / 2, least));
  cut_cells(lines, name, most, screen.charset);
}

}  // namespace

std::optional<milliseconds> length_of(const PastRun& run, milliseconds now) {
  if (run.ending == Ending::skipped) return std::nullopt;
  if (run.ended) return *run.ended - run.began;
  if (run.goes_on && run.knows_beginning && run.began < now) return now - run.began;
  return std::nullopt;
}

std::string as_table(const std::vector<PastRun>& runs, const cli::History& request,
                     const diag::Screen& screen) {
  if (runs.empty()) return {};
  const std::size_t width = screen.width;
  const milliseconds now = os::unix_now();
  std::vector<Line> lines(1, heading(kHeads));
  for (const PastRun& run : runs) lines.push_back(line_of(run, now, screen));
  const bool several = !request.about_one();
  if (!several) {
    for (Line& line : lines) line[name].text.clear();
  }
  fit_charset(lines, screen);
  const bool plain = !screen.terminal || request.at;
  const std::size_t least = std::clamp(width / kTimelinePart, kLeastTimeline, kMostTimeline);
  const std::size_t kept = plain ? 0 : least + kGap;
  if (width >= kManyWords) cut_outcomes(lines, screen);
  if (several) cut_names(lines, screen, width >= kFullTime ? kept : 0);
  Widths widths = fit(lines, kLeftOut, width - std::min(width, kept));
  if (plain) return lay_out(lines, widths, screen);
  // Who had the lock, and for how long, says more than the timeline.
  if (widths[holder] == 0) {
    Widths without = fit(lines, kLeftOut, width);
    if (without[holder] == 0 && widths[held] == 0) without = fit(lines, kAllButHolder, width);
    if (without[holder] > 0 && sum(without) <= width) return lay_out(lines, without, screen);
  }
  if (widths[command] > 0) {
    // Command and timeline share the rest of the line.
    const std::size_t others = sum(widths) - widths[command];
    const std::size_t room = width - std::min(width, others + kept);
    widths[command] = std::min(widths[command], std::max(room / 2, kLeastCommand));
    cut_cells(lines, command, widths[command], screen.charset);
  }
  const std::size_t used = sum(widths) + kGap;
  if (used + least > width) return lay_out(lines, widths, screen);
  widths.push_back(std::clamp(width - std::min(width, used), least, kMostTimeline));
  const Timeline timeline = timeline_of(runs, request, now, widths.back(), screen.charset);
  lines.front().push_back({timeline.head(), diag::Tint::faint});
  for (std::size_t run = 0; run < runs.size(); ++run) {
    lines[run + 1].push_back({drawn(runs[run], timeline, now), outcome_of(runs[run]).tint});
  }
  return lay_out(lines, widths, screen);
}

std::string Timeline::head() const {
  const std::tm from = config::local_time(span.begin);
  const std::tm to = config::local_time(span.end);
  const bool one_day = from.tm_year == to.tm_year && from.tm_yday == to.tm_yday;
  const bool seconds = span.end - span.begin < std::chrono::minutes(2) && width >= 17;
  const auto text = [&](const std::tm& time) {
    if (!one_day) return fmt::format("{:%m-%d}", time);
    return seconds ? fmt::format("{:%H:%M:%S}", time) : fmt::format("{:%H:%M}", time);
  };
  const std::string left = text(from);
  const std::string right = one_day && text(to) == left ? "" : text(to);
  if (left.size() + right.size() + 1 > width) return std::string(width, ' ');
  return left + std::string(width - left.size() - right.size(), ' ') + right;
}

std::string Timeline::bar(milliseconds from, milliseconds to) const {
  const std::size_t first = half_cell(*this, from);
  const std::size_t last = std::max(half_cell(*this, to), first);
  std::string text;
  for (std::size_t cell = 0; cell < width; ++cell) {
    const bool left = first <= 2 * cell && 2 * cell <= last;
    const bool right = first <= 2 * cell + 1 && 2 * cell + 1 <= last;
    const std::string_view filled = left && right ? "█" : left ? "▌" : "▐";
    text += !left && !right ? " " : charset == diag::Charset::ascii ? "#" : filled;
  }
  return text;
}

std::string Timeline::mark(milliseconds at, char character) const {
  std::string text(width, ' ');
  text[half_cell(*this, at) / 2] = character;
  return text;
}

std::string as_table_of_refusals(const std::vector<HistoryView>& views, const cli::History& request,
                                 const diag::Screen& screen) {
  enum : std::size_t { kLast, kName, kHost, kTimes, kHeldBy, kCommand, kColumns };
  constexpr std::array<std::string_view, kColumns> kHeadings = {"LAST",  "NAME",    "HOST",
                                                                "TIMES", "HELD BY", "COMMAND"};
  const milliseconds now = os::unix_now();
  std::vector<Line> lines(1, heading(kHeadings));
  for (const HistoryView& view : views) {
    for (const observe::Refusals& each : view.refusals) {
      const records::Holder who{.host = each.host, .user = each.who.user};
      const std::string held_by = diag::printable(each.who.held_by, records::kMostCommandBytes);
      lines.push_back({{time_of(now - each.ago, screen.width)},
                       {diag::bare_name(view.name)},
                       {diag::person(who)},
                       {std::to_string(each.count)},
                       {held_by.empty() ? "-" : held_by},
                       {diag::printable(each.who.command, records::kMostCommandBytes)}});
    }
  }
  if (lines.size() == 1) return {};
  if (request.about_one()) {
    for (Line& line : lines) line[kName].text.clear();
  }
  fit_charset(lines, screen);
  cut_cells(lines, kName, screen.width / 4, screen.charset);
  // Who had the lock is what the user wants to know: as much of it as there is room for.
  Widths widths = fit(lines, std::array<std::size_t, 1>{kCommand}, screen.width);
  if (widths[kCommand] == 0 && sum(widths) > screen.width) {
    const std::size_t excess = sum(widths) - screen.width;
    const std::size_t room = widths[kHeldBy] - std::min(widths[kHeldBy], excess);
    cut_cells(lines, kHeldBy, std::max(room, kLeastCommand), screen.charset);
    widths = fit(lines, std::array<std::size_t, 3>{kCommand, kTimes, kHeldBy}, screen.width);
  }
  return lay_out(lines, widths, screen);
}

}  // namespace redlock::look
