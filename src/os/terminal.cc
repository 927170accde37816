// SPDX-License-Identifier: MIT
#include "os/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "os/signals.h"

namespace redlock::os {

namespace {

bool is_pipe(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

}  // namespace

std::optional<std::size_t> terminal_width(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

std::optional<std::size_t> terminal_height(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) return std::nullopt;
  return size.ws_row;
}

bool leads_session() {
  return ::getsid(0) == ::getpid();
}

bool does_job_control(pid_t pid) {
  if (pid <= 0 || ::getsid(pid) != ::getsid(0) || ::getpgid(pid) == ::getpgrp()) return false;
  return static_cast<bool>(Fd(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)));
}

std::optional<Terminal> Terminal::of_foreground_leader() {
  if (::getpgrp() != ::getpid() || leads_session()) return std::nullopt;
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (is_pipe(fd)) return std::nullopt;
  }
  Fd fd(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!fd || ::tcgetpgrp(fd.get()) != ::getpgrp()) return std::nullopt;
  return Terminal(std::move(fd));
}

Terminal::Terminal(Fd fd) : fd_(std::move(fd)), has_modes_(::tcgetattr(fd_.get(), &modes_) == 0) {}

pid_t Terminal::foreground() const {
  return ::tcgetpgrp(fd_.get());
}

void Terminal::give_to(pid_t group) const {
  const TerminalOutput in_the_background_too;
  ::tcsetpgrp(fd_.get(), group);
}

bool Terminal::take_back_from(pid_t group) const {
  const pid_t holder = foreground();
  const bool nobody = holder > 0 && ::kill(-holder, 0) != 0 && errno == ESRCH;
  if (holder != group && !nobody) return false;
  give_to(::getpgrp());
  return true;
}

void Terminal::restore_modes() const {
  // Not TCSADRAIN: that would wait for a terminal stopped by Ctrl-S.
  if (has_modes_) ::tcsetattr(fd_.get(), TCSANOW, &modes_);
}

}  // namespace redlock::os
