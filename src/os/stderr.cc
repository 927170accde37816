// SPDX-License-Identifier: MIT
#include "os/stderr.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "os/printable.h"
#include "os/signals.h"

namespace redlock::os {

namespace {
constexpr std::size_t kMostLines = 200;

/// Who words a message cleans what is foreign in it; this is for what nobody thought of. The report
/// of a server that does not start has several lines.
std::string printable_lines(std::string_view text) {
  std::string clean;
  while (true) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    clean += printable(text.substr(0, end));
    if (end == text.size()) return clean;
    clean += '\n';
    text.remove_prefix(end + 1);
  }
}

}  // namespace

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
  text = printable_lines(text) + '\n';
  if (kept_.size() < kMostLines) kept_.push_back(std::move(text));
  drain(std::chrono::milliseconds(0));
}

void Stderr::let_go() {
  kept_.clear();
  reopened_.reset();
  opened_ = socket_ = regular_ = false;
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
