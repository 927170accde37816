// SPDX-License-Identifier: MIT
//
// What the state machine wants done: facts only. The wording is in diag/.
#pragma once

#include <utility>

#include "lock/timing.h"
#include "lock/vote.h"

namespace redlock::lock {

/// Start the job with this attempt's token, unless `latest` has passed by then.
struct Spawn {
  AttemptId attempt;
  std::uint64_t fence;
  Instant latest;
};

/// Send a signal to the job's main process and every descendant, and then CONT to those that are
/// stopped, unless the signal is KILL.
struct Kill {
  enum class Whom {
    everybody,
    next_stage  ///< KILL to the job's main process alone: it is the redlock of the next lock
  };
  int signal;
  Whom whom = Whom::everybody;
};

/// Find out how long it takes to kill the job; the answer is KillCost.
struct Measure {};

/// The main process ended a while ago: report what it has left and must end before the lock is
/// free.
struct TellEnding {
  Duration kill_in;
};

/// Subscribe on every server to the notices for the holder of this attempt's lock (Notice), where
/// we are not subscribed yet.
struct Subscribe {
  AttemptId attempt;
};

/// Join the queue of waiters on every server that can be reached now, and subscribe to our wake-ups
/// (Woken) wherever that is not done yet.
struct JoinQueue {
  /// 0: only subscribe: the next acquire puts us into the queue, or we are there.
  Ticket ticket = 0;
  bool early = false;  ///< we are among the first two
};

/// Revoke the lock on these servers from the holder that each names, or may have, unless it is a
/// maintenance hold.
struct Replace {
  std::vector<std::pair<ServerIndex, Refused>> refusals;
};

enum class StopReason {
  lost,             ///< servers said that the lock is not ours any more
  lease_ending,     ///< it could not be renewed in time
  max_runtime,      ///< the job ran longer than allowed
  supervisor_gone,  ///< no process waits for the job any more (lock/watch.h)
};

/// How the job's main process ended. Only one that ended by itself leaves descendants on purpose.
enum class JobEnd {
  by_itself,  ///< it exited, and nobody had told it to
  as_told,    ///< it and its descendants had got a signal that ends a process
  killed,     ///< by a signal that its descendants have not got
};

/// A server and its last answer, where that was no vote for us.
struct Complaint {
  ServerIndex server;
  Answer answer;
};

/// A complaint with the `last` answer of each server in `all` that is not `fine`.
template <class PerServer, class Fine>
std::vector<Complaint> complaints_unless(const std::vector<PerServer>& all, Fine fine) {
  std::vector<Complaint> complaints;
  for (ServerIndex server = 0; server < all.size(); ++server) {
    if (!fine(all[server])) complaints.push_back({server, all[server].last});
  }
  return complaints;
}

/// A line for the log that servers keep of a lock. For people: no decision depends on it.
struct Log {
  enum class Event {
    acquired,    ///< the job has run for a while
    released,    ///< also when the command could not be started
    lost,        ///< the lock was not ours any more, or could not be renewed
    skipped,     ///< --once: another run already did our work
    superseded,  ///< --newest, --build: a newer run makes ours needless
    revoked,     ///< --replace: we took the lock from another run
  };
  /// The line goes out by itself, or with each leave of the attempt from now on.
  enum class Carrier { itself, leave };

  Event event;
  Carrier carrier = Carrier::itself;
  AttemptId attempt;
  std::uint64_t fence = 0;  ///< skipped: 0, there is none
  Duration waited{};        ///< from the beginning of the session to the win; skipped: to the end
  std::optional<Duration> held{};       ///< from the win until now; skipped: none
  std::optional<int> status{};          ///< the job's
  std::optional<StopReason> stopped{};  ///< why we stopped the job, if we did
  Duration hold{};                      ///< released: the lock stays, as a maintenance hold
  std::string other{};                  ///< revoked: the token of that run
};

namespace report {

/// Another process has the lock. Sent when the wait begins, changes, or was in vain.
struct Contended {
  enum class When { begins, changes, gives_up };
  std::optional<Refused> refusal;  ///< none: several contenders split the votes
  When when;
  Duration waited;  ///< gives_up: the wait limit, which is zero for -n
  /// gives_up: the servers that leave no quorum (lock/attempt.h), if there are any.
  std::vector<Complaint> obstacles{};
  std::size_t crowd = 0;  ///< gives_up: this many wait before us, too many; 0: not for that reason
  std::size_t place = 0;  ///< gives_up: ours in the queue, from 1; 0: unknown
};
/// For a while fewer than a quorum of servers have answered. They are asked again.
struct QuorumMissing {
  enum class When {
    soon,    ///< for a second: news for a user who watches
    lasting  ///< for ten seconds: news for everybody
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
/// Fewer than a quorum of servers could be used, for longer than the patience allows.
struct Unavailable {
  std::vector<Complaint> complaints;
};
struct SameServer {
  ServerIndex first;
  ServerIndex second;
};
/// Fewer than a quorum renewed. Sent once per outage.
struct RenewalFailing {
  std::vector<Complaint> complaints;
  Duration job_stops_in;
};
struct RenewalRecovered {};
struct Stopping {
  StopReason reason;
  std::vector<Complaint> complaints;
  bool expired = false;  ///< the lease is over, since this host stood still
};
struct NotOursAtRelease {
  std::vector<Complaint> complaints;
};
struct Skipped {
  Done done;
};
struct Superseded {
  lock::Superseded by;
  std::uint64_t build;  ///< ours
  Duration waited;
};
/// Fewer than a quorum of servers know that our run was successful.
struct MarkUnconfirmed {
  std::vector<Complaint> complaints;
  Mark mark;
};
struct ReleaseUnconfirmed {
  std::vector<Complaint> complaints;
  Duration stays_for;  ///< how long the lock stays at most on servers that were not reached
  bool free = false;   ///< a quorum has released the lock; only these servers may keep it
};
struct Released {
  Duration held;
  Duration cools_for;     ///< the rest of our minimum hold; zero: it is over
  bool cools;             ///< a minimum hold lasts, ours or that of another run inside or outside
  bool kept;              ///< other processes of the job still hold the lock
  bool holds = false;     ///< `cools_for`: a maintenance hold
  bool job_gone = false;  ///< no process of the job that took the lock is left
};
/// The run failed, and no maintenance hold follows for certain, although one should.
struct HoldMissing {
  std::vector<Complaint> complaints;  ///< empty: the lock was lost or revoked
};

}  // namespace report

using Report = std::variant<report::Contended, report::QuorumMissing, report::Acquired,
                            report::Unavailable, report::SameServer, report::RenewalFailing,
                            report::RenewalRecovered, report::Stopping, report::NotOursAtRelease,
                            report::Skipped, report::Superseded, report::MarkUnconfirmed,
                            report::ReleaseUnconfirmed, report::Released, report::HoldMissing>;

using Effect =
    std::variant<Ask, Spawn, Kill, Measure, TellEnding, Subscribe, JoinQueue, Replace, Report, Log>;
using Effects = std::vector<Effect>;

}  // namespace redlock::lock
