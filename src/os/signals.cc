// SPDX-License-Identifier: MIT
#include "os/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <ctime>

#include "os/clock.h"
#include "os/fail.h"

namespace redlock::os {

namespace {

// Everything that one process sends another on purpose. Not here: what cannot be caught, faults of
// the process itself, and job control (TSTP, TTIN, TTOU, CONT), whose default actions are right.
constexpr std::array kPassedOn = {SIGHUP,  SIGINT,  SIGQUIT,  SIGTERM,   SIGUSR1,
                                  SIGUSR2, SIGALRM, SIGWINCH, SIGVTALRM, SIGPROF,
                                  SIGIO,   SIGPWR,  SIGURG,   SIGXCPU,   SIGXFSZ};

bool ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && (action.sa_flags & SA_SIGINFO) == 0 &&
         action.sa_handler == SIG_IGN;
}

/// Sends us a SIGCONT: that goes on with a stopped process, whoever it comes from.
class ContinueTimer {
 public:
  explicit ContinueTimer(lock::Instant when) {
    if (when == lock::kNever) return;
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGCONT;
    if (::timer_create(CLOCK_BOOTTIME, &event, &timer_) != 0) fail("timer_create");
    armed_ = true;
    const itimerspec spec = alarm_at(when);
    if (::timer_settime(timer_, TIMER_ABSTIME, &spec, nullptr) != 0) fail("timer_settime");
  }
  ~ContinueTimer() {
    if (armed_) ::timer_delete(timer_);
  }
  ContinueTimer(const ContinueTimer&) = delete;
  ContinueTimer& operator=(const ContinueTimer&) = delete;

 private:
  timer_t timer_{};
  bool armed_ = false;
};

}  // namespace

bool ends_process_by_default(int signal) {
  return signal != SIGCHLD && signal != SIGWINCH && signal != SIGURG && signal != SIGCONT;
}

SignalSource::SignalSource() {
  sigemptyset(&taken_);
  sigaddset(&taken_, SIGCHLD);
  for (const int signal : kPassedOn) {
    if (!ignored(signal)) sigaddset(&taken_, signal);
  }
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) {
    if (!ignored(signal)) sigaddset(&taken_, signal);
  }
  sigset_t blocked = taken_;
  sigaddset(&blocked, SIGPIPE);
  if (::sigprocmask(SIG_BLOCK, &blocked, &entry_mask_) != 0) fail("sigprocmask");
  if (ignored(SIGCHLD)) {
    child_was_ignored_ = true;
    std::signal(SIGCHLD, SIG_DFL);
  }
  fd_ = Fd(::signalfd(-1, &taken_, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_) fail("signalfd");
}

void SignalSource::take_job_control() {
  sigset_t blocked;
  sigemptyset(&blocked);
  for (const int signal : {SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT}) sigaddset(&blocked, signal);
  if (::sigprocmask(SIG_BLOCK, &blocked, nullptr) != 0) fail("sigprocmask");
  if (!ignored(SIGTSTP)) sigaddset(&taken_, SIGTSTP);
  sigaddset(&taken_, SIGCONT);  // ignored or not: it continues us
  if (::signalfd(fd_.get(), &taken_, 0) < 0) fail("signalfd");
}

bool SignalSource::stop_self(int signal, lock::Instant wake_at) {
  const ContinueTimer timer(wake_at);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  ::raise(signal);
  ::sigprocmask(SIG_UNBLOCK, &one, nullptr);  // here we stop
  ::sigprocmask(SIG_BLOCK, &one, nullptr);
  sigset_t pending;
  return ::sigpending(&pending) == 0 && sigismember(&pending, SIGCONT) == 1;
}

std::vector<ReceivedSignal> SignalSource::take() {
  std::vector<ReceivedSignal> received;
  received.reserve(8);  // what is read is lost if there is no memory for it
  signalfd_siginfo info{};
  while (::read(fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    received.push_back({.number = static_cast<int>(info.ssi_signo),
                        .sender = static_cast<pid_t>(info.ssi_pid),
                        .from_kernel = info.ssi_code == SI_KERNEL});
  }
  return received;
}

TerminalOutput::TerminalOutput() {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, SIGTTOU);
  ::sigprocmask(SIG_BLOCK, &one, &before_);
}

TerminalOutput::~TerminalOutput() {
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace redlock::os
