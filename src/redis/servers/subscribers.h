// SPDX-License-Identifier: MIT
//
// The subscribers of all servers to one channel. Absent on purpose: the meaning of a notice, and a
// retry: subscribe() is called again whenever it may help.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "lock/vote.h"
#include "os/loop.h"
#include "redis/connection/routes.h"
#include "redis/requests/notice.h"
#include "redis/servers/subscriber.h"

namespace redlock::redis {

/// A subscription to one channel on every server, over connections of its own: a process that must
/// not use the connections of the votes may still subscribe. Passive, as Link is.
class Subscribers {
 public:
  /// Names the channel of the lock with this key, once, before the first subscribe(). `routes` must
  /// outlive this.
  void open(const Routes& routes, const std::string& key, const std::string& channel);
  [[nodiscard]] bool empty() const { return subscribers_.empty(); }

  /// Subscribes wherever it has not done so yet.
  void subscribe(lock::Instant now);

  /// As Subscriber::follow(), for one server.
  void follow(lock::ServerIndex server, const Endpoint& place);

  /// No subscription is under way: each server has confirmed its own or cannot be used for the time
  /// being.
  [[nodiscard]] bool settled() const;

  void interests(std::vector<os::Interest>& out) const;
  [[nodiscard]] lock::Instant deadline() const;

  /// Moves every connection on without blocking, and keeps the notices that came for take().
  void turn(lock::Instant now);
  std::vector<Notice> take();

  /// Closes the connections without sending anything.
  void abandon();

 private:
  std::deque<Subscriber> subscribers_;  ///< a deque, since a Subscriber cannot move
  std::vector<Notice> notices_;
};

}  // namespace redlock::redis
