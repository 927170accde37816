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

/// Requests must fail fast enough for a renewal to be tried several times within a ttl.
milliseconds at_most_a_tenth_of_the_ttl(milliseconds timeout, milliseconds ttl) {
  return std::min(timeout, ttl / 10);
}

lock::Plan plan_for(const config::Settings& settings) {
  const milliseconds grace = settings.kill_after.value_or(
      std::min<milliseconds>(std::chrono::seconds(5), settings.ttl / 6));
  return {
      .servers = settings.servers.size(),
      .timing = {.ttl = settings.ttl,
                 .grace = grace,
                 .min_hold = settings.min_hold,
                 .once = settings.once},
      .patience = {.wait = settings.wait, .server_wait = settings.server_wait},
      .max_runtime = settings.max_runtime,
      .server_timeout = at_most_a_tenth_of_the_ttl(settings.server_timeout, settings.ttl),
      .seed = os::random_seed(),
  };
}

diag::Verbosity verbosity_of(const config::Settings& settings) {
  if (settings.verbose) return diag::Verbosity::verbose;
  return settings.quiet ? diag::Verbosity::quiet : diag::Verbosity::normal;
}

int exit_status(const lock::Outcome& outcome, const config::Settings& settings) {
  switch (outcome.kind) {
    case lock::Outcome::Kind::job_ended:
    case lock::Outcome::Kind::not_started:
      return outcome.number;
    case lock::Outcome::Kind::conflict:
      return settings.conflict_exit_code;
    case lock::Outcome::Kind::done:
      return settings.once_exit_code;
    case lock::Outcome::Kind::unavailable:
      return static_cast<int>(ExitStatus::unavailable);
    case lock::Outcome::Kind::misconfigured:
      return static_cast<int>(ExitStatus::config);
    case lock::Outcome::Kind::interrupted:
      return 128 + outcome.number;
    case lock::Outcome::Kind::lost:
      return static_cast<int>(ExitStatus::lost);
    case lock::Outcome::Kind::max_runtime:
      return static_cast<int>(ExitStatus::max_runtime);
  }
  return static_cast<int>(ExitStatus::os_error);
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
      .request = std::chrono::duration_cast<milliseconds>(plan.server_timeout),
      .connect = at_most_a_tenth_of_the_ttl(std::chrono::seconds(1), settings.ttl),
  };

  redis::ServerSet servers(settings.servers,
                           {.prefix = settings.prefix,
                            .name = request.name,
                            .held_token = ours ? ours->token : std::string()},
                           settings.ttl, diag::to_json(describe_ourselves(settings, request.job)),
                           timeouts, settings.restart_grace);
  std::vector<std::string> names;
  for (std::size_t server = 0; server < servers.size(); ++server) {
    names.push_back(servers.display(server));
  }
  os::Stderr out;
  diag::Reporter reporter(out, request.name, std::move(names), verbosity_of(settings));

  Runner runner(plan,
                {.lock_name = request.name, .place = place, .held = held, .argv = request.job},
                servers, out, reporter);
  const lock::Outcome outcome = runner.run();
  out.drain(milliseconds(100));
  return exit_status(outcome, settings);
}

}  // namespace redlock::commands
