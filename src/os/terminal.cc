// SPDX-License-Identifier: MIT
#include "os/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
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

bool locale_is_utf8() {
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const value = std::getenv(variable);
    if (value == nullptr || *value == '\0') continue;
    std::string name(value);
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    return name.find("utf-8") != std::string::npos || name.find("utf8") != std::string::npos;
  }
  return false;
}

std::optional<Terminal> Terminal::of_foreground_leader() {
  // No process above the leader of a session does job control (ssh -t, a container, a terminal that
  // was started with a command).
  const bool leads_session = ::getsid(0) == ::getpid();
  if (::getpgrp() != ::getpid() || leads_session) return std::nullopt;
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
