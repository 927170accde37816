// SPDX-License-Identifier: MIT
//
// Which process stops and continues which, and which one has the terminal.
//
//   shell             does job control: waits for the supervisor, moves the terminal between groups
//    └─ supervisor    leads the process group that the shell has made for us
//        └─ worker    in a group of its own, so that a stop of our group does not stop the renewals
//            └─ job   in a group of its own, or in the supervisor's
//
// Before the worker is forked, os::Terminal::of_foreground_leader() decides between two cases.
//
// The job gets the terminal. It leads a process group of its own, and that group is the terminal's
// foreground, as if the shell had started it:
//
//   Ctrl-Z           stops the job's group. The worker, its parent, sees that and tells the
//                    supervisor, which stops itself by the same signal: the shell sees its child
//                    stop and takes the terminal. The worker goes on renewing.
//   fg               The shell gives the terminal to the supervisor's group and sends it CONT. The
//                    supervisor gives the terminal to the job's group and continues that group. If
//                    the shell believes that the job runs, it sends no CONT: the job is stopped
//                    when it reads (TTIN), and then the supervisor gives it the terminal.
//   bg               The shell only sends CONT. The supervisor continues the job. If the job then
//                    reads, the kernel stops it (TTIN), and the rest is as for Ctrl-Z.
//   kill %1          of a stopped job: the shell sends TERM and CONT, and the job gets them in this
//                    order. If it were continued first, it could read and be stopped (TTIN).
//   kill -STOP JOB   as Ctrl-Z. After kill -CONT JOB the worker continues the supervisor.
//   kill -TSTP PID   of the supervisor: it passes the signal on to the job, and then as Ctrl-Z.
//   kill -STOP PID   of the supervisor: job and renewals go on. At the job's end the worker
//                    continues the supervisor.
//   a dead worker    The supervisor is the job's parent then, and sees the stops itself. Before it
//                    stops itself it sets a timer for the deadline: somebody may continue the job
//                    alone.
//   the job's end    The supervisor takes the terminal back, unless a shell has taken it since.
//
// The job shares the supervisor's group: there is no terminal, a script or a pipeline started us,
// or no shell does job control above us. As under flock, the kernel and the shell signal the whole
// group, so the supervisor passes on only what the group has not got (os/signals.h). Once
// the job runs, the worker leaves the session. If it stayed, one member of our group would have a
// parent in another group of the session, and Ctrl-Z would stop a group that nobody continues
// (ssh -t, a container: all processes are in the session leader's group). The job inherits the
// group, and does not join it by its ID: in a PID namespace whose terminal is outside
// (unshare -pf, bwrap), getpgrp() is 0.
//
// Absent on purpose: deadlines. The supervisor checks them after each stop, and before it
// continues the job.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>

#include "run/supervision.h"

namespace redlock::run {

class JobControl {
 public:
  /// To be constructed before the worker is forked.
  explicit JobControl(os::SignalSource& signals)
      : signals_(signals), terminal_(os::Terminal::of_foreground_leader()) {}

  /// The job has a process group of its own, and the terminal.
  [[nodiscard]] bool own_group() const { return terminal_.has_value(); }

  /// Whether this signal came from the terminal, for the job's whole group, if it has ended the
  /// job's main process.
  [[nodiscard]] bool is_from_terminal(int signal) const {
    return own_group() && (signal == SIGINT || signal == SIGQUIT);
  }

  // In the worker

  /// To be called before the clock is read for the last time: from here on job control does not
  /// stop this process. A job in a group of its own must have a parent in another group of the same
  /// session, or Ctrl-Z would not stop it (credentials(7)). Returns the job's place.
  [[nodiscard]] os::Placement enter_worker() const {
    signals_.take_job_control();
    if (!terminal_) return {.own_group = false};
    ::setpgid(0, 0);
    return {.terminal = terminal_->fd()};
  }
  /// To be called once the job runs.
  void leave_session() const {
    if (!terminal_) ::setsid();
  }

  // In the parent of the worker

  /// The job did not start, but may have had the terminal.
  void start_failed() const {
    if (terminal_) static_cast<void>(terminal_->take_back_from(-1));
  }
  /// From now on this process is the supervisor of that job.
  void supervise(pid_t job) {
    job_ = job;
    if (terminal_) signals_.take_job_control();
  }

  /// The latest news of the job: stopped or continued, according to waitpid(2); 0: continued.
  void note(int wait_status) { stopped_by_ = WIFSTOPPED(wait_status) ? WSTOPSIG(wait_status) : 0; }
  /// The job is stopped, and the supervisor has not followed it yet.
  [[nodiscard]] bool behind() const { return stopped_by_ != 0; }

  /// Stops this process, as the job was stopped. Returns when somebody has continued it, or when it
  /// has continued itself at `wake_at`: the SIGCONT is then among the signals. False, without a
  /// stop: the job must be continued, because it needs the terminal and we have it, or because this
  /// process could not stop.
  [[nodiscard]] bool stop_self(lock::Instant wake_at) {
    const int signal = std::exchange(stopped_by_, 0);
    if (!terminal_) return true;  // a stop of our common group stops us, too
    const bool wants_terminal = signal == SIGTTIN || signal == SIGTTOU;
    if (wants_terminal && terminal_->foreground() == ::getpgrp()) return false;
    return signals_.stop_self(signal, wake_at);
  }

  /// After fg our group has the terminal: gives it to the job. After bg the job does without.
  void continue_job() const {
    if (!terminal_) return;
    if (terminal_->foreground() == ::getpgrp()) terminal_->give_to(job_);
    ::kill(-job_, SIGCONT);
  }

  /// The job is dead. `restore_modes`: it had no time to restore echo and other modes itself.
  void take_terminal_back(bool restore_modes) const {
    if (!terminal_ || !terminal_->take_back_from(job_)) return;
    if (restore_modes) terminal_->restore_modes();
  }

 private:
  os::SignalSource& signals_;
  std::optional<os::Terminal> terminal_;  ///< if the job gets it
  pid_t job_ = -1;
  int stopped_by_ = 0;  ///< this signal stopped the job, and we have not followed yet; 0: none
};

/// The process that reaped the job's main process notes how that ended.
inline void note_job_end(int wait_status, Supervision& supervision, const JobControl& job_control) {
  const int signal = Exit::of_process(wait_status).signal;
  if (job_control.is_from_terminal(signal)) supervision.note_told(signal);
  supervision.note_job_end(wait_status);
}

}  // namespace redlock::run
