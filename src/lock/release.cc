// SPDX-License-Identifier: MIT
#include "lock/release.h"

#include "lock/timing.h"

namespace redlock::lock {

void Release::begin(ServerIndex server, AttemptId attempt, Effects& effects) {
  if (is_join(attempt)) return leave(server, attempt, Instant{}, Instant{}, effects);
  // Nobody asks any more how the attempts before went, and a wait may be long.
  std::erase_if(entries_, is_settled);
  entries_.push_back({.server = server, .attempt = attempt});
  ask(entries_.back(), Instant{}, effects);
}

void Release::leave(ServerIndex server, AttemptId attempt, Instant cool_until, Instant now,
                    Effects& effects) {
  entries_.push_back(
      {.server = server, .attempt = attempt, .op = Op::leave, .cool_until = cool_until});
  ask(entries_.back(), now, effects);
}

void Release::ask(const Entry& entry, Instant now, Effects& effects) {
  effects.emplace_back(Ask{.server = entry.server,
                           .op = entry.op,
                           .attempt = entry.attempt,
                           .life = std::max(entry.cool_until - now, Duration::zero())});
}

void Release::retry(Instant now, Effects& effects) {
  for (Entry& entry : entries_) {
    if (entry.state != State::failed) continue;
    entry.state = State::asked;
    ask(entry, now, effects);
  }
}

void Release::record(const Reply& reply) {
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

bool Release::owes(ServerIndex server) const {
  return std::ranges::any_of(entries_, [server](const Entry& entry) {
    return entry.server == server && !is_settled(entry);
  });
}

std::size_t Release::count(AttemptId attempt, State state) const {
  return how_many(entries_, [&](const Entry& entry) {
    return entry.attempt == attempt && entry.state == state;
  });
}

std::size_t Release::kept(AttemptId attempt) const {
  return how_many(entries_, [attempt](const Entry& entry) {
    const auto* released = std::get_if<Released>(&entry.last);
    return entry.attempt == attempt && released != nullptr && released->kept;
  });
}

std::vector<Complaint> Release::complaints(AttemptId attempt) const {
  std::vector<Complaint> complaints;
  for (const Entry& entry : entries_) {
    if (entry.attempt != attempt || entry.state == State::released) continue;
    complaints.push_back(
        {entry.server, entry.state == State::asked ? Answer(Unreachable{}) : entry.last});
  }
  return complaints;
}

}  // namespace redlock::lock
