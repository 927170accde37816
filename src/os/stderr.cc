// SPDX-License-Identifier: MIT
#include "os/stderr.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "os/signals.h"
#include "os/terminal.h"

namespace redlock::os {

namespace {
constexpr std::size_t kMostLines = 200;
}

bool Stderr::is_terminal() {
  return ::isatty(STDERR_FILENO) == 1;
}

/// O_NONBLOCK belongs to the open file description, which we share with the job and the shell, so
/// it cannot be set on descriptor 2. Pipes and terminals can be opened a second time instead.
void Stderr::open() {
  opened_ = true;
  struct stat status {};
  if (::fstat(STDERR_FILENO, &status) != 0) return;
  socket_ = S_ISSOCK(status.st_mode);
  regular_ = S_ISREG(status.st_mode);
  if (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode)) {
    reopened_ = Fd(::open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  }
}

bool Stderr::write_front() {
  const TerminalOutput in_the_background_too;
  std::string& text = kept_.front();
  ssize_t written = 0;
  if (socket_) {
    written = ::send(STDERR_FILENO, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  } else {
    pollfd ready{STDERR_FILENO, POLLOUT, 0};
    const bool may_block = !reopened_ && !regular_;
    if (may_block && ::poll(&ready, 1, 0) == 0) return false;
    written = ::write(reopened_ ? reopened_.get() : STDERR_FILENO, text.data(), text.size());
  }
  if (written < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  // Any other error: there is nobody to tell.
  const bool whole = written < 0 || static_cast<std::size_t>(written) == text.size();
  if (whole) {
    kept_.pop_front();
  } else {
    text.erase(0, static_cast<std::size_t>(written));
  }
  return true;
}

void Stderr::line(std::string text) {
  if (!opened_) open();
  const std::size_t columns = live_columns_;
  if (!hide()) text.insert(0, "\n");
  text += '\n';
  if (kept_.size() < kMostLines) kept_.push_back(std::move(text));
  drain(std::chrono::milliseconds(0));
  if (columns > 0) show(live_, columns);
}

/// All of it or, as far as can be known beforehand, nothing.
bool Stderr::write_now(const std::string& text) {
  if (!opened_) open();
  drain(std::chrono::milliseconds(0));
  const pid_t foreground = ::tcgetpgrp(STDERR_FILENO);
  pollfd ready{STDERR_FILENO, POLLOUT, 0};
  if (!reopened_ || !kept_.empty() || ::poll(&ready, 1, 0) != 1) return false;
  if (foreground >= 0 && foreground != ::getpgrp()) return false;
  const TerminalOutput whoever_changes_that_now;
  return ::write(reopened_.get(), text.data(), text.size()) > 0;
}

/// What of the live line lies behind so many columns, and on a terminal that may be narrower now.
std::size_t Stderr::live_columns_behind(std::size_t columns) const {
  const std::size_t width = terminal_width(STDERR_FILENO).value_or(live_columns_ + 1);
  const std::size_t end = std::min(live_columns_, width - 1);
  return end > columns ? end - columns : 0;
}

/// Blanks, as every terminal knows them: they need not be asked for what it takes to clear a line.
void Stderr::show(const std::string& text, std::size_t columns) {
  const std::size_t rest = live_columns_behind(columns);
  if (!write_now("\r" + text + std::string(rest, ' ') + std::string(rest, '\b'))) return;
  live_ = text;
  live_columns_ = columns;
}

bool Stderr::hide() {
  if (live_columns_ == 0) return true;
  const std::string blanks(live_columns_behind(0), ' ');
  // Not tried again later: it might wipe a line of somebody else.
  live_columns_ = 0;
  return write_now("\r" + blanks + "\r");
}

void Stderr::let_go() {
  kept_.clear();
  reopened_.reset();
  opened_ = socket_ = regular_ = false;
  live_columns_ = 0;
}

void Stderr::drain(std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (!kept_.empty()) {
    if (write_front()) continue;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() <= 0) return;
    pollfd ready{STDERR_FILENO, POLLOUT, 0};
    ::poll(&ready, 1, static_cast<int>(left.count()));
  }
}

}  // namespace redlock::os
