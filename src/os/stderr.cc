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

#include "os/printable.h"
#include "os/signals.h"
#include "os/terminal.h"

namespace redlock::os {

namespace {
constexpr std::size_t kMostLines = 200;

/// The code that words a message cleans the foreign text in it; this catches what such code forgot.
/// The report of a server that does not start has several lines.
std::string printable_lines(std::string_view text) {
  std::string clean;
  while (true) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    clean += printable(text.substr(0, end));
    if (end == text.size()) break;
    clean += '\n';
    text.remove_prefix(end + 1);
  }
  return Stderr::is_terminal() && !locale_is_utf8() ? to_ascii(clean) : clean;
}

}  // namespace

void last_words(std::string_view line) noexcept {
  pollfd ready{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&ready, 1, 0) == 0) return;
  if (::write(STDERR_FILENO, line.data(), line.size()) < 0) return;
}

bool Stderr::is_terminal() {
  return ::isatty(STDERR_FILENO) == 1;
}

/// This asks only the local kernel and not the file system's server, which may be hanging.
Stderr::Kind Stderr::find_kind() {
  struct statx status {};
  if (::statx(STDERR_FILENO, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &status) != 0) {
    return Kind::file;
  }
  if (S_ISSOCK(status.stx_mode)) return Kind::socket;
  return S_ISFIFO(status.stx_mode) || S_ISCHR(status.stx_mode) ? Kind::stream : Kind::file;
}

/// O_NONBLOCK belongs to the open file description, which we share with the job and the shell, so
/// it cannot be set on descriptor 2. Pipes and terminals can be opened a second time instead.
void Stderr::open() {
  kind_ = find_kind();
  if (kind_ == Kind::stream) {
    reopened_ = Fd(::open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  }
}

bool Stderr::write_front() {
  const TerminalOutput in_the_background_too;
  std::string& text = kept_.front();
  ssize_t written = 0;
  if (kind_ == Kind::socket) {
    written = ::send(STDERR_FILENO, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  } else {
    pollfd ready{STDERR_FILENO, POLLOUT, 0};
    if (!reopened_ && ::poll(&ready, 1, 0) == 0) return false;
    written = ::write(reopened_ ? reopened_.get() : STDERR_FILENO, text.data(), text.size());
  }
  if (written < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  // After any other error nobody is left to read a message.
  const bool whole = written < 0 || static_cast<std::size_t>(written) == text.size();
  if (whole) {
    kept_.pop_front();
  } else {
    text.erase(0, static_cast<std::size_t>(written));
  }
  return true;
}

void Stderr::write_out() {
  while (!kept_.empty() && write_front()) {
  }
}

void Stderr::line(std::string text) {
  if (kind_ == Kind::unknown) open();
  const std::size_t columns = live_columns_;
  text = (hide() ? "" : "\n") + printable_lines(text) + '\n';
  if (kept_.size() < kMostLines) kept_.push_back(std::move(text));
  if (kind_ != Kind::file || !keeps_for_file_) write_out();
  if (columns > 0) show(live_, columns);
}

/// Writes all of it or, as far as we can know beforehand, nothing.
bool Stderr::write_now(const std::string& text) {
  if (kind_ == Kind::unknown) open();
  if (reopened_) write_out();
  const pid_t foreground = ::tcgetpgrp(STDERR_FILENO);
  pollfd ready{STDERR_FILENO, POLLOUT, 0};
  if (!reopened_ || !kept_.empty() || ::poll(&ready, 1, 0) != 1) return false;
  if (foreground >= 0 && foreground != ::getpgrp()) return false;
  const TerminalOutput whoever_changes_that_now;
  return ::write(reopened_.get(), text.data(), text.size()) > 0;
}

/// How many columns of the live line lie behind `columns`, on a terminal that may be narrower now.
std::size_t Stderr::live_columns_behind(std::size_t columns) const {
  const std::size_t width = terminal_width(STDERR_FILENO).value_or(live_columns_ + 1);
  const std::size_t end = std::min(live_columns_, width - 1);
  return end > columns ? end - columns : 0;
}

/// Clears with blanks, which every terminal knows: so we need not know its sequence to clear a
/// line.
void Stderr::show(const std::string& text, std::size_t columns) {
  const std::size_t rest = live_columns_behind(columns);
  if (!write_now("\r" + text + std::string(rest, ' ') + std::string(rest, '\b'))) return;
  live_ = text;
  live_columns_ = columns;
}

bool Stderr::hide() {
  if (live_columns_ == 0) return true;
  const std::string blanks(live_columns_behind(0), ' ');
  // We do not try again later: that might wipe another program's line.
  live_columns_ = 0;
  return write_now("\r" + blanks + "\r");
}

void Stderr::let_go() {
  kept_.clear();
  reopened_.reset();
  kind_ = Kind::unknown;
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
