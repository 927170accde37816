// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "lock/attempt.h"
#include "lock/effect.h"
#include "lock/vote.h"

namespace redlock::lock {

/// We, as one of the waiters in the queue for the lock. Every server keeps a queue of its own, and
/// all of them sort it by the same tickets: the waiter that is next on one server is next on all.
/// Exclusion does not depend on it.
class Waiter {
 public:
  explicit Waiter(std::size_t servers) : leaving_(servers), heard_(servers) {}

  /// The ticket that our requests carry, so that they put us into the queue; 0: we are in no queue.
  [[nodiscard]] Ticket ticket() const { return in_queue_ ? ticket_ : 0; }

  /// After a round in vain. Joins if a quorum refused, and notes our place; leaves if fewer than a
  /// quorum answered: a waiter that cannot get the lock must not hold up others that can. It keeps
  /// its ticket for the next time.
  void round_ended(const Attempt& attempt, bool quorum_answered, Effects& effects);

  /// Leaves the queue everywhere, if we are in one.
  void leave(Effects& effects);

  /// Takes the answer to leave(). A failure counts as an answer: our place there ends after 20 s.
  void record_left(const Reply& reply) { leaving_.at(reply.ask.server) = false; }
  [[nodiscard]] bool is_leaving(ServerIndex server) const { return leaving_.at(server); }

  /// Takes Subscribed. True if from now on a quorum can wake us. A wake-up that was sent before may
  /// be lost, so it is time to ask.
  [[nodiscard]] bool hear(ServerIndex server);

  /// A quorum of servers can wake us, and we know that we are in the queue.
  [[nodiscard]] bool is_called() const;

  /// Some server has us among the first two.
  [[nodiscard]] bool is_early() const { return best_place_ == 1 || best_place_ == 2; }

  /// Every server that has us in its queue has others before us, at least two.
  [[nodiscard]] bool is_far_back() const { return best_place_ > 2; }

  /// Our place in the queue and its length, on the server where we stand farthest back. 0: unknown.
  [[nodiscard]] std::size_t place() const { return place_; }
  [[nodiscard]] std::size_t length() const { return length_; }

 private:
  void note_places(const Attempt& attempt);
  [[nodiscard]] std::size_t heard() const;

  Ticket ticket_ = 0;  ///< never changes once we have one
  bool in_queue_ = false;
  std::vector<bool> leaving_;  ///< by server: we asked to leave and wait for the answer
  std::vector<bool> heard_;    ///< by server: it has confirmed our subscription
  std::size_t best_place_ = 0;
  std::size_t place_ = 0;
  std::size_t length_ = 0;
};

}  // namespace redlock::lock
