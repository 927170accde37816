// SPDX-License-Identifier: MIT
#include "check/roll_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <set>

#include "observe/log_reader.h"
#include "os/clock.h"

namespace redlock::check {

namespace {

using diag::Relation;
using std::chrono::milliseconds;

constexpr std::size_t kMostHost = 64;
constexpr std::size_t kMostNamed = 5;  ///< hosts in a sentence

// Servers may have any number of logs, and a hostile one answers slowly.
constexpr std::chrono::seconds kTimeForLogs(3);
constexpr std::chrono::seconds kTimeForDetails(15);

/// An even number of servers is right between two steps of a roll-out. Whoever makes none for this
/// long after the last run with another list keeps that number.
constexpr std::chrono::days kStepLasts(7);

std::string list_text(const HostSeen& seen, const diag::ServerList& ours) {
  if (seen.relation == Relation::same) return "present";
  if (seen.relation == Relation::unknown) return "not known";
  if (seen.relation == Relation::overlapping) return ours.difference(seen.list);
  return "other: " + ours.names(seen.list);
}

Verdict judge_number(std::size_t servers, bool is_step) {
  const std::size_t spare = servers - lock::quorum(servers);
  if (servers == 1) {
    return {Level::ok, "one server: without it there is no lock (of three, one may fail)"};
  }
  if (servers % 2 == 1) {
    return {Level::ok, fmt::format("{} servers, {} of which may fail", servers, spare)};
  }
  if (is_step) {
    return {Level::ok,
            fmt::format("{} servers, in the middle of a roll-out: {} may fail until the next step",
                        servers, spare == 0 ? "none" : std::to_string(spare))};
  }
  if (servers == 2) {
    return {Level::warning,
            "2 servers: both are needed for a lock, so that they fail more often than one; use 3"};
  }
  return {Level::warning, fmt::format("{} servers: {} may fail, as with {}; use an odd number",
                                      servers, spare, servers - 1)};
}

/// `silent`: by server, whether it could not be asked about everything. Returns how many logs it
/// had no time for.
std::size_t read_logs(const std::vector<observe::Observed>& locks, const config::Settings& settings,
                      lock::Duration time, milliseconds now, RollOutSurvey& survey,
                      std::vector<bool>& silent) {
  driver::Interview interview(settings);
  std::deque<observe::LogReader> readers;  // a deque, since they cannot move
  for (std::size_t server = 0; server < interview.servers(); ++server) {
    readers.emplace_back(interview.questions(), server);
  }
  const lock::Instant limit = os::boot_now() + time;
  std::size_t read = 0;
  for (const observe::Observed& lock : locks) {
    if (os::boot_now() >= limit) break;
    ++read;
    for (auto& reader : readers) reader.read(lock.id.key, os::boot_now());
    interview.finish();
    for (std::size_t server = 0; server < readers.size(); ++server) {
      if (readers[server].trouble()) silent[server] = true;
      for (const observe::LoggedLine& line : readers[server].take_lines()) {
        const auto entry = records::read_log_entry(line.data);
        if (entry) survey.take(entry->who, std::min(line.time, now));
      }
    }
  }
  return locks.size() - read;
}

}  // namespace

std::string RollOut::sentence() const {
  if (waits_for.empty()) return "the next step may begin";
  return fmt::format("the next step must wait: {}", fmt::join(waits_for, "; "));
}

RollOutSurvey::RollOutSurvey(const config::Settings& settings)
    : settings_(settings), seen_{.ours = driver::server_list(settings)} {}

void RollOutSurvey::take(const records::Holder& who, milliseconds at) {
  if (who.host.empty()) return;
  const Relation relation = seen_.ours.relation(who.list);
  if (relation != Relation::same) {
    others_until_ = std::max<milliseconds>(others_until_, at + settings_.restart_grace);
    seen_.any_other = seen_.any_other || relation != Relation::unknown;
  }
  if (relation == Relation::overlapping) {
    step_until_ = std::max<milliseconds>(step_until_, at + kStepLasts);
  }
  const HostSeen seen{at, relation, who.list};
  HostSeen& known = seen_.hosts.emplace(diag::printable(who.host, kMostHost), seen).first->second;
  if (std::pair(at, relation) > std::pair(known.last, known.relation)) known = seen;
}

void RollOutSurvey::take(const observe::Observed& lock, milliseconds now) {
  if (lock.holder) take(*lock.holder, now);
  for (const observe::Reader& reader : lock.readers) {
    if (reader.who) take(*reader.who, now);
  }
  for (const observe::Waiting& waiter : lock.waiting.value_or(observe::WaitingQueue{}).known) {
    if (waiter.who) take(*waiter.who, now);
  }
  // After the next step, a quorum of the new list need not have this mark.
  const auto who = lock.last_run ? records::read_holder(lock.last_run->who) : std::nullopt;
  if (who && seen_.ours.relation(who->list) != Relation::same) {
    others_until_ = std::max<milliseconds>(others_until_, now + lock.last_run->left);
  }
}

RollOut RollOutSurvey::result(std::size_t silent, std::size_t unread, milliseconds now) const {
  RollOut result = seen_;
  result.ours_is_step = step_until_ > now;
  const std::size_t servers = settings_.servers.size();
  if (servers - silent < lock::quorum(servers)) {
    result.waits_for.push_back(observe::too_few(servers - silent, servers));
  }
  if (unread > 0) {
    result.waits_for.push_back("there was no time for " + diag::counted(unread, "log") +
                               ", try redlock check NAME");
  }
  std::vector<std::string_view> behind;
  for (const auto& [host, seen] : result.hosts) {
    if (seen.relation != Relation::same) behind.push_back(host);
  }
  if (!behind.empty()) {
    const std::size_t more = behind.size() - std::min(behind.size(), kMostNamed);
    behind.resize(behind.size() - more);
    result.waits_for.push_back(
        fmt::format("the list of {}{} is another one, or not known", fmt::join(behind, ", "),
                    more > 0 ? " and " + diag::counted(more, "other host") : std::string()));
  }
  if (others_until_ > now) {
    result.waits_for.push_back(diag::for_people(others_until_ - now) +
                               " more after the last run with another list");
  }
  return result;
}

std::vector<Finding> diagnose_lists(const RollOut& roll_out) {
  std::vector<Finding> findings{
      {judge_number(roll_out.ours.servers().size(), roll_out.ours_is_step), {}, "servers"},
      {{Level::ok, roll_out.sentence()}, {}, "roll-out"}};
  for (const auto& [host, seen] : roll_out.hosts) {
    if (seen.relation != Relation::apart) continue;
    findings.push_back(
        {{Level::warning,
          fmt::format("{} uses other servers ({}), so that two jobs may run at the same time; "
                      "compare redlock config on both hosts",
                      host, roll_out.ours.names(seen.list))},
         {},
         "roll-out"});
  }
  return findings;
}

RollOut survey(const cli::Check& request) {
  const config::Settings& settings = request.settings;
  observe::Query query(settings);
  std::set<std::string> names{request.name};
  if (request.name.empty()) {
    names.clear();
    for (const std::string_view helper : {"log", "holder"}) {
      for (std::string& each : query.names(helper)) names.insert(std::move(each));
    }
  }
  const auto locks = query.look({names.begin(), names.end()}, observe::Marks::asked);
  const milliseconds now = os::unix_now();
  RollOutSurvey survey(settings);
  for (const observe::Observed& lock : locks) survey.take(lock, now);
  std::vector<bool> silent;
  for (const auto& trouble : query.troubles()) silent.push_back(trouble.has_value());
  const bool details = !request.name.empty() || request.json || settings.verbose > 0;
  const std::size_t unread =
      read_logs(locks, settings, details ? kTimeForDetails : kTimeForLogs, now, survey, silent);
  return survey.result(lock::how_many(silent, std::identity()), unread, now);
}

std::string as_table(const RollOut& roll_out, const diag::Screen& screen) {
  std::vector<std::array<std::string, 3>> lines{{"HOST", "LIST", "LAST SEEN"}};
  for (const auto& [host, seen] : roll_out.hosts) {
    const auto ago = diag::ago(seen.last);
    const bool now = !ago || *ago < std::chrono::seconds(1);
    lines.push_back(
        {host, list_text(seen, roll_out.ours), now ? "now" : diag::for_people(*ago) + " ago"});
  }
  std::array<std::size_t, 2> widths{};
  for (const auto& line : lines) {
    for (std::size_t at = 0; at < 2; ++at) widths[at] = std::max(widths[at], line[at].size());
  }
  std::string text;
  for (const auto& line : lines) {
    const std::string row =
        fmt::format("  {:{}}  {:{}}  {}", line[0], widths[0], line[1], widths[1], line[2]);
    text += diag::cut(diag::for_screen(row, screen), screen.width, screen.charset) + "\n";
  }
  return text;
}

records::Json to_json(const RollOut& roll_out) {
  using records::Json;
  constexpr std::string_view kInOrder[] = {"same", "unknown", "overlapping", "apart"};
  const auto object = [&](const auto& each) {
    const auto& [host, seen] = each;
    observe::Members members{{"host", host},
                             {"list", observe::list_json(seen.list)},
                             {"relation", kInOrder[static_cast<std::size_t>(seen.relation)]}};
    observe::add_time(members, "last", "last_ms", seen.last);
    return Json::object(members);
  };
  return Json::object(
      {{"may_begin", roll_out.waits_for.empty()},
       {"waits_for", Json::array({roll_out.waits_for.begin(), roll_out.waits_for.end()})},
       {"hosts", observe::array_of(roll_out.hosts, object)}});
}

}  // namespace redlock::check
