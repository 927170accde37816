// SPDX-License-Identifier: MIT
//
// Subscribes to a channel, over connections of its own: a connection with a subscription takes no
// other requests. Absent on purpose: the meaning of a message, and a retry (ServerSet).
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lock/time.h"
#include "lock/vote.h"
#include "os/loop.h"
#include "redis/connection/link.h"

namespace redlock::redis {

/// On one server. Passive, as Link is; it has no deadline while it waits for a message.
///
/// In a Cluster it subscribes twice: to the messages for the nodes that have the slot, and to those
/// for all nodes, which a sender uses if nobody hears one of the former. When the slot moves to
/// another node, the server ends the first subscription, and we subscribe there.
class Subscriber {
 public:
  /// The arguments as for Link; a Cluster publishes messages where `key` is.
  Subscriber(const Endpoint& endpoint, const TlsContext* tls, Timeouts timeouts, std::string key,
             std::string channel);

  /// Subscribes, unless it has done so or is about to, or the server has refused it once.
  void subscribe(lock::Instant now);

  /// Messages are published at `place` from now on: leaves a subscription that is elsewhere. The
  /// next subscribe() makes it there.
  void follow(const Endpoint& place);

  /// Messages are published elsewhere, or the connection is of no use: subscribes over a new one.
  void move(lock::Instant now);

  /// It has asked for the subscription and has neither got it nor failed.
  [[nodiscard]] bool begins() const { return link_ && !unanswered_.empty(); }

  void interests(std::vector<os::Interest>& out) const;
  [[nodiscard]] lock::Instant deadline() const;

  /// The messages that came, untrusted, and cut to 1024 bytes; an empty one: from now on we miss
  /// nothing. A failure is not reported: subscribe() tries again.
  std::vector<std::string> turn(lock::Instant now);

  /// As Link::close().
  void close();

 private:
  [[nodiscard]] bool says_that_slot_moved(const Link::Arrival& arrival) const;
  std::optional<std::string> read(const Link::Arrival& arrival);
  std::optional<std::string> take_answer(bool refused);
  void follow_slot(lock::Instant now);

  std::string channel_;
  std::deque<std::string_view> commands_;    ///< none of them was refused yet
  std::deque<std::string_view> unanswered_;  ///< of these, over this connection
  bool confirmed_ = false;                   ///< over this connection, and so said
  std::optional<lock::Instant> followed_;    ///< when we last followed the slot to its new node
  std::optional<Link> link_;                 ///< none once the server has refused
};

/// A message on a channel to which we subscribe: for the holder of a lock, or for a waiter.
struct Notice {
  lock::ServerIndex server;
  std::string text;  ///< as of Subscriber::turn()
};

/// One channel on every server: a process that must not use the connections of the votes may still
/// subscribe. Passive, as Link is.
class Subscribers {
 public:
  /// The next server; the arguments as for Subscriber.
  void add(const Endpoint& endpoint, const TlsContext* tls, Timeouts timeouts,
           const std::string& key, const std::string& channel) {
    subscribers_.emplace_back(endpoint, tls, timeouts, key, channel);
  }
  [[nodiscard]] bool empty() const { return subscribers_.empty(); }

  /// Subscribes wherever it has not done so yet.
  void subscribe(lock::Instant now);

  /// As Subscriber::follow() and move(), for one server.
  void follow(lock::ServerIndex server, const Endpoint& place) {
    if (!empty()) subscribers_[server].follow(place);
  }
  void move(lock::ServerIndex server, lock::Instant now) {
    if (!empty()) subscribers_[server].move(now);
  }

  /// Each server has confirmed its subscription, or cannot be used for the moment.
  [[nodiscard]] bool settled() const;

  void interests(std::vector<os::Interest>& out) const;
  [[nodiscard]] lock::Instant deadline() const;

  /// Moves every connection on without blocking, and keeps the notices that came for take().
  void turn(lock::Instant now);
  std::vector<Notice> take() { return std::exchange(notices_, {}); }

  /// As Link::close().
  void close();

 private:
  std::deque<Subscriber> subscribers_;  ///< a deque, since a Subscriber cannot move
  std::vector<Notice> notices_;
};

}  // namespace redlock::redis
