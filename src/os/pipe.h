// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "os/fail.h"
#include "os/fd.h"

namespace redlock::os {

/// Both ends are close-on-exec.
struct Pipe {
  Fd read;
  Fd write;
};

/// `flags`: for both ends, as in pipe2(2). Throws Error (71).
inline Pipe make_pipe(int flags = 0) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | flags) != 0) fail("cannot create a pipe");
  return {Fd(ends[0]), Fd(ends[1])};
}

}  // namespace redlock::os
