// SPDX-License-Identifier: MIT
#include "commands/runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "commands/farewell.h"
#include "diag/holder.h"
#include "diag/log_entry.h"
#include "error.h"
#include "exit_status.h"
#include "os/child.h"
#include "os/clock.h"
#include "os/pipe.h"
#include "redis/queue.h"

namespace redlock::commands {

namespace {

using Kind = WorkerMessage::Kind;

}  // namespace

Runner::Runner(const lock::Plan& plan, Job job, redis::ServerSet& servers, os::Stderr& out,
               diag::Reporter& reporter, ChosenStatus chosen)
    : plan_(plan),
      job_(std::move(job)),
      chosen_(chosen),
      servers_(servers),
      out_(out),
      reporter_(reporter),
      session_(plan, os::boot_now()),
      began_(os::boot_now()) {}

int Runner::run() {
  try {
    loop();
  } catch (...) {
    // The machine fails under us: without supervision the job must not outlive its lock.
    if (job_pid_ > 0) tree_.signal(SIGKILL);
    throw;
  }
  if (top_) return watch_job();
  const int status = exit_status(session_.outcome(), chosen_);
  const bool lost = session_.outcome().kind == lock::Outcome::Kind::lost;
  if (!worker_ || !lost) bid_farewell(servers_);
  if (hook_) hook_->finish(out_);
  out_.drain(std::chrono::milliseconds(100));
  if (worker_) {
    (*supervision_)->lost.store(lost);
    worker_->leave(status);
  }
  facts_.waited = os::boot_now() - began_;
  facts_.conflict = session_.outcome().kind == lock::Outcome::Kind::conflict;
  facts_.lost = lost;
  return status;
}

/// What is left to do for the parent once the job runs.
int Runner::watch_job() {
  const int status = top_->watch();
  facts_.job->ran = top_->job_ended() - (began_ + facts_.waited);
  facts_.lost = top_->lost();
  return status;
}

void Runner::loop() {
  step(lock::Tick{}, os::boot_now());
  while (!session_.finished() && !top_) turn();
}

void Runner::turn() {
  interests_.assign(1, os::Interest{.fd = signals_.fd(), .read = true});
  interests_.push_back(worker_ ? worker_->interest() : os::Interest{});
  servers_.interests(interests_);
  loop_.wait(interests_, std::min(session_.deadline(), servers_.deadline()));
  const lock::Instant now = os::boot_now();

  step(lock::Tick{}, now);  // overdue deadlines come before everything else
  if (top_) return;
  if (interests_[0].ready) {
    for (const os::ReceivedSignal& signal : signals_.take()) {
      // With a job they are its own, and the top's to pass on.
      if (signal.number == SIGCHLD || worker_) continue;
      step(lock::Signal{signal.number, os::ends_process_by_default(signal.number)}, now);
    }
    reap(now);
  }
  if (interests_[1].ready && worker_->top_is_gone()) step(lock::TopGone{}, now);
  for (lock::Reply& reply : servers_.turn(now)) {
    reporter_.say_vote(reply);
    step(std::move(reply), now);
    if (top_) return;
  }
  take_words(now);
  if (session_.watching_tree() && job_pid_ < 0 && tree_.empty()) step(lock::JobTreeGone{}, now);
}

void Runner::take_words(lock::Instant now) {
  for (const redis::Word& word : servers_.take_words()) {
    reporter_.say_word(word.server, word.text);
    step(lock::Told{}, now);
  }
  for (const redis::Word& word : servers_.take_calls()) {
    const bool next = word.text == redis::kNextWord;
    if (!word.text.empty()) reporter_.say_call(word.server, next);
    step(lock::Woken{next}, now);
  }
}

/// One event, and what follows from carrying out its effects.
void Runner::step(lock::Event event, lock::Instant now) {
  std::vector<lock::Event> events;
  events.push_back(std::move(event));
  for (std::size_t next = 0; next < events.size(); ++next) {
    const lock::Effects effects = session_.step(events[next], now);
    // The top is to know before anything is done.
    if (worker_) worker_->publish(session_.standing());
    for (const lock::Effect& effect : effects) {
      if (auto consequence = perform(effect, now)) events.push_back(std::move(*consequence));
    }
  }
}

std::optional<lock::Event> Runner::perform(const lock::Effect& effect, lock::Instant now) {
  if (const auto* ask = std::get_if<lock::Ask>(&effect)) {
    servers_.ask(*ask, now);
  } else if (const auto* kill = std::get_if<lock::Kill>(&effect)) {
    tree_.signal(kill->signal);
  } else if (const auto* listen = std::get_if<lock::Listen>(&effect)) {
    servers_.listen(listen->attempt, now);
  } else if (std::holds_alternative<lock::JoinQueue>(effect)) {
    servers_.join_queue(now);
  } else if (std::holds_alternative<lock::LeaveQueue>(effect)) {
    servers_.leave_queue(now);
  } else if (const auto* what = std::get_if<lock::Report>(&effect)) {
    report(*what);
  } else if (const auto* line = std::get_if<lock::Log>(&effect)) {
    servers_.log(*line, diag::word_for(line->event), to_json(diag::log_entry(*line, job_.who)),
                 now);
  } else if (const auto* order = std::get_if<lock::Spawn>(&effect)) {
    return spawn(*order);
  }
  return std::nullopt;
}

void Runner::report(const lock::Report& report) {
  reporter_.say(report);
  const auto* stopping = std::get_if<lock::report::Stopping>(&report);
  const bool lost = std::holds_alternative<lock::report::NotOursAtRelease>(report) ||
                    (stopping != nullptr && (stopping->reason == lock::StopReason::lost ||
                                             stopping->reason == lock::StopReason::lease_ending));
  if (lost && hook_) hook_->start(tree_, signals_, out_);
}

/// As a subreaper we get every orphan of the job's, besides the job itself.
void Runner::reap(lock::Instant now) {
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0;) {
    if (pid != job_pid_) {
      if (hook_ && (WIFEXITED(status) || WIFSIGNALED(status))) hook_->reaped(pid);
    } else if (WIFSTOPPED(status)) {
      worker_->tell(Kind::job_stopped, WSTOPSIG(status));
    } else if (WIFCONTINUED(status)) {
      worker_->tell(Kind::job_continued);
      if (terminal_) worker_->continue_top();
    } else {
      job_pid_ = -1;
      const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      worker_->job_ended(code);
      step(lock::JobExited{code}, now);
    }
  }
}

/// The parent returns what became of the start, nothing if it is the top from now on; the child
/// returns only if the job runs.
std::optional<lock::Event> Runner::spawn(const lock::Spawn& order) {
  environment_ = os::environment_with(
      {"REDLOCK_NAME", "REDLOCK_TOKEN", "REDLOCK_FENCE", "REDLOCK_SLOT", "REDLOCK_HELD"},
      {"REDLOCK_NAME=" + job_.lock_name, "REDLOCK_TOKEN=" + servers_.token(order.attempt),
       "REDLOCK_FENCE=" + std::to_string(order.fence),
       "REDLOCK_HELD=" + add_held(job_.held, job_.place,
                                  {.token = servers_.token(order.attempt), .fence = order.fence})});
  hook_.emplace(job_.on_lost, environment_);
  terminal_ = os::Terminal::of_foreground_leader();
  supervision_.emplace();
  (*supervision_)->publish(session_.standing());
  os::Pipe pipe = os::make_pipe(O_NONBLOCK);
  facts_.waited = os::boot_now() - began_;  // what comes now is the job's time
  const pid_t top = ::getpid();
  const pid_t worker = ::fork();
  if (worker < 0) return cannot_run({Kind::no_process, errno});
  if (worker > 0) {
    pipe.write.reset();
    return await_start(order, worker, std::move(pipe.read));
  }
  pipe.read.reset();
  return start_job(order, top, std::move(pipe.write));
}

lock::Event Runner::start_job(const lock::Spawn& order, pid_t top, os::Fd messages) {
  const pid_t group = ::getpgrp();
  worker_.emplace(top, std::move(messages), **supervision_);
  loop_ = os::Loop();
  tree_ = os::ProcessTree();
  signals_.take_job_control();
  // The clock is read once more: we may have been stopped since the votes came in.
  if (worker_->top_is_gone() || os::boot_now() >= order.latest) {
    worker_->tell(Kind::job_too_late);
    ::_exit(0);
  }
  if (terminal_) worker_->leave_group();
  const os::Spawned spawned =
      os::spawn(job_.argv, environment_, signals_,
                terminal_ ? os::Placement{.group = 0, .terminal = terminal_->fd()}
                          : os::Placement{.group = group, .terminal = -1});
  if (spawned.pid < 0) {
    worker_->tell(spawned.no_process ? Kind::no_process : Kind::job_failed, spawned.error);
    ::_exit(0);
  }
  if (!terminal_) worker_->leave_session();
  job_pid_ = spawned.pid;
  worker_->tell(Kind::job_started, spawned.pid);
  return lock::JobStarted{};
}

std::optional<lock::Event> Runner::await_start(const lock::Spawn& order, pid_t worker,
                                               os::Fd messages) {
  std::array<os::Interest, 1> interests{os::Interest{.fd = messages.get(), .read = true}};
  WorkerMessage message{};
  ssize_t length = -1;
  do {
    loop_.wait(interests, order.latest);
    length = ::read(messages.get(), &message, sizeof message);
  } while (length < 0 && os::boot_now() < order.latest);

  if (length != sizeof message) return not_started(worker, std::nullopt, length < 0);
  if (message.kind != Kind::job_started) {
    return not_started(worker, message, message.kind == Kind::job_too_late);
  }
  // The moment from which `ran` is counted: on a loaded machine this one is much later.
  const auto began = std::chrono::system_clock::now() - (os::boot_now() - (began_ + facts_.waited));
  facts_.job = {.began = began, .ran = {}, .fence = order.fence};
  servers_.drop_connections();
  out_.leave_to_child();
  if (terminal_) signals_.take_job_control();
  top_.emplace(Top::Worker{worker, std::move(messages)},
               Top::Job{message.value, plan_.wait_all, plan_.stop_signal, job_.lock_name},
               plan_.timing, **supervision_, std::move(terminal_), signals_, tree_, out_,
               std::move(*hook_));
  hook_.reset();
  return std::nullopt;
}

/// The terminal may already have been the job's.
lock::Event Runner::not_started(pid_t worker, const std::optional<WorkerMessage>& reason,
                                bool too_late) {
  if (reason) {
    ::waitpid(worker, nullptr, 0);
  } else {
    give_up_worker(worker);
  }
  if (terminal_) static_cast<void>(terminal_->take_back_from(-1));
  if (too_late) return lock::JobTooLate{};
  if (reason) return cannot_run(*reason);
  out_.line("redlock: the process that was to start the job was killed");
  return lock::JobFailedToStart{static_cast<int>(ExitStatus::os_error)};
}

/// A worker that was stopped before it could start the job, or killed perhaps just after: nothing
/// of either may be left when the lock is given back.
void Runner::give_up_worker(pid_t worker) {
  ::kill(worker, SIGKILL);
  ::waitpid(worker, nullptr, 0);
  const lock::Instant limit = os::boot_now() + plan_.timing.grace;
  while (!tree_.empty() && os::boot_now() < limit) {
    tree_.signal(SIGKILL);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
}

lock::JobFailedToStart Runner::cannot_run(const WorkerMessage& message) {
  const ExitStatus status = message.kind == Kind::no_process ? ExitStatus::os_error
                            : message.value == ENOENT        ? ExitStatus::not_found
                                                             : ExitStatus::cannot_execute;
  out_.line(fmt::format("redlock: cannot run {}: {}", diag::printable(job_.argv.front(), 200),
                        std::strerror(message.value)));
  return {static_cast<int>(status)};
}

}  // namespace redlock::commands
