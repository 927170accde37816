// SPDX-License-Identifier: MIT
#include "driver/setup.h"

#include <utility>

#include "os/descriptors.h"
#include "os/random.h"

namespace redlock::driver {

lock::Plan plan_for(const config::Settings& settings) {
  return {
      .servers = settings.servers.size(),
      .timing = {.ttl = settings.ttl,
                 .grace = settings.grace(),
                 .min_hold = settings.min_hold,
                 .once = settings.once},
      .patience = {.wait = settings.wait, .server_wait = settings.server_wait},
      .max_runtime = settings.max_runtime,
      .stop_signal = settings.stop_signal,
      .slots = settings.slots,
      .wait_all = settings.wait_all,
      .server_timeout = settings.request_timeout(),
      .seed = os::random_seed(),
  };
}

diag::Verbosity verbosity_of(const config::Settings& settings) {
  if (settings.verbose > 1) return diag::Verbosity::detailed;
  if (settings.verbose > 0) return diag::Verbosity::verbose;
  return settings.quiet ? diag::Verbosity::quiet : diag::Verbosity::normal;
}

redis::Timeouts timeouts_of(const config::Settings& settings) {
  return {.request = settings.request_timeout(), .connect = settings.connect_timeout()};
}

redis::ServerSet open_servers(const config::Settings& settings, const LockId& lock,
                              std::function<std::string()> record, std::string held_token) {
  return {settings.servers,
          {.key = lock.key,
           .shared = settings.shared,
           .slots = settings.slots,
           .held_token = std::move(held_token),
           .replicas = settings.replicas,
           .log_entries = settings.log_entries},
          settings.ttl,
          std::move(record),
          timeouts_of(settings),
          settings.restart_grace,
          settings.tls};
}

/// Each server needs a socket or, during the look-up of its name, an eventfd and a file of the
/// resolver. Standard error is opened once more.
void require_connections(std::size_t servers) {
  os::require_free_descriptors(2 * servers + 1);
}

std::vector<std::string> displays_of(const config::Settings& settings) {
  std::vector<std::string> names;
  names.reserve(settings.servers.size());
  for (const redis::Endpoint& server : settings.servers) names.push_back(server.brief());
  return names;
}

}  // namespace redlock::driver
