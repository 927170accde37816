// SPDX-License-Identifier: MIT
#include <array>
#include <charconv>
#include <csignal>
#include <stdexcept>

#include "scenario.h"

namespace redlock::scenarios {

using lock::Duration;
using lock::Overloaded;
using std::chrono::milliseconds;

namespace {

constexpr std::array<std::pair<lock::Op, std::string_view>, 8> kOps{{
    {lock::Op::acquire, "acquire"},
    {lock::Op::renew, "renew"},
    {lock::Op::repair, "repair"},
    {lock::Op::commit, "commit"},
    {lock::Op::mark, "mark"},
    {lock::Op::release, "release"},
    {lock::Op::leave, "leave"},
    {lock::Op::leave_queue, "leave_queue"},
}};

std::string_view word_of(lock::Op op) {
  for (const auto& [each, name] : kOps) {
    if (each == op) return name;
  }
  return "?";
}

std::string_view named(const Words& words, std::string_view name) {
  const auto found = words.named.find(name);
  return found == words.named.end() ? std::string_view() : std::string_view(found->second);
}

bool has(const Words& words, std::string_view flag) {
  for (const std::string& word : words.bare) {
    if (word == flag) return true;
  }
  return false;
}

std::uint64_t number(const Words& words, std::string_view name) {
  const std::string_view text = named(words, name);
  return text.empty() ? 0 : std::stoull(std::string(text));
}

milliseconds ms(const Words& words, std::string_view name) {
  const std::string_view text = named(words, name);
  return text.empty() ? milliseconds(0)
                      : std::chrono::duration_cast<milliseconds>(read_duration(text));
}

lock::Granted read_grant(const Words& words) {
  return {
      .run_id = std::string(named(words, "run")),
      .distrusted_for = std::chrono::duration_cast<std::chrono::seconds>(ms(words, "distrusted")),
      .may_be_new = has(words, "new"),
      .fence = number(words, "fence"),
      .clock = ms(words, "clock")};
}

lock::Refused read_refusal(const Words& words) {
  lock::Refused refusal{.blocker = std::string(named(words, "by")), .ttl_left = {}, .holder = "{}"};
  if (words.named.contains("ttl")) refusal.ttl_left = ms(words, "ttl");
  refusal.turn = has(words, "turn");
  refusal.ticket = number(words, "ticket");
  refusal.place = number(words, "place");
  refusal.waiters = number(words, "waiters");
  return refusal;
}

/// In the order of lock::Answer.
constexpr std::array<std::string_view, 13> kAnswers{
    "granted",  "refused",     "renewed", "committed",  "not committed", "released", "missing",
    "not mine", "unreachable", "done",    "superseded", "marked",        "revoked"};

std::string describe(const lock::Answer& answer) {
  if (const auto* refused = std::get_if<lock::Refused>(&answer)) {
    return (refused->turn ? "the turn of " : "refused by ") + refused->blocker;
  }
  if (const auto* other = std::get_if<lock::NotMine>(&answer)) return "not mine: " + other->blocker;
  if (const auto* no = std::get_if<lock::NotCommitted>(&answer)) {
    return "not committed, has " + std::to_string(no->last);
  }
  return std::string(kAnswers.at(answer.index()));
}

/// " (A: its last words, B: …)" of the servers that did not do what was asked of them.
std::string describe(const std::vector<lock::Complaint>& complaints) {
  std::string text;
  for (const lock::Complaint& complaint : complaints) {
    text += text.empty() ? " (" : ", ";
    text += name_of(complaint.server) + ": " + describe(complaint.answer);
  }
  return text.empty() ? text : text + ")";
}

std::string describe(const lock::Ask& ask) {
  std::string text = name_of(ask.server) + ": " + std::string(word_of(ask.op()));
  if (ask.attempt != lock::kNoAttempt) text += ", attempt " + std::to_string(ask.attempt);
  if (ask.round != 0) text += ", round " + std::to_string(ask.round);
  const auto add_life = [&text](Duration life) {
    if (life != Duration::zero()) text += ", for " + text_of(life);
  };
  std::visit(lock::Overloaded{[&](const lock::op::Acquire& acquire) {
                                add_life(acquire.life);
                                if (acquire.ticket == 0) return;
                                text += ", ticket " + std::to_string(acquire.ticket);
                              },
                              [&](const lock::op::Renew& renew) { add_life(renew.life); },
                              [&](const lock::op::Repair& repair) { add_life(repair.life); },
                              [&](const lock::op::Commit& commit) {
                                text += ", fence " + std::to_string(commit.fence);
                              },
                              [&](const lock::op::Mark& mark) { add_life(mark.life); },
                              [&](const lock::op::Leave& leave) { add_life(leave.cools); },
                              [](const auto&) {}},
             ask.operation);
  return text;
}

std::string name_of_signal(int number) {
  if (number == 15) return "TERM";
  if (number == 18) return "CONT";
  if (number == 9) return "KILL";
  return "signal " + std::to_string(number);
}

/// In the order of lock::StopReason.
constexpr std::array<std::string_view, 4> kReasons{"the lock is lost", "the lease ends",
                                                   "it ran for too long", "the supervisor is gone"};

/// In the order of lock::Log::Event.
constexpr std::array<std::string_view, 6> kLogEvents{"acquired", "released",   "lost",
                                                     "skipped",  "superseded", "revoked"};

/// In the order of lock::Outcome::Kind.
constexpr std::array<std::string_view, 10> kOutcomes{"the job ended with ",
                                                     "the job could not be started, status ",
                                                     "not needed",
                                                     "superseded",
                                                     "held by another",
                                                     "too few servers",
                                                     "misconfigured",
                                                     "interrupted by signal ",
                                                     "lost",
                                                     "the job ran for too long"};

template <class Enum, std::size_t kSize>
std::string word_of(Enum value, const std::array<std::string_view, kSize>& words) {
  return std::string(words.at(static_cast<std::size_t>(value)));
}

std::string describe(const lock::report::Contended& contended) {
  using When = lock::report::Contended::When;
  std::string text = contended.when == When::begins    ? "report: waits"
                     : contended.when == When::changes ? "report: goes on waiting"
                                                       : "report: gives up";
  return text +
         (contended.refusal ? ", held by " + contended.refusal->blocker : ", the votes are split");
}

std::string describe(const lock::Report& report) {
  namespace r = lock::report;
  return std::visit(
      Overloaded{
          [](const r::Contended& what) { return describe(what); },
          [](const r::Acquired& what) {
            return "report: acquired with " + std::to_string(what.votes) + " votes, fence " +
                   std::to_string(what.fence) + ", after " + text_of(what.waited);
          },
          [](const r::Unavailable& what) {
            return "report: fewer than a quorum" + describe(what.complaints);
          },
          [](const r::SameServer& what) {
            return "report: " + name_of(what.first) + " and " + name_of(what.second) +
                   " are one server";
          },
          [](const r::RenewalFailing& what) {
            return "report: renewals fail" + describe(what.complaints) + ", the job stops in " +
                   text_of(what.job_stops_in);
          },
          [](const r::Stopping& what) {
            return "report: stopping the job, " + word_of(what.reason, kReasons) +
                   describe(what.complaints);
          },
          [](const r::NotOursAtRelease& what) {
            return "report: not ours at release" + describe(what.complaints);
          },
          [](const r::Skipped&) -> std::string { return "report: a run of another was enough"; },
          [](const r::Superseded& what) {
            return "report: superseded after " + text_of(what.waited);
          },
          [](const r::ReleaseUnconfirmed& what) {
            return std::string("report: the release is not confirmed") +
                   (what.free ? " by all" : "") + describe(what.complaints) +
                   ", the lock may stay for " + text_of(what.stays_for);
          },
          [](const r::Released& what) {
            std::string text = "report: released after " + text_of(what.held);
            if (what.cools_for > Duration::zero()) text += ", cools for " + text_of(what.cools_for);
            return text;
          },
          [](const auto&) -> std::string { return "report: of a kind that no transcript has"; },
      },
      report);
}

}  // namespace

Duration read_duration(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (error != std::errc() || (unit != "s" && unit != "ms")) {
    throw std::runtime_error("not a duration: " + std::string(text));
  }
  return std::chrono::round<milliseconds>(
      std::chrono::duration<double, std::milli>(unit == "s" ? number * 1000 : number));
}

lock::Op read_op(std::string_view text) {
  for (const auto& [op, name] : kOps) {
    if (name == text) return op;
  }
  throw std::runtime_error("not a request: " + std::string(text));
}

lock::Answer read_answer(const Words& words) {
  const std::string_view verb = words.bare.empty() ? "" : std::string_view(words.bare.front());
  if (verb == "granted") return read_grant(words);
  if (verb == "refused") return read_refusal(words);
  if (verb == "renewed") return lock::Renewed{};
  if (verb == "committed") return lock::Committed{};
  if (verb == "not_committed") return lock::NotCommitted{number(words, "last")};
  if (verb == "released") return lock::Released{.cooling = has(words, "cooling")};
  if (verb == "missing") return lock::Missing{};
  if (verb == "not_mine") {
    return lock::NotMine{std::string(named(words, "by")), has(words, "revoked")};
  }
  if (verb == "unreachable") {
    return lock::Unreachable{.maybe_applied = !has(words, "unsent"), .why = {}};
  }
  if (verb == "done") return lock::Done{ms(words, "began"), ms(words, "stays"), {}};
  if (verb == "superseded") return lock::Superseded{};
  if (verb == "marked") return lock::Marked{};
  throw std::runtime_error("not an answer: " + std::string(verb));
}

std::string text_of(Duration duration) {
  const auto whole = std::chrono::duration_cast<milliseconds>(duration).count();
  if (whole % 1000 != 0 && whole < 1000) return std::to_string(whole) + "ms";
  std::string text = std::to_string(whole / 1000);
  if (whole % 1000 != 0) {
    std::string rest = std::to_string(1000 + whole % 1000).substr(1);
    rest.erase(rest.find_last_not_of('0') + 1);
    text += "." + rest;
  }
  return text + "s";
}

std::string name_of(lock::ServerIndex server) {
  return std::string(1, static_cast<char>('A' + server));
}

std::string text_of(const lock::Effect& effect) {
  return std::visit(
      Overloaded{
          [](const lock::Ask& ask) { return describe(ask); },
          [](const lock::Spawn& spawn) {
            return "start the job, attempt " + std::to_string(spawn.attempt) + ", fence " +
                   std::to_string(spawn.fence) + ", at " +
                   text_of(spawn.latest.time_since_epoch()) + " at the latest";
          },
          [](const lock::Kill& kill) {
            return "send " + name_of_signal(kill.signal) +
                   (kill.signal == SIGKILL ? "" : ", then CONT");
          },
          [](const lock::TellEnding& ending) -> std::string {
            return "tell what is left of the job, KILL in " + text_of(ending.kill_in);
          },
          [](const lock::Measure&) -> std::string {
            return "measure what it takes to kill the job";
          },
          [](const lock::Subscribe&) -> std::string {
            return "subscribe to notices for the holder";
          },
          [](const lock::JoinQueue& join) -> std::string {
            if (join.ticket == 0) return "subscribe to wake-ups";
            return "join the queue with ticket " + std::to_string(join.ticket) +
                   ", subscribe to wake-ups";
          },
          [](const lock::Replace& order) {
            std::vector<lock::Complaint> refusals;
            for (const auto& [server, refusal] : order.refusals)
              refusals.push_back({server, refusal});
            return "revoke the lock from its holder" + describe(refusals);
          },
          [](const lock::Report& report) { return describe(report); },
          [](const lock::Log& log) { return "log: " + word_of(log.event, kLogEvents); },
      },
      effect);
}

std::string text_of(const lock::Outcome& outcome) {
  using Kind = lock::Outcome::Kind;
  const bool numbered = outcome.kind == Kind::job_ended || outcome.kind == Kind::not_started ||
                        outcome.kind == Kind::interrupted;
  return word_of(outcome.kind, kOutcomes) + (numbered ? std::to_string(outcome.number) : "");
}

}  // namespace redlock::scenarios
