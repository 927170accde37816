// SPDX-License-Identifier: MIT
//
// Requests for a key that a Redis Cluster is moving. Absent on purpose: the requests that still
// belong to the other node (link.h).
#pragma once

#include <deque>
#include <vector>

#include "lock/time.h"
#include "lock/vote.h"
#include "os/loop.h"
#include "redis/connection/link.h"
#include "redis/connection/pipeline.h"
#include "redis/connection/timeouts.h"
#include "redis/wire/uri.h"

namespace redlock::redis {

/// A connection to the node that receives the key, for the few requests that the other node refused
/// with ASK. Passive, as Link is.
class Errand {
 public:
  /// `tls` must outlive this.
  Errand(Endpoint node, const TlsContext* tls, Timeouts timeouts);
  Errand(const Errand&) = delete;
  Errand& operator=(const Errand&) = delete;

  /// Sends the requests, each command behind an ASKING, but none that nobody waits for any more.
  void begin(std::deque<Pipeline::Pending> refused, lock::Instant now);

  void cancel_unsent(lock::AttemptId attempt) { link_.cancel_unsent(attempt); }
  void interests(std::vector<os::Interest>& out) const { link_.interests(out); }
  [[nodiscard]] lock::Instant deadline() const { return link_.deadline(); }
  std::vector<Link::Arrival> turn(lock::Instant now);

  /// Each request has an answer, or the reason why there is none.
  [[nodiscard]] bool finished() const { return link_.all_reported(); }

  /// As Link::abandon().
  void abandon() { link_.abandon(); }

 private:
  Endpoint node_;
  Link link_;
};

}  // namespace redlock::redis
