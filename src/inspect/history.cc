// SPDX-License-Identifier: MIT
//
// Asks for the present holder first, and then for the logs. So if a run neither has the lock nor
// has an end in the log, it has ended without a log line. In the other order a run might end in
// between. In this order a run would have to begin and be logged in between, but redlock does not
// log a run within its first half second.
#include "inspect/history.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "diag/lock_name.h"
#include "driver/finish.h"
#include "driver/output.h"
#include "inspect/history_view.h"
#include "inspect/picture.h"
#include "inspect/query.h"
#include "lock/timing.h"
#include "os/clock.h"
#include "redis/inspection/log_reader.h"

namespace redlock::inspect {

namespace {

using config::Settings;
using Troubles = std::vector<std::optional<std::string>>;

/// Reads the logs of one lock after another.
class Logs {
 public:
  explicit Logs(const Settings& settings)
      : settings_(settings), troubles_(settings.servers.size()) {
    for (const redis::Endpoint& server : settings.servers) {
      if (server.tls && !tls_) tls_.emplace(settings.tls);
      readers_.emplace_back(server, server.tls ? &*tls_ : nullptr,
                            redis::Timeouts{.request = settings.server_timeout});
    }
  }

  /// By server. If reading broke off, the lines read so far are still good.
  std::vector<std::vector<redis::LoggedLine>> read(const driver::LockId& lock) {
    for (redis::LogReader& reader : readers_) reader.read(lock.key, os::boot_now());
    driver::finish(readers_);
    std::vector<std::vector<redis::LoggedLine>> lines;
    for (std::size_t server = 0; server < readers_.size(); ++server) {
      redis::LogReader& reader = readers_[server];
      if (reader.trouble()) troubles_[server] = reader.trouble()->why;
      if (reader.overflowed()) {
        complaints_.push_back(fmt::format(
            "{} has more in the log of {} than any redlock leaves there; the oldest lines were not "
            "read",
            settings_.servers[server].brief(), diag::lock_name(lock.name)));
      }
      lines.push_back(reader.take_lines());
    }
    return lines;
  }

  /// By server, the reason if a log could not be read.
  [[nodiscard]] const Troubles& troubles() const { return troubles_; }
  /// About the logs that were read.
  [[nodiscard]] const std::vector<std::string>& complaints() const { return complaints_; }

 private:
  const Settings& settings_;
  std::optional<redis::TlsContext> tls_;
  std::deque<redis::LogReader> readers_;  // a deque, since they cannot move
  Troubles troubles_;
  std::vector<std::string> complaints_;
};

std::size_t readable(const Troubles& troubles) {
  return static_cast<std::size_t>(
      std::ranges::count_if(troubles, [](const auto& trouble) { return !trouble; }));
}

/// The locks that the user asked about. A name of a lock may look like a pattern.
std::vector<std::string> chosen(const cli::History& request, Query& query) {
  if (!request.names.empty() && std::ranges::none_of(request.names, cli::is_pattern)) {
    std::vector<std::string> names;
    for (const std::string& name : request.names) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    return names;
  }
  std::vector<std::string> names = query.names(Query::Which::logged);
  std::erase_if(names, [&request](const std::string& name) {
    return !request.names.empty() &&
           std::ranges::none_of(request.names, [&name](const std::string& word) {
             return word == name || ::fnmatch(word.c_str(), name.c_str(), 0) == 0;
           });
  });
  return names;
}

bool names_all_readers(const Observed& lock) {
  return !lock.readers.empty() && lock.readers.size() == lock.reader_count;
}

Present present_of(const Observed& lock) {
  const lock::State state = lock.judgement.state;
  const std::chrono::milliseconds now = os::unix_now();
  if (state == lock::State::undecided) return {.sure = false, .now = now};
  if (!lock.sighting || (state != lock::State::held && state != lock::State::revoked)) {
    return {.now = now};
  }
  if (lock.shared) {
    Present present{.sure = names_all_readers(lock), .now = now};
    for (const lock::Reader& reader : lock.readers) {
      present.readers.push_back({reader.run, records::read_holder(reader.holder), reader.fence});
    }
    return present;
  }
  return {
      .run = lock.sighting->run, .holder = lock.holder, .fence = lock.judgement.fence, .now = now};
}

std::vector<std::string> too_many_readers(const std::vector<Observed>& locks) {
  std::vector<std::string> complaints;
  for (const Observed& lock : locks) {
    if (lock.reader_count == lock.readers.size()) continue;
    complaints.push_back(
        fmt::format("{} has {} readers, and the servers name {} of them: which of the other runs "
                    "still have the lock is not known",
                    diag::lock_name(lock.id.name), lock.reader_count, lock.readers.size()));
  }
  return complaints;
}

/// All of them in one list, by the time they began.
std::vector<PastRun> runs_of(const std::vector<HistoryView>& views, const cli::History& request) {
  std::vector<PastRun> runs;
  for (const HistoryView& view : views) {
    for (PastRun run : view.runs) {
      if (!request.about_one()) run.lock = view.name;
      runs.push_back(std::move(run));
    }
  }
  std::ranges::stable_sort(runs, {}, &PastRun::began);
  return runs;
}

/// Says why the table is empty, if it is. With --at the headline says it.
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
  return {fmt::format("no {}run{} is logged{}", request.failed ? "failed " : "",
                      request.about_one() ? " of " + diag::lock_name(views.front().name) : "",
                      request.since ? " since " + for_people(*request.since) : "")};
}

/// The result of --at about one lock, in one line.
std::string headline(const HistoryView& view, const cli::History& request) {
  const std::string name = diag::lock_name(view.name);
  const std::string at = for_people(*request.at);
  if (!view.runs.empty()) return fmt::format("{} was held at {}:\n", name, at);
  std::string line = fmt::format("nobody is known to have held {} at {}", name, at);
  if (!view.log_begins) return line + "\n";
  if (!view.before) {
    line += fmt::format(" (the log begins at {})", for_people(*view.log_begins));
  }
  const std::string_view which = view.before && view.after ? "before and after that"
                                 : view.before             ? "before that"
                                                           : "after that";
  return line + (view.before || view.after ? fmt::format("; {}:\n", which) : "\n");
}

std::string text_at(const std::vector<HistoryView>& views, const cli::History& request,
                    const diag::Screen& screen) {
  std::vector<PastRun> runs = runs_of(views, request);
  if (!request.about_one()) {
    const std::string at = for_people(*request.at);
    if (runs.empty()) return fmt::format("no such lock is known to have been held at {}\n", at);
    return fmt::format("held at {}:\n", at) + as_table(runs, request, screen, Beside::nothing);
  }
  const HistoryView& view = views.front();
  if (runs.empty() && view.before) runs.push_back(*view.before);
  if (view.runs.empty() && view.after) runs.push_back(*view.after);
  return diag::for_screen(headline(view, request), screen) +
         as_table(runs, request, screen, Beside::nothing);
}

std::string as_text(const std::vector<HistoryView>& views, const cli::History& request) {
  const diag::Screen screen = driver::output_screen(request.settings);
  if (request.at) return text_at(views, request, screen);
  std::string text = as_table(runs_of(views, request), request, screen,
                              screen.terminal ? Beside::timeline : Beside::nothing);
  // A program that reads the table gets the runs only.
  const bool usual = screen.terminal && request.about_one() && views.front().usual;
  return usual && !text.empty() ? text + "the " + diag::describe(*views.front().usual) + "\n"
                                : text;
}

void complain_of(const Troubles& troubles, std::vector<std::string> complaints,
                 const Settings& settings, bool blind) {
  std::vector<std::string> lines;
  for (std::size_t server = 0; server < troubles.size(); ++server) {
    if (!troubles[server]) continue;
    lines.push_back(fmt::format("{} could not be asked: {}", settings.servers[server].brief(),
                                *troubles[server]));
  }
  std::ranges::move(complaints, std::back_inserter(lines));
  if (blind) {
    lines.push_back(fmt::format(
        "runs, or how they ended, may be missing: {} of {} servers could be asked, and "
        "a quorum is {}",
        readable(troubles), settings.servers.size(), lock::quorum(settings.servers.size())));
  }
  driver::complain(lines);
}

bool wants_picture(const cli::History& request) {
  return !request.svg.empty() || !request.html.empty();
}

Exit draw(const std::vector<HistoryView>& views, const cli::History& request, Exit exit) {
  const std::chrono::milliseconds now = os::unix_now();
  const Span span{std::min(*request.since, now - std::chrono::seconds(1)), now};
  if (!request.svg.empty()) exit = driver::print_to(request.svg, as_svg(views, span), exit);
  if (!request.html.empty()) exit = driver::print_to(request.html, as_html(views, span), exit);
  return exit;
}

}  // namespace

Exit history(const cli::History& asked) {
  cli::History request = asked;
  if (wants_picture(request) && !request.since) {
    request.since = os::unix_now() - std::chrono::hours(24);
  }
  const Settings& settings = request.settings;
  Query query(settings);
  const std::vector<Observed> locks =
      query.look(chosen(request, query), redis::Observer::Marks::ignored);
  Logs logs(settings);
  std::vector<HistoryView> views;
  for (const Observed& lock : locks) {
    views.push_back(view_of(merge(logs.read(lock.id), present_of(lock)), request));
    views.back().name = lock.id.name;
  }
  std::vector<std::string> complaints = logs.complaints();
  std::ranges::move(too_many_readers(locks), std::back_inserter(complaints));
  Troubles troubles = logs.troubles();
  const Troubles blind_to = query.troubles();
  for (std::size_t server = 0; server < blind_to.size(); ++server) {
    if (!troubles[server]) troubles[server] = blind_to[server];
  }
  const bool blind = readable(troubles) < lock::quorum(settings.servers.size());
  const ExitStatus status = blind ? ExitStatus::unavailable : ExitStatus::ok;
  if (!settings.quiet || blind) complain_of(troubles, complaints, settings, blind);
  if (request.json) return driver::print(to_json(views, request, troubles, status), status);
  if (wants_picture(request)) return draw(views, request, status);
  if (!blind && !settings.quiet) driver::complain(nothing_found(views, request));
  return driver::print(as_text(views, request), status);
}

}  // namespace redlock::inspect
