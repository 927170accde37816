// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "check/diagnosis.h"
#include "diag/blocker.h"
#include "diag/duration.h"
#include "diag/lock_name.h"

namespace redlock::check {

namespace {

using config::Settings;

std::string text_of(const lock::Answer& answer) {
  if (const auto* trouble = std::get_if<lock::Unreachable>(&answer)) return trouble->why;
  if (const auto* grant = std::get_if<lock::Granted>(&answer)) {
    return fmt::format("was started only just now; trusted in {} s (see --restart-grace)",
                       grant->distrusted_for.count());
  }
  if (std::holds_alternative<lock::NotCommitted>(answer)) return "stores no fencing number";
  return "somebody else holds the lock there";
}

/// Judges one server in a self-test that got the lock. None if every step succeeded. `stays`: how
/// long an unreleased lock stays.
std::optional<Verdict> judge_steps(const SelfTestResult::Steps& steps, lock::Duration stays) {
  if (!steps.acquired) return Verdict{Level::outage, "gave no vote"};
  if (const auto* refusal = std::get_if<lock::Refused>(&*steps.acquired)) {
    return Verdict{Level::warning, "gave no vote: the lock is " + diag::describe(*refusal)};
  }
  if (!std::holds_alternative<lock::Granted>(*steps.acquired)) {
    return Verdict{Level::outage, "gave no vote: " + text_of(*steps.acquired)};
  }
  const auto gone = [](const std::optional<lock::Answer>& answer) {
    return answer && (std::holds_alternative<lock::Missing>(*answer) ||
                      std::holds_alternative<lock::NotMine>(*answer));
  };
  if (gone(steps.renewed) || gone(steps.released)) {
    return Verdict{Level::misconfigured,
                   "the lock was gone a moment after it was granted; does another program delete "
                   "keys there, or does a proxy spread them over several servers?"};
  }
  const auto answer_text = [](const std::optional<lock::Answer>& answer) {
    return answer ? text_of(*answer) : "no answer came";
  };
  if (!steps.renewed || !std::holds_alternative<lock::Renewed>(*steps.renewed)) {
    return Verdict{Level::outage, "the lock could not be renewed: " + answer_text(steps.renewed)};
  }
  if (!steps.released || !std::holds_alternative<lock::Released>(*steps.released)) {
    return Verdict{Level::warning,
                   fmt::format("the lock could not be released and may stay for {}: {}",
                               diag::for_people(stays), answer_text(steps.released))};
  }
  return std::nullopt;
}

/// Counts all votes, with those that came after the quorum.
std::ptrdiff_t votes(const SelfTestResult& self_test) {
  return std::ranges::count_if(self_test.servers, [](const SelfTestResult::Steps& steps) {
    return steps.acquired && std::holds_alternative<lock::Granted>(*steps.acquired);
  });
}

Verdict judge_outcome(const SelfTestResult& self_test, const Settings& settings,
                      const Tried& tried) {
  const std::string lock = diag::lock_name(tried.name);
  const std::string subject = tried.ours ? "a lock" : lock;
  switch (self_test.outcome.kind) {
    case lock::Outcome::Kind::job_ended:
      return {
          Level::ok,
          fmt::format("{} of {} votes in {}: {} was taken, renewed and released; fencing "
                      "number {}",
                      votes(self_test), settings.servers.size(),
                      diag::for_people(self_test.grant->waited), subject, self_test.grant->fence)};
    case lock::Outcome::Kind::conflict:
      return {tried.ours ? Level::outage : Level::ok,
              lock + " is held by " +
                  (self_test.holder ? diag::describe(*self_test.holder)
                                    : "several contenders in turn") +
                  (tried.ours ? "; nobody else should use this name" : "; the test was skipped")};
    case lock::Outcome::Kind::lost:
      return {Level::outage, subject + " was acquired, and lost at once"};
    case lock::Outcome::Kind::misconfigured:
      return {Level::misconfigured, subject + " could not be acquired: two of the servers are one"};
    default:
      break;
  }
  std::string why;
  for (const lock::Complaint& complaint : self_test.complaints) {
    why += "; " + settings.servers.at(complaint.server).brief() + ": " + text_of(complaint.answer);
  }
  if (why.empty()) why = "; solve the problems above";
  return {Level::outage, subject + " could not be acquired" + why};
}

}  // namespace

std::vector<Finding> diagnose_self_test(const SelfTestResult& self_test, const Settings& settings,
                                        const Tried& tried) {
  std::vector<Finding> findings;
  lock::Duration stays = settings.ttl;
  if (tried.ours) stays = std::max<lock::Duration>(stays, redis::Inspector::kSweptFor);
  for (std::size_t server = 0; self_test.grant && server < self_test.servers.size(); ++server) {
    auto verdict = judge_steps(self_test.servers[server], stays);
    if (!verdict) continue;
    findings.push_back(
        {verdict->level, settings.servers[server].display(), "trial", std::move(verdict->text)});
  }
  Verdict verdict = judge_outcome(self_test, settings, tried);
  findings.push_back({verdict.level, {}, "trial", std::move(verdict.text)});
  return findings;
}

}  // namespace redlock::check
