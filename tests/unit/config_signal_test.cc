// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <string>
#include <vector>

#include "config/value.h"
#include "error.h"
#include "os/signals.h"

using namespace redlock;
using config::to_signal;

TEST_CASE("signals: each by its number, and by its name with and without SIG") {
  std::vector<std::string> names;
  for (const os::KnownSignal& signal : os::known_signals()) {
    const std::string name(signal.name);
    names.push_back(name);
    CAPTURE(name);
    const int number = to_signal(name);
    CHECK(to_signal("SIG" + name) == number);
    CHECK(to_signal(std::to_string(number)) == number);
  }
  CHECK(to_signal("TERM") == SIGTERM);
#ifdef __GLIBC__
  for (int number = 1; number < SIGRTMIN; ++number) {
    const char* const name = ::sigabbrev_np(number);
    if (name == nullptr) continue;  // libc keeps it for itself
    CAPTURE(name);
    CHECK(to_signal(name) == number);
    CHECK(std::ranges::find(names, name) != names.end());
  }
#endif
}

TEST_CASE("signals: all else is refused") {
  for (const std::string& value : std::vector<std::string>{"", "0", "-1", "32", "33", "34", "64",
                                                           "15x", "SIG", "term", "TERMS"}) {
    CAPTURE(value);
    CHECK_THROWS_AS(to_signal(value), Error);
  }
}
