// SPDX-License-Identifier: MIT
//
// Asks for the present holder first, and then for the logs. So if a run neither has the lock nor
// has an end in the log, it has ended without a log line. In the other order a run might end in
// between. In this order a run would have to begin and be logged in between, but redlock does not
// log a run within its first half second.
#include "inspect/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "diag/lock_name.h"
#include "driver/finish.h"
#include "driver/output.h"
#include "inspect/history_view.h"
#include "inspect/query.h"
#include "lock/timing.h"
#include "os/clock.h"
#include "redis/log_reader.h"

namespace redlock::inspect {

namespace {

using config::Settings;
using Troubles = std::vector<std::optional<std::string>>;

/// The logs of all servers.
struct Logs {
  std::vector<std::vector<redis::LoggedLine>> lines;  ///< of the servers that answered
  Troubles troubles;                    ///< by server, the reason if its log could not be read
  std::vector<std::string> complaints;  ///< about the logs that were read
};

Logs read_logs(const Settings& settings, const driver::LockId& lock) {
  std::optional<redis::TlsContext> tls;
  std::deque<redis::LogReader> readers;
  for (const redis::Endpoint& server : settings.servers) {
    if (server.tls && !tls) tls.emplace(settings.tls);
    readers.emplace_back(server, server.tls ? &*tls : nullptr,
                         redis::Timeouts{.request = settings.server_timeout});
  }
  for (redis::LogReader& reader : readers) reader.read(lock.key, os::boot_now());
  driver::finish(readers);
  Logs logs;
  for (const redis::LogReader& reader : readers) {
    logs.troubles.emplace_back();
    if (reader.trouble()) logs.troubles.back() = reader.trouble()->why;
    // If reading broke off, the lines read so far are still good.
    logs.lines.push_back(reader.lines());
    if (reader.overflowed()) {
      logs.complaints.push_back(
          fmt::format("{} has more in its log than any redlock leaves there; "
                      "the oldest lines were not read",
                      settings.servers[logs.lines.size() - 1].display()));
    }
  }
  return logs;
}

std::size_t readable(const Logs& logs) {
  return static_cast<std::size_t>(
      std::ranges::count_if(logs.troubles, [](const auto& trouble) { return !trouble; }));
}

Present present_of(const Observed& lock) {
  const lock::State state = lock.judgement.state;
  const std::chrono::milliseconds now = os::unix_now();
  if (state == lock::State::undecided) return {.sure = false, .now = now};
  if (!lock.sighting || (state != lock::State::held && state != lock::State::revoked)) {
    return {.now = now};
  }
  if (lock.shared) {
    Present present{.now = now};
    for (const lock::Reader& reader : lock.readers) {
      present.readers.push_back({reader.run, records::read_holder(reader.holder), reader.fence});
    }
    return present;
  }
  return {
      .run = lock.sighting->run, .holder = lock.holder, .fence = lock.judgement.fence, .now = now};
}

/// Says why the table is empty, if it is. With --at the headline says it.
std::vector<std::string> nothing_found(const HistoryView& view, const cli::History& request) {
  const std::string name = diag::lock_name(request.name);
  if (!view.log_begins) return {fmt::format("nothing is logged about {}", name)};
  if (!view.runs.empty() || !request.since) return {};
  return {fmt::format("no run of {} is logged since {}", name, for_people(*request.since))};
}

/// The result of --at, in one line.
std::string headline(const HistoryView& view, const cli::History& request) {
  const std::string name = diag::lock_name(request.name);
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

std::string as_text(const HistoryView& view, const cli::History& request) {
  const diag::Screen screen = driver::output_screen(request.settings);
  if (!request.at) {
    return as_table(view.runs, request, screen,
                    screen.terminal ? Beside::timeline : Beside::nothing);
  }
  std::vector<PastRun> runs = view.runs;
  if (runs.empty() && view.before) runs.push_back(*view.before);
  if (view.runs.empty() && view.after) runs.push_back(*view.after);
  return diag::for_screen(headline(view, request), screen) +
         as_table(runs, request, screen, Beside::nothing);
}

void complain_of(const Logs& logs, const Settings& settings, bool blind) {
  std::vector<std::string> lines;
  for (std::size_t server = 0; server < logs.troubles.size(); ++server) {
    if (!logs.troubles[server]) continue;
    lines.push_back(fmt::format("{} could not be asked: {}", settings.servers[server].display(),
                                *logs.troubles[server]));
  }
  std::ranges::copy(logs.complaints, std::back_inserter(lines));
  if (blind) {
    lines.push_back(fmt::format(
        "runs may be missing, and how they ended: {} of {} servers could be asked, and "
        "a quorum is {}",
        readable(logs), settings.servers.size(), lock::quorum(settings.servers.size())));
  }
  driver::complain(lines);
}

}  // namespace

Exit history(const cli::History& request) {
  const Settings& settings = request.settings;
  Query query(settings);
  const std::vector<Observed> locks = query.look({request.name}, redis::Observer::Marks::ignored);
  Logs logs = read_logs(settings, locks.front().id);
  const Troubles blind_to = query.troubles();
  for (std::size_t server = 0; server < blind_to.size(); ++server) {
    if (!logs.troubles[server]) logs.troubles[server] = blind_to[server];
  }
  const bool blind = readable(logs) < lock::quorum(settings.servers.size());
  const ExitStatus status = blind ? ExitStatus::unavailable : ExitStatus::ok;
  if (!settings.quiet || blind) complain_of(logs, settings, blind);
  const HistoryView view = view_of(merge(logs.lines, present_of(locks.front())), request);
  if (request.json) return driver::print(to_json(view, request, logs.troubles, status), status);
  if (!blind && !settings.quiet) driver::complain(nothing_found(view, request));
  return driver::print(as_text(view, request), status);
}

}  // namespace redlock::inspect
