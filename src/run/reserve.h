// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "os/fail.h"
#include "os/fd.h"
#include "os/loop.h"
#include "os/pipe.h"
#include "os/shared_page.h"
#include "run/supervision.h"

namespace redlock::run {

/// What a worker needs from the system to start a job. It is taken before the lock is asked for: a
/// system that refuses it refuses it while there is nothing to give back. Each throws Error (71).
struct Reserve {
  os::SharedPage<Supervision> supervision;
  os::Pipe messages = os::make_pipe(O_NONBLOCK);
  /// This process, which will be the worker's parent, as a pidfd; none on a kernel without.
  os::Fd supervisor{static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0))};
  os::Loop loop;  ///< the worker's own

  Reserve() {
    // Where the kernel has no such call (or none for us), it is done without.
    if (!supervisor && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
      os::fail("pidfd_open");
  }
};

}  // namespace redlock::run
