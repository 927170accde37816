// SPDX-License-Identifier: MIT
#include "os/descriptors.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "error.h"
#include "os/fd.h"

namespace redlock::os {

void require_free_descriptors(std::size_t count) {
  std::vector<Fd> opened;
  opened.reserve(count);
  while (opened.size() < count) {
    opened.emplace_back(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
    if (opened.back()) continue;
    throw Error(ExitStatus::os_error, "too few free file descriptors, " +
                                          std::to_string(count - opened.size() + 1) +
                                          " more are needed (ulimit -n): " + std::strerror(errno));
  }
}

}  // namespace redlock::os
