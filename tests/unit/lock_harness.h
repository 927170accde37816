// SPDX-License-Identifier: MIT
#pragma once

#include "doctest.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <optional>
#include <utility>
#include <vector>

#include "lock/session.h"

namespace redlock::lock::testing {

using namespace std::chrono_literals;

inline Plan plan_for(std::size_t servers, std::optional<Duration> wait = std::nullopt) {
  return {.servers = servers,
          .timing = {.ttl = 30s, .grace = 5s},
          .patience = {.wait = wait, .server_wait = 10s},
          .max_runtime = std::nullopt,
          .server_timeout = 200ms,
          .seed = 42};
}

/// By a redlock: it has left its record.
inline Refused held_by(std::string blocker, std::optional<std::chrono::milliseconds> ttl = 20s) {
  return {.blocker = std::move(blocker), .ttl_left = ttl, .holder = "{}"};
}

/// The lock is free, but it is the turn of another waiter.
inline Refused turn_of(std::string waiter, std::chrono::milliseconds left = 400ms) {
  return {.blocker = std::move(waiter), .ttl_left = left, .holder = {}, .turn = true};
}

/// A refusal that says where we stand in the queue, and the ticket that a newcomer gets.
inline Refused in_line(Refused refusal, Ticket ticket, std::size_t place = 0,
                       std::size_t waiters = 0) {
  refusal.ticket = ticket;
  refusal.place = place;
  refusal.waiters = waiters;
  return refusal;
}

inline Unreachable no_answer(bool maybe_applied = true, bool permanent = false) {
  return {.maybe_applied = maybe_applied, .permanent = permanent, .why = "did not answer"};
}

/// Whether `op` is what the test means: a release may be one of either kind.
inline bool means(Op wanted, Op op) {
  return op == wanted || (wanted == Op::release && op == Op::leave);
}

/// What a request of this kind says besides.
template <class T>
const T& details(const Ask& ask) {
  return std::get<T>(ask.operation);
}

/// How long the key is to live, or to cool.
inline Duration life_of(const Ask& ask) {
  if (const auto* acquire = ask.as<op::Acquire>()) return acquire->life;
  if (const auto* renew = ask.as<op::Renew>()) return renew->life;
  if (const auto* repair = ask.as<op::Repair>()) return repair->life;
  const auto* leave = ask.as<op::Leave>();
  return leave != nullptr ? leave->cools : Duration::zero();
}

/// The time to live and the grace of an attempt without a session.
inline constexpr Timing kAttemptTiming{.ttl = 30s, .grace = 5s};

/// An attempt that got these answers to its first round, at the start.
inline Attempt attempt_with(const std::vector<Answer>& answers, std::size_t slot = 0) {
  Attempt attempt(1, answers.size(), slot);
  for (const Ask& ask :
       attempt.begin_round(1, 0, kAttemptTiming, std::vector<bool>(answers.size(), true))) {
    attempt.record({ask, Instant(1000s), answers[ask.server]}, kAttemptTiming);
  }
  return attempt;
}

/// A session with a clock in the test's hand. Keeps what it asked for; the test answers.
class Harness {
 public:
  /// `first`: what the servers answer in the first round, from the first one on.
  explicit Harness(const Plan& plan, const std::vector<Answer>& first = {}) : session(plan, start) {
    step(Tick{});
    answers(Op::acquire, first);
  }

  /// What takes the events.
  virtual Machine& machine() { return session; }

  /// After a tick nothing is due any more, or the loop would not wait.
  void step(const Event& event) {
    for (Effect& effect : machine().step(event, now)) effects.push_back(std::move(effect));
    if (std::holds_alternative<Tick>(event) && !machine().finished())
      CHECK(machine().deadline() > now);
  }

  /// The process does not run for this long.
  void stand_still(Duration length) {
    now += length;
    step(Tick{});
  }

  /// Lets time pass, ticking whenever the machine wants to be woken.
  void advance(Duration length) {
    const Instant end = now + length;
    for (int turns = 0; turns < 100'000 && machine().deadline() <= end && !machine().finished();
         ++turns) {
      now = std::max(now, machine().deadline());
      step(Tick{});
    }
    now = end;
    if (!machine().finished()) step(Tick{});
  }

  /// Answers the oldest unanswered request of that kind to that server. False if there is none. A
  /// grant without a fencing number gets the same one everywhere.
  bool answer(ServerIndex server, Op op, Answer answer, Duration age = 0ms) {
    if (auto* grant = std::get_if<Granted>(&answer); grant != nullptr && grant->fence == 0) {
      grant->fence = 1;
    }
    const auto ask = std::find_if(effects.begin(), effects.end(), [&](const Effect& effect) {
      const auto* candidate = std::get_if<Ask>(&effect);
      return candidate != nullptr && candidate->server == server && means(op, candidate->op());
    });
    if (ask == effects.end()) return false;
    const Ask question = std::get<Ask>(*ask);
    effects.erase(ask);
    step(Reply{question, now - age, answer});
    return true;
  }

  /// The effects of that kind, in their order.
  template <class T>
  [[nodiscard]] std::vector<T> all() const {
    std::vector<T> found;
    for (const Effect& effect : effects) {
      if (const auto* each = std::get_if<T>(&effect)) found.push_back(*each);
    }
    return found;
  }
  template <class T>
  [[nodiscard]] std::size_t count() const {
    return all<T>().size();
  }

  [[nodiscard]] std::vector<Ask> asks(Op op) const {
    std::vector<Ask> found = all<Ask>();
    std::erase_if(found, [op](const Ask& ask) { return !means(op, ask.op()); });
    return found;
  }
  [[nodiscard]] std::size_t asked(Op op) const { return asks(op).size(); }

  /// Forgets the effects of that kind.
  template <class T>
  void forget() {
    std::erase_if(effects, [](const Effect& each) { return std::holds_alternative<T>(each); });
  }

  /// The same answer of the first `servers` servers, each to its oldest request of that kind.
  void answer_all(std::size_t servers, Op op, const Answer& each, Duration age = 0ms) {
    for (ServerIndex server = 0; server < servers; ++server) answer(server, op, each, age);
  }

  /// Each server, from the first one on, answers in its own way.
  void answers(Op op, const std::vector<Answer>& of) {
    for (ServerIndex server = 0; const Answer& each : of) answer(server++, op, each);
  }

  /// Until the session wants to be woken.
  Duration pause() const { return session.deadline() - now; }
  void pass_pause() {
    if (!session.finished()) advance(std::max(pause(), Duration::zero()));
  }

  /// The session asks for the lock again as soon as it wants to, and the servers answer: each in
  /// its own way, or all of three in the same one.
  void next_round(const std::vector<Answer>& of) {
    pass_pause();
    answers(Op::acquire, of);
  }
  void next_round_all(const Answer& each) { next_round(std::vector<Answer>(3, each)); }

  /// Lets time pass. The number of effects of that kind that come at its very end; 0 if one comes
  /// before.
  template <class T>
  [[nodiscard]] std::size_t only_after(Duration length) {
    const std::size_t before = count<T>();
    advance(length - 1ns);
    const bool early = count<T>() > before;
    advance(1ns);
    return early ? 0 : count<T>() - before;
  }

  /// The job ends with all its descendants.
  void end_job(int status) {
    step(JobExited{status});
    step(JobTreeGone{});
  }

  /// The first renewal finds no lock on any server.
  void lose() {
    advance(10s);
    answer_all(3, Op::renew, Missing{});
  }

  [[nodiscard]] std::vector<int> kills() const {
    std::vector<int> signals;
    for (const Kill& kill : all<Kill>()) {
      signals.push_back(kill.signal);
      if (kill.signal != SIGKILL) signals.push_back(SIGCONT);
    }
    return signals;
  }

  /// `number`: the exit status, or the signal.
  [[nodiscard]] bool ended(Outcome::Kind kind, int number = 0) const {
    return session.finished() && session.outcome().kind == kind &&
           session.outcome().number == number;
  }

  template <class R>
  [[nodiscard]] const R* reported() const {
    for (const Effect& effect : effects) {
      const auto* report = std::get_if<Report>(&effect);
      if (report != nullptr && std::holds_alternative<R>(*report)) return &std::get<R>(*report);
    }
    return nullptr;
  }

  /// The first report of that kind. There must be one.
  template <class R>
  [[nodiscard]] const R& told() const {
    const R* const report = reported<R>();
    REQUIRE(report != nullptr);
    return *report;
  }

  static constexpr Instant start = Instant(1000s);
  Instant now = start;
  Session session;
  Effects effects;  ///< everything not answered or forgotten yet
};

/// A session whose job runs, with the lock of all servers, and has run for this long.
inline Harness running(const Plan& plan, Duration length = 0s) {
  Harness harness(plan);
  harness.answer_all(plan.servers, Op::acquire, Granted{});
  harness.step(JobStarted{});
  harness.effects.clear();
  if (length > 0s) harness.advance(length);
  return harness;
}

/// A session that waits for a lock on three servers, after its first round.
inline Harness waiting_for(const Refused& refusal, std::optional<Duration> wait = std::nullopt) {
  Harness harness(plan_for(3, wait));
  harness.answer_all(3, Op::acquire, refusal);
  return harness;
}

}  // namespace redlock::lock::testing
