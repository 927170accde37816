// SPDX-License-Identifier: MIT
#include "hold/acquire.h"

#include <unistd.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "driver/holder_info.h"
#include "driver/setup.h"
#include "error.h"
#include "hold/acquirer.h"
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

}  // namespace redlock::hold
