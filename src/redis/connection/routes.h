// SPDX-License-Identifier: MIT
//
// How each configured server is reached. Absent on purpose: connections (link.h).
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "lock/vote.h"
#include "redis/connection/timeouts.h"
#include "redis/tls/context.h"
#include "redis/wire/uri.h"

namespace redlock::redis {

/// The endpoints in the order of the configuration, and what every connection to them needs. It
/// never changes, and it must outlive the connections, which refer to it.
class Routes {
 public:
  /// Reads the files that `tls` names, but only if a server speaks TLS. Throws Error (78) if they
  /// are of no use. `ttl`: of the lock.
  Routes(std::vector<Endpoint> endpoints, Timeouts timeouts, std::chrono::milliseconds ttl,
         const TlsSettings& tls);
  Routes(const Routes&) = delete;
  Routes& operator=(const Routes&) = delete;

  [[nodiscard]] std::size_t size() const { return endpoints_.size(); }
  [[nodiscard]] const Endpoint& endpoint(lock::ServerIndex server) const {
    return endpoints_.at(server);
  }

  /// Null for a server without TLS.
  [[nodiscard]] const TlsContext* tls_for(lock::ServerIndex server) const;

  [[nodiscard]] Timeouts timeouts() const { return timeouts_; }

  /// As in Dialer.
  [[nodiscard]] std::chrono::milliseconds user_timeout() const { return user_timeout_; }

 private:
  std::vector<Endpoint> endpoints_;
  std::optional<TlsContext> tls_;  ///< none if no server speaks TLS
  Timeouts timeouts_;
  std::chrono::milliseconds user_timeout_;
};

}  // namespace redlock::redis
