// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "lock/attempt.h"

namespace redlock::lock {

/// Which of a lock's slots to ask for. Each slot is an exclusive lock: a job needs one slot, the
/// same one on a quorum of servers.
///
/// A refusal tells, for each slot, the first digits of its holder's token, or nothing, separated by
/// commas. Servers are not trusted: an odd text costs a round at most.
class SlotChoice {
 public:
  /// slots: 0: the lock has none; otherwise at most kMostSlots.
  SlotChoice(std::size_t slots, std::uint64_t seed)
      : slots_(slots), slot_(slots == 0 ? 0 : 1 + seed % slots) {}

  /// The slot to ask for in the next attempt, from 1; 0: the lock has no slots.
  [[nodiscard]] std::size_t slot() const { return slot_; }

  enum class Next {
    as_judged,  ///< a conflict or a split, as for any lock: all slots are held, or it is not our
                ///< turn, or a quorum holds the lock in another way
    elsewhere,  ///< another slot is free on a quorum: ask for it immediately
    split       ///< no quorum agrees who has each slot: others are still taking theirs
  };
  /// Chooses a slot after a round in vain that ended in a conflict or a split.
  Next choose(const Attempt& ended);

 private:
  std::size_t slots_;
  std::size_t slot_;
  std::size_t moves_ = 0;  ///< in a row, from slot to slot
};

}  // namespace redlock::lock
