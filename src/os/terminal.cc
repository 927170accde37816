// SPDX-License-Identifier: MIT
#include "os/terminal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

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

std::optional<Terminal> Terminal::of_foreground_leader() {
  if (::getpgrp() != ::getpid() || leads_session()) return std::nullopt;
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
