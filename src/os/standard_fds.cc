// SPDX-License-Identifier: MIT
#include "os/standard_fds.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "error.h"

namespace redlock::os {

void occupy_standard_descriptors() {
  for (const int wanted : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(wanted, F_GETFD) >= 0) continue;
    // open(2) gives the lowest free number: in this order exactly the one that is missing.
    if (::open("/dev/null", O_RDWR | O_CLOEXEC) != wanted) {
      throw Error(ExitStatus::os_error, std::string("/dev/null: ") + std::strerror(errno));
    }
  }
}

}  // namespace redlock::os
