// SPDX-License-Identifier: MIT
//
// Subscribes to a channel, over connections of its own: a connection with a subscription takes no
// other requests. Absent on purpose: the meaning of a message, and a retry: subscribe() is called
// again whenever it may help.
#pragma once

#include <chrono>
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

/// On one server. Passive, as Link is: the caller polls interests() and calls turn(). It has no
/// deadline while it waits for a message.
///
/// In a Cluster it subscribes twice: to the messages for the nodes that have the slot, and to those
/// for all nodes. The sender sends one of the latter if nobody hears one of the former, because it
/// may not send that, or we may not subscribe to it. When the slot moves to another node, the
/// server ends the first subscription, and we subscribe there.
class Subscriber {
 public:
  /// `endpoint` and `tls` must outlive this, as for Link. `key`: of the lock whose channel it is:
  /// in a Cluster, messages are published where this key is.
  Subscriber(const Endpoint& endpoint, const TlsContext* tls, Timeouts timeouts, std::string key,
             std::string channel);

  /// Subscribes, unless it has done so or is about to. A connection that brings no messages may be
  /// dead: to prove it, subscribes once more over it, and if nothing has come by the next call,
  /// over a new one. A server that has refused it once is not asked again.
  void subscribe(lock::Instant now);

  /// Messages are published at `place` from now on: leaves a subscription that is elsewhere, so
  /// that the next subscribe() makes it there.
  void follow(const Endpoint& place);

  /// Messages are published elsewhere from now on: leaves the subscription, and subscribes there.
  void move(lock::Instant now);

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
  std::optional<std::string> take_late_answer();
  bool is_alive(lock::Instant now);
  [[nodiscard]] std::string encode() const;
  void follow_slot(lock::Instant now);
  void close();

  std::string channel_;
  std::deque<std::string_view> commands_;    ///< none of them was refused yet
  std::deque<std::string_view> unanswered_;  ///< of these, over this connection
  bool subscribed_ = false;                  ///< and our user knows
  std::optional<lock::Instant> followed_;    ///< when we last followed the slot to its new node
  lock::Duration patience_;                  ///< for an answer over a new connection
  lock::Instant heard_{};                    ///< when something last came
  std::optional<lock::Instant> asked_;       ///< nothing has come since we asked then
  std::optional<Link> link_;                 ///< none once the server has refused
};

/// A message on a channel to which we subscribe: for the holder of a lock, or for a waiter.
struct Notice {
  lock::ServerIndex server;
  std::string text;  ///< as of Subscriber::turn()
};

/// One channel on every server, over connections of its own: a process that must not use the
/// connections of the votes may still subscribe. Passive, as Link is.
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
    subscribers_[server].follow(place);
  }
  void move(lock::ServerIndex server, lock::Instant now) {
    if (!empty()) subscribers_[server].move(now);
  }

  /// No subscription is under way: each server has confirmed its own or cannot be used for the time
  /// being.
  [[nodiscard]] bool settled() const;

  void interests(std::vector<os::Interest>& out) const;
  [[nodiscard]] lock::Instant deadline() const;

  /// Moves every connection on without blocking, and keeps the notices that came for take().
  void turn(lock::Instant now);
  std::vector<Notice> take() { return std::exchange(notices_, {}); }

  /// Closes the connections without sending anything.
  void abandon();

 private:
  std::deque<Subscriber> subscribers_;  ///< a deque, since a Subscriber cannot move
  std::vector<Notice> notices_;
};

}  // namespace redlock::redis
