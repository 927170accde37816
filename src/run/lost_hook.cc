// SPDX-License-Identifier: MIT
#include "run/lost_hook.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>

#include "os/process.h"
#include "os/clock.h"

namespace redlock::run {

namespace {

constexpr std::chrono::seconds kLimit(10);
constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 20'000'000};

}  // namespace

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
  limit_ = os::boot_now() + kLimit;
  tree.exclude_group(group_);
}

void LostHook::finish(os::Stderr& out) {
  while (pid_ > 0) {
    for (pid_t pid = 0; (pid = ::waitpid(-1, nullptr, WNOHANG)) > 0;) reaped(pid);
    if (pid_ < 0) return;
    if (os::boot_now() >= limit_) {
      out.line(
          fmt::format("redlock: warning: the command of --on-lost took longer than {} s, killed",
                      kLimit.count()));
      ::kill(-pid_, SIGKILL);
      return;
    }
    ::nanosleep(&kPause, nullptr);
  }
}

}  // namespace redlock::run
