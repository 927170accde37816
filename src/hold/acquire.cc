// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "diag/text.h"
#include "driver/setup.h"
#include "error.h"
#include "hold/acquirer.h"
#include "hold/hold.h"
#include "look/history.h"
#include "os/clock.h"
#include "records/holder.h"

namespace redlock::hold {

namespace {

std::optional<Ward> find_ward(const cli::Acquire& request) {
  if (!request.keep_for) return std::nullopt;
  std::optional<os::Process> process = os::Process::find(*request.keep_for);
  if (!process) {
    throw Error(ExitStatus::usage,
                "--keep-for: there is no process " + std::to_string(*request.keep_for));
  }
  return Ward{std::move(*process), request.on_lost_signal};
}

/// redlock acquire does not run while the lock is held. So the record names the process for which
/// the keeper keeps the lock, or our caller.
records::Holder describe_holder(const cli::Acquire& request, const driver::LockId& lock) {
  std::vector<std::string> command = {"redlock", "acquire"};
  if (request.keep_for) {
    command.insert(command.end(), {"--keep-for", std::to_string(*request.keep_for)});
  }
  command.push_back(request.name);
  records::Holder holder = driver::describe_ourselves(request.settings, lock, command);
  holder.pid = request.keep_for.value_or(::getppid());
  holder.unattended = !request.keep_for;
  return holder;
}

/// A hold that begins less than this before its end is of no use.
constexpr std::chrono::seconds kShortest{1};

records::Holder record_for_hold(const cli::Hold& request, const driver::LockId& lock) {
  records::Holder holder =
      driver::describe_ourselves(request.settings, lock, {"redlock", "hold", request.name});
  holder.pid = ::getppid();  // redlock itself does not run while the lock is held
  holder.maintenance = true;
  return holder;
}

/// No process has to be stopped when the lock ends, so it needs no grace. A hold until a fixed
/// moment gets shorter while redlock waits for it, and then redlock waits no longer than that.
lock::Plan plan_for_hold(const cli::Hold& request) {
  lock::Plan plan = driver::plan_for(request.settings);
  plan.timing.grace = {};
  if (request.until) {
    const lock::Duration rest = *request.until - os::unix_now();
    plan.timing.ends_at = os::boot_now() + rest;
    plan.patience.wait =
        std::min<lock::Duration>(plan.patience.wait.value_or(lock::Duration::max()),
                                 std::max<lock::Duration>(rest - kShortest, {}));
  }
  return plan;
}

/// For a person at a terminal, to whom the token alone says little.
void say_held(const cli::Hold& request, std::chrono::milliseconds until, os::Stderr& out) {
  const config::Settings& settings = request.settings;
  if (!settings.verbose && (settings.quiet || !os::Stderr::is_terminal())) return;
  out.line(fmt::format("redlock: {} is held for maintenance until {}; to end that sooner: {}",
                       diag::lock_name(request.name), look::for_people(until),
                       records::shell_like({"redlock", "release", "--force", request.name})));
  out.drain(std::chrono::milliseconds(100));
}

}  // namespace

Exit acquire(const cli::Acquire& request) {
  const config::Settings& settings = request.settings;
  const driver::LockId lock = driver::lock_id(settings, request.name);
  const Grant grant{.lock_name = lock.name,
                    .json = request.json,
                    .linger = settings.request_timeout(),
                    .ward = find_ward(request),
                    .who = describe_holder(request, lock)};
  lock::Plan plan = driver::plan_for(settings);
  // Without --on-lost-signal there is no process to stop, and so no grace is needed.
  if (request.on_lost_signal == 0) plan.timing.grace = {};
  os::Stderr out;
  return take(settings, lock, plan, grant, out).exit;
}

Exit hold(const cli::Hold& request) {
  const config::Settings& settings = request.settings;
  const driver::LockId lock = driver::lock_id(settings, request.name);
  const Grant grant{.lock_name = lock.name,
                    .json = request.json,
                    .linger = settings.request_timeout(),
                    .ward = std::nullopt,
                    .who = record_for_hold(request, lock),
                    .until = request.until};
  os::Stderr out;
  const Taken taken = take(settings, lock, plan_for_hold(request), grant, out);
  if (taken.held_until) say_held(request, *taken.held_until, out);
  return taken.exit;
}

}  // namespace redlock::hold
