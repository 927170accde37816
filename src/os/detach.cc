// SPDX-License-Identifier: MIT
#include "os/detach.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "os/descriptors.h"
#include "os/fail.h"

namespace redlock::os {

void detach() {
  ::setsid();
  // If this fails, our present directory stays busy.
  if (::chdir("/") != 0) errno = 0;
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) fail("/dev/null");
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // A caller that reads our output to the end (`token=$(…)`) would wait for our death.
    if (::dup2(null, fd) < 0) fail("dup2");
  }
  ::close(null);
  for (const int fd : open_descriptors()) {
    // A descriptor that we inherited is not close-on-exec, and one that we opened is.
    const int flags = fd > STDERR_FILENO ? ::fcntl(fd, F_GETFD) : -1;
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) ::close(fd);
  }
}

}  // namespace redlock::os
