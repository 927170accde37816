// SPDX-License-Identifier: MIT
//
// A run with --replace revokes the lock of the run that holds it.
#pragma once

#include "lock/attempt.h"
#include "lock/effect.h"

namespace redlock::lock {

class Replacement {
 public:
  /// `wanted`: with --replace. Otherwise this does nothing.
  Replacement(bool wanted, std::size_t servers) : wanted_(wanted), servers_(servers) {}

  /// After a conflict: orders the revocation, if this attempt knows the holder. Once in a run, and
  /// not if somebody else has done it: the next holder may be another run of the same kind, which
  /// would replace us in return.
  void begin(const Attempt& attempt, Effects& effects);
  /// The answer to a revocation. The holder has lost its lock, and cannot say in the log who took
  /// it. If several runs revoke it, those log it that changed a server.
  void record(const Reply& reply, AttemptId attempt, Effects& effects);

 private:
  bool wanted_;  ///< still
  std::size_t servers_;
  std::size_t revocations_ = 0;  ///< the servers that have revoked the lock for us, or before
  bool revokes_ = false;         ///< one of them did so for us
  bool logged_ = false;
};

}  // namespace redlock::lock
