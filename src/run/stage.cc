// SPDX-License-Identifier: MIT
#include "run/stage.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "config/table.h"
#include "diag/text.h"
#include "lock/stages.h"
#include "lock/value.h"
#include "observe/observed.h"

namespace redlock::run {

namespace {

/// "NUMBER LIMIT START": the stage, limit_ in ns of CLOCK_BOOTTIME, the descriptor of start_ or 0.
constexpr const char* kVariable = "REDLOCK_STAGE";

constexpr std::size_t kMostShown = 200;  // bytes of a name

[[noreturn]] void reject(const char* name) {
  throw Error(ExitStatus::usage,
              fmt::format("{} is in the environment: only redlock itself may set it", name));
}

bool read(std::string_view& text, std::int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 0) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.starts_with(' ')) text.remove_prefix(1);
  return true;
}

/// The end of an entry of that lock.
std::string ending(const driver::LockId& id) {
  const std::vector<unsigned char> key(id.key.begin(), id.key.end());
  return fmt::format(":{}:{:02x}", id.servers, fmt::join(key, ""));
}

/// Removes the next entry from `entries`, and returns it.
std::string_view next_entry(std::string_view& entries) {
  entries.remove_prefix(std::min(entries.find_first_not_of(' '), entries.size()));
  const std::string_view entry = entries.substr(0, entries.find(' '));
  entries.remove_prefix(entry.size());
  return entry;
}

/// Throws Error (64) if an outer run holds one of the locks, and another comes before it.
void check_order(const std::vector<std::string>& names, const config::Settings& settings,
                 std::string_view held) {
  const auto held_as = [&](const std::string& name) {
    return find_held(held, driver::lock_id(settings, name));
  };
  std::vector<bool> ours;
  for (const std::string& name : names) ours.push_back(held_as(name).has_value());
  std::optional<lock::OutOfOrder> wrong;
  while ((wrong = lock::out_of_order(names, ours)) &&
         !may_still_hold(*held_as(wrong->held), wrong->held, settings)) {
    ours[static_cast<std::size_t>(std::ranges::find(names, wrong->held) - names.begin())] = false;
  }
  if (!wrong) return;
  throw Error(
      ExitStatus::usage,
      fmt::format("an outer redlock run holds {}, and --also takes {} before it: another run with "
                  "both and this one could wait for each other without end; let the outer run "
                  "take both (redlock run --also {} {} ...), or start this run after it has ended",
                  diag::lock_name(wrong->held), diag::lock_name(wrong->missing),
                  diag::printable(wrong->missing, kMostShown),
                  diag::printable(wrong->held, kMostShown)));
}

/// A descriptor from the stage before.
os::Fd inherited(std::int64_t number) {
  const int fd = static_cast<int>(number);
  return number > 0 && ::fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 ? os::Fd(fd) : os::Fd();
}

}  // namespace

void require_stage_before() {
  for (const char* name : {kVariable, config::kPipesVariable}) {
    if (std::getenv(name) != nullptr && !os::started_by_same_program()) reject(name);
  }
}

Stage::Stage(const cli::Run& request, std::string_view held, lock::Instant now)
    : request_(request), names_(request.also) {
  names_.push_back(request.name);
  names_ = lock::in_order(std::move(names_));
  limit_ = lock::limit_of_waits(request.settings.wait, now);

  std::string_view rest = os::variable(kVariable);
  if (rest.empty()) {
    if (request.settings.reentrant) check_order(names_, request.settings, held);
    // Without it, a run is missing in the metrics; no metrics prevent a run.
    if (!is_last() && !request.settings.metrics_file.empty()) start_ = os::make_memory_file("");
    keep_pipes();
    return;
  }
  std::int64_t number = 0;
  std::int64_t limit = 0;
  std::int64_t start = 0;
  const auto count = static_cast<std::int64_t>(names_.size());
  bool ours = read(rest, number) && read(rest, limit) && read(rest, start) && rest.empty() &&
              number < count;
  for (std::int64_t before = 0; ours && before < number; ++before) {
    const auto& name = names_.at(static_cast<std::size_t>(before));
    ours = find_held(held, driver::lock_id(request.settings, name)).has_value();
  }
  if (!ours) reject(kVariable);
  number_ = static_cast<std::size_t>(number);
  limit_ = lock::Instant(lock::Duration(limit));
  start_ = inherited(start);
  keep_pipes();
}

void Stage::keep_pipes() {
  if (is_last()) return;
  for (const config::Settings::Pipe& pipe : request_.settings.pipes) {
    os::Fd file = os::make_memory_file(pipe.text);
    if (!file) os::fail("cannot keep the content of a pipe for the next lock");
    pipes_variable_ += fmt::format("{} {}\n", file.get(), pipe.path);
    pipes_.push_back(std::move(file));
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

/// What an earlier stage ran ends later than the command: when the next lock is released.
std::optional<Stage::Job> Stage::run_of_command(Job job, lock::Instant start) const {
  if (is_last()) return job;
  std::int64_t time = 0;
  if (!start_ || ::pread(start_.get(), &time, sizeof time, 0) != sizeof time) return std::nullopt;
  const lock::Duration later = lock::Instant(lock::Duration(time)) - start;
  job.began += std::chrono::duration_cast<std::chrono::system_clock::duration>(later);
  job.ran -= later;
  return job;
}

/// The variables of the lock that the user named first come from its stage, whichever that is. The
/// command of --on-lost may run in a stage before that, and then gets those of our lock.
Stage::Variables Stage::variables(Reader reader, const std::string& token,
                                  std::uint64_t fence) const {
  const bool hook = reader == Reader::lost_hook;
  using Manager = os::ServiceManager;
  Variables variables{{kVariable, config::kPipesVariable, "REDLOCK_FENCES"}, {}};
  // The first stage alone feeds the watchdog.
  variables.dropped.insert(variables.dropped.end(),
                           {Manager::kWatchdogTime, Manager::kWatchdogProcess});
  // The last stage tells the service manager that all locks are held.
  if (is_last() || hook) variables.dropped.emplace_back(Manager::kVariable);
  const bool ours = name() == request_.name || (hook && name() < request_.name);
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
  const std::string earlier = is_first() ? "" : std::string(os::variable("REDLOCK_FENCES")) + "\n";
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

std::optional<lock::Inherited> find_held(std::string_view environment, const driver::LockId& id) {
  const std::string end = ending(id);
  std::optional<lock::Inherited> found;
  for (std::string_view entry; !(entry = next_entry(environment)).empty();) {
    if (!entry.ends_with(end)) continue;
    entry.remove_suffix(end.size());
    if (entry.size() < lock::kTokenDigits + 2 || entry[lock::kTokenDigits] != ':') continue;
    lock::Inherited held{.token = std::string(entry.substr(0, lock::kTokenDigits)), .fence = 0};
    const auto fence = os::whole_number<std::uint64_t>(entry.substr(lock::kTokenDigits + 1));
    held.fence = fence.value_or(0);
    if (lock::is_token(held.token) && fence) found = std::move(held);
  }
  return found;
}

bool may_still_hold(const lock::Inherited& held, const std::string& name,
                    const config::Settings& settings) {
  using lock::State;
  const observe::Observed found = observe::look_at(name, settings, held.token);
  if (!found.knows_enough()) return true;
  const State state = found.judgement.state;
  if (state == State::free || state == State::cooling || state == State::foreign) return false;
  // The hold that a run leaves when it fails has the run's token.
  if (found.holder && found.holder->maintenance) return false;
  return std::ranges::any_of(found.seen, [&](const lock::Seen& seen) {
    const auto* sighting = std::get_if<lock::Sighting>(&seen);
    return sighting != nullptr &&
           (lock::owner_of(*sighting) == held.token ||
            std::ranges::count(sighting->readers, held.token, &lock::Reader::token) > 0);
  });
}

std::string add_held(std::string_view environment, const driver::LockId& id,
                     const lock::Inherited& held) {
  const std::string end = ending(id);
  std::string entries;
  for (std::string_view entry; !(entry = next_entry(environment)).empty();) {
    if (!entry.ends_with(end)) entries.append(entry).append(" ");
  }
  return entries + fmt::format("{}:{}{}", held.token, held.fence, end);
}

}  // namespace redlock::run
