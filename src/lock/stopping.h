// SPDX-License-Identifier: MIT
#pragma once

#include "lock/effect.h"
#include "lock/time.h"
#include "lock/timing.h"

namespace redlock::lock {

/// A job that must end before its lease does: the first signal, and after the grace KILL to all of
/// it, again and again until nothing is left. `lease_end` is that of each moment: it may move.
class Stopping {
 public:
  explicit Stopping(const Timing& timing, Instant now) : timing_(timing), began_(now) {}

  /// Sends the first signal, and CONT to what is stopped. Once, at the moment of construction.
  void begin(int signal, Instant lease_end, Effects& effects);

  /// Sends KILL when that is due.
  void tick(Instant lease_end, Instant now, Effects& effects);

  /// When tick() is due.
  [[nodiscard]] Instant deadline(Instant lease_end) const;

 private:
  Timing timing_;
  Instant began_;
  Instant next_kill_ = kNever;
};

}  // namespace redlock::lock
