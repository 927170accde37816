// SPDX-License-Identifier: MIT
#include "os/stderr.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <utility>

#include "os/printable.h"
#include "os/process.h"

namespace redlock::os {

namespace {

constexpr std::size_t kMostLines = 200;

/// As long as this object lives, a background process may write to the terminal (`stty tostop`) and
/// give it to another group without being stopped: SIGTTOU is blocked (tcsetpgrp(3)).
class TerminalOutput {
 public:
  TerminalOutput() {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGTTOU);
    ::sigprocmask(SIG_BLOCK, &one, &before_);
  }
  ~TerminalOutput() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  TerminalOutput(const TerminalOutput&) = delete;
  TerminalOutput& operator=(const TerminalOutput&) = delete;

 private:
  sigset_t before_{};
};

bool is_pipe(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

std::optional<std::size_t> size_of_terminal(int fd, unsigned short winsize::*of) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.*of == 0) return std::nullopt;
  return size.*of;
}

/// Catches foreign text that no other code has cleaned. Some reports have several lines.
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

/// Asks only the local kernel and not the file system's server, which may be hanging. O_NONBLOCK
/// belongs to the open file description, which we share with the job and the shell, so it cannot be
/// set on descriptor 2. Pipes and terminals can be opened a second time instead.
void Stderr::open() {
  kind_ = Kind::file;
  struct statx status {};
  constexpr int kFlags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC;
  if (::statx(STDERR_FILENO, "", kFlags, STATX_TYPE, &status) != 0) return;
  if (S_ISSOCK(status.stx_mode)) kind_ = Kind::socket;
  if (!S_ISFIFO(status.stx_mode) && !S_ISCHR(status.stx_mode)) return;
  kind_ = Kind::stream;
  reopened_ = Fd(::open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
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

/// How many columns of the live line come after `columns`, on a terminal that may be narrower now.
std::size_t Stderr::live_columns_after(std::size_t columns) const {
  const std::size_t width = terminal_width(STDERR_FILENO).value_or(live_columns_ + 1);
  const std::size_t end = std::min(live_columns_, width - 1);
  return end > columns ? end - columns : 0;
}

/// Clears with blanks, because every terminal knows them.
void Stderr::show(const std::string& text, std::size_t columns) {
  const std::size_t rest = live_columns_after(columns);
  if (!write_now("\r" + text + std::string(rest, ' ') + std::string(rest, '\b'))) return;
  live_ = text;
  live_columns_ = columns;
}

bool Stderr::hide() {
  if (live_columns_ == 0) return true;
  const std::string blanks(live_columns_after(0), ' ');
  // We do not try again later: that might wipe another program's line.
  live_columns_ = 0;
  return write_now("\r" + blanks + "\r");
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

std::optional<std::size_t> terminal_width(int fd) {
  return size_of_terminal(fd, &winsize::ws_col);
}

std::optional<std::size_t> terminal_height(int fd) {
  return size_of_terminal(fd, &winsize::ws_row);
}

bool terminal_knows_escapes() {
  const std::string_view kind = variable("TERM");
  return !kind.empty() && kind != "dumb";
}

bool locale_is_utf8() {
  for (const char* each : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string name(variable(each));
    if (name.empty()) continue;
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
