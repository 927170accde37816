// SPDX-License-Identifier: MIT
#include "os/signals.h"

#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "os/clock.h"
#include "os/fail.h"

namespace redlock::os {

namespace {

// All signals that one process sends another on purpose, and those that the kernel sends for timers
// and limits. Not here: signals that nobody can catch, faults of the process itself (SEGV and the
// like, which debuggers and sanitizers want to see), and the stops of job control (TSTP, TTIN,
// TTOU), whose default actions are right.
constexpr std::array kPassedOn = {
    SIGHUP,   SIGINT,    SIGQUIT, SIGABRT, SIGTERM,   SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM, SIGIO,
    SIGWINCH, SIGVTALRM, SIGPROF, SIGPWR,  SIGSTKFLT, SIGURG,  SIGXCPU, SIGXFSZ, SIGCONT};

bool ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && (action.sa_flags & SA_SIGINFO) == 0 &&
         action.sa_handler == SIG_IGN;
}

/// The kernel sends these signals to all members of a process group: for a terminal's keys, its new
/// size and its hang-up, and to a stopped group when nobody is left to continue it. Timers and
/// limits concern one process.
bool is_for_groups(int signal) {
  return signal == SIGINT || signal == SIGQUIT || signal == SIGHUP || signal == SIGWINCH ||
         signal == SIGTSTP || signal == SIGCONT;
}

/// Sends us a SIGCONT, which continues a stopped process, whoever sent it.
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
  constexpr std::array kOthers = {SIGCHLD, SIGWINCH, SIGURG, SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU};
  return std::ranges::find(kOthers, signal) == kOthers.end();
}

void end_by(int signal) {
  // Not RLIMIT_CORE: a core_pattern that is a program ignores it (core(5)).
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  std::signal(signal, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  ::sigprocmask(SIG_UNBLOCK, &one, nullptr);
  ::kill(::getpid(), signal);
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
  received.reserve(8);  // without memory for it, a signal that was read would be lost
  signalfd_siginfo info{};
  while (::read(fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const auto number = static_cast<int>(info.ssi_signo);
    const auto sender = static_cast<pid_t>(info.ssi_pid);
    const bool by_writing = number == SIGPIPE || number == SIGXFSZ;
    if (by_writing && sender == ::getpid()) continue;
    const bool to_group = info.ssi_code == SI_KERNEL && is_for_groups(number);
    received.push_back({.number = number, .sender = sender, .to_group = to_group});
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
