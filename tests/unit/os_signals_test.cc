// SPDX-License-Identifier: MIT
#include "os/signals.h"

#include <doctest/doctest.h>

#include <csignal>

namespace redlock::os {
namespace {

TEST_CASE("signals: which end a process; not those of job control, which a supervisor takes, too") {
  for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGALRM, SIGIO, SIGRTMIN}) {
    CHECK(ends_process_by_default(signal));
  }
  for (const int signal : {SIGCHLD, SIGWINCH, SIGURG, SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU}) {
    CHECK_FALSE(ends_process_by_default(signal));
  }
}

}  // namespace
}  // namespace redlock::os
