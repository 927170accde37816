// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lock/attempt.h"
#include "lock/effect.h"

namespace redlock::lock {

/// We, as one of the waiters in the queue for the lock. Every server keeps a queue of its own, and
/// all of them sort it by the same tickets: the waiter that is next on one server is next on all.
/// Exclusion does not depend on it.
class Waiter {
 public:
  explicit Waiter(std::size_t servers) : leaving_(servers), heard_(servers) {}

  /// The ticket that our requests carry, so that they put us into the queue; 0: we are in no queue.
  [[nodiscard]] Ticket ticket() const { return in_queue_ ? ticket_ : 0; }

  /// After a round in vain. Joins if the refusals leave no quorum, and notes our place; leaves if
  /// fewer than a quorum answered: a waiter that cannot get the lock must not hold up others that
  /// can. It keeps its ticket for the next time.
  void round_ended(const Attempt& attempt, bool quorum_answered, Effects& effects);

  /// Leaves the queue everywhere, if we are in one. `has_lock`: because we have got the lock.
  void leave(Effects& effects, bool has_lock = false);

  /// Takes the answer to leave(). A failure counts as an answer: our place there ends after 20 s.
  void record_left(const Reply& reply) { leaving_.at(reply.ask.server) = false; }
  [[nodiscard]] bool is_leaving(ServerIndex server) const { return leaving_.at(server); }

  /// Takes Subscribed. True if from now on a quorum can wake us. A wake-up that was sent before may
  /// be lost, so it is time to ask.
  [[nodiscard]] bool hear(ServerIndex server);

  /// A quorum of servers can wake us, and we know that we are in the queue.
  [[nodiscard]] bool is_called() const { return place_ != 0 && heard() >= quorum(heard_.size()); }

  /// Some server has us among the first two.
  [[nodiscard]] bool is_early() const { return best_place_ == 1 || best_place_ == 2; }

  /// Every server that has us in its queue has others before us, at least two.
  [[nodiscard]] bool is_far_back() const { return best_place_ > 2; }

  /// Our place in the queue and its length, on the server where we stand farthest back. 0: unknown.
  [[nodiscard]] std::size_t place() const { return place_; }
  [[nodiscard]] std::size_t length() const { return length_; }

 private:
  void note_places(const Attempt& attempt);
  [[nodiscard]] std::size_t heard() const { return how_many(heard_, std::identity()); }

  Ticket ticket_ = 0;  ///< never changes once we have one
  bool in_queue_ = false;
  std::vector<bool> leaving_;  ///< by server: we asked to leave and wait for the answer
  std::vector<bool> heard_;    ///< by server: it has confirmed our subscription
  std::size_t best_place_ = 0;
  std::size_t place_ = 0;
  std::size_t length_ = 0;
};

/// A small deterministic generator (splitmix64) for jitter. Its seed comes from outside, so that
/// the same input always gives the same output. Not for secrets.
class Jitter {
 public:
  explicit Jitter(std::uint64_t seed) : state_(seed) {}

  /// Evenly distributed in [low, high]; low <= high.
  Duration between(Duration low, Duration high);

 private:
  std::uint64_t state_;
};

/// Exponential back-off: a window that doubles from `first` to `most`. Each pause is drawn from the
/// upper half of it, so that contenders fall out of step.
class Backoff {
 public:
  constexpr Backoff(Duration first, Duration most) : first_(first), most_(most), window_(first) {}

  /// `at_least`: of the window, which never becomes longer than the most.
  Duration next(Jitter& jitter, Duration at_least = Duration::zero());
  void reset() { window_ = first_; }

 private:
  Duration first_;
  Duration most_;
  Duration window_;
};

/// How long a single try goes on through split votes and unreachable servers: when the cron of two
/// hosts starts at the same instant, exactly one run must happen, not none.
inline constexpr Duration kTryOnceBears = std::chrono::seconds(2);

/// A single try bears turns for longer: servers are still finding out which waiters are stopped.
inline constexpr Duration kTryOnceBearsTurns = std::chrono::seconds(5);

/// The shortest time between the beginnings of two rounds of a waiter that was woken, however often
/// it is woken. `in_vain`: how many of its rounds in a row a wake-up started.
Duration between_woken_rounds(unsigned in_vain);

/// The pauses between two rounds of one acquisition: how soon to ask again.
class Pauses {
 public:
  Pauses(const Patience& patience, std::uint64_t seed);

  /// After a round that ended in a conflict. A waiter that the servers wake asks seldom, any other
  /// one often while it is among the first two, and with exponential back-off while it is not.
  /// While another program holds the lock, which wakes nobody, the first two ask often. In every
  /// case a waiter asks when the lock's time to live has passed; the first two first.
  [[nodiscard]] Duration after_conflict(const Attempt& ended, const Waiter& waiter);

  /// After a round, which lasted that long, in which contenders split the votes: distant ones must
  /// fall out of step, too. If all that refused did so for another waiter's turn, we ask when the
  /// last of these turns ends; or earlier if the servers cannot wake us.
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
