// SPDX-License-Identifier: MIT
#pragma once

#include <sys/wait.h>
#include <unistd.h>
#include "doctest.h"

#include <cstdio>
#include <utility>

namespace redlock::tests {

/// A process that does this and ends with the result of the function.
template <class Function>
pid_t start_forked(Function function) {
  std::fflush(nullptr);  // or the child writes it once more
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(function());
  return child;
}

/// The wait status of that child, once it has ended.
inline int status_of(pid_t child) {
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status;
}

/// The wait status of a process that does this: for what changes signals, the directory, the
/// environment or limits, which the other tests of this program need as they are. 0 if the function
/// returns 0.
template <class Function>
int forked(Function function) {
  return status_of(start_forked(std::move(function)));
}

}  // namespace redlock::tests
