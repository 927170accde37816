// SPDX-License-Identifier: MIT
//
// The picture stands for itself: it fetches nothing, contains no script, and follows the reader's
// choice of light or dark. Positions are percentages and texts have a fixed size, so it is as wide
// as the window.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>

#include "config/value.h"
#include "diag/blocker.h"
#include "look/history.h"

namespace redlock::look {

namespace {

using Ending = PastRun::Ending;
using std::chrono::milliseconds;

// Pixels, from top to bottom.
constexpr int kTitle = 48;
constexpr int kTopAxis = 18;
constexpr int kLaneLabel = 38;  ///< the name of a lock, and a line about it
constexpr int kBar = 16;
constexpr int kBetweenBars = 8;
constexpr int kStandsOut = 3;  ///< the bar of a failed run, above and below the others
constexpr int kBetweenLanes = 14;
constexpr int kAxis = 22;
constexpr int kLegend = 44;

/// What fits into a bar, by its width in percent, if the picture has 800 pixels. A bar without room
/// for kLeastLabel characters has no label.
constexpr double kCharactersPerPercent = 1.2;
constexpr std::size_t kLeastLabel = 4;

constexpr std::size_t kMostRows = 16;  ///< of bars, for a lock with many holders
constexpr std::size_t kMostTicks = 8;
constexpr std::size_t kMostText = 300;

constexpr std::string_view kStyle = R"(
svg, body { --paper: #fff; --ink: #1a1a1a; --faint: #666; --track: #ececec; --line: #c8c8c8;
  --good: #2a7d4f; --failed: #c62828; --forced: #b26a00; --running: #1565c0; --wait: #e0a83a;
  --hold: #7b4fb5; }
@media (prefers-color-scheme: dark) {
  svg, body { --paper: #16181c; --ink: #e6e6e6; --faint: #a0a0a0; --track: #26292f; --line: #454a52;
    --good: #4fb37c; --failed: #f06a6a; --forced: #e69a3c; --running: #64a8f0; --wait: #8d6b24;
    --hold: #b08ae6; }
}
svg { background: var(--paper); color-scheme: light dark; font: 13px system-ui, sans-serif; }
text { fill: var(--ink); }
.title { font-size: 16px; font-weight: 600; }
.name { font-weight: 600; }
.faint { fill: var(--faint); font-size: 11px; }
.track { fill: var(--track); }
.tick { stroke: var(--line); stroke-dasharray: 2 3; }
.run { stroke-width: 2px; stroke-linejoin: round; }
.good { fill: var(--good); stroke: var(--good); }
.failed { fill: var(--failed); stroke: var(--failed); }
.forced { fill: var(--forced); stroke: var(--forced); }
.running { fill: var(--running); stroke: var(--running); }
.hold { fill: var(--hold); stroke: var(--hold); }
.unknown { fill: none; stroke: var(--failed); stroke-dasharray: 4 3; }
.wait { fill: var(--wait); stroke: none; }
.skipped { stroke: var(--faint); stroke-width: 2px; }
.who { fill: var(--paper); font-size: 11px; pointer-events: none; }
@media (max-width: 560px) { .odd, .who { display: none; } }
)";

struct Drawing {
  Span span;
  std::string out = {};

  /// The place of a moment, in percent of the width; a margin of 2 percent on both sides.
  [[nodiscard]] double place(milliseconds time) const { return 2 + 96 * span.place(time); }

  void text(double x, int y, std::string_view kind, std::string_view text,
            std::string_view anchor = "start") {
    out += fmt::format("<text x=\"{:.2f}%\" y=\"{}\" class=\"{}\" text-anchor=\"{}\">{}</text>\n",
                       x, y, kind, anchor, escaped(text));
  }

  /// `x`, `width`: in percent. `about`: the tooltip.
  void box(double x, double width, int y, int height, std::string_view kind,
           std::string_view about) {
    out += fmt::format(
        "<rect class=\"{}\" x=\"{:.3f}%\" y=\"{}\" width=\"{:.3f}%\" "
        "height=\"{}\"><title>{}</title></rect>\n",
        kind, x, y, width, height, escaped(about));
  }

  void bar(milliseconds from, milliseconds to, int y, int height, std::string_view kind,
           std::string_view about) {
    box(place(from), std::max(place(to) - place(from), 0.02), y, height, kind, about);
  }

  /// In a bar.
  void label(double x, double width, int y, std::string_view text) {
    const auto most = static_cast<std::size_t>(width * kCharactersPerPercent);
    if (text.empty() || most < kLeastLabel) return;
    out += fmt::format(
        "<svg x=\"{:.3f}%\" y=\"{}\" width=\"{:.3f}%\" height=\"{}\">"
        "<text x=\"4\" y=\"11\" class=\"who\">{}</text></svg>\n",
        x, y, width, kBar, escaped(diag::cut(text, most, diag::Charset::utf8)));
  }

  void line(double x, int from, int to, std::string_view kind, const std::string& about = {}) {
    out += fmt::format("<line class=\"{}\" x1=\"{:.3f}%\" x2=\"{:.3f}%\" y1=\"{}\" y2=\"{}\">",
                       kind, x, x, from, to);
    if (!about.empty()) out += "<title>" + escaped(about) + "</title>";
    out += "</line>\n";
  }
};

std::string who_of(const PastRun& run) {
  const records::Holder& who = run.entry.who;
  return who.host.empty() ? "" : diag::person(who);
}

/// The tooltip of a run.
std::string about(const PastRun& run) {
  std::string text = outcome_of(run).whole;
  if (run.knows_beginning) text = config::format_moment(run.began) + ": " + text;
  if (run.ended && run.ending != Ending::skipped) {
    text += ", held for " + diag::for_people(*run.ended - run.began);
  }
  if (run.entry.waited) text += ", waited " + diag::for_people(*run.entry.waited);
  if (const std::string who = who_of(run); !who.empty()) text += ", " + who;
  const std::string work = diag::work_of(run.entry.who);
  return work.empty() ? text : text + ", " + work;
}

/// From the request for the lock to the end of the run, as far as they are known.
Span extent_of(const PastRun& run, milliseconds now) {
  const milliseconds asked =
      run.began - std::clamp(run.entry.waited.value_or(milliseconds(0)), milliseconds(0),
                             std::max(run.began, milliseconds(0)));
  return {asked, run.ended ? *run.ended : run.goes_on ? now : run.began};
}

/// By run, the row of its bar: bars that overlap stand in different rows.
std::vector<std::size_t> rows_of(const std::vector<PastRun>& runs, const Span& span) {
  std::vector<milliseconds> ends;
  std::vector<std::size_t> rows;
  for (const PastRun& run : runs) {
    // A wait may overlap the run before.
    const milliseconds begin = run.ending == Ending::skipped ? milliseconds::max() : run.began;
    auto row = std::ranges::find_if(ends, [begin](milliseconds end) { return end <= begin; });
    if (row == ends.end() && ends.size() < kMostRows)
      row = ends.insert(ends.end(), milliseconds(0));
    if (row == ends.end()) --row;
    if (run.ending != Ending::skipped) *row = std::max(*row, extent_of(run, span.end).end);
    rows.push_back(static_cast<std::size_t>(row - ends.begin()));
  }
  return rows;
}

void draw_run(Drawing& canvas, const PastRun& run, int y) {
  const Span& span = canvas.span;
  if (run.ending == Ending::skipped) {
    return canvas.line(canvas.place(run.began), y + 4, y + kBar - 4, "skipped", about(run));
  }
  const Span extent = extent_of(run, span.end);
  if (!run.knows_beginning || extent.end < span.begin) return;
  if (extent.begin < run.began && run.began > span.begin) {
    canvas.bar(extent.begin, run.began, y + kBar - 4, 4, "wait",
               "waited " + diag::for_people(run.began - extent.begin));
  }
  const std::string_view kind = outcome_of(run).kind;
  // Without colours, the higher and the dashed bars are still distinct.
  const int out = kind == "failed" || kind == "forced" ? kStandsOut : 0;
  canvas.bar(run.began, extent.end, y + 1 - out, kBar - 2 + 2 * out, "run " + std::string(kind),
             about(run));
  const double begin = canvas.place(std::max(run.began, span.begin));
  if (kind == "unknown") return canvas.text(begin + 0.6, y + 13, "faint", "?");
  const records::Holder& who = run.entry.who;
  const bool says = who.maintenance && !who.message.empty();
  canvas.label(begin, canvas.place(extent.end) - begin, y, says ? who.message : who.host);
}

/// "12 runs, 1 failed, the last 5 runs took 4m to 6m"
std::string summary(const HistoryView& view) {
  std::size_t runs = 0;
  std::size_t holds = 0;
  std::size_t failed = 0;
  std::size_t skipped = 0;
  std::size_t superseded = 0;
  for (const PastRun& run : view.runs) {
    if (run.ending == Ending::skipped) {
      (run.superseded ? superseded : skipped) += run.skips;
    } else {
      ++(run.entry.who.maintenance ? holds : runs);
      if (outcome_of(run).failed) ++failed;
    }
  }
  std::string text = diag::counted(runs, "run");
  if (failed > 0) text += fmt::format(", {} failed", failed);
  if (holds > 0) text += ", " + diag::counted(holds, "hold");
  if (skipped > 0) text += fmt::format(", {} skipped", skipped);
  if (superseded > 0) text += fmt::format(", {} superseded", superseded);
  if (view.usual) text += ", the " + diag::describe(*view.usual);
  return text;
}

/// Draws the lane at `y`, and returns where it ends.
int draw_lane(Drawing& canvas, const HistoryView& view, int y) {
  canvas.text(2, y + 14, "name", diag::bare_name(view.name));
  canvas.text(2, y + 30, "faint", summary(view));
  y += kLaneLabel;
  const std::vector<std::size_t> rows = rows_of(view.runs, canvas.span);
  const std::size_t last = rows.empty() ? 0 : *std::ranges::max_element(rows);
  const int height = kBar + kBetweenBars;
  const int end = y + static_cast<int>(last + 1) * height - kBetweenBars;
  canvas.bar(canvas.span.begin, canvas.span.end, y, end - y, "track", "the lock was free");
  for (std::size_t at = 0; at < view.runs.size(); ++at) {
    draw_run(canvas, view.runs[at], y + static_cast<int>(rows[at]) * height);
  }
  return end + kBetweenLanes;
}

/// At whole hours, days and so on.
std::vector<milliseconds> ticks(const Span& span) {
  using namespace std::chrono_literals;
  constexpr std::array<std::chrono::seconds, 13> kSteps = {1min, 5min, 15min, 30min, 1h,   2h,  3h,
                                                           6h,   12h,  24h,   48h,   168h, 720h};
  const auto step = std::ranges::find_if(kSteps, [&span](std::chrono::seconds each) {
    return (span.end - span.begin) / each < static_cast<std::int64_t>(kMostTicks);
  });
  const auto length = step == kSteps.end() ? (span.end - span.begin) / 6 : milliseconds(*step);
  std::tm moment = config::local_time(span.begin);
  moment.tm_hour = moment.tm_min = moment.tm_sec = 0;
  std::vector<milliseconds> all;
  for (int guard = 0; guard < 2000; ++guard) {
    std::tm copy = moment;
    copy.tm_isdst = -1;
    const milliseconds at = std::chrono::seconds(std::mktime(&copy));
    if (at > span.end) break;
    if (at >= span.begin) all.push_back(at);
    moment.tm_sec +=
        static_cast<int>(std::chrono::duration_cast<std::chrono::seconds>(length).count());
  }
  return all;
}

/// The times stand above and below the lanes.
void draw_axis(Drawing& canvas, int from, int to) {
  int number = 0;
  for (const milliseconds at : ticks(canvas.span)) {
    const std::tm time = config::local_time(at);
    const bool midnight = time.tm_hour == 0 && time.tm_min == 0;
    const std::string odd = number++ % 2 == 1 ? " odd" : "";
    canvas.line(canvas.place(at), from, to, "tick");
    const double x = canvas.place(at);
    for (const int y : {from - 4, to + 14}) {
      canvas.text(x, y, "faint" + odd,
                  midnight ? fmt::format("{:%m-%d}", time) : fmt::format("{:%H:%M}", time),
                  x < 6    ? "start"
                  : x > 94 ? "end"
                           : "middle");
    }
  }
}

/// Two lines, for a narrow window.
void draw_legend(Drawing& canvas, int y) {
  struct Entry {
    std::string_view kind;
    std::string_view text;
  };
  constexpr std::array<Entry, 8> kEntries = {{{"run good", "exit 0"},
                                              {"run failed", "failed, lost"},
                                              {"run forced", "forced"},
                                              {"run running", "runs now"},
                                              {"run unknown", "end unknown"},
                                              {"wait", "waited"},
                                              {"skipped", "skipped"},
                                              {"run hold", "maintenance"}}};
  for (std::size_t at = 0; at < kEntries.size(); ++at) {
    const double x = 2 + 24.0 * static_cast<double>(at % 4);
    const int line = y + (at < 4 ? 0 : 20);
    if (kEntries[at].kind == "skipped") {
      canvas.line(x + 1, line + 3, line + 11, "skipped");
    } else {
      const bool out = at == 1 || at == 2;
      const int height = kEntries[at].kind == "wait" ? 4 : out ? 14 : 8;
      canvas.box(x, 2, line + 7 - height / 2, height, kEntries[at].kind, kEntries[at].text);
    }
    canvas.text(x + 3, line + 12, "faint", kEntries[at].text);
  }
}

std::string title_of(Span span) {
  return config::format_moment(span.begin) + " to " + config::format_moment(span.end);
}

std::string drawing(const std::vector<HistoryView>& views, Span span) {
  Drawing canvas{span};
  const bool none =
      std::ranges::all_of(views, [](const HistoryView& view) { return view.runs.empty(); });
  canvas.text(2, 22, "title",
              views.empty() ? "No such lock has a log"
              : none        ? "No run in this time"
                            : "Who held the locks");
  canvas.text(2, 38, "faint", title_of(span));
  Drawing lanes{span};
  const int top = kTitle + kTopAxis;
  int y = top;
  for (const HistoryView& view : views) {
    if (!view.runs.empty()) y = draw_lane(lanes, view, y);
  }
  draw_axis(canvas, top, std::max(y - kBetweenLanes + 4, top));
  y += kAxis;
  draw_legend(lanes, y);
  y += kLegend;
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100%\" height=\"{}\" "
             "role=\"img\">\n"
             "<title>redlock history, {}</title>\n<style>{}</style>\n",
             y, escaped(title_of(span)), kStyle) +
         "<rect width=\"100%\" height=\"100%\" style=\"fill: var(--paper)\"/>\n" + canvas.out +
         lanes.out + "</svg>\n";
}

constexpr std::string_view kPageStyle = R"(
body { background: var(--paper); color: var(--ink); color-scheme: light dark; margin: 1em;
  font: 14px system-ui, sans-serif; }
.runs { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { text-align: left; padding: 0.2em 0.8em 0.2em 0; border-bottom: 1px solid var(--line);
  white-space: nowrap; }
td.bad { color: var(--failed); }
td.command { white-space: normal; overflow-wrap: anywhere; min-width: 16em; }
@media (max-width: 800px) {
  td.name, td.outcome { white-space: normal; overflow-wrap: anywhere; min-width: 8em; }
}
)";

std::string row_of_table(const PastRun& run, milliseconds now) {
  const auto cell = [](std::string_view text, std::string_view kind = "") {
    return fmt::format("<td class=\"{}\">{}</td>", kind, escaped(text));
  };
  const auto length = length_of(run, now);
  const Outcome outcome = outcome_of(run);
  return "<tr>" + cell(run.knows_beginning ? config::format_moment(run.began) : "-") +
         cell(diag::bare_name(run.lock), "name") +
         cell(outcome.whole, outcome.failed ? "outcome bad" : "outcome") +
         cell(length ? diag::for_people(*length) : "-") + cell(who_of(run)) +
         cell(run.entry.waited ? diag::for_people(*run.entry.waited) : "-") +
         cell(diag::work_of(run.entry.who), "command") + "</tr>\n";
}

}  // namespace

std::string escaped(std::string_view text) {
  constexpr std::string_view kSpecial = "&<>\"'";
  constexpr std::array<std::string_view, kSpecial.size()> kEntities = {"&amp;", "&lt;", "&gt;",
                                                                       "&quot;", "&#39;"};
  std::string out;
  const std::string clean = diag::printable(text, kMostText);
  for (std::string_view rest = clean; !rest.empty();) {
    const std::string_view character = os::take_first(rest);
    const std::size_t special = kSpecial.find(character);
    if (special != kSpecial.npos) {
      out += kEntities.at(special);
    } else {
      const bool in_xml = (os::code_of(character) & 0xfffeU) != 0xfffeU;  // it excludes U+FFFE
      out += in_xml ? character : "?";
    }
  }
  return out;
}

std::string as_svg(const std::vector<HistoryView>& views, Span span) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + drawing(views, span);
}

std::string as_html(const std::vector<HistoryView>& views, Span span) {
  std::vector<PastRun> runs = runs_of(views);
  std::ranges::stable_sort(runs, std::ranges::greater{}, &PastRun::began);
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<title>redlock history, {}</title>\n<style>{}</style>\n</head>\n<body>\n",
      escaped(title_of(span)), kPageStyle);
  page += drawing(views, span);
  page +=
      "<div class=\"runs\"><table>\n<tr><th>When</th><th>Lock</th><th>Outcome</th><th>Held</th>"
      "<th>Holder</th><th>Waited</th><th>Command</th></tr>\n";
  for (const PastRun& run : runs) page += row_of_table(run, span.end);
  return page + "</table></div>\n</body>\n</html>\n";
}

}  // namespace redlock::look
