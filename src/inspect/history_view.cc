// SPDX-License-Identifier: MIT
#include "inspect/history_view.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "diag/duration.h"
#include "diag/person.h"
#include "diag/text.h"

namespace redlock::inspect {

namespace {

using Ending = PastRun::Ending;
using std::chrono::milliseconds;

/// Whether the run is certain to have held the lock at that moment.
bool held_at(const PastRun& run, milliseconds moment) {
  if (run.ending == Ending::skipped || !run.knows_beginning || run.began > moment) return false;
  return run.ended ? moment < *run.ended : run.goes_on;
}

bool goes_on_after(const PastRun& run, milliseconds moment) {
  return run.goes_on || run.ended.value_or(run.began) >= moment;
}

}  // namespace

HistoryView view_of(std::vector<PastRun> runs, const cli::History& request) {
  HistoryView view;
  if (!runs.empty()) view.log_begins = runs.front().began;
  view.usual = usual_of(runs);
  for (PastRun& run : runs) {
    const bool shown = request.at ? held_at(run, *request.at)
                                  : (!request.since || goes_on_after(run, *request.since)) &&
                                        (!request.failed || has_failed(run));
    if (shown) {
      view.runs.push_back(std::move(run));
    } else if (request.at && run.ending != Ending::skipped) {
      if (run.began <= *request.at) {
        view.before = std::move(run);
      } else if (!view.after) {
        view.after = std::move(run);
      }
    }
  }
  if (request.last && view.runs.size() > *request.last) {
    view.runs.erase(view.runs.begin(),
                    view.runs.end() - static_cast<std::ptrdiff_t>(*request.last));
  }
  return view;
}

bool has_failed(const PastRun& run) {
  switch (run.ending) {
    case Ending::ended:
      return run.entry.status.value_or(0) != 0;
    case Ending::forced:
      return !run.entry.who.maintenance;  // that is how a maintenance hold ends
    case Ending::lost:
    case Ending::unknown:
      return true;
    case Ending::running:
    case Ending::unclear:
    case Ending::skipped:
    case Ending::expired:
      break;
  }
  return false;
}

std::optional<diag::Usual> usual_of(const std::vector<PastRun>& runs) {
  std::vector<milliseconds> latest_first;
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    if (run->ending != Ending::ended || run->entry.status != 0 || !run->ended) continue;
    latest_first.push_back(*run->ended - run->began);
  }
  return diag::usual_of(latest_first);
}

std::string outcome_of(const PastRun& run, Length length) {
  const bool more = length == Length::more;
  const std::string reason = diag::printable(run.entry.reason, 60);
  switch (run.ending) {
    case Ending::ended: {
      const std::string status =
          run.entry.status ? fmt::format("exit {}", *run.entry.status) : "ended";
      return more && !reason.empty() ? fmt::format("{} ({})", status, reason) : status;
    }
    case Ending::lost:
      return more && !reason.empty() && reason != "lost" ? fmt::format("lost ({})", reason)
                                                         : "lost";
    case Ending::forced:
      if (run.forced_by->host.empty()) return "forced";
      return "forced by " + diag::person(run.forced_by->user, run.forced_by->host);
    case Ending::running:
      return run.entry.who.maintenance ? "held" : "running";
    case Ending::expired:
      return more ? "ended (its time was over)" : "ended";
    case Ending::skipped:
      if (!more) return run.skips == 1 ? "skipped" : fmt::format("{} skipped", run.skips);
      return fmt::format("{} run{} skipped (--once)", run.skips, run.skips == 1 ? "" : "s");
    case Ending::unclear:
      return more ? "not known (perhaps running)" : "not known";
    case Ending::unknown:
      break;
  }
  return more ? "never ended (expired or killed)" : "never ended";
}

std::string for_people(milliseconds unix_time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(unix_time).count();
  return fmt::format("{:%Y-%m-%d %H:%M:%S %z}", fmt::localtime(std::time_t{seconds}));
}

}  // namespace redlock::inspect
