// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "lock/attempt.h"
#include "lock/backoff.h"
#include "lock/time.h"
#include "lock/timing.h"
#include "lock/waiter.h"

namespace redlock::lock {

/// How long a single try goes on through split votes and unreachable servers: when the cron of two
/// hosts starts at the same instant, exactly one run must happen, not none.
inline constexpr Duration kTryOnceBears = std::chrono::seconds(2);

/// The shortest time between the beginnings of two rounds of a waiter that was woken, however often
/// it is woken. `in_vain`: how many of its rounds in a row a wake-up started.
Duration between_woken_rounds(unsigned in_vain);

/// The pauses between two rounds of one acquisition: how soon to ask again.
class Pauses {
 public:
  Pauses(const Patience& patience, std::uint64_t seed);

  /// After a round that ended in a conflict. The servers wake a waiter in the queue, so it asks
  /// seldom. Otherwise it asks often while it is among the first ones, and with exponential
  /// back-off while it is not. In every case it asks when the time to live has passed that the
  /// servers gave for the lock; the first ones first.
  [[nodiscard]] Duration after_conflict(const Attempt& ended, const Waiter& waiter);

  /// After a round, which lasted that long, in which contenders split the votes. If all that
  /// refused did so for another waiter's turn, we ask when the last of these turns ends; or earlier
  /// if the servers cannot wake us, because the lock may soon be free again.
  ///
  /// A single try bears splits for longer the longer its rounds take: contenders that are far away
  /// must fall out of step, too.
  [[nodiscard]] Duration after_split(const Attempt& ended, const Waiter& waiter, Duration round);

  /// After a round in which fewer than a quorum answered.
  [[nodiscard]] Duration after_silence() { return unreachable_backoff_.next(jitter_); }

  /// After an attempt that won, and was dropped.
  [[nodiscard]] Duration after_dropped_win() { return split_backoff_.next(jitter_); }

 private:
  bool tries_once_;
  Jitter jitter_;
  std::string backed_off_from_;  ///< the holder that conflict_backoff_ goes with
  Backoff conflict_backoff_;
  bool asks_at_expiry_ = false;  ///< the pause before the latest round was cut to less than 50 ms
  Backoff split_backoff_;
  Backoff unreachable_backoff_;
};

}  // namespace redlock::lock
