// SPDX-License-Identifier: MIT
#include "os/terminal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "os/process_tree.h"

namespace redlock::os {

namespace {

bool is_pipe(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

}  // namespace

bool leads_session() {
  return ::getsid(0) == ::getpid();
}

bool has_job_control() {
  const pid_t group = ::getpgrp();
  pid_t ancestor = ::getppid();
  while (ancestor > 1 && ::getpgid(ancestor) == group) {
    ancestor = living_parent(ancestor).value_or(0);
  }
  return ancestor > 0 && ::getpgid(ancestor) != group && ::getsid(ancestor) == ::getsid(0);
}

std::optional<Terminal> Terminal::of_foreground_leader() {
  if (::getpgrp() != ::getpid()) return std::nullopt;
  if (is_pipe(STDIN_FILENO) || is_pipe(STDOUT_FILENO)) return std::nullopt;
  Fd fd(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!fd || ::tcgetpgrp(fd.get()) != ::getpgrp()) return std::nullopt;
  return Terminal(std::move(fd));
}

Terminal::Terminal(Fd fd) : fd_(std::move(fd)), has_modes_(::tcgetattr(fd_.get(), &modes_) == 0) {}

pid_t Terminal::foreground() const {
  return ::tcgetpgrp(fd_.get());
}

void Terminal::give_to(pid_t group) const {
  ::tcsetpgrp(fd_.get(), group);
}

void Terminal::restore_modes() const {
  if (has_modes_) ::tcsetattr(fd_.get(), TCSADRAIN, &modes_);
}

}  // namespace redlock::os
