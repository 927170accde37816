// SPDX-License-Identifier: MIT
#include "run/lost_hook.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstring>

#include "os/clock.h"
#include "os/process.h"

namespace redlock::run {

namespace {

constexpr std::chrono::seconds kLimit(10);
constexpr std::chrono::milliseconds kPause(20);

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
    ::poll(nullptr, 0, static_cast<int>(kPause.count()));
  }
}

}  // namespace redlock::run
