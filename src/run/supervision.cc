// SPDX-License-Identifier: MIT
#include "run/supervision.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "os/clock.h"
#include "os/process_table.h"

namespace redlock::run {

void Supervision::note_job_end(Exit end) {
  job_ended.store(os::boot_now().time_since_epoch().count());
  job_signal.store(end.signal);
  job_status.store(end.status);
}

Worker::Worker(pid_t supervisor, os::Fd pidfd, os::Fd messages, Supervision& supervision)
    : supervisor_(std::move(pidfd)),
      supervisor_pid_(supervisor),
      messages_(std::move(messages)),
      supervision_(supervision) {
  if (!supervisor_) ::prctl(PR_SET_PDEATHSIG, SIGCHLD, 0, 0, 0);
}

/// The supervisor is our parent as long as it lives. Once it is dead we have another parent, but
/// maybe only some time after the pidfd has become readable.
bool Worker::supervisor_is_gone() {
  gone_ = gone_ || ::getppid() != supervisor_pid_ || os::has_ended(supervisor_);
  if (gone_) supervisor_.reset();  // or it would stay readable
  return gone_;
}

bool Worker::tell(WorkerMessage::Kind kind, int value) const {
  const WorkerMessage message{kind, value};
  // If the pipe is full, its reader is stopped, and will see the end of the job without it.
  return ::write(messages_.get(), &message, sizeof message) == sizeof message || errno == EAGAIN;
}

void Worker::publish(const lock::WorkerState& state) {
  supervision_.publish(state);
  const bool sooner = state.act_by < std::exchange(act_by_, state.act_by);
  // The release goes out first. continue_supervisor() follows it, and wakes the supervisor, too.
  const bool releasing = state.phase == lock::WorkerState::Phase::releasing;
  if (sooner && !releasing) tell(WorkerMessage::Kind::act_sooner);
}

void Worker::continue_supervisor() const {
  if (::getppid() != supervisor_pid_) return;
  // Without a pidfd: if the parent has died just now, its PID cannot be in use again so soon.
  if (!supervisor_ || !os::send_signal(supervisor_, SIGCONT)) {
    ::kill(supervisor_pid_, SIGCONT);
  }
}

void Worker::leave(Exit result) {
  supervision_.exit_signal.store(result.signal);
  supervision_.exit_status.store(result.status);
  ::_exit(result.status);
}

namespace {

/// If the kernel lacks this call or denies it, redlock works without a pidfd.
os::Fd pidfd_of_ourselves() {
  os::Fd pidfd = os::open_pidfd(::getpid());
  if (!pidfd && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) os::fail("pidfd_open");
  return pidfd;
}

}  // namespace

Reserve::Reserve()
    : messages(os::make_pipe(O_NONBLOCK)),
      supervisor(pidfd_of_ourselves()),
      proc(os::ProcessTable::open_proc()) {}

}  // namespace redlock::run
