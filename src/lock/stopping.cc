// SPDX-License-Identifier: MIT
#include "lock/stopping.h"

#include <algorithm>
#include <csignal>

namespace redlock::lock {

/// If KILL is due already, no softer signal goes before it: after a suspend, CONT would let a
/// stopped job run although the lease is over.
void Stopping::begin(int signal, Instant lease_end, Effects& effects) {
  if (began_ >= deadline(lease_end)) return tick(lease_end, began_, effects);
  effects.emplace_back(Kill{signal});
}

void Stopping::tick(Instant lease_end, Instant now, Effects& effects) {
  if (now < deadline(lease_end)) return;
  // In time for everybody's KILL afterwards; otherwise that comes at once.
  unwinding_ = stages_.later && last_kill_ == kNever &&
               now + kKillAgain < timing_.kill_at(lease_end, head_start_);
  effects.emplace_back(Kill{SIGKILL, unwinding_ ? Kill::Whom::next_stage : Kill::Whom::everybody});
  last_kill_ = now;
}

/// The first KILL comes one grace after TERM, but always early enough to be carried out before the
/// lease ends.
Instant Stopping::deadline(Instant lease_end) const {
  if (unwinding_) {
    return std::min(last_kill_ + kLongestUnwinding, timing_.kill_at(lease_end, head_start_));
  }
  if (last_kill_ != kNever) return last_kill_ + pause_;
  return std::min(began_ + timing_.grace, timing_.kill_at(lease_end, head_start_));
}

}  // namespace redlock::lock
