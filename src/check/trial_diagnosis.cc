// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "check/diagnosis.h"
#include "diag/holder.h"

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

/// What one server did in a trial that was won. Nothing to say if all went well. `stays`: a lock
/// that is not released.
std::optional<Verdict> judge_steps(const TrialResult::Steps& steps, lock::Duration stays) {
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
                   "the lock was gone a moment after it was granted; who deletes keys there, or "
                   "does a proxy spread them over several servers?"};
  }
  const auto told = [](const std::optional<lock::Answer>& answer) {
    return answer ? text_of(*answer) : "no answer came";
  };
  if (!steps.renewed || !std::holds_alternative<lock::Renewed>(*steps.renewed)) {
    return Verdict{Level::outage, "the lock could not be renewed: " + told(steps.renewed)};
  }
  if (!steps.released || !std::holds_alternative<lock::Released>(*steps.released)) {
    return Verdict{Level::warning,
                   fmt::format("the lock could not be released and may stay for {}: {}",
                               diag::for_people(stays), told(steps.released))};
  }
  return std::nullopt;
}

/// All that came: some come after the lock is won.
std::ptrdiff_t votes(const TrialResult& trial) {
  return std::ranges::count_if(trial.servers, [](const TrialResult::Steps& steps) {
    return steps.acquired && std::holds_alternative<lock::Granted>(*steps.acquired);
  });
}

Verdict judge_outcome(const TrialResult& trial, const Settings& settings, const Tried& tried) {
  const std::string lock = "the lock " + diag::printable(tried.name, 80);
  switch (trial.outcome.kind) {
    case lock::Outcome::Kind::job_ended:
      return {Level::ok,
              fmt::format("{} was taken with {} of {} votes in {}, renewed and released; fencing "
                          "number {}",
                          lock, votes(trial), settings.servers.size(),
                          diag::for_people(trial.grant->waited), trial.grant->fence)};
    case lock::Outcome::Kind::conflict:
      return {tried.ours ? Level::outage : Level::ok,
              lock + " is held by " +
                  (trial.holder ? diag::describe(*trial.holder) : "several contenders in turn") +
                  (tried.ours ? "; nobody else should use this name" : "; it was not tried")};
    case lock::Outcome::Kind::lost:
      return {Level::outage, lock + " was had, and lost at once"};
    case lock::Outcome::Kind::misconfigured:
      return {Level::misconfigured, lock + " cannot be had: two of the servers are one"};
    default:
      break;
  }
  std::string why;
  for (const lock::Complaint& complaint : trial.complaints) {
    why += (why.empty() ? ": " : "; ") + settings.servers.at(complaint.server).display() + ": " +
           text_of(complaint.answer);
  }
  return {Level::outage, lock + " cannot be had" + why};
}

}  // namespace

std::vector<Finding> diagnose_trial(const TrialResult& trial, const Settings& settings,
                                    const Tried& tried) {
  std::vector<Finding> findings;
  lock::Duration stays = settings.ttl;
  if (tried.ours) stays = std::max<lock::Duration>(stays, redis::Inspector::kSweptFor);
  for (std::size_t server = 0; trial.grant && server < trial.servers.size(); ++server) {
    auto verdict = judge_steps(trial.servers[server], stays);
    if (!verdict) continue;
    findings.push_back(
        {verdict->level, settings.servers[server].display(), "trial", std::move(verdict->text)});
  }
  Verdict verdict = judge_outcome(trial, settings, tried);
  findings.push_back({verdict.level, {}, "trial", std::move(verdict.text)});
  return findings;
}

}  // namespace redlock::check
