// SPDX-License-Identifier: MIT
//
// Our membership in the queue of waiters that every server keeps of a lock. Absent on purpose: when
// to join and when to leave (lock/waiter.h), the queue itself (queue.h), and the requests for the
// lock, which keep us in the queue (request.h).
#pragma once

#include <set>
#include <vector>

#include "lock/time.h"
#include "lock/vote.h"
#include "os/loop.h"
#include "redis/connection/routes.h"
#include "redis/requests/notice.h"
#include "redis/servers/subscribers.h"
#include "redis/servers/voters.h"

namespace redlock::redis {

/// Joins over the connections of the votes, in their order, and receives wake-ups over connections
/// of its own. Passive, as Link is.
class QueueMember {
 public:
  /// Both must outlive this.
  QueueMember(const Routes& routes, Voters& voters) : routes_(routes), voters_(voters) {}

  /// Puts us into the queue with this ticket on every server that is connected and answers, and
  /// subscribes to our wake-ups wherever it has not done so yet. Ticket 0: it only subscribes.
  void join(lock::Ticket ticket, lock::Instant now);

  /// We are in the queue of some server, or may be.
  [[nodiscard]] bool joined() const { return joined_; }

  /// Asks one server (Op::leave_queue). The first call ends all subscriptions. A server that is not
  /// connected is not asked: its answer is Unreachable.
  void leave(const lock::Ask& ask, lock::Instant now);

  /// The wake-ups that the latest turn() received. An empty text comes once from each server: from
  /// now on nothing is missed there.
  std::vector<Notice> take_wake_ups();

  void interests(std::vector<os::Interest>& out) const { subscribers_.interests(out); }
  [[nodiscard]] lock::Instant deadline() const { return subscribers_.deadline(); }
  void turn(lock::Instant now) { subscribers_.turn(now); }

  /// Closes every connection without sending anything.
  void abandon() { subscribers_.abandon(); }

 private:
  const Routes& routes_;
  Voters& voters_;
  Subscribers subscribers_;  ///< empty except while we wait
  bool joined_ = false;
  std::set<lock::ServerIndex> subscribed_;  ///< they have confirmed it
};

}  // namespace redlock::redis
