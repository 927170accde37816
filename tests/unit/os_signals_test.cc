// SPDX-License-Identifier: MIT
#include "os/signals.h"

#include <algorithm>

#include "forked.h"

namespace redlock::os {
namespace {

TEST_CASE("signals: which end a process, as the kernel has it; all of them have a name") {
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    if (signal > SIGSYS && signal < SIGRTMIN) continue;  // those of libc
    CAPTURE(signal);
    const bool stops =
        signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
    const int status = stops ? 0 : tests::forked([&] {
      const rlimit no_core{0, 0};
      ::setrlimit(RLIMIT_CORE, &no_core);
      std::signal(signal, SIG_DFL);
      ::raise(signal);
      return 0;
    });
    CHECK(ends_process_by_default(signal) == WIFSIGNALED(status));
    if (signal <= SIGSYS)
      CHECK(std::ranges::count(known_signals(), signal, &KnownSignal::number) == 1);
  }
}

TEST_CASE("signals: passed on are all but those of faults, job control and children, and KILL") {
  for (const KnownSignal& each : known_signals()) {
    CAPTURE(each.name);
    const auto kept = {SIGILL,  SIGTRAP, SIGBUS,  SIGFPE,  SIGKILL, SIGSEGV,
                       SIGCHLD, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGSYS};
    CHECK(each.passed_on == (std::ranges::count(kept, each.number) == 0));
  }
}

TEST_CASE("signals: a process ends by each that ends one, also if it is blocked or ignored") {
  for (const KnownSignal& each : known_signals()) {
    if (!each.ends_process) continue;
    CAPTURE(each.name);
    for (const bool blocked : {false, true}) {
      CAPTURE(blocked);
      const int status = tests::forked([&] {
        sigset_t all;
        sigfillset(&all);
        if (blocked) ::sigprocmask(SIG_SETMASK, &all, nullptr);
        if (!blocked && each.number != SIGKILL) std::signal(each.number, SIG_IGN);
        end_by(each.number);
        return 0;
      });
      CHECK((WIFSIGNALED(status) && WTERMSIG(status) == each.number));
      CHECK_FALSE(WCOREDUMP(status));
    }
  }
}

TEST_CASE("signals: each that is passed on is taken, unless it was ignored at the start") {
  for (const KnownSignal& each : known_signals()) {
    if (each.number == SIGKILL || each.number == SIGSTOP) continue;
    CAPTURE(each.name);
    for (const bool ignored : {false, true}) {
      CAPTURE(ignored);
      const int status = tests::forked([&] {
        if (ignored) std::signal(each.number, SIG_IGN);
        SignalSource source;
        if (each.number == SIGCHLD) return source.child_was_ignored() == ignored ? 0 : 1;
        if (!each.passed_on && !ignored) return 0;  // it does what it does
        ::kill(::getpid(), each.number);
        const std::vector<ReceivedSignal> taken = source.take();
        if (ignored || each.number == SIGPIPE || each.number == SIGXFSZ)
          return taken.empty() ? 0 : 2;
        const bool once = taken.size() == 1 && taken.front().number == each.number &&
                          taken.front().sender == ::getpid() && !taken.front().from_kernel;
        return once && source.take().empty() ? 0 : 3;
      });
      CHECK(status == 0);
    }
  }
}

TEST_CASE("signals: each real-time signal is taken, and the mask of the start is known") {
  CHECK(tests::forked([] {
          sigset_t one;
          sigemptyset(&one);
          sigaddset(&one, SIGUSR2);
          ::sigprocmask(SIG_SETMASK, &one, nullptr);
          SignalSource source;
          for (const int signal : {SIGRTMIN, SIGRTMAX}) {
            for (int times = 0; times < 3; ++times) ::kill(::getpid(), signal);
          }
          const bool kept = sigismember(&source.entry_mask(), SIGUSR2) == 1 &&
                            sigismember(&source.entry_mask(), SIGTERM) == 0;
          return source.take().size() == 6 && kept ? 0 : 1;
        }) == 0);
}

}  // namespace
}  // namespace redlock::os
