// SPDX-License-Identifier: MIT
#include "lock/waiter.h"

#include <algorithm>
#include <utility>

#include "lock/timing.h"

namespace redlock::lock {

/// The largest ticket of a quorum: if another waiter came later, after a quorum of servers had
/// learned of us, one of these servers gives it a larger one.
void Waiter::round_ended(const Attempt& attempt, bool quorum_answered, Effects& effects) {
  if (!quorum_answered) return leave(effects);
  note_places(attempt);
  const bool refused = attempt.refused() >= quorum(attempt.votes().size());
  const bool joins = refused && !in_queue_;
  if (joins && ticket_ == 0) {
    for (const Attempt::Vote& vote : attempt.votes()) {
      if (vote.state != Attempt::VoteState::refused) continue;
      ticket_ = std::max(ticket_, vote.refusal.ticket);
    }
  }
  if (refused) in_queue_ = ticket_ != 0;
  if (in_queue_) effects.emplace_back(JoinQueue{joins ? ticket_ : 0});
}

void Waiter::note_places(const Attempt& attempt) {
  best_place_ = place_ = length_ = 0;
  for (const Attempt::Vote& vote : attempt.votes()) {
    const Refused& refusal = vote.refusal;
    if (vote.state != Attempt::VoteState::refused || refusal.place == 0) continue;
    if (best_place_ == 0 || refusal.place < best_place_) best_place_ = refusal.place;
    if (refusal.place <= place_) continue;
    place_ = refusal.place;
    length_ = std::max(refusal.waiters, refusal.place);
  }
}

void Waiter::leave(Effects& effects) {
  if (!std::exchange(in_queue_, false)) return;
  heard_.assign(heard_.size(), false);
  best_place_ = place_ = length_ = 0;
  for (ServerIndex server = 0; server < leaving_.size(); ++server) {
    leaving_[server] = true;
    effects.emplace_back(Ask{.server = server, .op = Op::leave_queue, .attempt = kNoAttempt});
  }
}

std::size_t Waiter::heard() const {
  return static_cast<std::size_t>(std::ranges::count(heard_, true));
}

bool Waiter::hear(ServerIndex server) {
  const std::size_t before = heard();
  heard_.at(server) = true;
  return heard() > before && heard() == quorum(heard_.size());
}

bool Waiter::is_called() const {
  return place_ != 0 && heard() >= quorum(heard_.size());
}

}  // namespace redlock::lock
