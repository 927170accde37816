// SPDX-License-Identifier: MIT
#include "os/process.h"

#include <poll.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "error.h"

namespace redlock::os {

// glibc 2.36 has these calls, but no C++ header declares them.

std::optional<Process> Process::find(pid_t pid) {
  Fd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!fd && (errno == ESRCH || errno == EINVAL || errno == ENOENT)) return std::nullopt;
  if (!fd) {
    throw Error(ExitStatus::os_error, std::string("pidfd_open: ") + std::strerror(errno));
  }
  Process process(pid, std::move(fd));
  if (process.gone()) return std::nullopt;
  return process;
}

bool Process::gone() const {
  pollfd death{fd_.get(), POLLIN, 0};
  return ::poll(&death, 1, 0) > 0;
}

void Process::signal(int number) const {
  ::syscall(SYS_pidfd_send_signal, fd_.get(), number, nullptr, 0);
}

}  // namespace redlock::os
