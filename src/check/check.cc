// SPDX-License-Identifier: MIT
//
// Asks all servers about themselves at the same time, then tests a lock, then prints the findings.
#include "check/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "check/diagnosis.h"
#include "check/roll_out.h"
#include "diag/text.h"
#include "driver/output.h"
#include "observe/json.h"
#include "os/clock.h"

namespace redlock::check {

namespace {

using Inspectors = std::deque<Inspector>;  // a deque, since they cannot move

/// An earlier server with the same run_id; empty if there is none.
std::string twin_of(const Inspectors& inspectors, std::size_t server,
                    const std::vector<redis::Endpoint>& endpoints) {
  const std::string run_id = inspectors[server].inspection().field("run_id");
  for (std::size_t other = 0; other < server && !run_id.empty(); ++other) {
    if (inspectors[other].inspection().field("run_id") == run_id) {
      return endpoints[other].display();
    }
  }
  return {};
}

/// A server that has not answered may carry out a request after the test has ended.
bool may_come_late(const SelfTestResult::Steps& steps) {
  return std::ranges::any_of(
      std::array{&steps.acquired, &steps.renewed, &steps.released}, [](const auto* answer) {
        const auto* silence = *answer ? std::get_if<lock::Unreachable>(&**answer) : nullptr;
        return silence != nullptr && silence->maybe_applied && !silence->permanent;
      });
}

/// By its own information, and by the trial: a server whose memory is full refuses only that.
bool is_usable(const Inspection& inspection, const SelfTestResult& self_test, std::size_t server) {
  const auto& vote = self_test.servers[server].acquired;
  const bool in_vain = self_test.outcome.kind == lock::Outcome::Kind::unavailable;
  const bool voted = vote ? !std::holds_alternative<lock::Unreachable>(*vote) : !in_vain;
  return can_vote(inspection) && voted;
}

/// Deletes everything of a lock that nobody else uses, its fence included.
void sweep(driver::Interview& interview, Inspectors& inspectors, const SelfTestResult& self_test) {
  using Remains = Inspector::Remains;
  for (std::size_t server = 0; server < inspectors.size(); ++server) {
    const bool late = may_come_late(self_test.servers[server]);
    if (!late && !can_vote(inspectors[server].inspection())) continue;
    inspectors[server].sweep(late ? Remains::expected : Remains::there, os::boot_now());
  }
  interview.finish();
}

observe::Appearance shown_as(Level level) {
  if (level == Level::ok) return {"ok", diag::Tint::good};
  if (level == Level::warning) return {"warning", diag::Tint::notice};
  return {"failure", diag::Tint::bad};
}

struct Totals {
  std::size_t warnings = 0;
  std::size_t failures = 0;
  Level worst = Level::ok;
};

Totals count(const std::vector<Finding>& findings) {
  Totals totals;
  for (const Finding& finding : findings) {
    if (finding.level == Level::warning) ++totals.warnings;
    if (finding.level > Level::warning) ++totals.failures;
    totals.worst = std::max(totals.worst, finding.level);
  }
  return totals;
}

ExitStatus status_of(Level worst, const SelfTestResult& self_test, const Tried& tried) {
  const bool forgotten = tried.ours && known_name_waits(self_test).count() > 0;
  if (forgotten || self_test.outcome.kind == lock::Outcome::Kind::unavailable) {
    return ExitStatus::unavailable;
  }
  if (worst == Level::misconfigured) return ExitStatus::config;
  return worst == Level::ok ? ExitStatus::ok : ExitStatus::conflict;
}

constexpr std::size_t kGap = 2;  // blanks between two columns
constexpr std::size_t kIndent = 2;
constexpr std::size_t kLevel = 7;  ///< columns of the longest word for a level
/// With less room beside its check, a text begins below it.
constexpr std::size_t kLeastText = 30;
constexpr std::string_view kSeparator = "; ";  ///< see Verdict::text

/// A finding's text in two: the fact, and what to do about it, which may be empty.
std::pair<std::string, std::string> parts_of(const Finding& finding, const diag::Screen& screen) {
  std::string text = diag::for_screen(finding.text, screen);
  const std::size_t at = finding.level == Level::ok ? text.npos : text.find(kSeparator);
  if (screen.width == diag::kNoLimit || at == text.npos) {
    return std::pair(std::move(text), std::string());
  }
  return {text.substr(0, at), text.substr(at + kSeparator.size())};
}

/// The lines of one finding: on a terminal the fact, and below it what to do. `checks`: the columns
/// for the name of the check.
std::string lines_of(const Finding& finding, std::size_t checks, const diag::Screen& screen) {
  const auto [word, tint] = shown_as(finding.level);
  std::string out(kIndent, ' ');
  out += diag::paint(std::string(word), tint, screen);
  out += fmt::format("{:{}}{:{}}", "", kLevel - word.size() + kGap, finding.check, checks);
  std::size_t left = kIndent + kLevel + kGap + checks + kGap;
  if (left + kLeastText > screen.width) {
    out.erase(out.find_last_not_of(' ') + 1).append("\n");
    left = 2 * kIndent;
    out.append(left, ' ');
  } else {
    out.append(kGap, ' ');
  }
  const std::size_t room = screen.width - left;
  const auto [fact, remedy] = parts_of(finding, screen);
  // A word that is longer than the screen is not cut: it may have to be copied.
  std::size_t indent = 0;
  for (const std::string& line : diag::wrap(fact, room)) {
    out.append(std::exchange(indent, left), ' ').append(line).append("\n");
  }
  if (remedy.empty()) return out;
  std::string_view mark = screen.charset == diag::Charset::utf8 ? "→ " : "> ";
  for (const std::string& line : diag::wrap(remedy, room)) {
    out.append(left - kGap, ' ').append(std::exchange(mark, "  ")).append(line).append("\n");
  }
  return out;
}

/// Makes one finding about all servers of those that each server has.
std::vector<Finding> merged(const std::vector<Finding>& findings, std::size_t servers) {
  std::vector<Finding> merged;
  for (Finding finding : findings) {
    const auto same = [&finding](const Finding& other) {
      return other.check == finding.check && other.text == finding.text;
    };
    const std::size_t count = lock::how_many(findings, same);
    if (servers > 1 && count == servers) finding.server.clear();
    if (count < servers || std::ranges::none_of(merged, same)) merged.push_back(finding);
  }
  return merged;
}

/// A heading for each server with its findings below it, and one line that sums up.
std::string as_report(const std::vector<Finding>& all, const std::vector<bool>& usable,
                      const RollOut& roll_out, const config::Settings& settings,
                      ExitStatus status) {
  const diag::Screen screen = driver::output_screen(settings);
  const std::vector<Finding> findings = merged(all, usable.size());
  std::vector<const Finding*> chosen;
  std::size_t checks = 0;
  for (const Finding& finding : findings) {
    const bool told = finding.check == "roll-out" && roll_out.any_other;
    if (settings.verbose == 0 && finding.level == Level::ok && !told) continue;
    chosen.push_back(&finding);
    checks = std::max(checks, finding.check.size());
  }
  // The findings come server by server, except those of the trial.
  std::string out;
  std::vector<std::string> done;
  for (const Finding* first : chosen) {
    if (std::ranges::find(done, first->server) != done.end()) continue;
    done.push_back(first->server);
    const std::string server = first->server.empty() ? "all servers" : first->server;
    out += diag::cut(diag::for_screen(server, screen), screen.width, screen.charset) + "\n";
    for (const Finding* finding : chosen) {
      if (finding->server == first->server) out += lines_of(*finding, checks, screen);
    }
  }
  if (roll_out.is_on_its_way()) out += as_table(roll_out, screen);
  const Totals totals = count(findings);
  std::string sum =
      fmt::format("{} of {} usable, {}, {}", std::ranges::count(usable, true),
                  diag::counted(usable.size(), "server"), diag::counted(totals.failures, "failure"),
                  diag::counted(totals.warnings, "warning"));
  if (status == ExitStatus::unavailable) {
    const bool taken = std::ranges::any_of(findings, [](const Finding& finding) {
      return finding.check == "trial" && finding.level == Level::ok;
    });
    sum += taken ? "; redlock can take new locks only" : "; redlock cannot take a lock";
  }
  for (const std::string& line : diag::wrap(sum, screen.width)) {
    out += diag::paint(line, shown_as(totals.worst).tint, screen) + "\n";
  }
  return out;
}

/// See redlock-check(1).
std::string as_json(const std::vector<Finding>& findings, const Inspectors& inspectors,
                    const std::vector<bool>& usable, const RollOut& roll_out,
                    const config::Settings& settings, ExitStatus status) {
  using records::Json;
  std::vector<Json> servers;
  for (std::size_t server = 0; server < inspectors.size(); ++server) {
    const Inspection& inspection = inspectors[server].inspection();
    const auto text = [&](const char* field) {
      return observe::text_or_null(inspection.field(field));
    };
    Json round_trip;
    if (const auto& took = inspection.round_trip) {
      round_trip = std::chrono::duration<double, std::milli>(*took).count();
    }
    const auto up = uptime(inspection);
    servers.push_back(Json::object({{"server", settings.servers[server].display()},
                                    {"hash", roll_out.ours.servers()[server].hash},
                                    {"usable", static_cast<bool>(usable[server])},
                                    {"version", text("redis_version")},
                                    {"run_id", text("run_id")},
                                    {"uptime_s", up ? Json(up->count()) : Json()},
                                    {"round_trip_ms", round_trip}}));
  }
  const Totals totals = count(findings);
  return Json::object({{"status", static_cast<int>(status)},
                       {"failures", totals.failures},
                       {"warnings", totals.warnings},
                       {"quorum", lock::quorum(settings.servers.size())},
                       {"fingerprint", driver::server_set_fingerprint(settings.servers)},
                       {"servers", Json::array(servers)},
                       {"roll_out", to_json(roll_out)},
                       {"findings",
                        observe::array_of(findings,
                                          [](const Finding& finding) {
                                            return Json::object(
                                                {{"level", shown_as(finding.level).word},
                                                 {"server", observe::text_or_null(finding.server)},
                                                 {"check", finding.check},
                                                 {"text", finding.text}});
                                          })}})
      .output();
}

}  // namespace

Exit carry_out(const cli::Check& request) {
  if (!request.acl_user.empty()) return driver::print(acl_line(request), ExitStatus::ok);
  const config::Settings& settings = request.settings;
  const bool ours = request.name.empty();
  const driver::LockId lock =
      driver::lock_id(settings, ours ? "redlock-check-" + os::random_hex(8) : request.name);
  const Tried tried{lock.name, ours};
  driver::Interview interview(settings, driver::timeouts_of(settings));
  Inspectors inspectors;
  for (std::size_t server = 0; server < interview.servers(); ++server) {
    inspectors
        .emplace_back(interview.questions(), server, lock.key, settings.as == config::As::redisson)
        .start(os::boot_now());
  }
  interview.finish();
  SelfTestResult self_test = test_lock(settings, lock);
  if (ours) sweep(interview, inspectors, self_test);
  if (self_test.interrupted > 0) return Exit::by_signal(self_test.interrupted);

  std::vector<Finding> findings;
  const auto all = std::back_inserter(findings);
  std::vector<bool> usable;
  for (std::size_t server = 0; server < inspectors.size(); ++server) {
    const Inspection& inspection = inspectors[server].inspection();
    self_test.servers[server].explained = !can_vote(inspection);
    usable.push_back(is_usable(inspection, self_test, server));
    self_test.servers[server].kept_data = keeps_data(inspection);
    std::ranges::move(diagnose(settings.servers[server], inspection, settings, tried,
                               twin_of(inspectors, server, settings.servers)),
                      all);
  }
  std::ranges::move(diagnose_set(settings), all);
  std::ranges::move(diagnose_self_test(self_test, settings, tried), all);
  RollOut roll_out = survey(request);
  if (std::ranges::count(usable, false) > 0) {
    roll_out.waits_for.emplace_back("not all servers are usable");
  }
  if (known_name_waits(self_test).count() > 0) {
    roll_out.waits_for.emplace_back("too many servers were restarted lately");
  }
  std::ranges::move(diagnose_lists(roll_out), all);
  const ExitStatus status = status_of(count(findings).worst, self_test, tried);
  if (request.json) {
    return driver::print(as_json(findings, inspectors, usable, roll_out, settings, status), status);
  }
  if (settings.quiet) return status;
  return driver::print(as_report(findings, usable, roll_out, settings, status), status);
}

}  // namespace redlock::check
