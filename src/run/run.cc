// SPDX-License-Identifier: MIT
#include "run/run.h"

#include <cstdlib>
#include <new>
#include <optional>
#include <string>

#include "diag/reporter.h"
#include "driver/holder_info.h"
#include "driver/setup.h"
#include "os/last_words.h"
#include "os/stderr.h"
#include "redis/keys.h"
#include "redis/server_set.h"
#include "run/metrics_file.h"
#include "run/reentrancy.h"
#include "run/runner.h"

namespace redlock::run {

namespace {

/// An empty text is no warning.
void warn(const std::string& text, const config::Settings& settings, os::Stderr& out) {
  if (!text.empty() && !settings.quiet) out.line("redlock: warning: " + text);
}

}  // namespace

Exit run(const cli::Run& request) {
  const config::Settings& settings = request.settings;
  lock::Plan plan = driver::plan_for(settings);
  const LockId id{.fingerprint = driver::server_set_fingerprint(settings.servers),
                  .key = redis::lock_key(settings.prefix, request.name)};
  const char* const environment = std::getenv("REDLOCK_HELD");
  const std::string held = environment == nullptr ? "" : environment;
  const std::optional<Held> ours = settings.reentrant ? find_held(held, id) : std::optional<Held>();
  if (ours) plan.inherited = ours->fence;
  records::Holder who = driver::describe_ourselves(settings, request.job);
  redis::ServerSet servers(
      settings.servers,
      {.prefix = settings.prefix,
       .name = request.name,
       .held_token = ours ? ours->token : std::string(),
       .log_entries = settings.log_entries},
      settings.ttl, [who] { return records::to_json(records::since_now(who)); },
      driver::timeouts_of(settings), settings.restart_grace, settings.tls);
  os::Stderr out;
  const MetricsFile metrics(settings.metrics_file);
  const std::string early = metrics.check();
  warn(early, settings, out);
  const driver::Progress::Mode progress = driver::progress_mode(settings);
  diag::Reporter reporter(out, request.name, driver::displays_of(settings),
                          driver::verbosity_of(settings), driver::wait_news(settings));

  Runner runner(plan,
                {.lock_name = request.name,
                 .who = std::move(who),
                 .id = id,
                 .held = held,
                 .argv = request.job,
                 .on_lost = settings.on_lost},
                servers, out, reporter, progress,
                {.conflict = settings.conflict_exit_code, .done = settings.once_exit_code});
  const Exit result = runner.run();
  try {
    const std::string late = metrics.add(id.key, runner.facts(), result.status);
    if (early.empty()) warn(late, settings, out);  // once is enough
  } catch (const std::bad_alloc&) {
    os::last_words("redlock: warning: no metrics: out of memory\n");
  }
  out.drain(std::chrono::milliseconds(100));
  return result;
}

}  // namespace redlock::run
