// SPDX-License-Identifier: MIT
#include "os/standard_fds.h"

#include <fcntl.h>
#include <unistd.h>

#include "os/fail.h"

namespace redlock::os {

void occupy_standard_descriptors() {
  for (const int wanted : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(wanted, F_GETFD) >= 0) continue;
    // open(2) returns the lowest free number: in this order exactly the missing one.
    if (::open("/dev/null", O_RDWR | O_CLOEXEC) != wanted) fail("/dev/null");
  }
}

bool output_was_closed() {
  // A descriptor from our parent does not have this flag, or it would not be here.
  const int flags = ::fcntl(STDOUT_FILENO, F_GETFD);
  return flags < 0 || (flags & FD_CLOEXEC) != 0;
}

}  // namespace redlock::os
