// SPDX-License-Identifier: MIT
#include "run/supervision.h"

#include <unistd.h>
#include "doctest.h"

#include <csignal>

namespace redlock::run {
namespace {

TEST_CASE("a main process ended as told after an order to end, or by a signal that we passed on") {
  constexpr int kNothing = 0;
  for (const int told : {kNothing, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGALRM}) {
    const bool order = told == SIGHUP || told == SIGINT || told == SIGQUIT || told == SIGTERM;
    for (const int signal : {kNothing, SIGALRM, SIGTERM, SIGKILL}) {
      for (const int status : {0, 3}) {
        CAPTURE(told);
        CAPTURE(signal);
        CAPTURE(status);
        Supervision supervision;
        if (told != kNothing) supervision.note_told(told);
        supervision.note_job_end(signal == kNothing ? status << 8 : signal);
        const bool passed_on = signal != kNothing && signal == told;
        CHECK(supervision.job_end() == (order || passed_on   ? lock::JobEnd::as_told
                                        : signal != kNothing ? lock::JobEnd::killed
                                                             : lock::JobEnd::by_itself));
      }
    }
  }
}

TEST_CASE(
    "an order to end that a process has got and not read counts as told, another signal does not") {
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1}) {
    CAPTURE(signal);
    sigset_t one;
    sigset_t before;
    sigemptyset(&one);
    sigaddset(&one, signal);
    REQUIRE(::sigprocmask(SIG_BLOCK, &one, &before) == 0);
    REQUIRE(::kill(::getpid(), signal) == 0);
    Supervision supervision;
    supervision.note_job_end(0);
    supervision.note_pending(::getpid());
    CHECK(supervision.job_end() ==
          (signal == SIGUSR1 ? lock::JobEnd::by_itself : lock::JobEnd::as_told));
    CHECK(::sigwaitinfo(&one, nullptr) == signal);
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
  }
}

}  // namespace
}  // namespace redlock::run
