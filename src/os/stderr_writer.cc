// SPDX-License-Identifier: MIT
#include "os/stderr_writer.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

namespace redlock::os {

namespace {

constexpr std::size_t kLongest = 65536;

/// If this process hangs, an open pipe or socket would keep its readers waiting, and an open file
/// would keep its file system busy.
void close_all_but(int line) {
  ::close(STDIN_FILENO);
  ::close(STDOUT_FILENO);
  const auto first = static_cast<unsigned>(STDERR_FILENO + 1);
  const auto ours = static_cast<unsigned>(line);
  const bool closed = (ours == first || ::syscall(SYS_close_range, first, ours - 1, 0) == 0) &&
                      ::syscall(SYS_close_range, ours + 1, ~0U, 0) == 0;
  // Before Linux 5.9.
  const long most = closed ? 0 : std::min(::sysconf(_SC_OPEN_MAX), 65536L);
  for (int fd = STDERR_FILENO + 1; fd < most; ++fd) {
    if (fd != line) ::close(fd);
  }
}

/// The life of the child. All signals are blocked.
[[noreturn]] void serve(int line) {
  ::prctl(PR_SET_NAME, "redlock-stderr");
  ::setsid();
  close_all_but(line);
  if (::chdir("/") != 0) errno = 0;  // then our present directory stays busy
  std::array<char, kLongest> text{};
  for (;;) {
    const ssize_t length = ::recv(line, text.data(), text.size(), 0);
    if (length < 0 && errno == EINTR) continue;  // stopped and continued
    if (length <= 0) ::_exit(0);
    for (ssize_t done = 0; done < length;) {
      const ssize_t written =
          ::write(STDERR_FILENO, text.data() + done, static_cast<std::size_t>(length - done));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) break;  // a full disk: the line is lost
      done += written;
    }
    ::send(line, "", 1, MSG_NOSIGNAL);
  }
}

/// Waits until the descriptor is readable or closed.
bool await(const Fd& fd, std::chrono::steady_clock::time_point until) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
  pollfd ready{fd.get(), POLLIN, 0};
  return ::poll(&ready, 1, static_cast<int>(std::max<long>(left.count(), 0))) > 0;
}

}  // namespace

std::optional<StderrWriter> StderrWriter::start() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return std::nullopt;
  Fd ours(ends[0]);
  const Fd childs(ends[1]);
  const pid_t owner = ::getpid();
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::fork();
  if (pid == 0) serve(childs.get());
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return std::nullopt;
  return StderrWriter(std::move(ours), pid, owner);
}

bool StderrWriter::is_ours() const {
  return owner_ == ::getpid();
}

StderrWriter::Sent StderrWriter::send(const std::string& text) {
  const ssize_t sent = ::send(line_.get(), text.data(), std::min(text.size(), kLongest),
                              MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0) return errno == EAGAIN || errno == EINTR ? Sent::not_now : Sent::never;
  ++unwritten_;
  return Sent::yes;
}

bool StderrWriter::settle(std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  char written = 0;
  while (unwritten_ > 0) {
    const ssize_t length = ::recv(line_.get(), &written, 1, MSG_DONTWAIT);
    if (length > 0) {
      --unwritten_;
    } else if (length == 0 || errno != EAGAIN) {
      unwritten_ = 0;  // it is dead
    } else if (!await(line_, until)) {
      return false;
    }
  }
  return true;
}

void StderrWriter::end(std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  ::shutdown(line_.get(), SHUT_WR);
  if (!settle(patience)) return;
  // The child closes its end of the line once nothing more can hang.
  if (await(line_, until)) ::waitpid(pid_, nullptr, 0);
}

}  // namespace redlock::os
