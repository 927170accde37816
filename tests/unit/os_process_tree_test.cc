// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "os/process_tree.h"

using namespace redlock::os;

namespace {

bool younger(std::int64_t start, pid_t pid, const BirthMark& mark) {
  return ProcessEntry{.pid = pid, .parent = 1, .group = 1, .start = start}.younger_than(mark);
}

/// Our child, which dies of TERM but first starts a process that waits for a signal, too. The PID
/// of that one comes through the pipe.
pid_t start_forker(int pipe) {
  static int writes_to;
  writes_to = pipe;
  const pid_t child = ::fork();
  if (child != 0) return child;
  std::signal(SIGTERM, [](int) {
    const pid_t escaped = ::fork();
    std::signal(SIGTERM, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    if (escaped != 0) {
      static_cast<void>(::write(writes_to, &escaped, sizeof escaped) > 0);
      ::raise(SIGTERM);
    }
    for (;;) ::pause();
  });
  static_cast<void>(::write(writes_to, &child, sizeof child) > 0);
  for (;;) ::pause();
}

}  // namespace

TEST_CASE("the age of a process: by clock ticks, and within a tick by the order of the PIDs") {
  const BirthMark mark{.tick = 1000, .last = 500};
  CHECK_FALSE(younger(999, 501, mark));
  CHECK_FALSE(younger(1000, 500, mark));
  CHECK(younger(1000, 501, mark));
  CHECK_FALSE(younger(1001, 499, mark));
  CHECK(younger(1001, 501, mark));
  CHECK(younger(1002, 499, mark));
  // After the highest PID come low ones again.
  CHECK(younger(1000, 301, {.tick = 1000, .last = 32767}));
  CHECK_FALSE(younger(1000, 32767, {.tick = 1000, .last = 301}));
  // Without /proc/loadavg only the ticks tell.
  CHECK_FALSE(younger(1000, 501, {.tick = 1000, .last = 0}));
  CHECK(younger(1001, 499, {.tick = 1000, .last = 0}));
}

TEST_CASE("what a main process started just before it died of our signal gets that signal") {
  ProcessTree tree;
  Pipe pipe = make_pipe(0);
  const pid_t leader = start_forker(pipe.write.get());
  pid_t escaped = 0;
  REQUIRE(::read(pipe.read.get(), &escaped, sizeof escaped) == sizeof escaped);  // it is ready
  tree.lead(leader, false);
  tree.signal(SIGTERM);
  REQUIRE(::read(pipe.read.get(), &escaped, sizeof escaped) == sizeof escaped);
  int status = 0;
  REQUIRE(::waitpid(leader, &status, 0) == leader);
  REQUIRE(WTERMSIG(status) == SIGTERM);
  tree.leader_reaped();
  tree.signal_escaped(SIGINT);  // that would have come from elsewhere
  CHECK(::waitpid(escaped, &status, WNOHANG) == 0);
  tree.signal_escaped(SIGTERM);
  REQUIRE(::waitpid(escaped, &status, 0) == escaped);
  CHECK(WTERMSIG(status) == SIGTERM);
}
