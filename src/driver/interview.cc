// SPDX-License-Identifier: MIT
#include "driver/interview.h"

#include <vector>

#include "driver/setup.h"
#include "os/clock.h"
#include "os/loop.h"

namespace redlock::driver {

Interview::Interview(const config::Settings& settings, redis::Timeouts timeouts)
    : servers_(settings.servers.size()) {
  for (const redis::Endpoint& server : settings.servers) {
    if (server.tls && !tls_) tls_.emplace(settings.tls);
    questions_.connect(server, server.tls ? &*tls_ : nullptr, timeouts);
  }
}

void Interview::finish() {
  os::Loop loop;
  require_connections(servers());
  std::vector<os::Interest> interests;
  while (!questions_.finished()) {
    interests.clear();
    questions_.interests(interests);
    loop.wait(interests, questions_.deadline());
    questions_.turn(os::boot_now());
  }
}

}  // namespace redlock::driver
