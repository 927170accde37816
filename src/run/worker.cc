// SPDX-License-Identifier: MIT
#include "run/worker.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "os/clock.h"

namespace redlock::run {

Worker::Worker(pid_t top, os::Fd top_process, os::Fd messages, Supervision& supervision)
    : supervisor_(std::move(top_process)),
      top_pid_(top),
      messages_(std::move(messages)),
      supervision_(supervision) {
  if (!supervisor_) ::prctl(PR_SET_PDEATHSIG, SIGCHLD, 0, 0, 0);
}

void Worker::leave_group() const {
  ::setpgid(0, 0);
}

void Worker::leave_session() const {
  ::setsid();
}

/// As long as the top lives, it is our parent; once it is dead, we have another one, though not at
/// the moment at which the pidfd becomes readable.
bool Worker::top_is_gone() {
  pollfd death{supervisor_.get(), POLLIN, 0};
  const bool gone = ::getppid() != top_pid_ || (supervisor_ && ::poll(&death, 1, 0) > 0);
  if (gone) supervisor_.reset();  // it would stay readable
  return gone;
}

bool Worker::tell(WorkerMessage::Kind kind, int value) const {
  const WorkerMessage message{kind, value};
  // A pipe that is full has a stopped reader, who will see the job's end all the same.
  return ::write(messages_.get(), &message, sizeof message) == sizeof message || errno == EAGAIN;
}

void Worker::publish(const lock::WorkerState& standing) {
  supervision_.publish(standing);
  const bool sooner = standing.act_by < std::exchange(act_by_, standing.act_by);
  // The release goes out first. continue_top() follows it, and wakes the top, too.
  const bool releasing = standing.phase == lock::WorkerState::Phase::releasing;
  if (sooner && !releasing) tell(WorkerMessage::Kind::act_sooner);
}

void Worker::job_ended(Exit end) {
  supervision_.job_ended.store(os::boot_now().time_since_epoch().count());
  supervision_.job_signal.store(end.signal);
  supervision_.job_status.store(end.status);
}

void Worker::continue_top() const {
  if (::getppid() != top_pid_) return;
  // A parent without a pidfd: had it died just now, its number could not be in use again so soon.
  if (!supervisor_ ||
      ::syscall(SYS_pidfd_send_signal, supervisor_.get(), SIGCONT, nullptr, 0) != 0) {
    ::kill(top_pid_, SIGCONT);
  }
}

void Worker::leave(Exit result) {
  supervision_.exit_signal.store(result.signal);
  supervision_.exit_status.store(result.status);
  ::_exit(result.status);
}

}  // namespace redlock::run
