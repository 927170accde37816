// SPDX-License-Identifier: MIT
#include "run/stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "driver/lock_id.h"
#include "error.h"
#include "lock/stages.h"
#include "lock/token.h"
#include "os/service_manager.h"
#include "run/reentrancy.h"

namespace redlock::run {

namespace {

/// "NUMBER LIMIT": the stage, and the end of -w in ns of CLOCK_BOOTTIME.
constexpr const char* kVariable = "REDLOCK_STAGE";

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool read(std::string_view& text, std::int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 0) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  text.remove_prefix(std::min<std::size_t>(text.starts_with(' ') ? 1 : 0, text.size()));
  return true;
}

}  // namespace

Stage::Stage(const cli::Run& request, std::string_view held, lock::Instant now)
    : request_(request), names_(request.also) {
  names_.push_back(request.name);
  names_ = lock::in_order(std::move(names_));
  limit_ = lock::limit_of_waits(request.settings.wait, now);

  const std::string value = variable(kVariable);
  if (value.empty()) return;
  std::string_view rest = value;
  std::int64_t number = 0;
  std::int64_t limit = 0;
  const auto count = static_cast<std::int64_t>(names_.size());
  bool ours = read(rest, number) && read(rest, limit) && rest.empty() && number < count;
  for (std::int64_t before = 0; ours && before < number; ++before) {
    const auto& name = names_[static_cast<std::size_t>(before)];
    ours = find_held(held, driver::lock_id(request.settings, name)).has_value();
  }
  if (!ours) {
    throw Error(ExitStatus::usage, fmt::format("{} is in the environment: only redlock itself may "
                                               "set it",
                                               kVariable));
  }
  number_ = static_cast<std::size_t>(number);
  limit_ = lock::Instant(lock::Duration(limit));
}

config::Settings Stage::settings(lock::Instant now) const {
  config::Settings settings = request_.settings;
  if (!is_last()) settings.max_runtime.reset();
  settings.wait = lock::wait_of_stage(settings.wait, limit_, now);
  return settings;
}

std::vector<std::string> Stage::argv() const {
  if (is_last()) return request_.job;
  std::vector<std::string> argv{"/proc/self/exe", "run"};
  argv.insert(argv.end(), request_.words.begin(), request_.words.end());
  return argv;
}

/// Ours, or that of a stage before, which has put its variables into our environment.
bool Stage::knows_first_named() const {
  return request_.name <= name();  // in_order() sorts them
}

/// The variables of the lock that the user named first come from its stage, whichever that is. The
/// command of --on-lost may run before that stage does, and then gets those of our lock.
Stage::Variables Stage::variables(Reader reader, const std::string& token,
                                  std::uint64_t fence) const {
  const bool hook = reader == Reader::lost_hook;
  Variables variables{{kVariable, "REDLOCK_FENCES"}, {}};
  // The last stage tells the service manager that all locks are held.
  if (is_last() || hook) variables.dropped.emplace_back(os::ServiceManager::kVariable);
  const bool ours = name() == request_.name || (hook && !knows_first_named());
  if (ours) {
    for (const char* each : {"REDLOCK_NAME", "REDLOCK_TOKEN", "REDLOCK_FENCE", "REDLOCK_SLOT"}) {
      variables.dropped.emplace_back(each);
    }
    variables.added = {"REDLOCK_NAME=" + name(), "REDLOCK_TOKEN=" + token,
                       fmt::format("REDLOCK_FENCE={}", fence)};
  }
  if (const std::size_t slot = lock::slot_of(token).slot; slot != 0 && ours) {
    variables.added.push_back(fmt::format("REDLOCK_SLOT={}", slot));
  }
  const std::string earlier = is_first() ? "" : variable("REDLOCK_FENCES") + "\n";
  variables.added.push_back(fmt::format("REDLOCK_FENCES={}{} {}", earlier, fence, name()));
  if (!is_last() && !hook) {
    variables.added.push_back(
        fmt::format("{}={} {}", kVariable, number_ + 1, limit_.time_since_epoch().count()));
  }
  return variables;
}

}  // namespace redlock::run
