// SPDX-License-Identifier: MIT
#include "os/signals.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <iterator>

#include "os/clock.h"
#include "os/process.h"

namespace redlock::os {

namespace {

// redlock passes on all signals that one process sends another on purpose, and those that the
// kernel sends for timers and limits. It does not pass on signals that nobody can catch, faults of
// the process itself (SEGV and the like), and the stops of job control.
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

sigset_t set_of(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

bool ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && (action.sa_flags & SA_SIGINFO) == 0 &&
         action.sa_handler == SIG_IGN;
}

[[noreturn]] void watch(SignalNotes& notes, SignalWitness::Group group, pid_t parent) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (::getppid() != parent) ::_exit(0);
  sigset_t noted;
  sigfillset(&noted);
  if (group == SignalWitness::Group::own) {
    ::setpgid(0, 0);
    constexpr timespec no_wait{};  // what came before was for the other group
    while (::sigtimedwait(&noted, nullptr, &no_wait) > 0) continue;
  }
  for (const int stop : {SIGTSTP, SIGTTIN, SIGTTOU}) sigdelset(&noted, stop);
  ::sigprocmask(SIG_SETMASK, &noted, nullptr);
  // Not redlock's name: `pkill redlock` does not mean the job, and so must not reach the witness.
  rename_process("signal-witness", "signal-witness");
  close_descriptors();
  for (;;) {
    siginfo_t info{};
    const int signal = ::sigwaitinfo(&noted, &info);
    if (signal > 0 && info.si_pid != parent) notes.note(signal);  // not what proceed() sends
  }
}

}  // namespace

std::span<const KnownSignal> known_signals() {
  return kSignals;
}

bool ends_process_by_default(int signal) {
  const auto* const known = std::ranges::find(kSignals, signal, &KnownSignal::number);
  return known == std::end(kSignals) || known->ends_process;
}

void end_by(int signal) {
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  std::signal(signal, SIG_DFL);
  const sigset_t one = set_of({signal});
  ::sigprocmask(SIG_UNBLOCK, &one, nullptr);
  ::kill(::getpid(), signal);
}

SignalSource::SignalSource() : taken_(set_of({SIGCHLD})) {
  // A limit of 1 byte also stops a core_pattern that is a program, which ignores all other limits
  // (do_coredump() in Linux). PR_SET_DUMPABLE would hide our /proc/self from us.
  ::getrlimit(RLIMIT_CORE, &entry_core_limit_);
  const rlimit no_core{std::min<rlim_t>(1, entry_core_limit_.rlim_max), entry_core_limit_.rlim_max};
  ::setrlimit(RLIMIT_CORE, &no_core);
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
  const sigset_t blocked = set_of({SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT});
  if (::sigprocmask(SIG_BLOCK, &blocked, nullptr) != 0) fail("sigprocmask");
  if (!ignored(SIGTSTP)) sigaddset(&taken_, SIGTSTP);
  sigaddset(&taken_, SIGCONT);  // ignored or not: it continues us
  if (::signalfd(fd_.get(), &taken_, 0) < 0) fail("signalfd");
}

bool SignalSource::stop_self(int signal, lock::Instant wake_at) {
  timer_t timer{};
  if (wake_at != lock::kNever) {
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGCONT;  // it continues a stopped process, whoever sends it
    if (::timer_create(CLOCK_BOOTTIME, &event, &timer) != 0) fail("timer_create");
    const itimerspec spec = alarm_at(wake_at);
    if (::timer_settime(timer, TIMER_ABSTIME, &spec, nullptr) != 0) fail("timer_settime");
  }
  const sigset_t one = set_of({signal});
  ::raise(signal);
  ::sigprocmask(SIG_UNBLOCK, &one, nullptr);  // here we stop
  ::sigprocmask(SIG_BLOCK, &one, nullptr);
  if (wake_at != lock::kNever) ::timer_delete(timer);
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

void SignalNotes::note(int signal) {
  times_.at(static_cast<std::size_t>(signal)).store(boot_now().time_since_epoch().count());
}

bool SignalNotes::has(int signal, lock::Instant since) const {
  return times_.at(static_cast<std::size_t>(signal)).load() >= since.time_since_epoch().count();
}

bool has_pending(pid_t pid, int signal) noexcept {
  std::array<char, 32> path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/status", pid);
  std::array<char, 4096> text{};
  const Fd status(::open(path.data(), O_RDONLY | O_CLOEXEC));
  if (::read(status.get(), text.data(), text.size() - 1) <= 0) return false;
  constexpr std::string_view kKey = "ShdPnd:\t";
  const char* const line = std::strstr(text.data(), kKey.data());
  if (line == nullptr) return false;
  const std::uint64_t pending = std::strtoull(line + kKey.size(), nullptr, 16);
  return (pending >> static_cast<unsigned>(signal - 1) & 1U) != 0;
}

void SignalWitness::start(SignalNotes& notes, Group group) {
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) watch(notes, group, parent);
}

void SignalWitness::end() {
  // If the KILL fails, the kernel sends it at our own end.
  if (pid_ > 0 && ::kill(pid_, SIGKILL) == 0) ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

}  // namespace redlock::os
