// SPDX-License-Identifier: MIT
#include "run/supervision.h"

#include <doctest/doctest.h>

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

}  // namespace
}  // namespace redlock::run
