// SPDX-License-Identifier: MIT
#include "commands/run.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

#include "commands/held.h"
#include "commands/holder_info.h"
#include "commands/runner.h"
#include "diag/reporter.h"
#include "os/clock.h"
#include "os/random.h"
#include "os/stderr.h"
#include "redis/keys.h"
#include "redis/server_set.h"

namespace redlock::commands {

namespace {

using std::chrono::milliseconds;

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

bool trusts_anybody(const config::Settings& settings) {
  return settings.tls.verify == redis::TlsSettings::Verify::nothing &&
         std::any_of(settings.servers.begin(), settings.servers.end(),
                     [](const redis::Endpoint& server) { return server.tls; });
}

}  // namespace

int run(const cli::Run& request) {
  const config::Settings& settings = request.settings;
  lock::Plan plan = plan_for(settings);
  const Place place{.fingerprint = server_set_fingerprint(settings.servers),
                    .key = redis::lock_key(settings.prefix, request.name)};
  const char* const environment = std::getenv("REDLOCK_HELD");
  const std::string held = environment == nullptr ? "" : environment;
  const std::optional<Held> ours =
      settings.reentrant ? find_held(held, place) : std::optional<Held>();
  if (ours) plan.inherited = ours->fence;
  const redis::Timeouts timeouts{
      .request = settings.request_timeout(),
      .connect = settings.connect_timeout(),
  };

  redis::ServerSet servers(settings.servers,
                           {.prefix = settings.prefix,
                            .name = request.name,
                            .held_token = ours ? ours->token : std::string()},
                           settings.ttl, diag::to_json(describe_ourselves(settings, request.job)),
                           timeouts, settings.restart_grace, settings.tls);
  std::vector<std::string> names;
  for (std::size_t server = 0; server < servers.size(); ++server) {
    names.push_back(servers.display(server));
  }
  os::Stderr out;
  if (trusts_anybody(settings) && !settings.quiet) {
    out.line(
        "redlock: warning: certificates are not verified (--tls-insecure): whoever is in "
        "between can pose as a server; give its authority to --tls-ca instead");
  }
  diag::Reporter reporter(out, request.name, std::move(names), verbosity_of(settings));

  Runner runner(plan,
                {.lock_name = request.name,
                 .place = place,
                 .held = held,
                 .argv = request.job,
                 .on_lost = settings.on_lost},
                servers, out, reporter,
                {.conflict = settings.conflict_exit_code, .done = settings.once_exit_code});
  const int status = runner.run();
  out.drain(milliseconds(100));
  return status;
}

}  // namespace redlock::commands
