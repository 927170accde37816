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
};

enum class StopReason {
  lost,          ///< servers said that the lock is not ours any more
  lease_ending,  ///< it could not be renewed in time
  max_runtime,   ///< the job ran longer than allowed
  top_gone,      ///< redlock's process on top is dead (lock/watch.h), and with it whoever waits
};

/// A server and what it last had to say, where that was no vote for us.
struct Complaint {
  ServerIndex server;
  Answer answer;
};

namespace report {

/// The lock is somebody else's; sent when waiting begins, and when it was in vain.
struct Contended {
  std::optional<Refused> refusal;  ///< none: several contenders split the votes
  bool gave_up;
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

using Report = std::variant<report::Contended, report::Acquired, report::Unavailable,
                            report::SameServer, report::RenewalFailing, report::RenewalRecovered,
                            report::Stopping, report::NotOursAtRelease, report::Skipped,
                            report::MarkUnconfirmed, report::ReleaseUnconfirmed, report::Released>;

using Effect = std::variant<Ask, Spawn, Kill, Report>;
using Effects = std::vector<Effect>;

}  // namespace redlock::lock
