// SPDX-License-Identifier: MIT
#include "run/supervisor.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>

#include "driver/driver.h"

namespace redlock::run {

namespace {

/// The witness starts when the job has run this long: to fork it earlier takes a processor from the
/// start of the job. If somebody signals the whole group before that, the job gets the signal
/// twice.
constexpr std::chrono::milliseconds kNoWitness(2);

}  // namespace

Supervisor::Supervisor(Run& run, Start& start, Supervision& supervision, os::Loop& loop,
                       os::ServiceManager& manager, pid_t worker, os::Fd messages, pid_t job)
    : run_(run),
      job_control_(start.job_control),
      hook_(start.hook),
      supervision_(supervision),
      loop_(loop),
      manager_(manager),
      worker_(worker),
      messages_(std::move(messages)),
      job_(job),
      watch_(run.plan.timing),
      witness_due_(os::boot_now() + kNoWitness),
      looked_(os::boot_now()) {
  held_.reserve(64);  // without memory for it, a signal would be lost
  run_.tree.spare(worker_);
  run_.tree.lead(job_, job_control_.own_group());
  run_.out.keep_lines_for_file();  // nothing delays a KILL
}

/// No other process can watch the job: if a system call fails, we try again.
Exit Supervisor::watch() {
  while (true) {
    try {
      if (done()) break;
      iterate();
    } catch (const std::exception& error) {
      bear(driver::reason_of(error));
    }
  }
  pass_on(os::boot_now());
  witness_.end();
  run_.tree.exclude(-1);
  const std::optional<Exit> job = supervision_.job();
  job_control_.take_terminal_back(stopped_job() || (job && job->status > 128));
  if (worker_done()) return supervision_.exit();
  hook_.finish(run_.out);
  if (job_left()) run_.killer.say_left();
  return end_alone();
}

void Supervisor::bear(const char* why) {
  run_.tree.free_reserved_memory();
  const timespec pause{.tv_sec = 0, .tv_nsec = 10'000'000};
  ::nanosleep(&pause, nullptr);
  if (std::exchange(bore_, true)) return;
  try {
    run_.out.line(fmt::format("redlock: warning: {}: {}, trying again", run_.title, why));
  } catch (const std::exception&) {
    os::last_words("redlock: warning: out of memory, trying again\n");
  }
}

bool Supervisor::done() const {
  if (!worker_gone_) return false;
  if (worker_done()) return true;
  const lock::Instant lease_end = supervision_.worker_state().valid_until;
  return watch_.alone() && (!job_left() || os::boot_now() >= run_.killer.gives_up_at(lease_end));
}

void Supervisor::iterate() {
  std::array<os::Interest, 2> interests{
      os::Interest{.fd = run_.signals.fd(), .read = true},
      os::Interest{.fd = worker_gone_ ? -1 : messages_.get(), .read = true}};
  // When no process of the job is left, only the worker's death is still to come.
  const bool finished = watch_.alone() && !job_left();
  const lock::Instant due = held_.empty() ? lock::kNever : held_.front().came + kHold;
  const lock::Instant deadline =
      finished ? lock::kNever
               : std::min({due, witness_due_, watch_.deadline(supervision_.worker_state()),
                           watch_.alone() ? lock::kNever : manager_.watchdog_at()});
  try {
    loop_.wait(interests, deadline);
  } catch (const std::exception& error) {
    bear(driver::reason_of(error));
    for (os::Interest& interest : interests) interest.ready = interest.fd >= 0;
  }

  if (const int group = supervision_.hook_group.load(); group != Supervision::kNone) {
    run_.tree.exclude_group(group);
  }
  reap();
  act(os::boot_now());  // an overdue deadline comes before everything else
  if (os::boot_now() >= witness_due_) start_witness();
  take_signals();
  pass_on(os::boot_now());
  if (interests[1].ready) take_messages();
  if (job_control_.behind()) follow_job();
  const std::optional<Exit> job = supervision_.job();
  if (job && !std::exchange(followed_end_, true)) run_.tree.signal_escaped(job->signal);
  act(os::boot_now());  // reap() may just have found the worker dead
  run_.tree.note_strangers();
  // A worker that is stuck or dead is a service that is: its manager hears nothing more.
  if (!watch_.alone()) manager_.feed_watchdog(os::boot_now());
}

void Supervisor::start_witness() {
  witness_due_ = lock::kNever;
  if (!job_left()) return;
  witness_.start(supervision_.heard_by_witness, job_control_.own_group()
                                                    ? os::SignalWitness::Group::own
                                                    : os::SignalWitness::Group::ours);
  if (witness_.pid() > 0) run_.tree.exclude(witness_.pid());
}

void Supervisor::act(lock::Instant now) {
  if (worker_gone_ && worker_done()) return;
  const bool left = job_left();
  if (watch_.alone() && rest_ends()) watch_.end_rest(supervision_.job_end(), now);
  const std::vector<lock::Watch::Act> acts =
      watch_.step(supervision_.worker_state(), worker_gone_, left, now);
  // Signals go out before anything else, before messages in particular.
  for (const lock::Watch::Act act : acts) carry_out(act);
  if (left) tell(acts);
}

void Supervisor::carry_out(lock::Watch::Act act) {
  switch (act) {
    case lock::Watch::Act::kill_worker:
      run_.tree.take_over_children();
      ::kill(worker_, SIGKILL);
      return;
    case lock::Watch::Act::stop_job:
      run_.tree.signal(run_.plan.stop_signal, SIGCONT);
      return;
    case lock::Watch::Act::kill_job:
      return watch_.killed(run_.killer.kill());
    case lock::Watch::Act::measure:
      return watch_.set_head_start(run_.killer.cost());
  }
}

/// Reports once what we have just done, and starts the command of --on-lost when we stop the job.
void Supervisor::tell(const std::vector<lock::Watch::Act>& acts) {
  using Act = lock::Watch::Act;
  const auto did = [&](Act act) { return std::ranges::find(acts, act) != acts.end(); };
  const bool killed = did(Act::kill_worker);
  const bool stopped = did(Act::stop_job) || did(Act::kill_job);
  if (!killed && !stopped) return;
  if (!std::exchange(reported_, true)) {
    const bool expired = os::boot_now() >= supervision_.worker_state().valid_until;
    run_.out.line(
        fmt::format("redlock: {}: the process that {} (pid {}) {}; stopping {} {}", run_.title,
                    killed ? "renews the lock" : "renewed the lock", worker_,
                    killed ? "is stopped or stuck, killed" : "was killed",
                    supervision_.job() ? "what is left of the job" : "the job",
                    expired ? "although the lock has expired" : "before the lock expires"));
  }
  const bool for_lock = stopped_job() && !timed_out();
  const bool hook_started = supervision_.hook_group.load() != Supervision::kNone;
  if (stopped && for_lock && !hook_started) hook_.start(run_.tree, run_.signals, run_.out);
}

/// Reaps the worker and, once that is dead, its former descendants; then also sees the job's stops.
void Supervisor::reap() {
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0;) {
    if (WIFSTOPPED(status) || WIFCONTINUED(status)) {
      if (pid == job_) job_control_.note(status);
      continue;
    }
    hook_.reaped(pid);
    if (pid == witness_.pid()) run_.tree.exclude(-1);
    witness_.reaped(pid);
    if (pid == worker_) {
      worker_gone_ = true;
      run_.tree.spared_reaped();
    } else if (pid == job_) {
      run_.tree.leader_reaped();
      note_job_end(status, supervision_, job_control_);
    }
  }
}

/// Whether processes run that must end before the lock does. If the job ended by itself, its
/// descendants may live on.
bool Supervisor::job_left() const {
  const bool ended = supervision_.job().has_value();
  if (!ended && !worker_gone_) {
    // A worker that is stopped fetches no status. Once it is dead, we do.
    if (!run_.tree.leader_ended()) return true;
  } else if (!ended) {
    // Now the job is our child until we fetch its status. If it is not, somebody killed the worker
    // between fetching the status and storing it.
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(job_), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
  }
  return (stopped_job() || run_.plan.wait_all || rest_ends()) && !run_.tree.empty();
}

/// Whether what the main process has left must end: the worker says so, or if that is dead, we do.
bool Supervisor::rest_ends() const {
  if (supervision_.worker_state().phase == lock::WorkerState::Phase::ending) return true;
  return worker_gone_ && !worker_done() && supervision_.job() && !run_.plan.wait_all &&
         supervision_.job_end() != lock::JobEnd::by_itself;
}

lock::Instant Supervisor::job_ended() const {
  if (!supervision_.job()) return os::boot_now();
  return lock::Instant(lock::Duration(supervision_.job_ended.load()));
}

void Supervisor::take_signals() {
  const lock::Instant now = os::boot_now();
  for (const os::ReceivedSignal& signal : run_.signals.take()) take_signal(signal, now);
  looked_ = now;
}

void Supervisor::take_signal(const os::ReceivedSignal& signal, lock::Instant now) {
  // The child may have ended since this iteration began, and no other SIGCHLD comes for it.
  if (signal.number == SIGCHLD) return reap();
  if (signal.number == SIGCONT) {
    // From the worker: it wakes us after the job has been continued or has ended.
    if (signal.sender == worker_) return;
    if (!job_control_.own_group()) witness_.proceed();
    take_messages();  // a stop that they report came before this signal
    job_control_.note(0);
    // What came before it goes first: a job that reads from the terminal may be stopped again
    // immediately.
    if (job_control_.own_group() && held_.empty()) return continue_job();
  }
  if (os::ends_process_by_default(signal.number)) supervision_.note_told(signal.number);
  // Only real-time signals queue (signal(7)).
  const bool again = signal.number < SIGRTMIN && std::ranges::any_of(held_, [&](const Held& held) {
                       return held.signal.number == signal.number;
                     });
  // On a busy machine the witness may have got it long before we could read it.
  if (!again) held_.push_back({signal, now, std::min(now - kHold, looked_)});
}

/// If the job's main process has ended, maybe by this signal to its whole group, its descendants
/// outside the group get it without a further wait.
void Supervisor::pass_on(lock::Instant now) {
  const bool ended = supervision_.job() || run_.tree.leader_ended();
  while (!held_.empty() && (ended || now >= held_.front().came + kHold)) {
    const Held held = held_.front();
    const bool may = held.signal.number != SIGCONT || may_continue();
    const bool in_time = job_left() || held.came <= job_ended() + kHold;
    if (may && in_time) pass_on(held.signal, held.since);
    held_.erase(held_.begin());
  }
}

/// Descendants of the job may have left the group: they have the signal only if its sender sent it
/// to every process. Then our worker has it, too.
void Supervisor::pass_on(const os::ReceivedSignal& signal, lock::Instant since) {
  if (signal.number == SIGCONT && job_control_.own_group()) return continue_job();
  const bool by_terminal = signal.from_kernel && !job_control_.own_group() &&
                           (signal.number == SIGINT || signal.number == SIGQUIT);
  // A process that has not run since then, on a busy machine, has it pending. A CONT may be ours.
  const auto has_it = [&](const os::SignalNotes& notes, pid_t pid) {
    return notes.has(signal.number, since) ||
           (signal.number != SIGCONT && os::has_pending(pid, signal.number));
  };
  const bool heard =
      witness_.pid() > 0 ? has_it(supervision_.heard_by_witness, witness_.pid()) : by_terminal;
  if (!heard) {
    run_.tree.signal(signal.number);
    return;
  }
  // As under flock, what a terminal or its shell sends concerns the group.
  const bool for_group = signal.from_kernel || signal.number == SIGCONT;
  const bool for_all = job_control_.own_group() || has_it(supervision_.heard_by_worker, worker_);
  if (!for_group && !for_all) run_.tree.signal(signal.number, 0, ::getpgrp());
}

void Supervisor::take_messages() {
  WorkerMessage message{};
  ssize_t length = 0;
  while ((length = ::read(messages_.get(), &message, sizeof message)) == sizeof message) {
    if (message.kind == WorkerMessage::Kind::job_stop) job_control_.note(message.value);
  }
  // The worker is exiting. Its pipe would stay readable until its SIGCHLD comes.
  if (length == 0) messages_.reset();
}

/// Once we are continued, the worker may be dead and the lease over: we pass the SIGCONT on in the
/// next iteration, after a check of the deadline. Without a worker we wake up for the deadline
/// ourselves.
void Supervisor::follow_job() {
  const bool alone = worker_gone_ && job_left();
  if (job_control_.stop_self(alone ? watch_.deadline(supervision_.worker_state()) : lock::kNever)) {
    return;
  }
  reap();
  act(os::boot_now());
  continue_job();
}

/// The end without a worker: nobody has released the lock.
Exit Supervisor::end_alone() {
  const std::optional<Exit> job = supervision_.job();
  const bool failed = timed_out() || stopped_job() || !job || job->status != 0;
  if (failed && run_.plan.timing.hold_on_failure > lock::Duration::zero()) {
    run_.out.line(
        fmt::format("redlock: warning: {}: the process that would make it (pid {}) was killed",
                    diag::without_hold(run_.title), worker_));
  }
  if (timed_out()) return ExitStatus::max_runtime;
  if (stopped_job() || !job) {
    supervision_.verdict.store(static_cast<int>(ExitStatus::lost));
    return ExitStatus::lost;
  }
  const lock::Duration left =
      std::max(supervision_.worker_state().gone_by - os::boot_now(), lock::Duration::zero());
  const std::string_view undone =
      job->status == 0 ? diag::without_mark(lock::mark_of(run_.plan)) : std::string_view();
  run_.out.line(
      fmt::format("redlock: warning: {} could not be released, as the process that renews it "
                  "(pid {}) was killed; it stays locked for about {}{}{}",
                  run_.title, worker_, diag::for_people(left),
                  undone.empty() ? "" : ", and after that ", undone));
  return *job;
}

}  // namespace redlock::run
