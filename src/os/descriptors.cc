// SPDX-License-Identifier: MIT
#include "os/descriptors.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <string>
#include <system_error>

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

std::vector<int> open_descriptors() {
  std::vector<int> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/proc/self/fd"), ::closedir);
  if (!directory) {
    for (int fd = 0; fd < 1024; ++fd) {
      if (::fcntl(fd, F_GETFD) >= 0) found.push_back(fd);
    }
    return found;
  }
  while (const dirent* entry = ::readdir(directory.get())) {
    const char* const end = entry->d_name + std::strlen(entry->d_name);
    int fd = -1;
    const auto [stop, error] = std::from_chars(entry->d_name, end, fd);
    if (error != std::errc{} || stop != end) continue;  // "." and ".."
    if (fd != ::dirfd(directory.get())) found.push_back(fd);
  }
  return found;
}

}  // namespace redlock::os
