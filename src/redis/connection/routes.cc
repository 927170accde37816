// SPDX-License-Identifier: MIT
#include "redis/connection/routes.h"

#include <algorithm>
#include <utility>

namespace redlock::redis {

// A host that acknowledges nothing loses its connection early enough for another try over a new one
// well within the lease.
Routes::Routes(std::vector<Endpoint> endpoints, Timeouts timeouts, std::chrono::milliseconds ttl,
               const TlsSettings& tls)
    : endpoints_(std::move(endpoints)),
      timeouts_(timeouts),
      user_timeout_(std::max(std::chrono::milliseconds(1000), ttl / 6)) {
  if (std::ranges::any_of(endpoints_, &Endpoint::tls)) tls_.emplace(tls);
}

const TlsContext* Routes::tls_for(lock::ServerIndex server) const {
  return endpoint(server).tls ? &*tls_ : nullptr;
}

}  // namespace redlock::redis
