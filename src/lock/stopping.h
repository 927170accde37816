// SPDX-License-Identifier: MIT
#pragma once

#include "lock/effect.h"
#include "lock/stages.h"
#include "lock/time.h"
#include "lock/timing.h"

namespace redlock::lock {

/// A job that must end before its lease does: the first signal, and after the grace KILL to all its
/// processes, again and again until none is left; before that, KILL to the next stage
/// (lock/stages.h). `lease_end` is the present end of the lease: it may move.
class Stopping {
 public:
  Stopping(const Timing& timing, const Neighbours& stages, Instant now)
      : timing_(timing), stages_(stages), began_(now) {}

  /// Sends the first signal, and CONT to the processes that are stopped. Once, at the moment of
  /// construction.
  void begin(int signal, Instant lease_end, Effects& effects);

  /// Sends KILL when that is due.
  void tick(Instant lease_end, Instant now, Effects& effects);

  /// The result of the last KILL: whether it reached a process that no KILL had reached before.
  void killed(bool found_new) { pause_ = pause_after_kill(pause_, found_new); }

  /// Makes the first KILL come so much earlier than one margin before the end of the lease.
  void set_head_start(Duration head_start) { head_start_ = head_start; }

  /// There is no next stage any more that could be killed first.
  void main_process_ended() {
    if (last_kill_ == kNever) stages_.later = false;
  }

  /// The first KILL is due.
  void skip_grace() { timing_.grace = Duration::zero(); }

  /// When tick() is due.
  [[nodiscard]] Instant deadline(Instant lease_end) const;

 private:
  Timing timing_;
  Neighbours stages_;
  Instant began_;
  bool unwinding_ = false;  ///< the last KILL was for the next stage's supervisor
  Duration head_start_{};
  Instant last_kill_ = kNever;
  Duration pause_ = kKillAgain;
};

}  // namespace redlock::lock
