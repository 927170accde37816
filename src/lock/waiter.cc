// SPDX-License-Identifier: MIT
#include "lock/waiter.h"

#include <utility>

#include "lock/value.h"

namespace redlock::lock {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// A turn lasts between these, whatever a server says.
constexpr Duration kLongestTurn = milliseconds(501);
constexpr Duration kShortestTurn = milliseconds(10);

/// The pause of a waiter that the servers wake when it is its turn. It finds out what no server
/// told it: that all waiters before it are stopped, for example. Far back in a long queue it asks
/// less often, but it must be heard of every 20 s.
constexpr Duration kIdle = milliseconds(1700);
constexpr Duration kIdleFarBack = seconds(5);
constexpr std::size_t kFarBack = 256;

/// The pause of a waiter that the servers cannot wake while it is among the first two in the queue.
constexpr Duration kEarly = milliseconds(100);

/// The pauses of the first two waiters while another program holds the lock: it wakes nobody.
constexpr Duration kForeignLeast = milliseconds(50);
constexpr Duration kForeignMost = milliseconds(200);

/// Single tries that were refused for the same turn ask within this time after it.
constexpr Duration kAfterTurn = milliseconds(20);

/// When a lock expires, the first two waiters ask immediately, and the others within this time.
constexpr Duration kSpread = seconds(1);

/// After kCredit woken rounds in vain the waiter trusts wake-ups less: each further round doubles
/// the time between two rounds, up to the most.
constexpr Duration kBetweenRounds = milliseconds(5);
constexpr Duration kMostBetweenRounds = milliseconds(100);
constexpr unsigned kCredit = 32;

/// The shortest pause before a round if the pause before the last one was cut short for an expiry.
constexpr Duration kBetweenExpiries = milliseconds(50);

/// Another program holds the lock: it left no record of the holder, and its value is none of ours.
bool is_foreign(const Refused& refusal) {
  const Value value = read_value(refusal.blocker);
  return refusal.holder.empty() && value.kind == Value::Kind::token && !is_shared(value.token) &&
         !is_token(value.token);
}

}  // namespace

/// The largest ticket of a quorum: later waiters get a larger one from one of these servers.
void Waiter::round_ended(const Attempt& attempt, bool quorum_answered, Effects& effects) {
  if (!quorum_answered) return leave(effects);
  note_places(attempt);
  const bool refused = attempt.refused() >= blocking_minority(attempt.votes().size());
  const bool joins = refused && !in_queue_;
  if (joins && ticket_ == 0) {
    for (const Attempt::Vote& vote : attempt.votes()) {
      if (vote.state != Attempt::VoteState::refused) continue;
      ticket_ = std::max(ticket_, vote.refusal.ticket);
    }
  }
  if (refused) in_queue_ = ticket_ != 0;
  if (in_queue_) effects.emplace_back(JoinQueue{joins ? ticket_ : 0, is_early()});
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

void Waiter::leave(Effects& effects, bool has_lock) {
  if (!std::exchange(in_queue_, false)) return;
  heard_.assign(heard_.size(), false);
  best_place_ = place_ = length_ = 0;
  for (ServerIndex server = 0; server < leaving_.size(); ++server) {
    leaving_[server] = true;
    effects.emplace_back(
        Ask{.server = server, .attempt = kNoAttempt, .operation = op::LeaveQueue{has_lock}});
  }
}

bool Waiter::hear(ServerIndex server) {
  const std::size_t before = heard();
  heard_.at(server) = true;
  return heard() > before && heard() == quorum(heard_.size());
}

Duration between_woken_rounds(unsigned in_vain) {
  Duration apart = kBetweenRounds;
  for (unsigned vain = kCredit; vain < in_vain && apart < kMostBetweenRounds; ++vain) {
    apart = std::min(2 * apart, kMostBetweenRounds);
  }
  return apart;
}

Pauses::Pauses(const Patience& patience, std::uint64_t seed)
    : tries_once_(patience.wait == Duration::zero()),
      jitter_(seed),
      conflict_backoff_(milliseconds(100), seconds(5)),
      split_backoff_(milliseconds(50), tries_once_ ? kTryOnceBears : seconds(1)),
      unreachable_backoff_(milliseconds(100), seconds(1)) {}

Duration Pauses::after_conflict(const Attempt& ended, const Waiter& waiter) {
  const Refused* const main = ended.main_refusal();
  const std::string holder(main == nullptr ? "" : read_value(main->blocker).token);
  if (std::exchange(backed_off_from_, holder) != holder) conflict_backoff_.reset();
  Duration pause = kEarly;
  if (waiter.is_early() && main != nullptr && is_foreign(*main)) {
    pause = jitter_.between(kForeignLeast, kForeignMost);
  } else if (waiter.is_called()) {
    const Duration idle = waiter.place() > kFarBack ? kIdleFarBack : kIdle;
    pause = jitter_.between(idle - idle / 10, idle);
  } else if (!waiter.is_early()) {
    pause = conflict_backoff_.next(jitter_);
  }
  Duration after_expiry = milliseconds(1);
  if (waiter.is_far_back()) after_expiry += jitter_.between(Duration::zero(), kSpread);
  for (const Attempt::Vote& vote : ended.votes()) {
    if (vote.state != Attempt::VoteState::refused || vote.refusal.turn) continue;
    if (!vote.refusal.ttl_left) continue;
    pause = std::min<Duration>(pause, *vote.refusal.ttl_left + after_expiry);
  }
  // When an announced expiry has come, we ask immediately, but only once: a server that
  // always announces that the lock is about to expire must not make us ask all the time.
  const bool soon = pause < kBetweenExpiries;
  const bool again = soon && asks_at_expiry_;
  asks_at_expiry_ = soon;
  return std::max<Duration>(pause, again ? kBetweenExpiries : milliseconds(1));
}

Duration Pauses::after_split(const Attempt& ended, const Waiter& waiter, Duration round) {
  const auto turn = ended.turns_left();
  if (tries_once_) {
    if (!turn) return split_backoff_.next(jitter_, 2 * round);
    return std::clamp<Duration>(*turn, kShortestTurn, kLongestTurn) +
           jitter_.between(milliseconds(1), kAfterTurn);
  }
  if (!turn) return split_backoff_.next(jitter_);
  return std::clamp<Duration>(*turn + milliseconds(1), kShortestTurn,
                              waiter.is_called() ? kLongestTurn : kEarly);
}

Duration Jitter::between(Duration low, Duration high) {
  state_ += 0x9e3779b97f4a7c15U;
  std::uint64_t mixed = state_;
  mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
  mixed ^= mixed >> 31U;
  const auto span = static_cast<std::uint64_t>((high - low).count()) + 1;
  return low + Duration(static_cast<Duration::rep>(mixed % span));
}

Duration Backoff::next(Jitter& jitter, Duration at_least) {
  window_ = std::min(std::max(window_, at_least), most_);
  const Duration pause = jitter.between(window_ / 2, window_);
  window_ = std::min(window_ * 2, most_);
  return pause;
}

}  // namespace redlock::lock
