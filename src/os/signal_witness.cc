// SPDX-License-Identifier: MIT
#include "os/signal_witness.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>

#include "os/clock.h"
#include "os/fd.h"
#include "os/process.h"

namespace redlock::os {

namespace {

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

SignalWitness::SignalWitness(SignalNotes& notes, Group group) : pid_(-1) {
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) watch(notes, group, parent);
}

void SignalWitness::proceed() const {
  if (pid_ > 0) ::kill(pid_, SIGCONT);
}

void SignalWitness::end() {
  // If the system refuses the KILL, the kernel sends it at our own end.
  if (pid_ > 0 && ::kill(pid_, SIGKILL) == 0) ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

}  // namespace redlock::os
