// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "lock/time.h"

namespace redlock::lock {

/// How many of the *configured* servers make a quorum: any two quorums share a server.
constexpr std::size_t quorum(std::size_t servers) {
  return servers / 2 + 1;
}

/// How many answers "missing" or "not mine" make a quorum of "mine" impossible.
constexpr std::size_t blocking_minority(std::size_t servers) {
  return servers - quorum(servers) + 1;
}

/// How many of `all` are as `is_so` says; or have this value as their `what`.
template <class All, class Predicate>
constexpr std::size_t how_many(const All& all, Predicate is_so) {
  return static_cast<std::size_t>(std::ranges::count_if(all, is_so));
}
template <class All, class Value, class What>
constexpr std::size_t how_many(const All& all, const Value& value, What what) {
  return static_cast<std::size_t>(std::ranges::count(all, value, what));
}

/// A job that forks faster than it is killed needs another KILL; each in vain doubles the pause.
inline constexpr Duration kKillAgain = std::chrono::milliseconds(20);
inline constexpr Duration kLongestKillPause = std::chrono::seconds(1);
constexpr Duration pause_after_kill(Duration last_pause, bool found_new) {
  return found_new ? kKillAgain : std::min(2 * last_pause, kLongestKillPause);
}

/// The lengths of time of one lock, all derived from its ttl and the grace.
struct Timing {
  Duration ttl;    ///< life of the key on a server: 1 s to 24 h; without a job, up to 30 days
  Duration grace;  ///< between TERM and KILL: at most ttl/3
  /// How long the lock stays taken, counted from the request, however early the job ends: hosts
  /// whose clocks are slow must not run the job again. Nothing that must be safe depends on it.
  Duration min_hold{};
  /// A successful run that began less than this ago makes another one unnecessary; zero: none does.
  Duration once{};
  /// A run that fails leaves a maintenance hold of this length; zero: none.
  Duration hold_on_failure{};
  /// A lock that is to end at this moment, however late we get it. Its ttl is the rest until then.
  std::optional<Instant> ends_at{};

  /// These lengths for a request that is sent at `now`.
  [[nodiscard]] constexpr Timing at(Instant now) const {
    Timing timing = *this;
    if (ends_at) timing.ttl = std::max<Duration>(*ends_at - now, std::chrono::milliseconds(1));
    return timing;
  }

  /// The life that a key gets when the lock is taken.
  [[nodiscard]] constexpr Duration life() const { return std::max(ttl, min_hold); }

  /// How much faster a server's clock may run during one ttl, and its rounding of milliseconds
  /// (the Redlock algorithm's own figures).
  [[nodiscard]] constexpr Duration drift() const { return drift(ttl); }
  static constexpr Duration drift(Duration length) {
    return length / 100 + std::chrono::milliseconds(2);
  }

  /// The time that a KILL may take before the lease is over.
  [[nodiscard]] constexpr Duration margin() const {
    return std::clamp<Duration>(ttl / 50, std::chrono::milliseconds(50), std::chrono::seconds(1));
  }

  /// How much earlier a KILL, and all that leads to it, may come because there are many processes
  /// to kill. A lease whose renewals succeed is never cut short: when a renewal is due, two thirds
  /// of the ttl are left, and a tenth is for the renewal itself.
  [[nodiscard]] constexpr Duration longest_head_start() const {
    return std::max(ttl * 2 / 3 - ttl / 10 - drift() - margin() - grace, Duration::zero());
  }

  /// When a job must get KILL if its lease ends at `valid_until` and killing it takes `head_start`;
  /// and when TERM, so that one grace is left before that.
  [[nodiscard]] constexpr Instant kill_at(Instant valid_until, Duration head_start) const {
    return valid_until - head_start - margin();
  }
  [[nodiscard]] constexpr Instant term_at(Instant valid_until, Duration head_start) const {
    return kill_at(valid_until, head_start) - grace;
  }

  [[nodiscard]] constexpr Duration renew_every() const { return ttl / 3; }

  /// Pace of renewals while fewer than a quorum of them succeed.
  [[nodiscard]] constexpr Duration retry_every() const {
    return std::clamp<Duration>(ttl / 30, std::chrono::milliseconds(50), std::chrono::seconds(1));
  }

  /// How long before the end of its lease a job with few processes must be stopped.
  [[nodiscard]] constexpr Duration time_to_stop() const { return grace + margin(); }

  /// The validity that a grant must still have to start a job on it: time to stop the job, and one
  /// renewal interval before that.
  [[nodiscard]] constexpr Duration needed_to_start() const { return time_to_stop() + ttl / 3; }
};

/// How long a user is willing to wait, and for what.
struct Patience {
  std::optional<Duration> wait;  ///< for the lock, with connecting; none: no limit; zero: once
  Duration server_wait;          ///< for a quorum of servers to answer
  std::size_t max_waiting = 0;   ///< do not join a queue of this many waiters; 0: any
};

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
  Duration server_timeout;  ///< for each request; also how long to wait for the last answers
  /// A server answers when its replicas have the change: only then does it read what follows.
  bool replicated = false;
  std::uint64_t seed;  ///< of the jitter
};

/// What a successful run leaves on the servers, so that others do not run needlessly.
enum class Mark { none, once, build };
constexpr Mark mark_of(const Plan& plan) {
  if (plan.build) return Mark::build;
  return plan.timing.once > Duration::zero() ? Mark::once : Mark::none;
}

}  // namespace redlock::lock
