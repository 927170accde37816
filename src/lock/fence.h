// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lock/attempt.h"
#include "lock/effect.h"

namespace redlock::lock {

/// Agrees on the fencing number of a grant: higher than that of every grant before it.
///
/// Every server counts for itself, and one that missed some grants lags behind. If a quorum of
/// votes carries one and the same number, every later grant meets one of those servers. Otherwise a
/// number above all the numbers seen is first stored on a quorum: a commit. A server confirms it
/// only if that very request raised its number, so none confirms one number for two grants.
///
/// A number far ahead of the clocks of a quorum is not committed to the other servers: it would
/// bring them as near to the end of all numbers. That is safe: a smaller number needs the yes of a
/// quorum, too, and if the large number had been given out, a server of that quorum would know it.
class FenceAgreement {
 public:
  enum class State { pending, agreed, failed };

  /// Checks the votes of a win at `now`; asks for a commit if their numbers differ.
  FenceAgreement(const Attempt& won, Instant now, Effects& effects);

  /// Takes an answer to a commit. Of a late acquire vote, only the number counts.
  void record(const Reply& reply, Effects& effects);

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] std::uint64_t number() const { return number_; }

 private:
  enum class Raised { unknown, yes, no };

  void ask_commit(Effects& effects);
  /// A server has this number. The next commit goes above it, unless the number is implausible.
  void learn(std::uint64_t number) {
    if (number <= most_) largest_ = std::max(largest_, number);
  }

  AttemptId attempt_;
  State state_ = State::pending;
  std::uint64_t most_;         ///< larger numbers are ignored
  std::uint64_t number_ = 0;   ///< agreed, or being committed
  std::uint64_t largest_ = 0;  ///< seen anywhere
  std::uint32_t round_ = 0;
  std::uint32_t rounds_in_vain_ = 0;
  std::vector<Raised> raised_;
};

}  // namespace redlock::lock
