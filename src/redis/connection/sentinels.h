// SPDX-License-Identifier: MIT
//
// Asks Sentinels which server is the primary of a service now
// (https://redis.io/docs/latest/develop/reference/sentinel-clients/). Absent on purpose: the
// primary itself (link.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "lock/time.h"
#include "lock/vote.h"
#include "os/loop.h"
#include "redis/connection/link.h"
#include "redis/wire/resp.h"
#include "redis/wire/uri.h"

namespace redlock::redis {

/// Asks all Sentinels at once. After a fail-over, one that was cut off still names the old primary:
/// so a majority must have answered, and the newest configuration counts (config-epoch). If no
/// majority answers in time, those that did have to do. Passive, as Link is.
class Sentinels {
 public:
  /// `endpoint` and `tls` must outlive this.
  Sentinels(const Endpoint& endpoint, const TlsContext* tls, Timeouts timeouts);

  void ask(lock::Instant now);
  void interests(std::vector<os::Interest>& out) const;
  [[nodiscard]] lock::Instant deadline() const;
  void turn(lock::Instant now);
  /// As Link::abandon().
  void abandon();

  [[nodiscard]] bool finished() const { return finished_; }
  /// Once finished(): the primary; none: failure() says why.
  [[nodiscard]] const std::optional<Address>& primary() const { return primary_; }
  [[nodiscard]] const lock::Unreachable& failure() const { return failure_; }

 private:
  void take(std::size_t index, const Link::Arrival& arrival);

  const Endpoint& endpoint_;
  std::vector<Endpoint> endpoints_;         ///< of the Sentinels
  std::deque<Link> links_;                  ///< a deque, since a Link cannot move
  lock::Instant enough_at_ = lock::kNever;  ///< from then on, one answer will do
  lock::Duration patience_{};
  std::size_t answered_ = 0;  ///< Sentinels that name a primary
  std::size_t failed_ = 0;
  std::size_t permanent_ = 0;  ///< of those that failed
  std::uint64_t epoch_ = 0;    ///< of primary_
  std::optional<Address> primary_;
  lock::Unreachable failure_;
  bool finished_ = false;
};

}  // namespace redlock::redis
