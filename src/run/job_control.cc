// SPDX-License-Identifier: MIT
#include "run/job_control.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <utility>

namespace redlock::run {

JobControl::JobControl(os::SignalSource& signals)
    : signals_(signals), terminal_(os::Terminal::of_foreground_leader()) {}

os::Placement JobControl::enter_worker() const {
  signals_.take_job_control();
  const pid_t supervisors = ::getpgrp();
  if (!terminal_) return {.group = supervisors, .terminal = -1};
  ::setpgid(0, 0);
  return {.group = 0, .terminal = terminal_->fd()};
}

void JobControl::leave_session() const {
  if (!terminal_) ::setsid();
}

void JobControl::tell(int wait_status, const Worker& worker) const {
  worker.tell(WorkerMessage::Kind::job_stop, wait_status);
  if (terminal_ && WIFCONTINUED(wait_status)) worker.continue_supervisor();
}

void JobControl::supervise(pid_t job) {
  job_ = job;
  if (terminal_) signals_.take_job_control();
}

void JobControl::note(int wait_status) {
  stopped_by_ = WIFSTOPPED(wait_status) ? WSTOPSIG(wait_status) : 0;
}

bool JobControl::stop_self(lock::Instant wake_at) {
  const int signal = std::exchange(stopped_by_, 0);
  if (!terminal_) return true;  // a stop of our common group stops us, too
  const bool wants_terminal = signal == SIGTTIN || signal == SIGTTOU;
  if (wants_terminal && terminal_->foreground() == ::getpgrp()) return false;
  return signals_.stop_self(signal, wake_at);
}

void JobControl::continue_job() const {
  if (!terminal_) return;
  if (terminal_->foreground() == ::getpgrp()) terminal_->give_to(job_);
  ::kill(-job_, SIGCONT);
}

void JobControl::take_terminal_back(bool restore_modes) const {
  if (!terminal_ || !terminal_->take_back_from(job_)) return;
  if (restore_modes) terminal_->restore_modes();
}

}  // namespace redlock::run
