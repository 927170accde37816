// SPDX-License-Identifier: MIT
//
// redlock_launch PROGRAM ARG…: becomes that program, in a session of its own, and the kernel kills
// it with the process that started it. The tests start some thousands of servers and tools in this
// way; setsid and setpriv together would take twice as long.

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

int main(int argc, char** argv) {
  if (argc < 2) return 64;
  ::setsid();  // fails only where there is nothing to do
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) {
    std::perror("redlock_launch");
    return 71;
  }
  ::execvp(argv[1], argv + 1);
  std::perror(argv[1]);
  return 127;
}
