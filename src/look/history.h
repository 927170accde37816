// SPDX-License-Identifier: MIT
//
// The runs of a lock, past and present: merged from the logs of several servers, selected, and as a
// table, a picture or JSON. Absent on purpose: the requests (observe/log_reader.h).
#pragma once

#include <algorithm>

#include "cli/command_line.h"
#include "diag/text.h"
#include "observe/log_reader.h"
#include "observe/observed.h"
#include "records/records.h"

namespace redlock::look {

/// A run, past or present; or several skipped runs in a row.
struct PastRun {
  enum class Ending {
    ended,    ///< released
    lost,     ///< the lock was lost; noticed while the job ran, or at its end
    forced,   ///< the lock was revoked
    running,  ///< it has the lock
    unknown,  ///< no log has its end: the lock expired, or the host died
    unclear,  ///< the same, or it still has the lock: see Present::sure
    skipped,  ///< by --once, or superseded
    expired,  ///< a maintenance hold or a plain acquire whose time was over
  };
  Ending ending = Ending::unknown;
  std::string run = {};               ///< its name in the log
  std::string lock = {};              ///< the lock's name
  std::chrono::milliseconds began{};  ///< Unix time, by most servers' clocks
  /// If neither the holder's record nor the log has the beginning, `began` is the end of the run
  /// before, or 0.
  bool knows_beginning = true;
  std::optional<std::chrono::milliseconds> ended = {};
  bool goes_on = false;                           ///< it has the lock, which may be revoked
  records::LogEntry entry = {};                   ///< untrusted
  std::optional<records::Holder> forced_by = {};  ///< untrusted
  unsigned skips = 0;                             ///< how many runs were skipped
  bool superseded = false;                        ///< they were, by --newest or --build
};

/// The present holders of the lock, by a quorum.
struct Present {
  struct Holder {
    std::string run;  ///< empty: not known
    std::optional<records::Holder> who = {};
    std::uint64_t fence = 0;
  };
  bool sure = true;                  ///< a quorum agrees, and there are no other holders
  bool shared = false;               ///< the holders are readers, or have a slot each
  std::vector<Holder> holders = {};  ///< at most one, unless shared
  std::chrono::milliseconds now{};   ///< Unix time by our clock
};

/// The runs, in the order in which they began. `logs`: one for each server that answered, the
/// latest line first. Skips lines that redlock did not write. The present holder's run is among
/// them even if no log has it.
std::vector<PastRun> merge(const std::vector<std::vector<observe::LoggedLine>>& logs,
                           Present present);

/// The output of `redlock history` about one lock, before formatting.
struct HistoryView {
  std::string name = {};  ///< of the lock
  std::vector<PastRun> runs;
  /// With --at: the last run that had ended before, and the first that began later. Skipped runs do
  /// not count.
  std::optional<PastRun> before;
  std::optional<PastRun> after;
  std::optional<std::chrono::milliseconds> log_begins;  ///< if there is a log
  std::optional<diag::Usual> usual = {};                ///< if at least 2 runs have ended well
  std::vector<observe::Refusals> refusals = {};         ///< runs that gave up, by host
};

HistoryView view_of(std::vector<PastRun> runs, const cli::History& request);

/// How long the run held the lock, until `now` (Unix time) if it still does. None if that is not
/// known.
std::optional<std::chrono::milliseconds> length_of(const PastRun& run,
                                                   std::chrono::milliseconds now);

/// What became of a run.
struct Outcome {
  std::string_view word;  ///< in JSON; empty: not known
  std::string_view kind;  ///< of its bar in a picture
  diag::Tint tint;
  bool failed;  ///< --failed shows it: a command that failed, a lock that did not last long enough
  std::string brief;  ///< "exit 0", "lost"…
  std::string whole;  ///< the same with more detail
};
Outcome outcome_of(const PastRun& run);

/// All of them in one list, by the time they began.
std::vector<PastRun> runs_of(const std::vector<HistoryView>& views);

/// A table that fits the screen, with one line per run, and a column for PastRun::lock if the
/// request is about several locks. On a terminal a timeline stands beside it, but not with --at.
std::string as_table(const std::vector<PastRun>& runs, const cli::History& request,
                     const diag::Screen& screen);

/// A table that fits the screen, with a line for each host with runs that gave up.
std::string as_table_of_refusals(const std::vector<HistoryView>& views, const cli::History& request,
                                 const diag::Screen& screen);

/// Unix time.
struct Span {
  std::chrono::milliseconds begin;
  std::chrono::milliseconds end;  ///< later than `begin`

  /// Where this moment is: from 0, at the beginning or before it, to 1, at the end or later.
  [[nodiscard]] double place(std::chrono::milliseconds moment) const {
    return std::clamp(std::chrono::duration<double, std::milli>(moment - begin) / (end - begin),
                      0.0, 1.0);
  }
};

/// Draws when the lock was held: a column of bars beside the rows of a table.
struct Timeline {
  Span span;
  std::size_t width;  ///< in columns, at least 1
  diag::Charset charset;

  /// The heading: both ends in local time, or blanks if they do not fit.
  [[nodiscard]] std::string head() const;

  /// A bar from one time to another, both included. Even the shortest is visible.
  [[nodiscard]] std::string bar(std::chrono::milliseconds from, std::chrono::milliseconds to) const;

  /// One character at its place, for a run without a known length.
  [[nodiscard]] std::string mark(std::chrono::milliseconds at, char character) const;
};

/// A picture of the runs of all `views` as SVG (https://www.w3.org/TR/SVG11/), one lane for each
/// lock. Times are local. The span ends now.
std::string as_svg(const std::vector<HistoryView>& views, Span span);

/// The same in a page, with a table of the runs below it.
std::string as_html(const std::vector<HistoryView>& views, Span span);

std::string to_json(const std::vector<HistoryView>& views, const cli::History& request,
                    const observe::Troubles& troubles, ExitStatus status);

/// Foreign text as the content of an element or of a quoted attribute.
std::string escaped(std::string_view text);

}  // namespace redlock::look
