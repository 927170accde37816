// SPDX-License-Identifier: MIT
//
// What the state machine wants done. Facts only: wording is diag/'s.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lock/time.h"
#include "lock/vote.h"

namespace redlock::lock {

/// Start the job on this attempt's token, unless `latest` has passed by then.
struct Spawn {
  AttemptId attempt;
  std::uint64_t fence;
  Instant latest;
};

/// Send a signal to the job's main process and every descendant.
struct Kill {
  int signal;
  bool then_continue = false;  ///< and CONT behind it, to those that are stopped
};

/// Find out what it takes to kill the job; answer with KillCost.
struct Measure {};

/// Subscribe on every server for word to the holder of this attempt's lock (Notice), wherever that
/// is not done yet. Nothing depends on it: it only makes a renewal come sooner.
struct Subscribe {
  AttemptId attempt;
};

/// Stand in the queue of who waits for the lock, on every server that can be told now, and listen
/// for being woken (Woken), wherever that is not done yet. Nothing depends on it: it only makes the
/// next round come sooner.
struct JoinQueue {};

enum class StopReason {
  lost,             ///< servers said that the lock is not ours any more
  lease_ending,     ///< it could not be renewed in time
  max_runtime,      ///< the job ran longer than allowed
  supervisor_gone,  ///< redlock's process on top is dead (lock/watch.h), and with it whoever waits
};

/// A server and what it last had to say, where that was no vote for us.
struct Complaint {
  ServerIndex server;
  Answer answer;
};

/// A line for the log that servers keep of the lock: for people, and nothing is decided by it.
struct Log {
  enum class Event {
    acquired,  ///< the job has run for a while
    released,  ///< also when the command could not be started
    lost,      ///< the lock was not ours any more, or could not be renewed
    skipped,   ///< --once: another run made ours superfluous
  };
  /// A line of its own, or one that goes with each leave of the attempt from now on.
  enum class Carrier { itself, leave };

  Event event;
  Carrier carrier = Carrier::itself;
  AttemptId attempt;
  std::uint64_t fence = 0;  ///< skipped: 0, there is none
  Duration waited{};        ///< from the session's beginning to the win, or to being superfluous
  std::optional<Duration> held{};       ///< from the win until now; skipped: none
  std::optional<int> status{};          ///< the job's
  std::optional<StopReason> stopped{};  ///< why we stopped the job, if we did
};

namespace report {

/// The lock is somebody else's; sent when waiting begins, when whoever waits should know better by
/// now, and when it was in vain.
struct Contended {
  enum class When { begins, changes, gives_up };
  std::optional<Refused> refusal;  ///< none: several contenders split the votes
  When when;
  Duration waited;  ///< gives_up: the wait limit, which is zero for -n
};
/// Fewer than a quorum of servers have answered for a while, and are asked again.
struct QuorumMissing {
  enum class When {
    soon,    ///< for a second: news to somebody who looks on
    lasting  ///< for ten seconds: news to everybody
  };
  std::vector<Complaint> complaints;
  std::size_t answering;  ///< servers
  When when;
  Duration gives_up_in;
};
struct Acquired {
  AttemptId attempt;
  std::uint64_t fence;
  std::size_t votes;
  Duration waited;
  Duration valid_for;
};
/// Fewer than a quorum of servers could be used, for longer than is borne.
struct Unavailable {
  std::vector<Complaint> complaints;
};
/// Two configured servers are one and the same.
struct SameServer {
  ServerIndex first;
  ServerIndex second;
};
/// Fewer than a quorum renewed; said once per outage.
struct RenewalFailing {
  std::vector<Complaint> complaints;
  Duration job_stops_in;
};
struct RenewalRecovered {};
struct Stopping {
  StopReason reason;
  std::vector<Complaint> complaints;
};
/// At release the lock was not ours.
struct NotOursAtRelease {
  std::vector<Complaint> complaints;
};
/// A successful run of another makes ours superfluous.
struct Skipped {
  Done done;
};
/// Fewer than a quorum know that our run was successful.
struct MarkUnconfirmed {
  std::vector<Complaint> complaints;
};
struct ReleaseUnconfirmed {
  std::vector<Complaint> complaints;
  Duration stays_for;  ///< at most, on servers that were not reached
};
struct Released {
  Duration held;
  Duration cools_for;  ///< the rest of a minimum hold, during which nobody gets it; zero: free
};

}  // namespace report

using Report =
    std::variant<report::Contended, report::QuorumMissing, report::Acquired, report::Unavailable,
                 report::SameServer, report::RenewalFailing, report::RenewalRecovered,
                 report::Stopping, report::NotOursAtRelease, report::Skipped,
                 report::MarkUnconfirmed, report::ReleaseUnconfirmed, report::Released>;

using Effect = std::variant<Ask, Spawn, Kill, Measure, Subscribe, JoinQueue, Report, Log>;
using Effects = std::vector<Effect>;

}  // namespace redlock::lock
