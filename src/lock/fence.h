// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lock/attempt.h"
#include "lock/effect.h"
#include "lock/vote.h"

namespace redlock::lock {

/// Agreeing on the fencing number of a grant: higher than that of every grant before it.
///
/// Every server counts for itself, and those that missed some grants lag behind, so that the
/// largest number among the votes proves nothing: another quorum may have seen a larger one. If a
/// quorum of votes carries one and the same number, that number is stored on a quorum, and every
/// later grant meets one of those servers. Otherwise a number above all seen is stored on a quorum
/// first: a commit. A server confirms a commit only if that very request raised its number, so that
/// no two grants can have the same one confirmed by the same server.
///
/// One server's number far ahead of the clocks of a quorum is not committed to the others: they
/// would be as near to the end of all numbers as it is. That is safe, as a smaller number needs the
/// yes of a quorum, too: had the large one been given out, a server of that quorum would know it.
class FenceAgreement {
 public:
  enum class State { pending, agreed, failed };

  /// Looks at the votes of an attempt that has won at `now`; asks for a commit if they differ.
  FenceAgreement(const Attempt& won, Instant now, Effects& effects);

  /// Takes an answer to a commit; late acquire votes only tell of larger numbers.
  void record(const Reply& reply, Effects& effects);

  [[nodiscard]] State state() const { return state_; }
  /// The number, when agreed.
  [[nodiscard]] std::uint64_t number() const { return number_; }

 private:
  enum class Raised { unknown, yes, no };

  void ask_commit(Effects& effects);
  /// A server has this number; what others get is above it, unless it is implausible.
  void learn(std::uint64_t number);

  AttemptId attempt_;
  State state_ = State::pending;
  std::uint64_t most_;         ///< larger ones are not gone by
  std::uint64_t number_ = 0;   ///< agreed, or being committed
  std::uint64_t largest_ = 0;  ///< seen anywhere
  std::uint32_t round_ = 0;
  std::vector<Raised> raised_;
};

}  // namespace redlock::lock
