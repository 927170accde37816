// SPDX-License-Identifier: MIT
//
// Listens on a channel of one server, over a connection of its own: one that listens takes no other
// requests. Absent on purpose: what to make of what it hears.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "lock/time.h"
#include "os/loop.h"
#include "redis/link.h"

namespace redlock::redis {

/// Passive, as Link is: the caller polls interests() and calls turn(). While it listens and nothing
/// comes it has no deadline.
class Subscriber {
 public:
  /// `endpoint` and `tls` must outlive this, as for Link.
  Subscriber(const Endpoint& endpoint, const TlsContext* tls, Timeouts timeouts,
             std::chrono::milliseconds user_timeout, std::string channel);

  /// Begins to listen, unless it does so or is about to. In vain where the server has refused it
  /// before.
  void listen(lock::Instant now);

  /// It tries to, and neither can listen yet nor has failed.
  [[nodiscard]] bool begins() const { return link_ && begins_; }

  void interests(std::vector<os::Interest>& out) const;
  [[nodiscard]] lock::Instant deadline() const;

  /// What was said; empty: from now on nothing is missed. Untrusted, and cut to 1024 bytes. What
  /// goes wrong is not told: listen() tries again.
  std::vector<std::string> turn(lock::Instant now);

  /// Lets go of the connection without a word on it.
  void abandon();

 private:
  std::optional<std::string> read(const Link::Arrival& arrival);

  std::string channel_;
  bool begins_ = false;
  std::optional<Link> link_;  ///< none once the server has refused
};

}  // namespace redlock::redis
