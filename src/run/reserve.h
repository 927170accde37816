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
#include "os/process_table.h"
#include "os/shared_page.h"
#include "run/supervision.h"

namespace redlock::run {

/// What a worker needs from the system to start a job. Redlock takes it before it asks for the
/// lock: if the system refuses it, there is no lock yet to give back. The constructor throws Error
/// (71).
struct Reserve {
  os::SharedPage<Supervision> supervision;
  os::Pipe messages = os::make_pipe(O_NONBLOCK);
  /// A pidfd of this process, the future parent of the worker; none if the kernel has no pidfds.
  os::Fd supervisor{static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0))};
  os::Loop loop;                                ///< the worker's own
  os::Fd proc = os::ProcessTable::open_proc();  ///< the worker's own

  Reserve() {
    // If the kernel lacks this call or denies it, redlock works without a pidfd.
    if (!supervisor && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
      os::fail("pidfd_open");
  }
};

}  // namespace redlock::run
