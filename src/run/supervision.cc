// SPDX-License-Identifier: MIT
#include "run/supervision.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>

#include "diag/text.h"
#include "os/clock.h"
#include "os/process.h"

namespace redlock::run {

namespace {

constexpr std::size_t kMostNamed = 5;

/// After one of these, a main process that exits has not ended by itself.
constexpr int kOrders[] = {SIGTERM, SIGINT, SIGQUIT, SIGHUP};

/// The CPU time that the kernel needs for the death of a small process. Measured on two cores: 8000
/// processes are gone 0.4 s after the last KILL.
constexpr std::chrono::microseconds kDeath(50);

constexpr std::chrono::seconds kHookLimit(10);
constexpr std::chrono::milliseconds kHookPause(20);

/// If the kernel lacks this call or denies it, redlock works without a pidfd.
os::Fd pidfd_of_ourselves() {
  os::Fd pidfd = os::open_pidfd(::getpid());
  if (!pidfd && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) os::fail("pidfd_open");
  return pidfd;
}

/// "1234 (sudo)"
std::string describe(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(file, name);
  return name.empty() ? std::to_string(pid)
                      : fmt::format("{} ({})", pid, diag::printable(name, 20));
}

}  // namespace

void Supervision::note_job_end(int wait_status) {
  job_ended.store(os::boot_now().time_since_epoch().count());
  job_.store(wait_status);
}

std::optional<Exit> Supervision::job() const {
  const int wait_status = job_.load();
  if (wait_status == kNone) return std::nullopt;
  return Exit::of_process(wait_status);
}

Exit Supervision::exit() const {
  const int own = verdict.load();
  return own == 0 ? *job() : Exit(own);
}

void Supervision::note_pending(pid_t supervisor) {
  for (const int order : kOrders) {
    if (os::has_pending(supervisor, order)) note_told(order);
  }
}

lock::JobEnd Supervision::job_end() const {
  const std::optional<Exit> job = this->job();
  const int signal = job ? job->signal : 0;
  const bool ordered = std::ranges::any_of(kOrders, [this](int each) { return has_told(each); });
  if (ordered || (signal != 0 && has_told(signal))) return lock::JobEnd::as_told;
  return signal != 0 ? lock::JobEnd::killed : lock::JobEnd::by_itself;
}

Reserve::Reserve()
    : messages(os::make_pipe(O_NONBLOCK)),
      supervisor(pidfd_of_ourselves()),
      proc(os::ProcessTable::open_proc()) {}

bool JobKiller::kill() {
  if (first_kill_ == lock::Instant{}) first_kill_ = os::boot_now();
  const os::Pass pass = tree_.signal(SIGKILL);
  const bool reached_all = pass.not_permitted.empty();
  if (!reached_all && !std::exchange(said_left_out_, true)) say_not_permitted(pass.not_permitted);
  return pass.found_new;
}

lock::Duration JobKiller::cost() {
  const lock::Instant begin = os::boot_now();
  const std::size_t processes = tree_.count();
  return 2 * (os::boot_now() - begin) + static_cast<int>(processes) * kDeath;
}

void JobKiller::say_left() {
  out_.line(
      fmt::format("redlock: {}: processes of the job are still running although the lock has "
                  "expired, and redlock cannot end them; it stops trying",
                  lock_));
}

bool JobKiller::kill_all(lock::Duration patience) noexcept {
  const lock::Instant limit = os::boot_now() + patience;
  while (os::boot_now() < limit) {
    try {
      if (tree_.empty()) return true;
      tree_.signal(SIGKILL);
    } catch (const std::exception&) {
      tree_.kill_leader();  // this call needs no memory
      tree_.free_reserved_memory();
    }
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
  return false;
}

void JobKiller::say_not_permitted(const std::vector<pid_t>& pids) {
  const std::size_t named = std::min(pids.size(), kMostNamed);
  std::string list = describe(pids.front());
  for (std::size_t i = 1; i < named; ++i) list += ", " + describe(pids[i]);
  if (named < pids.size()) list += fmt::format(" and {} more", pids.size() - named);
  out_.line(
      fmt::format("redlock: warning: {}: not permitted to kill PID {}; still running: if that "
                  "outlives the lock, the lock's next holder runs at the same time",
                  lock_, list));
}

void LostHook::start(os::ProcessTree& tree, const os::SignalSource& signals, os::Stderr& out) {
  if (command_.empty()) return;
  const std::string command = std::exchange(command_, {});
  const os::Spawned spawned =
      os::spawn({"/bin/sh", "-c", command}, environment_, signals, os::Placement{});
  if (spawned.pid < 0) {
    return out.line(fmt::format("redlock: cannot run the command of --on-lost: {}",
                                std::strerror(spawned.error)));
  }
  pid_ = group_ = spawned.pid;
  limit_ = os::boot_now() + kHookLimit;
  tree.exclude_group(group_);
}

void LostHook::finish(os::Stderr& out) {
  while (pid_ > 0) {
    for (pid_t pid = 0; (pid = ::waitpid(-1, nullptr, WNOHANG)) > 0;) reaped(pid);
    if (pid_ < 0) return;
    if (os::boot_now() >= limit_) {
      out.line(
          fmt::format("redlock: warning: the command of --on-lost took longer than {} s, killed",
                      kHookLimit.count()));
      ::kill(-pid_, SIGKILL);
      return;
    }
    ::poll(nullptr, 0, static_cast<int>(kHookPause.count()));
  }
}

}  // namespace redlock::run
