// SPDX-License-Identifier: MIT
#include "commands/top.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include "diag/holder.h"
#include "exit_status.h"
#include "os/clock.h"

namespace redlock::commands {

Top::Top(Worker worker, Job job, const lock::Timing& timing, const Supervision& supervision,
         std::optional<os::Terminal> terminal, os::SignalSource& signals, os::ProcessTree& tree,
         os::Stderr& out, LostHook hook)
    : worker_(std::move(worker)),
      job_(std::move(job)),
      supervision_(supervision),
      terminal_(std::move(terminal)),
      signals_(signals),
      tree_(tree),
      out_(out),
      hook_(std::move(hook)),
      killer_(tree, out, job_.lock),
      watch_(timing) {
  tree_.spare(worker_.pid);
  tree_.lead(job_.pid, job_.own_group);
}

int Top::watch() {
  try {
    while (!done()) turn();
  } catch (...) {
    kill_unwatched();
    throw;
  }
  if (terminal_) give_back_terminal();
  if (!watch_.alone()) return supervision_.exit_status.load();
  hook_.finish(out_);
  return end_alone();
}

bool Top::done() const {
  if (!worker_gone_) return false;
  return watch_.alone() ? !job_left() : supervision_.exit_status.load() != Supervision::kNone;
}

void Top::turn() {
  std::array<os::Interest, 2> interests{
      os::Interest{.fd = signals_.fd(), .read = true},
      os::Interest{.fd = worker_gone_ ? -1 : worker_.messages.get(), .read = true}};
  // Once nothing of the job is left, only the worker's death is waited for.
  const bool finished = watch_.alone() && !job_left();
  loop_.wait(interests, finished ? lock::kNever : watch_.deadline(supervision_.standing()));

  if (const int group = supervision_.hook_group.load(); group != Supervision::kNone) {
    tree_.exclude_group(group);
  }
  reap();
  act(os::boot_now());  // an overdue deadline comes before everything else that is to be done
  if (interests[0].ready) {
    for (const os::ReceivedSignal& signal : signals_.take()) take_signal(signal);
  }
  if (interests[1].ready) take_messages();
  if (const int signal = std::exchange(stopped_by_, 0)) stop_with_job(signal);
  act(os::boot_now());  // the worker may just have been found dead
  tree_.note_strangers();
}

void Top::act(lock::Instant now) {
  if (worker_gone_ && supervision_.exit_status.load() != Supervision::kNone) return;
  for (const auto step : watch_.step(supervision_.standing(), worker_gone_, job_left(), now)) {
    carry_out(step);
  }
}

void Top::carry_out(lock::Watch::Act act) {
  const std::string lock = diag::printable(job_.lock, 255);
  switch (act) {
    case lock::Watch::Act::kill_worker:
      tree_.take_over_children();
      ::kill(worker_.pid, SIGKILL);
      if (job_left()) {
        out_.line(
            fmt::format("redlock: {}: the process that renews the lock (PID {}) is stopped or "
                        "stuck, killed; stopping the job before the lock expires",
                        lock, worker_.pid));
        told_ = true;
      }
      return;
    case lock::Watch::Act::stop_job:
      killer_.signal_and_continue(job_.stop_signal);
      break;
    case lock::Watch::Act::kill_job:
      watch_.killed(killer_.signal(SIGKILL));
      break;
    case lock::Watch::Act::measure:
      return watch_.set_head_start(killer_.cost());
  }
  if (!std::exchange(told_, true)) {
    out_.line(
        fmt::format("redlock: {}: the process that renewed the lock (PID {}) was killed; "
                    "stopping the job before the lock expires",
                    lock, worker_.pid));
  }
  if (supervision_.hook_group.load() == Supervision::kNone) hook_.start(tree_, signals_, out_);
}

/// The machine fails under us. A worker that lives sees our end and stops the job in time; without
/// one the job must not outlive us.
void Top::kill_unwatched() {
  reap();
  if (!worker_gone_ && !watch_.alone()) return;
  for (int pass = 0; pass < 100 && !tree_.empty(); ++pass) {
    tree_.signal(SIGKILL);
    ::poll(nullptr, 0, 20);
    reap();
  }
}

/// The worker; and once that is dead, all that was below it: then it is we who see the job stop.
void Top::reap() {
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0;) {
    if (WIFSTOPPED(status) || WIFCONTINUED(status)) {
      if (pid == job_.pid) stopped_by_ = WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
      continue;
    }
    hook_.reaped(pid);
    if (pid == worker_.pid) {
      worker_gone_ = true;
      tree_.spared_reaped();
    } else if (pid == job_.pid) {
      tree_.leader_reaped();
      job_status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      job_ended_ = os::boot_now();
    }
  }
}

/// What has to be gone before the lock is. Of a job that ended by itself its descendants live on.
bool Top::job_left() const {
  if (job_status() == Supervision::kNone) {
    // Once the worker is dead, the job is our child until we fetch its status. If it is not, the
    // worker was killed between fetching that and telling it.
    siginfo_t info{};
    return !worker_gone_ ||
           ::waitid(P_PID, static_cast<id_t>(job_.pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
  }
  return (watch_.stopped_job() || supervision_.stopped_job() || job_.wait_all) && !tree_.empty();
}

int Top::job_status() const {
  return job_status_.value_or(supervision_.job_status.load());
}

lock::Instant Top::job_ended() const {
  if (job_status_) return job_ended_;
  if (job_status() == Supervision::kNone) return os::boot_now();
  return lock::Instant(lock::Duration(supervision_.job_ended.load()));
}

void Top::take_signal(const os::ReceivedSignal& signal) {
  if (signal.number == SIGCHLD) return;
  if (signal.number == SIGCONT) {
    // The worker wakes us when the job has been continued already, or has ended.
    if (signal.sender == worker_.pid) return;
    take_messages();  // if it stopped, then before this
    stopped_by_ = 0;
    return continue_job();
  }
  if (!job_left()) return;
  // What the terminal sends goes to the whole foreground group: to the job, if that is in ours. But
  // the hang-up of a terminal goes to the leader of its session alone.
  const bool job_has_it =
      signal.from_kernel && !terminal_ && !(signal.number == SIGHUP && os::leads_session());
  if (!job_has_it) tree_.signal(signal.number);
}

/// The last word counts: a job that was stopped may have been continued since.
void Top::take_messages() {
  WorkerMessage message{};
  while (::read(worker_.messages.get(), &message, sizeof message) == sizeof message) {
    if (message.kind == WorkerMessage::Kind::job_stopped) stopped_by_ = message.value;
    if (message.kind == WorkerMessage::Kind::job_continued) stopped_by_ = 0;
  }
}

/// The job has been stopped, by Ctrl-Z perhaps: so are we, for the shell to notice. The worker goes
/// on renewing. Who continues us may do so when the worker is dead and the lease over: the SIGCONT
/// is passed on in the next turn, after the deadline was looked at. Without a worker nobody but us
/// looks at that: then we wake up for it, as the job may be continued without us.
void Top::stop_with_job(int signal) {
  if (!terminal_) return;
  // A shell that does `fg` for a job it knows to be running just gives the terminal to our group.
  const bool wants_terminal = signal == SIGTTIN || signal == SIGTTOU;
  if (wants_terminal && terminal_->foreground() == ::getpgrp()) return continue_job();
  const bool alone = worker_gone_ && job_left();
  const lock::Instant wake_at = alone ? watch_.deadline(supervision_.standing()) : lock::kNever;
  if (signals_.stop_self(signal, wake_at)) return;
  reap();
  act(os::boot_now());
  continue_job();
}

/// By fg: the terminal was given to our group, and is the job's. By bg, or where nobody could stop
/// us: the job just goes on.
void Top::continue_job() {
  if (!terminal_ || !job_left()) return;
  if (terminal_->foreground() == ::getpgrp()) terminal_->give_to(job_.pid);
  ::kill(-job_.pid, SIGCONT);
}

/// A job that died of a signal, or was stopped by us, had no time to put echo and the like in
/// order.
void Top::give_back_terminal() {
  if (!terminal_->take_back_from(job_.pid)) return;
  const bool stopped = watch_.stopped_job() || supervision_.stopped_job();
  if (stopped || job_status() > 128) terminal_->restore_modes();
}

/// Without the worker: nothing was released.
int Top::end_alone() {
  if (watch_.stopped_job() || supervision_.stopped_job() || job_status() == Supervision::kNone) {
    lost_ = true;
    return static_cast<int>(ExitStatus::lost);
  }
  const lock::Duration left =
      std::max(supervision_.standing().valid_until - os::boot_now(), lock::Duration::zero());
  out_.line(
      fmt::format("redlock: warning: {} could not be released, as the process that renews it "
                  "(PID {}) was killed; it stays locked for about {}",
                  diag::printable(job_.lock, 255), worker_.pid, diag::for_people(left)));
  return job_status();
}

}  // namespace redlock::commands
