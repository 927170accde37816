// SPDX-License-Identifier: MIT
//
// Asks for the present holder first, and then for the logs: in the other order, a run might end in
// between. A run that neither has the lock nor an end in the log has ended without a log line, or
// has begun in between: a second look tells.
#include "look/history.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <deque>
#include <utility>

#include "config/value.h"
#include "diag/blocker.h"
#include "driver/output.h"
#include "driver/setup.h"
#include "look/look.h"
#include "os/clock.h"

namespace redlock::look {

namespace {

using Ending = PastRun::Ending;
using std::chrono::milliseconds;

bool is_within(const PastRun& run, const cli::History& request) {
  const bool late = request.until && run.began >= *request.until;
  const bool early =
      request.since && !run.goes_on && run.ended.value_or(run.began) < *request.since;
  return !late && !early;
}

/// Whether the run is certain to have held the lock at that moment. A whole second counts to its
/// end: a table shows no more of the time when a run began.
bool held_at(const PastRun& run, milliseconds moment) {
  const milliseconds last = moment + milliseconds(moment.count() % 1000 == 0 ? 999 : 0);
  if (run.ending == Ending::skipped || !run.knows_beginning || run.began > last) return false;
  return run.ended ? moment < *run.ended : run.goes_on;
}

/// The locks that the user asked about. A name of a lock may look like a pattern.
std::vector<std::string> chosen(const cli::History& request, observe::Query& query) {
  std::vector<std::string> names;
  if (!request.names.empty() && std::ranges::none_of(request.names, cli::is_pattern)) {
    for (const std::string& name : request.names) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    return names;
  }
  names = query.names(request.refused ? "fence" : "log");
  std::erase_if(names, [&request](const std::string& name) {
    return !request.names.empty() &&
           std::ranges::none_of(request.names, [&name](const std::string& word) {
             return word == name || ::fnmatch(word.c_str(), name.c_str(), 0) == 0;
           });
  });
  return names;
}

Present present_of(const observe::Observed& lock) {
  const lock::State state = lock.judgement.state;
  Present present{.sure = state != lock::State::undecided, .now = os::unix_now()};
  if (!lock.sighting || (state != lock::State::held && state != lock::State::revoked)) {
    return present;
  }
  present.shared = lock.shared;
  if (!lock.shared) {
    present.holders = {{lock.sighting->run, lock.holder, lock.judgement.fence}};
    return present;
  }
  present.sure = !lock.readers.empty() && lock.readers.size() == lock.reader_count;
  for (const observe::Reader& reader : lock.readers) {
    present.holders.push_back({reader.run, reader.who, reader.fence});
  }
  return present;
}

/// The log has no end of this run, which did not have the lock when we looked.
bool is_silent(const PastRun& run) {
  return run.ending == Ending::unknown || (run.ending == Ending::expired && !run.ended);
}

/// `lock`: as it was before the logs were read.
std::vector<PastRun> runs_in(const std::vector<std::vector<observe::LoggedLine>>& logs,
                             const observe::Observed& lock, observe::Query& query) {
  Present present = present_of(lock);
  std::vector<PastRun> runs = merge(logs, present);
  if (std::ranges::none_of(runs, is_silent)) return runs;
  const Present later = present_of(query.look({lock.id.name}).front());
  present.sure = present.sure && later.sure;
  for (const Present::Holder& holder : later.holders) {
    const bool began_meanwhile = std::ranges::any_of(
        runs, [&](const PastRun& run) { return is_silent(run) && run.run == holder.run; });
    if (began_meanwhile) present.holders.push_back(holder);
  }
  return merge(logs, present);
}

/// Reads the logs of one lock after another. `troubles`: by server, why it could not be asked
/// before, or its log could not be read. `complaints`: about the logs that were read.
std::vector<HistoryView> views_of(const std::vector<observe::Observed>& locks,
                                  observe::Query& query, const cli::History& request,
                                  observe::Troubles& troubles,
                                  std::vector<std::string>& complaints) {
  driver::Interview interview(request.settings);
  std::deque<observe::LogReader> readers;  // a deque, since they cannot move
  for (std::size_t server = 0; server < interview.servers(); ++server) {
    readers.emplace_back(interview.questions(), server);
  }
  std::vector<HistoryView> views;
  for (const observe::Observed& lock : locks) {
    for (observe::LogReader& reader : readers) reader.read(lock.id.key, os::boot_now());
    interview.finish();
    std::vector<std::vector<observe::LoggedLine>> logs;
    for (std::size_t server = 0; server < readers.size(); ++server) {
      observe::LogReader& reader = readers[server];
      if (reader.trouble()) troubles[server] = reader.trouble()->why;
      if (reader.overflowed()) {
        complaints.push_back(fmt::format(
            "{} has more in the log of {} than any redlock leaves there; the oldest lines were not "
            "read",
            request.settings.servers[server].brief(), diag::lock_name(lock.id.name)));
      }
      logs.push_back(reader.take_lines());  // also if reading broke off
    }
    views.push_back(view_of(runs_in(logs, lock, query), request));
    views.back().name = lock.id.name;
    views.back().refusals = lock.refusals;
    for (PastRun& run : views.back().runs) run.lock = lock.id.name;
  }
  for (const observe::Observed& lock : locks) {
    if (lock.reader_count == lock.readers.size()) continue;
    complaints.push_back(
        fmt::format("{} has {} readers, and the servers name {} of them: which of the other runs "
                    "still have the lock is not known",
                    diag::lock_name(lock.id.name), lock.reader_count, lock.readers.size()));
  }
  return views;
}

/// The reasons if the table is empty. With --at the headline says it.
std::vector<std::string> nothing_found(const std::vector<HistoryView>& views,
                                       const cli::History& request) {
  std::vector<std::string> lines;
  for (const HistoryView& view : views) {
    if (view.log_begins) continue;
    lines.push_back(fmt::format("nothing is logged about {}", diag::lock_name(view.name)));
  }
  if (views.empty()) lines.emplace_back("nothing is logged about any such lock");
  const bool none =
      std::ranges::all_of(views, [](const HistoryView& view) { return view.runs.empty(); });
  if (!lines.empty() || !none || request.at) return lines;
  return {fmt::format("no {}run{} is logged{}{}", request.failed ? "failed " : "",
                      request.about_one() ? " of " + diag::lock_name(views.front().name) : "",
                      request.since ? " since " + config::format_moment(*request.since) : "",
                      request.until ? (request.since ? " and before " : " before ") +
                                          config::format_moment(*request.until)
                                    : "")};
}

/// The result of --at about one lock, in one line.
std::string headline(const HistoryView& view, const cli::History& request) {
  const std::string name = diag::lock_name(view.name);
  const std::string at = config::format_moment(*request.at);
  if (!view.runs.empty()) return fmt::format("{} was held at {}:\n", name, at);
  std::string line = fmt::format("no record of a holder of {} at {}", name, at);
  if (!view.log_begins) return line + "\n";
  if (!view.before) {
    line += fmt::format(" (the log begins at {})", config::format_moment(*view.log_begins));
  }
  const std::string_view which = view.before && view.after ? "before and after that"
                                 : view.before             ? "before that"
                                                           : "after that";
  return line + (view.before || view.after ? fmt::format("; {}:\n", which) : "\n");
}

std::string text_at(const std::vector<HistoryView>& views, const cli::History& request,
                    const diag::Screen& screen) {
  std::vector<PastRun> runs = runs_of(views);
  if (!request.about_one()) {
    const std::string at = config::format_moment(*request.at);
    if (runs.empty()) return fmt::format("no record of a holder of such a lock at {}\n", at);
    return fmt::format("held at {}:\n", at) + as_table(runs, request, screen);
  }
  const HistoryView& view = views.front();
  if (runs.empty() && view.before) runs.push_back(*view.before);
  if (view.runs.empty() && view.after) runs.push_back(*view.after);
  return diag::for_screen(headline(view, request), screen) + as_table(runs, request, screen);
}

std::string as_text(const std::vector<HistoryView>& views, const cli::History& request) {
  const diag::Screen screen = driver::output_screen(request.settings);
  if (request.at) return text_at(views, request, screen);
  const std::string text = as_table(runs_of(views), request, screen);
  // Only a terminal gets the usual duration: a program reads the runs.
  const bool usual = screen.terminal && request.about_one() && views.front().usual;
  return usual && !text.empty() ? text + "the " + diag::describe(*views.front().usual) + "\n"
                                : text;
}

Exit draw(const std::vector<HistoryView>& views, const cli::History& request, Exit exit) {
  const milliseconds end = request.until.value_or(os::unix_now());
  const Span span{std::min(*request.since, end - std::chrono::seconds(1)), end};
  if (!request.svg.empty()) exit = driver::print_to(request.svg, as_svg(views, span), exit);
  if (!request.html.empty()) exit = driver::print_to(request.html, as_html(views, span), exit);
  return exit;
}

/// --refused: the hosts with runs that gave up, without the logs.
Exit show_refusals(const std::vector<observe::Observed>& locks, const observe::Query& query,
                   const cli::History& request) {
  const milliseconds now = os::unix_now();
  std::vector<HistoryView> views;
  for (const observe::Observed& lock : locks) {
    HistoryView view;
    view.name = lock.id.name;
    std::ranges::copy_if(lock.refusals, std::back_inserter(view.refusals),
                         [&](const observe::Refusals& each) {
                           return now - each.ago >= request.since.value_or(milliseconds(0));
                         });
    if (!view.refusals.empty() || request.about_one()) views.push_back(std::move(view));
  }
  const bool blind = query.reached() < lock::quorum(request.settings.servers.size());
  const ExitStatus status = blind ? ExitStatus::unavailable : ExitStatus::ok;
  if (!request.settings.quiet || blind) driver::complain(query.complaints());
  if (request.json) {
    return driver::print(to_json(views, request, query.troubles(), status), status);
  }
  const diag::Screen screen = driver::output_screen(request.settings);
  const std::string table = as_table_of_refusals(views, request, screen);
  if (table.empty() && !blind && !request.settings.quiet) {
    driver::complain(
        {"no run" +
         (request.about_one() ? " of " + diag::lock_name(request.names.front()) : std::string()) +
         " is known to have given up" +
         (request.since ? " since " + config::format_moment(*request.since) : std::string())});
  }
  return driver::print(table, status);
}

/// Of a run, ignoring that it may be a maintenance hold.
Outcome outcome_of_run(const PastRun& run) {
  using diag::Tint;
  const records::Holder& who = run.entry.who;
  const std::string reason = diag::printable(run.entry.reason, 60);
  const bool known = run.forced_by && !run.forced_by->host.empty();
  const bool replaced = run.forced_by && run.forced_by->replaces;
  const std::string verb = who.maintenance ? "ended" : replaced ? "replaced" : "forced";
  const std::string forced = known ? verb + " by " + diag::person(*run.forced_by) : verb;
  const std::string& more = run.forced_by && run.ending == Ending::ended ? forced : reason;
  const std::string why = more.empty() ? "" : " (" + more + ")";
  switch (run.ending) {
    case Ending::ended: {
      const auto status = run.entry.status;
      const bool failed = status.value_or(0) != 0;
      const std::string text = (status ? fmt::format("exit {}", *status) : "ended") + why;
      return {"ended", failed ? "failed" : "good", failed ? Tint::bad : Tint::none, failed, text,
              text};
    }
    case Ending::lost:
      return {"lost", "failed", Tint::bad, true, "lost", "lost" + (reason == "lost" ? "" : why)};
    case Ending::forced:  // so a hold may end
      return {"forced", "forced", Tint::notice, !who.maintenance, forced, forced};
    case Ending::running: {
      const std::string text = who.maintenance ? "held" : "running";
      return {"running", "running", Tint::good, false, text, text};
    }
    case Ending::unclear:
      return {"", "unknown", Tint::notice, false, "not known", "not known (may be running)"};
    case Ending::skipped:
      return {run.superseded ? "superseded" : "skipped",
              "skipped",
              Tint::none,
              false,
              (run.skips == 1 ? "" : fmt::format("{} ", run.skips)) +
                  (run.superseded ? "superseded" : "skipped"),
              diag::counted(run.skips, "run") +
                  (run.superseded ? " superseded (--newest, --build)" : " skipped (--once)")};
    case Ending::expired:
      if (who.unattended) return {"expired", "good", Tint::none, false, "expired", "expired"};
      return {"expired", "good", Tint::none, false, "ended", "ended (its time was over)"};
    case Ending::unknown:
      break;
  }
  return {"unknown", "unknown", Tint::bad, true, "never ended", "never ended (expired or killed)"};
}

}  // namespace

HistoryView view_of(std::vector<PastRun> runs, const cli::History& request) {
  HistoryView view;
  if (!runs.empty()) view.log_begins = runs.front().began;
  std::vector<milliseconds> latest_first;  // of those that ended well
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    if (run->ending != Ending::ended || run->entry.status != 0 || !run->ended) continue;
    latest_first.push_back(*run->ended - run->began);
  }
  view.usual = diag::usual_of(latest_first);
  for (PastRun& run : runs) {
    const bool shown = request.at
                           ? held_at(run, *request.at)
                           : is_within(run, request) && (!request.failed || outcome_of(run).failed);
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

Outcome outcome_of(const PastRun& run) {
  Outcome outcome = outcome_of_run(run);
  const bool known = !outcome.failed && run.ending != Ending::unclear;
  if (run.entry.who.maintenance && known) outcome.kind = "hold";
  return outcome;
}

std::vector<PastRun> runs_of(const std::vector<HistoryView>& views) {
  std::vector<PastRun> runs;
  for (const HistoryView& view : views) std::ranges::copy(view.runs, std::back_inserter(runs));
  std::ranges::stable_sort(runs, {}, &PastRun::began);
  return runs;
}

Exit carry_out(const cli::History& asked) {
  cli::History request = asked;
  const bool picture = !request.svg.empty() || !request.html.empty();
  if (picture && !request.since) {
    request.since = request.until.value_or(os::unix_now()) - std::chrono::hours(24);
  }
  const config::Settings& settings = request.settings;
  observe::Query query(settings);
  const std::vector<observe::Observed> locks =
      query.look(chosen(request, query), observe::Marks::asked);
  if (request.refused) return show_refusals(locks, query, request);
  observe::Troubles troubles = query.troubles();
  std::vector<std::string> about_logs;
  const std::vector<HistoryView> views = views_of(locks, query, request, troubles, about_logs);
  const observe::Troubles later = query.troubles();  // of the second look, too
  std::vector<std::string> complaints;
  for (std::size_t server = 0; server < troubles.size(); ++server) {
    if (!troubles[server]) troubles[server] = later[server];
    if (!troubles[server]) continue;
    complaints.push_back(fmt::format("{} could not be asked: {}", settings.servers[server].brief(),
                                     *troubles[server]));
  }
  const std::size_t readable = troubles.size() - complaints.size();
  const bool blind = readable < lock::quorum(troubles.size());
  std::ranges::move(about_logs, std::back_inserter(complaints));
  if (blind) {
    complaints.push_back("runs, or how they ended, may be missing: " +
                         observe::too_few(readable, troubles.size()));
  }
  if (!settings.quiet || blind) driver::complain(complaints);
  const ExitStatus status = blind ? ExitStatus::unavailable : ExitStatus::ok;
  if (request.json) return driver::print(to_json(views, request, troubles, status), status);
  if (picture) return draw(views, request, status);
  if (!blind && !settings.quiet) driver::complain(nothing_found(views, request));
  return driver::print(as_text(views, request), status);
}

}  // namespace redlock::look
