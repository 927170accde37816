// SPDX-License-Identifier: MIT
//
// Subscribes to a channel on one server, over a connection of its own: a connection with a
// subscription takes no other requests. Absent on purpose: the meaning of a message.
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lock/time.h"
#include "os/loop.h"
#include "redis/connection/link.h"

namespace redlock::redis {

/// Passive, as Link is: the caller polls interests() and calls turn(). It has no deadline while it
/// waits for a message.
///
/// In a Cluster it subscribes twice: to the messages for the nodes that have the slot, and to those
/// for all nodes. The sender sends one of the latter if nobody hears one of the former, because it
/// may not send that, or we may not subscribe to it. When the slot moves to another node, the
/// server ends the first subscription, and we subscribe there.
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
  [[nodiscard]] bool begins() const { return link_ && !unanswered_.empty(); }

  void interests(std::vector<os::Interest>& out) const;
  [[nodiscard]] lock::Instant deadline() const;

  /// The messages that came; an empty one: from now on nothing is missed. Untrusted, and cut to
  /// 1024 bytes. A failure is not reported: subscribe() tries again.
  std::vector<std::string> turn(lock::Instant now);

  /// Closes the connection without sending anything.
  void abandon();

 private:
  [[nodiscard]] bool says_that_slot_moved(const Link::Arrival& arrival) const;
  std::optional<std::string> read(const Link::Arrival& arrival);
  std::optional<std::string> take_answer(bool refused);
  void follow_slot(lock::Instant now);
  void close();

  std::string channel_;
  std::deque<std::string_view> commands_;    ///< none of them was refused yet
  std::deque<std::string_view> unanswered_;  ///< of these, over this connection
  std::optional<lock::Instant> followed_;    ///< when we last followed the slot to its new node
  std::optional<Link> link_;                 ///< none once the server has refused
};

}  // namespace redlock::redis
