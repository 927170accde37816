// SPDX-License-Identifier: MIT
#include "run/runner.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "diag/text.h"

namespace redlock::run {

namespace {

using driver::kSystemRefused;
using Kind = WorkerMessage::Kind;

/// The descriptors from the first request until the job runs, besides two connections per server: a
/// pipe, /proc, the terminal, in the worker a timer and two pidfds, and those of libraries.
constexpr std::size_t kDescriptors = 10;

/// Words that only a shell carries out.
constexpr std::string_view kBuiltins[] = {"alias", "case",   "cd",    "eval",  "exec",  "export",
                                          "for",   "if",     "set",   "source", "trap", "ulimit",
                                          "umask", "unset",  "until", "while"};

/// Whether the user may have meant these words, the first of which is no program, for a shell.
bool is_for_shell(const std::vector<std::string>& words) {
  return std::ranges::count(kBuiltins, words.front()) > 0 ||
         (words.size() == 1 && words.front().find_first_of(" \t|&;<>$") != std::string::npos);
}

}  // namespace

Runner::Runner(const lock::Plan& plan, Job job, const config::Settings& settings,
               redis::ServerSet& servers, os::Stderr& out, diag::Reporter& reporter)
    : plan_(plan),
      job_(std::move(job)),
      settings_(settings),
      servers_(servers),
      out_(out),
      reporter_(reporter),
      killer_(tree_, out, job_.lock.name),
      began_(os::boot_now()),
      session_(plan, began_),
      progress_(driver::progress_mode(settings), job_.lock.name, plan.patience, out, began_),
      status_(manager_.listens() ? driver::Progress::Mode::status : driver::Progress::Mode::none,
              job_.lock.name, plan.patience, out, began_, &manager_),
      driver_(session_, *this, servers, signals_, {&reporter, &job_.who}) {
  os::require_free_descriptors(kDescriptors + 2 * servers.size());
  reserve_.emplace();
  if (!job_.stage.is_last()) tree_.leader_passes_on();  // it is a redlock
}

Exit Runner::run() {
  try {
    driver_.run();
    if (worker_) leave();
  } catch (const std::exception& error) {
    if (worker_) end_worker(driver::reason_of(error));
    if (!supervisor_) {
      give_back();
      throw;
    }
  }
  if (supervisor_) return watch_job();
  out_.drain(std::chrono::milliseconds(100));
  facts_.waited = os::boot_now() - began_;
  facts_.conflict = session_.outcome().kind == lock::Outcome::Kind::conflict ||
                    session_.outcome().kind == lock::Outcome::Kind::superseded;
  facts_.lost = session_.outcome().kind == lock::Outcome::Kind::lost;
  return end();
}

/// The worker has done its part.
void Runner::leave() {
  if (hook_->group() > 0) {
    // Until that limit, the supervisor must not take this process for stuck.
    worker_->publish(
        {lock::WorkerState::Phase::releasing, hook_->limit(), session_.worker_state().valid_until});
    hook_->finish(out_);
  }
  out_.drain(std::chrono::milliseconds(100));
  const bool as_job = session_.outcome().kind == lock::Outcome::Kind::job_ended;
  worker_->leave(as_job ? ExitStatus::ok : end());
}

/// Ends the job first. If it has ended by itself, redlock ends with its status.
void Runner::end_worker(const char* why) noexcept {
  const bool running = job_pid_ > 0 || session_.watching_tree();
  if (running && !kill_job()) ::_exit(static_cast<int>(ExitStatus::os_error));
  if (job_pid_ > 0) reserve_->supervision->note_job_end(SIGKILL);  // as waitpid(2) would tell it
  try {
    out_.line(fmt::format("redlock: {}: {}{}", diag::lock_name(job_.lock.name), why,
                          running ? ": the job was killed" : ""));
  } catch (const std::exception&) {
    os::last_words("redlock: out of memory\n");
  }
  worker_->continue_supervisor();
  give_back();
  out_.drain(std::chrono::milliseconds(100));
  worker_->leave(running ? ExitStatus::os_error : ExitStatus::ok);
}

/// The parent's part once the job runs.
Exit Runner::watch_job() {
  const Exit result = supervisor_->watch();
  const lock::Instant start = began_ + facts_.waited;
  facts_.job->ran = supervisor_->job_ended() - start;
  facts_.job = job_.stage.run_of_command(*facts_.job, start);
  facts_.lost = supervisor_->lost();
  return result;
}

void Runner::stepped() {
  if (!session_.acquiring()) progress_.hide();
  // The supervisor must know the state before the worker performs the effects.
  if (worker_) worker_->publish(session_.worker_state());
}

bool Runner::perform(const lock::Effect& effect, lock::Instant now) {
  if (const auto* kill = std::get_if<lock::Kill>(&effect)) {
    if (kill->whom == lock::Kill::Whom::next_stage) {
      tree_.kill_leader();
    } else if (kill->signal == SIGKILL) {
      driver_.step(lock::Killed{killer_.kill()}, now);
    } else {
      tree_.signal(kill->signal, SIGCONT);
    }
  } else if (std::holds_alternative<lock::Measure>(effect)) {
    driver_.step(lock::KillCost{killer_.cost()}, now);
  } else if (const auto* ending = std::get_if<lock::TellEnding>(&effect)) {
    reporter_.say_ending(tree_.count(), ending->kill_in);
  } else if (const auto* what = std::get_if<lock::Report>(&effect)) {
    report(*what);
  } else if (const auto* order = std::get_if<lock::Spawn>(&effect)) {
    if (auto answer = spawn(*order)) driver_.step(std::move(*answer), driver_.now());
    if (supervisor_) driver_.stop();
  } else {
    return false;
  }
  return true;
}

/// Once there is a job, signals are for the job, and the supervisor passes them on.
bool Runner::take_signal(const lock::Signal& signal, lock::Instant) {
  if (!worker_) return false;
  reserve_->supervision->heard_by_worker.note(signal.number);
  return true;
}

void Runner::look(bool woken, lock::Instant now) {
  if (woken) reap(now);
  if (!worker_) return;
  const bool gone = worker_->supervisor_is_gone();
  if (gone) driver_.step(lock::SupervisorGone{reserve_->supervision->told.load() != 0}, now);
  if (report_end_at_ != lock::kNever && (gone || now >= report_end_at_)) report_end(now);
}

/// The worker must end some time, whatever the system refuses to it.
void Runner::give_up(lock::Instant now) {
  const lock::WorkerState state = session_.worker_state();
  if (state.phase != lock::WorkerState::Phase::stopping &&
      state.phase != lock::WorkerState::Phase::ending) {
    return;
  }
  if (now < state.valid_until + kLastAttempts) return;
  killer_.say_left();
  out_.drain(std::chrono::milliseconds(100));
  worker_->leave(ExitStatus::lost);
}

void Runner::turned(lock::Instant now) {
  progress_.turn(session_, now);
  status_.turn(session_, now);
  if (worker_) give_up(now);
  if (!worker_) manager_.feed_watchdog(now);
  if (session_.watching_tree() && job_pid_ < 0 && tree_.empty()) {
    driver_.step(lock::JobTreeGone{}, now);
    worker_->continue_supervisor();
  }
}

void Runner::report(const lock::Report& report) {
  try {
    reporter_.say(report);
  } catch (const std::bad_alloc&) {
    out_.line("redlock: out of memory, a message is missing here");
  }
  const auto* stopping = std::get_if<lock::report::Stopping>(&report);
  const bool lost = std::holds_alternative<lock::report::NotOursAtRelease>(report) ||
                    (stopping != nullptr && (stopping->reason == lock::StopReason::lost ||
                                             stopping->reason == lock::StopReason::lease_ending));
  if (!lost || !worker_) return;
  hook_->start(tree_, signals_, out_);
  reserve_->supervision->hook_group.store(hook_->group());
}

/// As a subreaper this process reaps every orphan of the job, besides the job itself.
void Runner::reap(lock::Instant now) {
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0;) {
    if (pid != job_pid_) {
      if (hook_ && (WIFEXITED(status) || WIFSIGNALED(status))) hook_->reaped(pid);
    } else if (WIFSTOPPED(status) || WIFCONTINUED(status)) {
      job_control_->tell(status, *worker_);
    } else {
      job_pid_ = -1;
      tree_.leader_reaped();
      note_job_end(status, *reserve_->supervision, *job_control_);
      const bool certain =
          session_.watching_tree() || reserve_->supervision->job_end() == lock::JobEnd::as_told;
      if (certain || tree_.empty()) {
        report_end(now);
      } else {
        report_end_at_ = now + kHold;
      }
    }
  }
}

void Runner::report_end(lock::Instant now) {
  report_end_at_ = lock::kNever;
  const Exit job = *reserve_->supervision->job();
  tree_.signal_escaped(job.signal);
  driver_.step(lock::JobExited{job.status, reserve_->supervision->job_end()}, now);
  worker_->continue_supervisor();  // after the release, which must not wait for this
}

/// The parent returns the outcome of the start, or nothing if it is the supervisor from now on; the
/// child returns only if the job runs.
std::optional<lock::Event> Runner::spawn(const lock::Spawn& order) {
  pid_t worker = -1;
  try {
    return fork_worker(order, worker);
  } catch (const std::exception& error) {
    if (worker > 0) give_up_worker(worker);
    supervisor_.reset();
    if (job_control_) job_control_->start_failed();
    out_.line(fmt::format("redlock: cannot start the job: {}", driver::reason_of(error)));
    return kSystemRefused;
  }
}

std::optional<lock::Event> Runner::fork_worker(const lock::Spawn& order, pid_t& worker) {
  const lock::Inherited held{.token = servers_.token(order.attempt), .fence = order.fence};
  environment_ = environment_for(Stage::Reader::job, held);
  hook_.emplace(settings_.on_lost, environment_for(Stage::Reader::lost_hook, held));
  job_control_.emplace(signals_);
  if (!reserve_) reserve_.emplace();  // an earlier worker that failed has used up the first one
  reserve_->supervision->publish(session_.worker_state());
  facts_.waited = os::boot_now() - began_;  // from now on the job's time counts
  tree_.set_apart_children();
  const pid_t supervisor = ::getpid();
  worker = ::fork();
  if (worker < 0) return cannot_run({Kind::no_process, errno});
  if (worker > 0) {
    reserve_->messages.write.reset();
    reserve_->supervisor.reset();
    reserve_->proc.reset();
    return await_start(order, worker, std::move(reserve_->messages.read));
  }
  // No exception may leave this block: only the parent handles those of fork_worker().
  try {
    return start_job(order, supervisor);
  } catch (const std::exception& error) {
    abandon_start(driver::reason_of(error));
  }
}

std::vector<std::string> Runner::environment_for(Stage::Reader reader,
                                                 const lock::Inherited& held) const {
  auto [dropped, added] = job_.stage.variables(reader, held.token, held.fence);
  dropped.emplace_back("REDLOCK_HELD");
  added.push_back("REDLOCK_HELD=" + add_held(job_.held, job_.lock, held));
  return os::environment_with(dropped, added);
}

lock::Event Runner::start_job(const lock::Spawn& order, pid_t supervisor) {
  reserve_->messages.read.reset();
  worker_.emplace(supervisor, std::move(reserve_->supervisor), std::move(reserve_->messages.write),
                  *reserve_->supervision);
  driver_.change_loop(std::move(reserve_->loop));
  tree_.after_fork(std::move(reserve_->proc));
  const std::string title = "redlock-worker: " + job_.lock.name;
  const os::Placement place = job_control_->enter_worker();
  // Reads the clock again: somebody may have stopped us since the votes arrived.
  if (worker_->supervisor_is_gone() || os::boot_now() >= order.latest ||
      reserve_->supervision->start_decided.exchange(true)) {
    worker_->tell(Kind::job_too_late);
    leave_without_job();
  }
  const os::Spawned spawned = job_.stage.spawn(environment_, signals_, place);
  if (spawned.pid < 0) {
    worker_->tell(spawned.no_process ? Kind::no_process : Kind::job_failed, spawned.error);
    leave_without_job();
  }
  job_control_->leave_session();
  job_pid_ = spawned.pid;
  tree_.lead(job_pid_, job_control_->own_group());
  if (!worker_->tell(Kind::job_started, spawned.pid)) {
    // The parent believes that the job did not start, or is dead.
    if (!kill_job()) ::_exit(0);
    leave_without_job();
  }
  os::rename_process("redlock-worker", title);  // the job must not wait for this
  return lock::JobStarted{};
}

/// The parent gives the lock back. If somebody has killed the parent, this process does: no other
/// process uses the connections any more.
void Runner::leave_without_job() noexcept {
  if (worker_->supervisor_is_gone()) give_back();
  ::_exit(0);
}

/// The parent gives the lock back afterwards.
void Runner::abandon_start(const char* why) noexcept {
  // If the job runs already, it must be dead before the parent gives the lock back. If this process
  // cannot kill it, it sends no message, and the parent kills the job itself.
  const bool dead = job_pid_ <= 0 || kill_job();
  try {
    out_.line(fmt::format("redlock: cannot start the job: {}", why));
    out_.drain(std::chrono::milliseconds(100));
  } catch (const std::exception&) {
    os::last_words("redlock: cannot start the job: out of memory\n");
  }
  if (!worker_ || !dead) ::_exit(0);
  worker_->tell(Kind::not_started);
  leave_without_job();
}

std::optional<lock::Event> Runner::await_start(const lock::Spawn& order, pid_t worker,
                                               os::Fd messages) {
  WorkerMessage message{};
  ssize_t length = driver_.await_message(messages, &message, sizeof message, order.latest);
  const bool too_late = length < 0 && !reserve_->supervision->start_decided.exchange(true);
  if (length < 0 && !too_late) {
    // The job has begun, or is about to. After this limit, little more than the grace is left.
    length = driver_.await_message(messages, &message, sizeof message,
                                   order.latest + plan_.timing.ttl / 3);
  }
  const bool told = length == sizeof message;
  if (told && message.kind == Kind::job_started) {
    supervise(order, {worker, std::move(messages)}, message.value);
    return std::nullopt;
  }
  if (told) {
    ::waitpid(worker, nullptr, 0);
  } else {
    give_up_worker(worker);
  }
  reserve_.reset();
  job_control_->start_failed();
  if (too_late || (told && message.kind == Kind::job_too_late)) return lock::JobTooLate{};
  if (told) return message.kind == Kind::not_started ? kSystemRefused : cannot_run(message);
  out_.line(
      fmt::format("redlock: {}: the process that starts the job (pid {}) {} before it reported the "
                  "start; if the job had begun, redlock killed it",
                  diag::lock_name(job_.lock.name), worker,
                  length < 0 ? "was stopped or stuck" : "was killed"));
  return kSystemRefused;
}

/// The job runs, and from now on this process is the supervisor.
void Runner::supervise(const lock::Spawn& order, Supervisor::Worker worker, pid_t job) {
  // `ran` is measured from this moment: on a loaded machine the present one is much later.
  const auto began = std::chrono::time_point_cast<std::chrono::system_clock::duration>(
      std::chrono::system_clock::now() - (os::boot_now() - (began_ + facts_.waited)));
  facts_.job = RunFacts::Job{.began = began, .ran = {}, .fence = order.fence};
  job_.stage.note_start(began_ + facts_.waited);
  job_control_->supervise(job);
  supervisor_.emplace(std::move(worker), job, job_.lock.name, plan_, *reserve_->supervision,
                      *job_control_, signals_, tree_, out_, driver_.loop(), std::move(*hook_),
                      manager_);
  hook_.reset();
  servers_.drop_connections();
  out_.leave_to_child();
  // This process is the service's main process or, with several locks, below it.
  if (job_.stage.is_last()) manager_.tell("READY=1\nSTATUS=holds the lock, the job runs");
}

/// When the parent releases the lock, neither the worker nor the job may be alive.
void Runner::give_up_worker(pid_t worker) noexcept {
  ::kill(worker, SIGKILL);
  ::waitpid(worker, nullptr, 0);
  kill_job();
}

/// Kills the job and all its descendants. True: no process is left.
bool Runner::kill_job() noexcept {
  const lock::Instant limit = os::boot_now() + plan_.timing.grace;
  while (os::boot_now() < limit) {
    try {
      if (tree_.empty()) return true;
      tree_.signal(SIGKILL);
    } catch (const std::exception&) {
      if (job_pid_ > 0) ::kill(job_pid_, SIGKILL);  // this call needs no memory
      tree_.free_reserved_memory();
    }
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
  return false;
}

lock::JobFailedToStart Runner::cannot_run(const WorkerMessage& message) {
  if (!job_.stage.is_last()) {
    out_.line(fmt::format("redlock: cannot start itself again to take the next lock: {}",
                          std::strerror(message.value)));
    return kSystemRefused;
  }
  const ExitStatus status = message.kind == Kind::no_process ? ExitStatus::os_error
                            : message.value == ENOENT        ? ExitStatus::not_found
                                                             : ExitStatus::cannot_execute;
  const std::vector<std::string> argv = job_.stage.argv();
  const bool for_shell = status == ExitStatus::not_found && is_for_shell(argv);
  out_.line(fmt::format("redlock: cannot run {}: {}{}", diag::printable(argv.front(), 200),
                        message.kind == Kind::no_process
                            ? std::strerror(message.value)
                            : os::why_not_run(argv.front(), message.value),
                        for_shell ? "; for a shell command: redlock run NAME -c 'COMMAND'" : ""));
  return {static_cast<int>(status)};
}

}  // namespace redlock::run
