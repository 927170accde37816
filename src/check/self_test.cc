// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <utility>
#include <variant>

#include "check/diagnosis.h"
#include "diag/blocker.h"
#include "diag/text.h"
#include "driver/driver.h"
#include "lock/value.h"
#include "os/clock.h"
#include "os/signals.h"
#include "redis/servers/server_set.h"

namespace redlock::check {

namespace {

using config::Settings;

lock::Plan test_plan(const Settings& settings) {
  return {
      .servers = settings.servers.size(),
      .timing = {.ttl = settings.ttl, .grace = std::min(settings.grace(), settings.ttl / 3)},
      .patience = {.wait = lock::Duration::zero(), .server_wait = settings.server_wait},
      .max_runtime = std::nullopt,
      .server_timeout = settings.request_timeout(),
      .seed = os::random_seed(),
  };
}

class SelfTest : private driver::Host {
 public:
  SelfTest(const Settings& settings, const driver::LockId& lock)
      : plan_(test_plan(settings)),
        patience_(2 * (settings.request_timeout() + settings.connect_timeout())),
        servers_(driver::open_servers(
            settings, lock, settings.ttl,
            driver::record_of(driver::describe_ourselves(settings, {"redlock", "check"})))),
        session_(plan_, os::boot_now()),
        driver_(session_, *this, servers_, signals_, {}) {
    result_.servers.resize(settings.servers.size());
  }

  SelfTestResult run() {
    driver::require_connections(servers_.size());
    driver_.run();
    result_.outcome = session_.outcome();
    // A quorum is enough for the session, but this test waits for the release on every server.
    while (servers_.deadline() != lock::kNever) driver_.iterate();
    return std::move(result_);
  }

 private:
  using Step = std::optional<lock::Answer> SelfTestResult::Steps::*;

  /// Acts as the job. Needs no subscriptions, and writes no log.
  bool perform(const lock::Effect& effect, lock::Instant now) override {
    if (std::holds_alternative<lock::Ask>(effect)) return false;
    if (const auto* report = std::get_if<lock::Report>(&effect)) {
      note(*report);
    } else if (std::holds_alternative<lock::Spawn>(effect)) {
      holding_ = true;
      go_on_by_ = now + patience_;
      driver_.step(lock::JobStarted{}, now);
    } else if (holding_ && std::holds_alternative<lock::Kill>(effect)) {
      holding_ = false;  // there is no process to kill
      driver_.step(lock::JobExited{0}, now);
      driver_.step(lock::JobTreeGone{}, now);
    }
    return true;
  }

  /// The work of the pretended job: waits until all servers have voted, then until all have
  /// renewed, and ends.
  void iterated(lock::Instant now) override {
    if (!holding_ || session_.finished()) return;
    const bool late = now >= go_on_by_;
    if (!jumped_) {
      if (!late && !all_answered(&SelfTestResult::Steps::acquired)) return;
      jumped_ = true;
      driver_.jump(plan_.timing.renew_every());
      go_on_by_ = driver_.now() + patience_;
      driver_.step(lock::Tick{}, driver_.now());
    } else if (late || all_answered(&SelfTestResult::Steps::renewed)) {
      holding_ = false;
      driver_.step(lock::JobExited{0}, now);
    }
  }

  [[nodiscard]] bool all_answered(Step step) const {
    return std::ranges::all_of(result_.servers,
                               [step](const auto& server) { return (server.*step).has_value(); });
  }

  bool take_signal(const lock::Signal& signal, lock::Instant now) override {
    if (!signal.ends_waiting) return true;
    result_.interrupted = signal.number;
    if (session_.finished()) return true;
    if (!std::exchange(holding_, false)) return false;
    driver_.step(lock::JobExited{}, now);
    return true;
  }

  void note(const lock::Report& report) {
    if (const auto* acquired = std::get_if<lock::report::Acquired>(&report)) {
      result_.grant = *acquired;
    } else if (const auto* contended = std::get_if<lock::report::Contended>(&report)) {
      result_.holder = contended->refusal;
    } else if (const auto* unavailable = std::get_if<lock::report::Unavailable>(&report)) {
      result_.complaints = unavailable->complaints;
    }
  }

  void heard(const lock::Reply& reply) override {
    SelfTestResult::Steps& server = result_.servers.at(reply.ask.server);
    const lock::Op op = reply.ask.op();
    const auto* silence = std::get_if<lock::Unreachable>(&reply.answer);
    const bool withdrawn = silence != nullptr && silence->why.empty();
    if (op == lock::Op::acquire && !withdrawn) server.acquired = reply.answer;
    if (op == lock::Op::renew) server.renewed = reply.answer;
    if (lock::is_release(op)) server.released = reply.answer;
  }

  lock::Plan plan_;
  lock::Duration patience_;   ///< longer than any answer may take, with connecting
  os::SignalSource signals_;  // first: no signal after this leaves a lock on a server
  redis::ServerSet servers_;
  lock::Session session_;
  driver::Driver driver_;
  SelfTestResult result_;
  bool holding_ = false;
  bool jumped_ = false;                    ///< to the first renewal
  lock::Instant go_on_by_ = lock::kNever;  ///< do not wait for the other servers after this
};

template <class Kind>
bool is(const std::optional<lock::Answer>& answer) {
  return answer && std::holds_alternative<Kind>(*answer);
}

/// Whether the key is there, but Redisson's if the lock is not, or the other way round, or that of
/// Redisson's read-write lock.
bool is_of_other_kind(const std::optional<lock::Refused>& refusal) {
  const auto type = lock::type_of(refusal ? refusal->blocker : std::string_view());
  return type == "hash" || type == "redisson mode" || type == "plain string";
}

std::string text_of(const std::optional<lock::Answer>& answer) {
  if (!answer) return "no answer came";
  if (const auto* trouble = std::get_if<lock::Unreachable>(&*answer)) {
    return trouble->why.empty() ? "no answer came in time" : trouble->why;
  }
  if (const auto* grant = std::get_if<lock::Granted>(&*answer)) {
    return fmt::format("was started only just now; trusted in {} s (see --restart-grace)",
                       grant->distrusted_for.count());
  }
  if (is<lock::NotCommitted>(answer)) return "stores no fencing number";
  return "another process holds the lock there";
}

/// Judges one server in a self-test that ended before all votes had come: the lock is held, or two
/// of the servers are one.
std::optional<Verdict> judge_vote(const SelfTestResult::Steps& steps) {
  if (!is<lock::Unreachable>(steps.acquired)) return std::nullopt;
  return Verdict{Level::outage, "gave no vote: " + text_of(steps.acquired)};
}

/// Judges one server in a self-test that got the lock. None if every step succeeded. `stays`: for
/// how long an unreleased lock stays.
std::optional<Verdict> judge_steps(const SelfTestResult::Steps& steps, lock::Duration stays) {
  if (is<lock::Refused>(steps.acquired)) {
    return Verdict{Level::warning, "gave no vote: the lock is " +
                                       diag::describe(std::get<lock::Refused>(*steps.acquired))};
  }
  if (!is<lock::Granted>(steps.acquired)) {
    return Verdict{Level::outage, "gave no vote: " + text_of(steps.acquired)};
  }
  const auto gone = [](const std::optional<lock::Answer>& answer) {
    return is<lock::Missing>(answer) || is<lock::NotMine>(answer);
  };
  if (gone(steps.renewed) || gone(steps.released)) {
    return Verdict{Level::misconfigured,
                   "the lock was gone a moment after it was granted; does another program delete "
                   "keys there, or does a proxy spread them over several servers?"};
  }
  if (!is<lock::Renewed>(steps.renewed)) {
    return Verdict{Level::outage, "the lock could not be renewed: " + text_of(steps.renewed)};
  }
  if (!is<lock::Released>(steps.released)) {
    return Verdict{Level::warning,
                   fmt::format("the lock could not be released and may stay for {}: {}",
                               diag::for_people(stays), text_of(steps.released))};
  }
  return std::nullopt;
}

Verdict judge_outcome(const SelfTestResult& self_test, const Settings& settings,
                      const Tried& tried) {
  const std::string lock = diag::lock_name(tried.name);
  const std::string subject = tried.ours ? "a lock" : lock;
  // Those that came after the quorum, too.
  const auto votes =
      std::ranges::count_if(self_test.servers, is<lock::Granted>, &SelfTestResult::Steps::acquired);
  switch (self_test.outcome.kind) {
    case lock::Outcome::Kind::job_ended:
      return {Level::ok,
              fmt::format("{} of {} votes in {}: {} was taken, renewed and released; fencing "
                          "number {}",
                          votes, settings.servers.size(), diag::for_people(self_test.grant->waited),
                          subject, self_test.grant->fence)};
    case lock::Outcome::Kind::conflict:
      return {
          tried.ours                           ? Level::outage
          : is_of_other_kind(self_test.holder) ? Level::warning
                                               : Level::ok,
          lock + " is " +
              (self_test.holder ? diag::describe(*self_test.holder)
                                : "held by several contenders in turn") +
              (tried.ours ? "; no other program should use this name" : "; the test was skipped")};
    case lock::Outcome::Kind::lost:
      return {Level::outage, subject + " was acquired, and lost immediately"};
    case lock::Outcome::Kind::misconfigured:
      return {Level::misconfigured, subject + " could not be acquired: two of the servers are one"};
    default:
      break;
  }
  std::string why;
  for (const lock::Complaint& complaint : self_test.complaints) {
    if (self_test.servers.at(complaint.server).explained) continue;
    why += "; " + settings.servers.at(complaint.server).brief() + ": " + text_of(complaint.answer);
  }
  if (why.empty()) why = "; solve the problems above";
  return {Level::outage, subject + " could not be acquired" + why};
}

}  // namespace

SelfTestResult test_lock(const Settings& settings, const driver::LockId& lock) {
  return SelfTest(settings, lock).run();
}

std::chrono::seconds known_name_waits(const SelfTestResult& self_test) {
  std::vector<std::chrono::seconds> waits;
  bool used_before = false;
  for (const SelfTestResult::Steps& server : self_test.servers) {
    if (!is<lock::Granted>(server.acquired)) continue;
    waits.push_back(std::get<lock::Granted>(*server.acquired).distrusted_for);
    used_before = used_before || waits.back() == waits.back().zero() || server.kept_data;
  }
  std::ranges::sort(waits);
  const std::size_t needed = lock::quorum(self_test.servers.size());
  return used_before && waits.size() >= needed ? waits[needed - 1] : std::chrono::seconds(0);
}

std::vector<Finding> diagnose_self_test(const SelfTestResult& self_test, const Settings& settings,
                                        const Tried& tried) {
  std::vector<Finding> findings;
  lock::Duration stays = settings.ttl;
  if (tried.ours) stays = std::max<lock::Duration>(stays, Inspector::kSweptFor);
  // Of an outage, judge_outcome() names the servers.
  const bool in_vain = self_test.outcome.kind == lock::Outcome::Kind::unavailable;
  for (std::size_t server = 0; server < self_test.servers.size(); ++server) {
    const SelfTestResult::Steps& steps = self_test.servers[server];
    if (steps.explained || in_vain) continue;
    auto verdict = self_test.grant ? judge_steps(steps, stays) : judge_vote(steps);
    if (!verdict) continue;
    findings.push_back({std::move(*verdict), settings.servers[server].display(), "trial"});
  }
  if (const auto wait = known_name_waits(self_test); tried.ours && wait > wait.zero()) {
    findings.push_back(
        {{Level::outage, fmt::format("a lock that was used before cannot be taken for another {}: "
                                     "too many servers were restarted, and may have forgotten it; "
                                     "wait, or see --restart-grace",
                                     diag::for_people(wait))},
         {},
         "trial"});
  }
  findings.push_back({judge_outcome(self_test, settings, tried), {}, "trial"});
  return findings;
}

}  // namespace redlock::check
