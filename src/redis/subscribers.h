// SPDX-License-Identifier: MIT
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "lock/vote.h"
#include "os/loop.h"
#include "redis/server_set.h"
#include "redis/subscriber.h"

namespace redlock::redis {

/// Listens on all servers, over connections of its own, apart from those of the votes: a process
/// that shares those with another one may yet listen.
class Subscribers {
 public:
  /// In the order of the servers, before the first listen().
  void add(const Endpoint& endpoint, const TlsContext* tls, Timeouts timeouts,
           std::chrono::milliseconds user_timeout, const std::string& channel) {
    subscribers_.emplace_back(endpoint, tls, timeouts, user_timeout, channel);
  }
  [[nodiscard]] bool empty() const { return subscribers_.empty(); }

  /// Wherever it does not do so yet.
  void listen(lock::Instant now);

  /// Nothing is about to change: each server is listened to, or cannot be for the time being.
  [[nodiscard]] bool settled() const;

  void interests(std::vector<os::Interest>& out) const;
  [[nodiscard]] lock::Instant deadline() const;

  /// Moves on what can be, and keeps what was said for take().
  void turn(lock::Instant now);
  std::vector<Notice> take();

  /// Lets go of the connections without a word on them.
  void abandon();

 private:
  std::deque<Subscriber> subscribers_;  ///< a deque, since a Subscriber cannot move
  std::vector<Notice> notices_;
};

}  // namespace redlock::redis
