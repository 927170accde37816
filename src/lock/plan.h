// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "lock/timing.h"

namespace redlock::lock {

/// A lock that an ancestor of ours holds, as far as we know: its token, and its fencing number.
struct Inherited {
  std::string token;
  std::uint64_t fence;
};

/// Which neighbours a stage has (lock/stages.h).
struct Neighbours {
  bool earlier = false;  ///< our supervisor's death is the order to kill the job immediately
  bool later = false;    ///< our job is the next stage
};

/// What a session is to do.
struct Plan {
  std::size_t servers;  ///< >= 1
  Timing timing;
  Patience patience;
  std::optional<Duration> max_runtime;
  int stop_signal = 15;   ///< the first one when the job must be stopped (SIGTERM)
  std::size_t slots = 0;  ///< how many jobs may hold the lock together; 0: it has no slots
  Neighbours stages{};    ///< of a run with several locks
  /// A run with a smaller number than one that was successful is superseded.
  std::optional<std::uint64_t> build{};
  bool replaces = false;  ///< revoke the lock from the holder that refuses us first
  bool wait_all = false;  ///< hold the lock until every descendant of the job has ended
  /// If the servers confirm that an ancestor holds this lock, we get a further hold of it.
  std::optional<Inherited> inherited{};
  Duration server_timeout;  ///< how long to wait for the last answers after giving up
  /// Once a quorum has released the lock, how long to wait for the other servers.
  Duration late_answers{};
  /// A server answers when its replicas have the change: only then does it read what follows.
  bool replicated = false;
  std::uint64_t seed;  ///< of the jitter
};

}  // namespace redlock::lock
