// SPDX-License-Identifier: MIT
#include "run/stage.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "config/pipes.h"
#include "driver/lock_id.h"
#include "error.h"
#include "lock/stages.h"
#include "lock/token.h"
#include "os/fail.h"
#include "os/memory_file.h"
#include "os/service_manager.h"
#include "run/reentrancy.h"

namespace redlock::run {

namespace {

/// "NUMBER LIMIT START": the stage, the end of -w in ns of CLOCK_BOOTTIME, and the descriptor of
/// start_ (0: none).
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

/// A descriptor from the stage before.
os::Fd inherited(std::int64_t number) {
  const int fd = static_cast<int>(number);
  return number > 0 && ::fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 ? os::Fd(fd) : os::Fd();
}

}  // namespace

Stage::Stage(const cli::Run& request, std::string_view held, lock::Instant now)
    : request_(request), names_(request.also) {
  names_.push_back(request.name);
  names_ = lock::in_order(std::move(names_));
  limit_ = lock::limit_of_waits(request.settings.wait, now);

  const std::string value = variable(kVariable);
  if (value.empty()) {
    // Without it, a run is missing in the metrics; no metrics prevent a run.
    if (!is_last() && !request.settings.metrics_file.empty()) start_ = os::make_memory_file("");
    if (!is_last()) keep_pipes();
    return;
  }
  std::string_view rest = value;
  std::int64_t number = 0;
  std::int64_t limit = 0;
  std::int64_t start = 0;
  const auto count = static_cast<std::int64_t>(names_.size());
  bool ours = read(rest, number) && read(rest, limit) && read(rest, start) && rest.empty() &&
              number < count;
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
  start_ = inherited(start);
  inherit_pipes();
}

void Stage::keep_pipes() {
  for (const config::Settings::Pipe& pipe : request_.settings.pipes) {
    os::Fd file = os::make_memory_file(pipe.text);
    if (!file) os::fail("cannot keep the content of a pipe for the next lock");
    pipes_variable_ += fmt::format("{} {}\n", file.get(), pipe.path);
    pipes_.push_back(std::move(file));
  }
}

void Stage::inherit_pipes() {
  pipes_variable_ = variable(config::kPipesVariable);
  std::string_view rest = pipes_variable_;
  for (std::int64_t number = 0; read(rest, number);) {
    pipes_.push_back(inherited(number));
    rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1);
  }
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

os::Spawned Stage::spawn(const std::vector<std::string>& environment,
                         const os::SignalSource& signals, os::Placement placement) const {
  const auto pass_on = [&](int flags) {
    if (is_last()) return;
    if (start_) ::fcntl(start_.get(), F_SETFD, flags);
    for (const os::Fd& pipe : pipes_) ::fcntl(pipe.get(), F_SETFD, flags);
  };
  pass_on(0);
  os::Spawned spawned = os::spawn(argv(), environment, signals, placement);
  pass_on(FD_CLOEXEC);
  return spawned;
}

void Stage::note_start(lock::Instant start) const {
  if (!is_last() || !start_) return;
  const std::int64_t time = start.time_since_epoch().count();
  [[maybe_unused]] const ssize_t written = ::pwrite(start_.get(), &time, sizeof time, 0);
}

/// What an earlier stage ran ends a little later than the command: when the next lock is given
/// back.
std::optional<Stage::Job> Stage::run_of_command(Job job, lock::Instant start) const {
  if (is_last()) return job;
  std::int64_t time = 0;
  if (!start_ || ::pread(start_.get(), &time, sizeof time, 0) != sizeof time) return std::nullopt;
  const lock::Duration later = lock::Instant(lock::Duration(time)) - start;
  job.began += std::chrono::duration_cast<std::chrono::system_clock::duration>(later);
  job.ran -= later;
  return job;
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
  Variables variables{{kVariable, config::kPipesVariable, "REDLOCK_FENCES"}, {}};
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
    variables.added.push_back(fmt::format("{}={} {} {}", kVariable, number_ + 1,
                                          limit_.time_since_epoch().count(),
                                          start_ ? start_.get() : 0));
    if (!pipes_.empty()) {
      variables.added.push_back(config::kPipesVariable + ("=" + pipes_variable_));
    }
  }
  return variables;
}

}  // namespace redlock::run
