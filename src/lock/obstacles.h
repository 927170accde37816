// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "lock/attempt.h"

namespace redlock::lock {

/// The servers that keep us from a quorum, whoever holds the lock: they are silent, they restarted
/// recently, or they hold a value that is not the holder's, such as a key that an earlier lock left
/// behind. If they leave no quorum, we must not stand in the queue before others.
class Obstacles {
 public:
  explicit Obstacles(std::size_t servers) : answers_(servers), stand_(servers, false) {}

  /// Takes a round in vain in which all servers were asked. A server counts as an obstacle when two
  /// rounds running found it in the same state: contenders that are taking the lock change from
  /// round to round. `unavailable`: fewer than a quorum answered; then one round is enough.
  void note_round(const Attempt& ended, bool unavailable);

  /// Takes an attempt that asks the obstacles only; its missing answers change nothing.
  void note_probe(const Attempt& attempt);

  /// The obstacles leave no quorum.
  [[nodiscard]] bool prevail() const { return prevail_; }
  [[nodiscard]] bool contains(ServerIndex server) const { return prevail_ && stand_.at(server); }

  /// By server: whether to ask it in the round that begins. While the obstacles prevail we ask only
  /// them: a vote of another server would be of no use to us, and others may need it. Now and then
  /// we ask all servers, and take that round for a new judgement.
  [[nodiscard]] std::vector<bool> to_ask();

 private:
  void spare_holder(std::size_t at_least);
  void judge() {
    prevail_ = how_many(stand_, std::identity()) >= blocking_minority(stand_.size());
  }

  std::vector<std::string> answers_;  ///< by server, the latest ones; empty: it would grant
  std::vector<bool> stand_;           ///< by server: it is an obstacle
  bool prevail_ = false;
  unsigned probes_ = 0;
};

}  // namespace redlock::lock
