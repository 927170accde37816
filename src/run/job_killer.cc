// SPDX-License-Identifier: MIT
#include "run/job_killer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <utility>

#include "diag/text.h"
#include "os/clock.h"

namespace redlock::run {

namespace {

constexpr std::size_t kMostNamed = 5;

/// The CPU time that the kernel needs for the death of a small process. Measured on two cores: 8000
/// processes are gone 0.4 s after the last KILL.
constexpr std::chrono::microseconds kDeath(50);

/// "1234 (sudo)"
std::string describe(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(file, name);
  return name.empty() ? std::to_string(pid)
                      : fmt::format("{} ({})", pid, diag::printable(name, 20));
}

}  // namespace

JobKiller::JobKiller(os::ProcessTree& tree, os::Stderr& out, const std::string& lock)
    : tree_(tree), out_(out), lock_(diag::lock_name(lock)) {}

bool JobKiller::kill() {
  const os::Pass pass = tree_.signal(SIGKILL);
  if (!pass.refused.empty() && !std::exchange(said_refused_, true)) say_refused(pass.refused);
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

void JobKiller::say_refused(const std::vector<pid_t>& refused) {
  const std::size_t named = std::min(refused.size(), kMostNamed);
  std::string list = describe(refused.front());
  for (std::size_t i = 1; i < named; ++i) list += ", " + describe(refused[i]);
  if (named < refused.size()) list += fmt::format(" and {} more", refused.size() - named);
  out_.line(
      fmt::format("redlock: warning: {}: not permitted to kill PID {}; still running, so the "
                  "lock's next holder may run at the same time",
                  lock_, list));
}

}  // namespace redlock::run
