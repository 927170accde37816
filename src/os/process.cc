// SPDX-License-Identifier: MIT
#include "os/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace redlock::os {

namespace {

/// How many bytes from argv[0] on the kernel shows to others as the arguments. These are not all of
/// the arguments if `ld.so PROGRAM` started this program.
std::size_t size_of_arguments() {
  const Fd file(::open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> piece{};
  std::size_t size = 0;
  if (!file) return 0;
  for (ssize_t length = 0; (length = ::read(file.get(), piece.data(), piece.size())) > 0;) {
    for (ssize_t i = 0; i < length; ++i, ++size) {
      if (program_invocation_name[size] != piece[static_cast<std::size_t>(i)]) return size;
    }
  }
  return size;
}

}  // namespace

bool started_by_same_program() {
  const std::string parent = "/proc/" + std::to_string(::getppid());
  struct stat process {};
  struct stat program {};
  struct stat ours {};
  return ::stat(parent.c_str(), &process) == 0 && process.st_uid == ::geteuid() &&
         ::stat((parent + "/exe").c_str(), &program) == 0 && ::stat("/proc/self/exe", &ours) == 0 &&
         program.st_dev == ours.st_dev && program.st_ino == ours.st_ino;
}

void rename_process(const char* name, const std::string& title) {
  ::prctl(PR_SET_NAME, name, 0, 0, 0);
  // The last byte stays 0: otherwise the kernel would read on behind the end (proc(5)).
  const std::size_t size = size_of_arguments();
  if (size == 0) return;
  char* const arguments = program_invocation_name;
  std::memset(arguments, 0, size);
  std::memcpy(arguments, title.data(), std::min(title.size(), size - 1));
}

// glibc 2.36 has the calls for pidfds, but no C++ header declares them.

Fd open_pidfd(pid_t pid) {
  return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

std::optional<Process> Process::find(pid_t pid) {
  Fd fd = open_pidfd(pid);
  if (!fd && (errno == ESRCH || errno == EINVAL || errno == ENOENT)) return std::nullopt;
  if (!fd) fail("pidfd_open");
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
