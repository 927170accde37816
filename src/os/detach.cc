// SPDX-License-Identifier: MIT
#include "os/detach.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "os/fail.h"

namespace redlock::os {

namespace {

std::vector<int> open_descriptors() {
  std::vector<int> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/proc/self/fd"), ::closedir);
  if (!directory) return found;  // without /proc they stay open
  while (const dirent* entry = ::readdir(directory.get())) {
    const char* const end = entry->d_name + std::strlen(entry->d_name);
    int fd = -1;
    const auto [stop, error] = std::from_chars(entry->d_name, end, fd);
    if (error == std::errc{} && stop == end) found.push_back(fd);
  }
  return found;
}

}  // namespace

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
