// SPDX-License-Identifier: MIT
#include "os/signals.h"

#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <iterator>

#include "os/clock.h"
#include "os/fd.h"

namespace redlock::os {

namespace {

// redlock passes on all signals that one process sends another on purpose, and those that the
// kernel sends for timers and limits. Not those that nobody can catch, faults of the process itself
// (SEGV and the like, which debuggers and sanitizers want to see), and the stops of job control
// (TSTP, TTIN, TTOU), whose default actions are right.
constexpr KnownSignal kSignals[] = {
    // number, name, passed on, ends a process
    {SIGHUP, "HUP", true, true},       {SIGINT, "INT", true, true},
    {SIGQUIT, "QUIT", true, true},     {SIGILL, "ILL", false, true},
    {SIGTRAP, "TRAP", false, true},    {SIGABRT, "ABRT", true, true},
    {SIGBUS, "BUS", false, true},      {SIGFPE, "FPE", false, true},
    {SIGKILL, "KILL", false, true},    {SIGUSR1, "USR1", true, true},
    {SIGSEGV, "SEGV", false, true},    {SIGUSR2, "USR2", true, true},
    {SIGPIPE, "PIPE", true, true},     {SIGALRM, "ALRM", true, true},
    {SIGTERM, "TERM", true, true},
#ifdef SIGSTKFLT  // not on MIPS, SPARC and Alpha
    {SIGSTKFLT, "STKFLT", true, true},
#endif
    {SIGCHLD, "CHLD", false, false},   {SIGCONT, "CONT", true, false},
    {SIGSTOP, "STOP", false, false},   {SIGTSTP, "TSTP", false, false},
    {SIGTTIN, "TTIN", false, false},   {SIGTTOU, "TTOU", false, false},
    {SIGURG, "URG", true, false},      {SIGXCPU, "XCPU", true, true},
    {SIGXFSZ, "XFSZ", true, true},     {SIGVTALRM, "VTALRM", true, true},
    {SIGPROF, "PROF", true, true},     {SIGWINCH, "WINCH", true, false},
    {SIGPOLL, "POLL", true, true},     {SIGPWR, "PWR", true, true},
    {SIGSYS, "SYS", false, true},
};

bool ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && (action.sa_flags & SA_SIGINFO) == 0 &&
         action.sa_handler == SIG_IGN;
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

std::span<const KnownSignal> known_signals() {
  return kSignals;
}

bool ends_process_by_default(int signal) {
  const auto* const known = std::ranges::find(kSignals, signal, &KnownSignal::number);
  return known == std::end(kSignals) || known->ends_process;
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
  for (const KnownSignal& signal : kSignals) {
    if (signal.passed_on && !ignored(signal.number)) sigaddset(&taken_, signal.number);
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
    received.push_back(
        {.number = number, .sender = sender, .from_kernel = info.ssi_code == SI_KERNEL});
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
