// SPDX-License-Identifier: MIT
#include "commands/run.h"

#include "commands/holder_info.h"
#include "commands/runner.h"
#include "diag/reporter.h"
#include "os/clock.h"
#include "os/random.h"
#include "os/stderr.h"
#include "redis/server_set.h"

namespace redlock::commands {

namespace {

using std::chrono::milliseconds;

lock::Plan plan_for(const config::Settings& settings) {
  return {
      .servers = settings.servers.size(),
      .timing = {.ttl = settings.ttl, .grace = settings.grace()},
      .patience = {.wait = settings.wait, .server_wait = settings.server_wait},
      .max_runtime = settings.max_runtime,
      .server_timeout = settings.request_timeout(),
      .seed = os::random_seed(),
  };
}

diag::Verbosity verbosity_of(const config::Settings& settings) {
  if (settings.verbose) return diag::Verbosity::verbose;
  return settings.quiet ? diag::Verbosity::quiet : diag::Verbosity::normal;
}

int exit_status(const lock::Outcome& outcome, int conflict_status) {
  switch (outcome.kind) {
    case lock::Outcome::Kind::job_ended:
    case lock::Outcome::Kind::not_started:
      return outcome.number;
    case lock::Outcome::Kind::conflict:
      return conflict_status;
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
  const lock::Plan plan = plan_for(settings);
  const redis::Timeouts timeouts{
      .request = settings.request_timeout(),
      .connect = settings.connect_timeout(),
  };

  redis::ServerSet servers(settings.servers, {.prefix = settings.prefix, .name = request.name},
                           settings.ttl, diag::to_json(describe_ourselves(settings, request.job)),
                           timeouts, settings.restart_grace);
  std::vector<std::string> names;
  for (std::size_t server = 0; server < servers.size(); ++server) {
    names.push_back(servers.display(server));
  }
  os::Stderr out;
  diag::Reporter reporter(out, request.name, std::move(names), verbosity_of(settings));

  Runner runner(plan, {.lock_name = request.name, .argv = request.job}, servers, out, reporter);
  const lock::Outcome outcome = runner.run();
  out.drain(milliseconds(100));
  return exit_status(outcome, settings.conflict_exit_code);
}

}  // namespace redlock::commands
