// SPDX-License-Identifier: MIT
#include "lock/release.h"

#include <utility>

namespace redlock::lock {

using std::chrono::milliseconds;

namespace {

milliseconds in_milliseconds(Instant instant) {
  return std::chrono::floor<milliseconds>(instant.time_since_epoch());
}

/// What the server's clock showed when it answered.
std::optional<milliseconds> clock_of(const Answer& answer) {
  milliseconds clock{};
  if (const auto* grant = std::get_if<Granted>(&answer)) clock = grant->clock;
  if (const auto* refusal = std::get_if<Refused>(&answer)) clock = refusal->clock;
  if (clock == milliseconds::zero()) return std::nullopt;
  return clock;
}

}  // namespace

void Releases::begin(ServerIndex server, AttemptId attempt, Effects& effects) {
  if (is_join(attempt)) return leave(server, attempt, Instant{}, Instant{}, effects);
  // Nobody asks any more how the attempts before went, and a wait may be long.
  std::erase_if(entries_, is_settled);
  entries_.push_back({.server = server, .attempt = attempt});
  ask(entries_.back(), Instant{}, effects);
}

void Releases::leave(ServerIndex server, AttemptId attempt, Instant cool_until, Instant now,
                     Effects& effects, bool holds) {
  entries_.push_back({.server = server,
                      .attempt = attempt,
                      .leaves = true,
                      .cool_until = cool_until,
                      .holds = holds});
  ask(entries_.back(), now, effects);
}

void Releases::ask(const Entry& entry, Instant now, Effects& effects) {
  effects.emplace_back(Ask{
      .server = entry.server,
      .attempt = entry.attempt,
      .operation = entry.leaves ? Operation(op::Leave{
                                      .cools = std::max(entry.cool_until - now, Duration::zero()),
                                      .holds = entry.holds})
                                : Operation(op::Release{})});
}

void Releases::retry(Instant now, Effects& effects) {
  for (Entry& entry : entries_) {
    if (entry.state != State::failed) continue;
    entry.state = State::asked;
    ask(entry, now, effects);
  }
}

void Releases::record(const Reply& reply) {
  const auto entry = std::ranges::find_if(entries_, [&](const Entry& candidate) {
    return candidate.server == reply.ask.server && candidate.attempt == reply.ask.attempt;
  });
  if (entry == entries_.end() || is_settled(*entry)) return;
  entry->last = reply.answer;
  if (std::holds_alternative<Unreachable>(reply.answer)) {
    entry->state = State::failed;
    entry->failed_before = true;
  } else if (std::holds_alternative<Released>(reply.answer) || entry->failed_before) {
    entry->state = State::released;
  } else {
    entry->state = State::gone;
  }
}

bool Releases::owes(ServerIndex server) const {
  return std::ranges::any_of(entries_, [server](const Entry& entry) {
    return entry.server == server && !is_settled(entry);
  });
}

std::size_t Releases::count(AttemptId attempt, State state) const {
  return how_many(entries_, [&](const Entry& entry) {
    return entry.attempt == attempt && entry.state == state;
  });
}

std::size_t Releases::said(AttemptId attempt, bool Released::*what) const {
  return how_many(entries_, [&](const Entry& entry) {
    const auto* released = std::get_if<Released>(&entry.last);
    return entry.attempt == attempt && released != nullptr && released->*what;
  });
}

std::size_t Releases::unheld(AttemptId attempt) const {
  return how_many(entries_, [&](const Entry& entry) {
    const auto* released = std::get_if<Released>(&entry.last);
    return entry.attempt == attempt && entry.holds && released != nullptr && !released->held;
  });
}

std::vector<Complaint> Releases::complaints(AttemptId attempt) const {
  std::vector<Complaint> complaints;
  for (const Entry& entry : entries_) {
    if (entry.attempt != attempt || entry.state == State::released) continue;
    complaints.push_back(
        {entry.server, entry.state == State::asked ? Answer(Unreachable{}) : entry.last});
  }
  return complaints;
}

void DoneMarks::record(const Reply& reply, Instant now) {
  PerServer& at = servers_.at(reply.ask.server);
  if (const auto clock = clock_of(reply.answer)) {
    // `now` is rounded up, so that `ahead` is rounded down.
    at.ahead = *clock - in_milliseconds(now) - milliseconds(1);
    at.has_mark = false;
  } else if (const auto* done = std::get_if<Done>(&reply.answer)) {
    at.has_mark = true;
    const Instant began = reply.sent - done->age;
    if (!found_ || began >= found_began_) {
      found_ = *done;
      found_began_ = began;
    }
  }
  if (reply.ask.op() != Op::mark || at.state == State::marked) return;
  at.last = reply.answer;
  at.state = std::holds_alternative<Marked>(reply.answer) ? State::marked : State::failed;
}

void DoneMarks::mark(Instant began, Duration period, Instant now, Effects& effects) {
  began_ = began;
  period_ = period;
  for (ServerIndex server = 0; server < servers_.size(); ++server) ask(server, now, effects);
}

void DoneMarks::copy(Instant now, Effects& effects) {
  if (!found_) return;
  began_ = found_began_;
  period_ = found_->age + found_->left;
  who_ = found_->who;
  for (ServerIndex server = 0; server < servers_.size(); ++server) {
    if (servers_[server].ahead && !servers_[server].has_mark) ask(server, now, effects);
  }
}

void DoneMarks::retry(Instant now, Effects& effects) {
  for (ServerIndex server = 0; server < servers_.size(); ++server) {
    if (servers_[server].state == State::failed) ask(server, now, effects);
  }
}

void DoneMarks::undo(Effects& effects) {
  for (ServerIndex server = 0; server < servers_.size(); ++server) {
    if (std::exchange(servers_[server].state, State::idle) == State::idle) continue;
    effects.emplace_back(
        Ask{.server = server, .attempt = kNoAttempt, .operation = op::Unmark{who_}});
  }
}

/// The request belongs to no attempt: a release cancels the unsent requests of its own attempt.
void DoneMarks::ask(ServerIndex server, Instant now, Effects& effects) {
  PerServer& at = servers_[server];
  at.state = State::asked;
  effects.emplace_back(Ask{
      .server = server,
      .attempt = kNoAttempt,
      .operation =
          op::Mark{.life = period_,
                   .began = at.ahead ? in_milliseconds(began_) + *at.ahead : milliseconds::zero(),
                   .age = now - began_,
                   .who = who_}});
}

}  // namespace redlock::lock
