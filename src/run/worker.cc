// SPDX-License-Identifier: MIT
#include "run/worker.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "os/clock.h"

namespace redlock::run {

using Kind = WorkerMessage::Kind;

Worker::Worker(Run& run, lock::Session& session, driver::Driver& parents, Reserve& reserve,
               Start& start, pid_t supervisor)
    : run_(run),
      session_(session),
      environment_(start.environment),
      hook_(start.hook),
      job_control_(start.job_control),
      supervision_(*reserve.supervision),
      proc_(reserve.proc),
      driver_(parents, *this, std::move(reserve.loop)),
      supervisor_(std::move(reserve.supervisor)),
      supervisor_pid_(supervisor),
      messages_(std::move(reserve.messages.write)) {
  reserve.messages.read.reset();
  if (!supervisor_) ::prctl(PR_SET_PDEATHSIG, SIGCHLD, 0, 0, 0);
}

void Worker::work(const lock::Spawn& order) noexcept {
  try {
    start(order);
  } catch (const std::exception& error) {
    abandon_start(driver::reason_of(error));
  }
  try {
    driver_.step(lock::JobStarted{}, driver_.now());
    driver_.run();
    end_in_order();
  } catch (const std::exception& error) {
    fail(driver::reason_of(error));
  }
}

/// Returns only if the job runs.
void Worker::start(const lock::Spawn& order) {
  run_.tree.after_fork(std::move(proc_));
  const std::string title = "redlock-worker: " + run_.lock.name;
  const os::Placement place = job_control_.enter_worker();
  // Reads the clock again: somebody may have stopped us since the votes arrived.
  if (supervisor_is_gone() || os::boot_now() >= order.latest ||
      supervision_.start_decided.exchange(true)) {
    tell(Kind::job_too_late);
    leave_without_job();
  }
  const os::Spawned spawned = run_.stage.spawn(environment_, run_.signals, place);
  if (spawned.pid < 0) {
    tell(spawned.no_process ? Kind::no_process : Kind::job_failed, spawned.error);
    leave_without_job();
  }
  job_control_.leave_session();
  job_pid_ = spawned.pid;
  run_.tree.lead(job_pid_, job_control_.own_group());
  if (!tell(Kind::job_started, spawned.pid)) {
    // The parent believes that the job did not start, or is dead.
    if (!kill_job()) ::_exit(0);
    leave_without_job();
  }
  os::rename_process("redlock-worker", title);  // the job must not wait for this
}

/// The parent releases the lock afterwards.
void Worker::abandon_start(const char* why) noexcept {
  // If the job runs already, it must be dead before the parent releases the lock. If this process
  // cannot kill it, it sends no message, and the parent kills the job itself.
  const bool dead = job_pid_ <= 0 || kill_job();
  run_.say_no_start(why);
  if (!dead) ::_exit(0);
  tell(Kind::not_started);
  leave_without_job();
}

/// The parent releases the lock. If somebody has killed the parent, this process does: no other
/// process uses the connections any more.
void Worker::leave_without_job() noexcept {
  if (supervisor_is_gone()) give_back();
  ::_exit(0);
}

/// The session has finished.
void Worker::end_in_order() {
  if (hook_.group() > 0) {
    // Until that limit, the supervisor must not take this process for stuck.
    publish(
        {lock::WorkerState::Phase::releasing, hook_.limit(), session_.worker_state().valid_until});
    hook_.finish(run_.out);
  }
  const lock::Outcome& outcome = session_.outcome();
  const bool as_job = outcome.kind == lock::Outcome::Kind::job_ended;
  leave(as_job ? ExitStatus::ok : driver::exit_of(outcome, {}));  // no status of the user's
}

/// Ends the job first. If it has ended by itself, redlock ends with its status.
void Worker::fail(const char* why) noexcept {
  const bool running = job_pid_ > 0 || session_.watching_tree();
  if (running && !kill_job()) ::_exit(static_cast<int>(ExitStatus::os_error));
  if (job_pid_ > 0) supervision_.note_job_end(SIGKILL);  // as waitpid(2) would tell it
  try {
    run_.out.line(
        fmt::format("redlock: {}: {}{}", run_.title, why, running ? ": the job was killed" : ""));
  } catch (const std::exception&) {
    os::last_words("redlock: out of memory\n");
  }
  give_back();
  leave(running ? ExitStatus::os_error : ExitStatus::ok);
}

/// Publishes the verdict, and ends this process.
void Worker::leave(Exit verdict) {
  supervision_.verdict.store(verdict.status);
  continue_supervisor();  // what comes now may take long
  run_.out.drain();
  ::_exit(supervision_.exit().status);
}

bool Worker::perform(const lock::Effect& effect, lock::Instant now) {
  if (const auto* kill = std::get_if<lock::Kill>(&effect)) {
    if (kill->whom == lock::Kill::Whom::next_stage) {
      run_.tree.kill_leader();
    } else if (kill->signal == SIGKILL) {
      driver_.step(lock::Killed{run_.killer.kill()}, now);
    } else {
      run_.tree.signal(kill->signal, SIGCONT);
    }
  } else if (std::holds_alternative<lock::Measure>(effect)) {
    driver_.step(lock::KillCost{run_.killer.cost()}, now);
  } else if (const auto* ending = std::get_if<lock::TellEnding>(&effect)) {
    run_.reporter.say_ending(run_.tree.count(), ending->kill_in);
  } else if (const auto* what = std::get_if<lock::Report>(&effect)) {
    report(*what);
  } else {
    return false;
  }
  return true;
}

void Worker::report(const lock::Report& report) {
  run_.say(report);
  const auto* stopping = std::get_if<lock::report::Stopping>(&report);
  const bool lost = std::holds_alternative<lock::report::NotOursAtRelease>(report) ||
                    (stopping != nullptr && (stopping->reason == lock::StopReason::lost ||
                                             stopping->reason == lock::StopReason::lease_ending));
  if (!lost) return;
  hook_.start(run_.tree, run_.signals, run_.out);
  supervision_.hook_group.store(hook_.group());
}

void Worker::poll_process(bool woken, lock::Instant now) {
  if (woken) reap(now);
  const bool gone = supervisor_is_gone();
  if (gone) driver_.step(lock::SupervisorGone{supervision_.told.load() != 0}, now);
  if (report_end_at_ != lock::kNever && (gone || now >= report_end_at_)) {
    // It may have had no processor since then, as on a busy machine.
    if (!gone) supervision_.note_pending(supervisor_pid_);
    report_end(now);
  }
  if (now >= continue_at_) continue_supervisor();
}

void Worker::iterated(lock::Instant now) {
  give_up(now);
  if (session_.watching_tree() && job_pid_ < 0 && run_.tree.empty()) {
    driver_.step(lock::JobTreeGone{}, now);
    continue_at_ = now + kHold;
  }
}

/// This process must end some time, whichever system calls fail.
void Worker::give_up(lock::Instant now) {
  using Phase = lock::WorkerState::Phase;
  const lock::WorkerState state = session_.worker_state();
  if (state.phase != Phase::stopping && state.phase != Phase::ending) return;
  if (now < run_.killer.gives_up_at(state.valid_until)) return;
  run_.killer.say_left();
  leave(ExitStatus::lost);
}

/// As a subreaper this process reaps every orphan of the job, besides the job itself.
void Worker::reap(lock::Instant now) {
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0;) {
    const bool ended = WIFEXITED(status) || WIFSIGNALED(status);
    if (pid != job_pid_) {
      if (ended) hook_.reaped(pid);
    } else if (!ended) {
      tell(Kind::job_stop, status);
      if (job_control_.own_group() && WIFCONTINUED(status)) continue_supervisor();
    } else {
      job_pid_ = -1;
      run_.tree.leader_reaped();
      note_job_end(status, supervision_, job_control_);
      const bool certain =
          session_.watching_tree() || supervision_.job_end() == lock::JobEnd::as_told;
      if (certain || run_.tree.empty()) {
        report_end(now);
      } else {
        report_end_at_ = now + kHold;
      }
    }
  }
}

void Worker::report_end(lock::Instant now) {
  report_end_at_ = lock::kNever;
  const Exit job = *supervision_.job();
  run_.tree.signal_escaped(job.signal);
  driver_.step(lock::JobExited{job.status, supervision_.job_end()}, now);
  continue_at_ = now + kHold;
}

/// The supervisor is our parent as long as it lives. Once it is dead we have another parent, but
/// maybe only some time after the pidfd has become readable.
bool Worker::supervisor_is_gone() {
  supervisor_gone_ =
      supervisor_gone_ || ::getppid() != supervisor_pid_ || os::has_ended(supervisor_);
  if (supervisor_gone_) supervisor_.reset();  // or it would stay readable
  return supervisor_gone_;
}

bool Worker::tell(Kind kind, int value) const {
  const WorkerMessage message{kind, value};
  // If the pipe is full, its reader is stopped, and will see the end of the job without it.
  return ::write(messages_.get(), &message, sizeof message) == sizeof message || errno == EAGAIN;
}

/// Also wakes the supervisor if it would sleep too long by the state before.
void Worker::publish(const lock::WorkerState& state) {
  supervision_.publish(state);
  const bool sooner = state.act_by < std::exchange(act_by_, state.act_by);
  // The release goes out first. If it takes long, continue_at_ wakes the supervisor.
  const bool releasing = state.phase == lock::WorkerState::Phase::releasing;
  if (sooner && !releasing) tell(Kind::act_sooner);
}

/// If the supervisor was stopped, it must see the job's new state.
void Worker::continue_supervisor() {
  continue_at_ = lock::kNever;
  if (::getppid() != supervisor_pid_) return;
  // Without a pidfd: if the parent has died just now, its PID cannot be in use again so soon.
  if (!supervisor_ || !os::send_signal(supervisor_, SIGCONT)) ::kill(supervisor_pid_, SIGCONT);
}

}  // namespace redlock::run
