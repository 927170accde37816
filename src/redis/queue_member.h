// SPDX-License-Identifier: MIT
//
// Our membership in the queue of waiters that every server keeps of a lock. Absent on purpose:
// when to join and when to leave (lock/acquisition.h), the queue itself (queue.h), and the lock:
// exclusion never rests on the queue.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lock/time.h"
#include "lock/vote.h"
#include "os/loop.h"
#include "redis/notice.h"
#include "redis/queue.h"
#include "redis/routes.h"
#include "redis/subscribers.h"
#include "redis/voters.h"

namespace redlock::redis {

/// Joins over the connections of the votes, in their order, and receives wake-ups over connections
/// of its own. Passive, as Link is.
class QueueMember {
 public:
  /// Both must outlive this.
  QueueMember(const Routes& routes, Voters& voters);

  /// Puts us into the lock's queue on every server that is connected and answers, or keeps us
  /// there, and subscribes to our wake-ups wherever it has not done so yet.
  void join(lock::Instant now);

  /// We are in the queue of some server, or may be.
  [[nodiscard]] bool joined() const { return !waiter_.empty() && !left_; }

  /// Asks one server (Op::leave_queue). The first call ends all subscriptions. A server that is not
  /// connected is not asked: its answer is Unreachable.
  void leave(const lock::Ask& ask, lock::Instant now);

  /// Our place by the servers' answers to the latest join(), from the server where it is the last.
  /// None if no server has answered.
  [[nodiscard]] std::optional<QueuePlace> place() const;

  /// The wake-ups that the latest turn() received. An empty text comes once from each server: from
  /// now on nothing is missed there.
  std::vector<Notice> take_wake_ups();

  void interests(std::vector<os::Interest>& out) const { subscribers_.interests(out); }
  [[nodiscard]] lock::Instant deadline() const { return subscribers_.deadline(); }

  /// Reads the answers to join() that the voters received in their turn, which comes first.
  void turn(lock::Instant now);

  /// Closes every connection without sending anything.
  void abandon() { subscribers_.abandon(); }

 private:
  struct Answered {
    QueuePlace place;
    unsigned join = 0;  ///< joins_ when the answer came
  };

  void note_place(lock::ServerIndex server, const Value& answer);

  const Routes& routes_;
  Voters& voters_;
  Subscribers subscribers_;  ///< empty except while we wait
  std::string waiter_;       ///< our name in the queue; empty until the first join()
  bool left_ = false;
  unsigned joins_ = 0;                           ///< how often join() was called
  std::vector<std::optional<Answered>> places_;  ///< by server
  std::set<lock::ServerIndex> subscribed_;       ///< they have confirmed it
};

}  // namespace redlock::redis
