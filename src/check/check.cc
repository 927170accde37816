// SPDX-License-Identifier: MIT
//
// Asks all servers about themselves at the same time, then tests a lock, then prints the findings.
#include "check/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <optional>

#include "check/diagnosis.h"
#include "check/report.h"
#include "check/self_test.h"
#include "driver/finish.h"
#include "driver/lock_id.h"
#include "driver/output.h"
#include "driver/setup.h"
#include "os/clock.h"
#include "os/random.h"
#include "records/json.h"
#include "redis/inspection/inspector.h"
#include "redis/tls/context.h"

namespace redlock::check {

namespace {

constexpr std::size_t kNameBytes = 8;

using Inspectors = std::deque<redis::Inspector>;  // a deque, since they cannot move

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

/// Deletes everything of a lock that nobody else uses, its fence included.
void sweep(Inspectors& inspectors, const SelfTestResult& self_test) {
  using Remains = redis::Inspector::Remains;
  for (std::size_t server = 0; server < inspectors.size(); ++server) {
    const bool late = may_come_late(self_test.servers[server]);
    if (!late && !can_vote(inspectors[server].inspection())) continue;
    inspectors[server].sweep(late ? Remains::expected : Remains::there, os::boot_now());
  }
  driver::finish(inspectors);
}

ExitStatus status_of(const std::vector<Finding>& findings, const SelfTestResult& self_test) {
  if (self_test.outcome.kind == lock::Outcome::Kind::unavailable) return ExitStatus::unavailable;
  Level worst = Level::ok;
  for (const Finding& finding : findings) worst = std::max(worst, finding.level);
  if (worst == Level::misconfigured) return ExitStatus::config;
  return worst == Level::ok ? ExitStatus::ok : ExitStatus::conflict;
}

std::size_t usable(const Inspectors& inspectors) {
  return static_cast<std::size_t>(std::ranges::count_if(
      inspectors,
      [](const redis::Inspector& inspector) { return can_vote(inspector.inspection()); }));
}

/// See redlock-check(1).
std::string as_json(const std::vector<Finding>& findings, const Inspectors& inspectors,
                    const config::Settings& settings, ExitStatus status) {
  using records::Json;
  std::vector<Json> servers;
  for (std::size_t server = 0; server < inspectors.size(); ++server) {
    const redis::Inspection& inspection = inspectors[server].inspection();
    const auto text = [&](const char* field) {
      const std::string value = inspection.field(field);
      return value.empty() ? Json() : Json(value);
    };
    Json round_trip;
    if (const auto& took = inspection.round_trip) {
      round_trip = std::chrono::duration<double, std::milli>(*took).count();
    }
    const auto up = uptime(inspection);
    servers.push_back(Json::object({{"server", settings.servers[server].display()},
                                    {"usable", can_vote(inspection)},
                                    {"version", text("redis_version")},
                                    {"run_id", text("run_id")},
                                    {"uptime_s", up ? Json(up->count()) : Json()},
                                    {"round_trip_ms", round_trip}}));
  }
  std::vector<Json> list;
  for (const Finding& finding : findings) {
    list.push_back(Json::object({{"level", word_for(finding.level)},
                                 {"server", finding.server.empty() ? Json() : Json(finding.server)},
                                 {"check", finding.check},
                                 {"text", finding.text}}));
  }
  const Totals totals = count(findings);
  return Json::object({{"status", static_cast<int>(status)},
                       {"failures", totals.failures},
                       {"warnings", totals.warnings},
                       {"quorum", lock::quorum(settings.servers.size())},
                       {"fingerprint", driver::server_set_fingerprint(settings.servers)},
                       {"servers", Json::array(servers)},
                       {"findings", Json::array(list)}})
      .output();
}

void append(std::vector<Finding>& findings, std::vector<Finding> more) {
  std::ranges::move(more, std::back_inserter(findings));
}

}  // namespace

Exit check(const cli::Check& request) {
  const config::Settings& settings = request.settings;
  const bool ours = request.name.empty();
  const driver::LockId lock = driver::lock_id(
      settings, ours ? "redlock-check-" + os::random_hex(kNameBytes) : request.name);
  const Tried tried{lock.name, ours};
  std::optional<redis::TlsContext> tls;
  Inspectors inspectors;
  for (const redis::Endpoint& server : settings.servers) {
    if (server.tls && !tls) tls.emplace(settings.tls);
    inspectors.emplace_back(server, server.tls ? &*tls : nullptr, driver::timeouts_of(settings),
                            lock.key);
    inspectors.back().start(os::boot_now());
  }
  driver::finish(inspectors);
  SelfTestResult self_test = SelfTest(settings, lock).run();
  if (ours) sweep(inspectors, self_test);
  if (self_test.interrupted > 0) return Exit::by_signal(self_test.interrupted);

  std::vector<Finding> findings;
  for (std::size_t server = 0; server < inspectors.size(); ++server) {
    append(findings, diagnose(settings.servers[server], inspectors[server].inspection(), settings,
                              tried, twin_of(inspectors, server, settings.servers)));
  }
  append(findings, diagnose_set(settings));
  // An earlier finding already says why such a server gave no vote.
  std::erase_if(self_test.complaints, [&](const lock::Complaint& complaint) {
    return !can_vote(inspectors[complaint.server].inspection());
  });
  std::vector<Finding> of_test = diagnose_self_test(self_test, settings, tried);
  for (std::size_t server = 0; server < inspectors.size(); ++server) {
    if (can_vote(inspectors[server].inspection())) continue;
    std::erase_if(of_test, [name = settings.servers[server].display()](const Finding& finding) {
      return finding.server == name;
    });
  }
  append(findings, std::move(of_test));
  const ExitStatus status = status_of(findings, self_test);
  if (request.json) {
    return driver::print(as_json(findings, inspectors, settings, status), status);
  }
  if (settings.quiet) return status;
  const Shown shown = settings.verbose ? Shown::everything : Shown::problems;
  return driver::print(as_report(findings, shown, usable(inspectors), inspectors.size(), status,
                                 driver::output_screen(settings)),
                       status);
}

}  // namespace redlock::check
