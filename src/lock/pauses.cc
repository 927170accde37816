// SPDX-License-Identifier: MIT
#include "lock/pauses.h"

#include <algorithm>
#include <utility>

#include "lock/value.h"

namespace redlock::lock {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// The longest time that a turn lasts, whatever a server says.
constexpr Duration kLongestTurn = milliseconds(501);

/// The shortest pause before we ask again after a turn, even if a server says that the turn is
/// over.
constexpr Duration kShortestTurn = milliseconds(10);

/// The pause of a waiter that the servers wake when it is its turn. It must be heard of more often
/// than every 20 s, and it finds out what no server told it.
constexpr Duration kIdle = seconds(5);

/// The pause of a waiter that the servers cannot wake while it is among the first two in the queue.
constexpr Duration kEarly = milliseconds(100);

/// When a lock expires, the first two waiters ask at once, and the others within this time after
/// it.
constexpr Duration kSpread = seconds(1);

/// After kCredit woken rounds in vain the waiter trusts wake-ups less: each further round doubles
/// the time between two rounds, up to the most.
constexpr Duration kBetweenRounds = milliseconds(5);
constexpr Duration kMostBetweenRounds = milliseconds(100);
constexpr unsigned kCredit = 32;

/// The shortest pause before a round if the pause before the last round was already cut short for
/// an expiry.
constexpr Duration kBetweenExpiries = milliseconds(50);

}  // namespace

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
  if (waiter.is_called()) {
    pause = jitter_.between(kIdle - kIdle / 10, kIdle);
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
  // When an announced expiry has come, we ask at once, but only the first time: a server that
  // always announces that the lock is about to expire must not make us ask all the time.
  const bool soon = pause < kBetweenExpiries;
  const bool again = soon && asks_at_expiry_;
  asks_at_expiry_ = soon;
  return std::max<Duration>(pause, again ? kBetweenExpiries : milliseconds(1));
}

Duration Pauses::after_split(const Attempt& ended, const Waiter& waiter, Duration round) {
  if (tries_once_) return split_backoff_.next(jitter_, 2 * round);
  const auto turn = ended.turns_left();
  if (!turn) return split_backoff_.next(jitter_);
  return std::clamp<Duration>(*turn + milliseconds(1), kShortestTurn,
                              waiter.is_called() ? kLongestTurn : kEarly);
}

}  // namespace redlock::lock
