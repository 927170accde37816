// SPDX-License-Identifier: MIT
#include "run/runner.h"

#include <fmt/format.h>

#include <cstdlib>
#include <new>
#include <string>
#include <utility>

#include "diag/text.h"
#include "driver/progress.h"
#include "error.h"
#include "lock/value.h"

namespace redlock::run {

namespace {

/// Prints nothing if the text is empty.
void warn(const std::string& text, const config::Settings& settings, os::Stderr& out) {
  if (!text.empty() && !settings.quiet) out.line("redlock: warning: " + text);
}

/// A lock that an outer run shares with others cannot be ours alone inside of it.
void check_outer(const std::string& token, const std::string& name,
                 const config::Settings& settings) {
  if (!lock::is_of_reader(token)) return;
  const bool slot = lock::is_of_slot(token);
  if (slot ? lock::slot_of(token).slots == settings.slots : settings.shared) return;
  const std::string option = slot ? fmt::format("--slots {}", lock::slot_of(token).slots) : "-s";
  throw Error(ExitStatus::usage,
              fmt::format("an outer redlock run holds {} {} ({}), and this run would wait for it "
                          "without end: use {}, or start this run after the outer one has ended "
                          "(--no-reentrant does not help)",
                          diag::lock_name(name), slot ? "in one slot" : "shared", option, option));
}

}  // namespace

Exit carry_out(const cli::Run& request) {
  const char* const environment = std::getenv("REDLOCK_HELD");
  const std::string held = environment == nullptr ? "" : environment;
  // One moment for both: otherwise the first stage would wait a little less than -w says.
  const lock::Instant began = os::boot_now();
  Stage stage(request, held, began);
  const config::Settings settings = stage.settings(began);
  os::Stderr out;
  if (stage.is_first()) {
    for (const std::string& warning : settings.warnings) warn(warning, settings, out);
  } else {
    os::rename_process("redlock", "redlock: " + stage.name());  // it is called after /proc/self/exe
  }
  lock::Plan plan = driver::plan_for(settings);
  const driver::LockId lock = driver::lock_id(settings, stage.name());
  if (settings.reentrant) plan.inherited = find_held(held, lock);
  if (plan.inherited) check_outer(plan.inherited->token, lock.name, settings);
  plan.stages = {.earlier = !stage.is_first(), .later = !stage.is_last()};
  records::Holder who = driver::describe_ourselves(settings, lock, request.job);
  redis::ServerSet servers = driver::open_servers(settings, lock, driver::record_of(who),
                                                  plan.inherited ? plan.inherited->token : "");
  const MetricsFile metrics(settings.metrics_file);
  const std::string early = metrics.check();
  warn(early, settings, out);
  diag::Reporter reporter = driver::reporter_for(settings, lock.name, out);

  Runner runner(
      plan,
      {.lock = lock, .who = std::move(who), .held = held, .stage = std::move(stage)},
      settings, servers, out, reporter);
  const Exit result = runner.run();
  try {
    const std::string late = metrics.add(lock.key, runner.facts(), result.status);
    if (early.empty()) warn(late, settings, out);  // one warning is enough
  } catch (const std::bad_alloc&) {
    os::last_words("redlock: warning: no metrics: out of memory\n");
  }
  out.drain(std::chrono::milliseconds(100));
  return result;
}

}  // namespace redlock::run
