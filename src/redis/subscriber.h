// SPDX-License-Identifier: MIT
//
// Subscribes to a channel on one server, over a connection of its own: a connection with a
// subscription takes no other requests. Absent on purpose: the meaning of a message.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "lock/time.h"
#include "os/loop.h"
#include "redis/link.h"

namespace redlock::redis {

/// Passive, as Link is: the caller polls interests() and calls turn(). It has no deadline while it
/// waits for a message.
class Subscriber {
 public:
  /// `endpoint` and `tls` must outlive this, as for Link. `key`: of the lock whose channel it is:
  /// in a Cluster, messages are published where this key is.
  Subscriber(const Endpoint& endpoint, const TlsContext* tls, Timeouts timeouts,
             std::chrono::milliseconds user_timeout, std::string key, std::string channel);

  /// Subscribes, unless it has done so or is about to. A server that has refused it once is not
  /// asked again.
  void subscribe(lock::Instant now);

  /// Messages are published at `place` from now on: leaves a subscription that is elsewhere, so
  /// that the next subscribe() makes it there.
  void follow(const Endpoint& place);

  /// It has asked for the subscription and has neither got it nor failed.
  [[nodiscard]] bool begins() const { return link_ && begins_; }

  void interests(std::vector<os::Interest>& out) const;
  [[nodiscard]] lock::Instant deadline() const;

  /// The messages that came; an empty one: from now on nothing is missed. Untrusted, and cut to
  /// 1024 bytes. A failure is not reported: subscribe() tries again.
  std::vector<std::string> turn(lock::Instant now);

  /// Closes the connection without sending anything.
  void abandon();

 private:
  std::optional<std::string> read(const Link::Arrival& arrival);

  std::string channel_;
  bool begins_ = false;
  std::optional<Link> link_;  ///< none once the server has refused
};

}  // namespace redlock::redis
