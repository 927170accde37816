// SPDX-License-Identifier: MIT
#include "commands/runner.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "diag/holder.h"
#include "exit_status.h"
#include "os/child.h"
#include "os/clock.h"

namespace redlock::commands {

Runner::Runner(const lock::Plan& plan, Job job, redis::ServerSet& servers, os::Stderr& out,
               diag::Reporter& reporter)
    : job_(std::move(job)),
      servers_(servers),
      out_(out),
      reporter_(reporter),
      session_(plan, os::boot_now()) {}

lock::Outcome Runner::run() {
  try {
    step(lock::Tick{}, os::boot_now());
    while (!session_.finished()) turn();
  } catch (...) {
    // The machine fails under us: without supervision the job must not outlive its lock.
    if (job_pid_ > 0) tree_.signal(SIGKILL);
    throw;
  }
  return session_.outcome();
}

void Runner::turn() {
  interests_.assign(1, os::Interest{.fd = signals_.fd(), .read = true});
  servers_.interests(interests_);
  loop_.wait(interests_, std::min(session_.deadline(), servers_.deadline()));
  const lock::Instant now = os::boot_now();

  step(lock::Tick{}, now);  // overdue deadlines come before everything else
  if (interests_.front().ready) {
    for (const os::ReceivedSignal& signal : signals_.take()) {
      if (signal.number == SIGCHLD) continue;
      step(lock::Signal{signal.number, signal.from_kernel,
                        os::ends_process_by_default(signal.number)},
           now);
    }
    reap(now);
  }
  for (lock::Reply& reply : servers_.turn(now)) {
    reporter_.say_vote(reply);
    step(std::move(reply), now);
  }
  if (session_.stopping_job() && job_pid_ < 0 && tree_.empty()) step(lock::JobTreeGone{}, now);
}

/// One event, and what follows from carrying out its effects.
void Runner::step(lock::Event event, lock::Instant now) {
  std::vector<lock::Event> events;
  events.push_back(std::move(event));
  for (std::size_t next = 0; next < events.size(); ++next) {
    for (const lock::Effect& effect : session_.step(events[next], now)) {
      if (auto consequence = perform(effect, now)) events.push_back(std::move(*consequence));
    }
  }
}

std::optional<lock::Event> Runner::perform(const lock::Effect& effect, lock::Instant now) {
  if (const auto* ask = std::get_if<lock::Ask>(&effect)) {
    servers_.ask(*ask, now);
  } else if (const auto* kill = std::get_if<lock::Kill>(&effect)) {
    tree_.signal(kill->signal);
  } else if (const auto* report = std::get_if<lock::Report>(&effect)) {
    reporter_.say(*report);
  } else if (const auto* order = std::get_if<lock::Spawn>(&effect)) {
    return spawn(*order);
  }
  return std::nullopt;
}

lock::Event Runner::spawn(const lock::Spawn& order) {
  const std::vector<std::string> environment = os::environment_with(
      {"REDLOCK_NAME", "REDLOCK_TOKEN", "REDLOCK_FENCE", "REDLOCK_SLOT", "REDLOCK_HELD"},
      {"REDLOCK_NAME=" + job_.lock_name, "REDLOCK_TOKEN=" + servers_.token(order.attempt),
       "REDLOCK_FENCE=" + std::to_string(order.fence),
       "REDLOCK_HELD=" + add_held(job_.held, job_.place,
                                  {.token = servers_.token(order.attempt), .fence = order.fence})});
  // The clock is read once more: we may have been stopped since the votes came in.
  if (os::boot_now() >= order.latest) return lock::JobTooLate{};
  const os::Spawned spawned = os::spawn(job_.argv, environment, signals_);
  if (spawned.pid > 0) {
    job_pid_ = spawned.pid;
    return lock::JobStarted{};
  }
  const ExitStatus status = spawned.no_process        ? ExitStatus::os_error
                            : spawned.error == ENOENT ? ExitStatus::not_found
                                                      : ExitStatus::cannot_execute;
  out_.line(fmt::format("redlock: cannot run {}: {}", diag::printable(job_.argv.front(), 200),
                        std::strerror(spawned.error)));
  return lock::JobFailedToStart{static_cast<int>(status)};
}

/// As a subreaper we get every orphan of the job's, besides the job itself.
void Runner::reap(lock::Instant now) {
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    if (pid != job_pid_) continue;
    job_pid_ = -1;
    step(lock::JobExited{WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status)}, now);
  }
}

}  // namespace redlock::commands
