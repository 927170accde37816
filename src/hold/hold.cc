// SPDX-License-Identifier: MIT
#include "hold/hold.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "diag/lock_name.h"
#include "driver/holder_info.h"
#include "driver/setup.h"
#include "hold/acquirer.h"
#include "inspect/history_view.h"
#include "os/clock.h"
#include "records/holder.h"

namespace redlock::hold {

namespace {

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
                       diag::lock_name(request.name), inspect::for_people(until),
                       records::shell_like({"redlock", "release", "--force", request.name})));
  out.drain(std::chrono::milliseconds(100));
}

}  // namespace

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
