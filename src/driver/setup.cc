// SPDX-License-Identifier: MIT
#include "driver/setup.h"

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
      .wait_all = settings.wait_all,
      .server_timeout = settings.request_timeout(),
      .seed = os::random_seed(),
  };
}

diag::Verbosity verbosity_of(const config::Settings& settings) {
  if (settings.verbose) return diag::Verbosity::verbose;
  return settings.quiet ? diag::Verbosity::quiet : diag::Verbosity::normal;
}

redis::Timeouts timeouts_of(const config::Settings& settings) {
  return {.request = settings.request_timeout(), .connect = settings.connect_timeout()};
}

std::vector<std::string> displays_of(const config::Settings& settings) {
  std::vector<std::string> names;
  names.reserve(settings.servers.size());
  for (const redis::Endpoint& server : settings.servers) names.push_back(server.display());
  return names;
}

}  // namespace redlock::driver
