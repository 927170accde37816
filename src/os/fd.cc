// SPDX-License-Identifier: MIT
#include "os/fd.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "error.h"
#include "os/clock.h"

namespace redlock::os {

void fail(const std::string& what) {
  throw Error(ExitStatus::os_error, what + ": " + std::strerror(errno));
}

Pipe make_pipe(int flags) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | flags) != 0) fail("cannot create a pipe");
  return {Fd(ends[0]), Fd(ends[1])};
}

int read_all(int fd, std::string& text, std::size_t most) {
  std::array<char, 4096> chunk;
  while (text.size() <= most) {
    const ssize_t n = ::read(fd, chunk.data(), chunk.size());
    if (n == 0) return 0;
    if (n > 0) {
      text.append(chunk.data(), static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      pollfd ready{fd, POLLIN, 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno != EINTR) return errno;
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

Fd make_memory_file(std::string_view content) {
  Fd file(::memfd_create("redlock", MFD_CLOEXEC));
  const auto length = static_cast<ssize_t>(content.size());
  if (!file || ::fchmod(file.get(), S_IRUSR | S_IWUSR) != 0 ||
      ::pwrite(file.get(), content.data(), content.size(), 0) != length) {
    return {};
  }
  return file;
}

void require_free_descriptors(std::size_t count) {
  std::vector<Fd> opened;
  opened.reserve(count);
  while (opened.size() < count) {
    opened.emplace_back(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
    if (opened.back()) continue;
    throw Error(ExitStatus::os_error, "too few free file descriptors, " +
                                          std::to_string(count - opened.size() + 1) +
                                          " more are needed (ulimit -n): " + std::strerror(errno));
  }
}

void occupy_standard_descriptors() {
  for (int wanted = STDIN_FILENO; wanted <= STDERR_FILENO; ++wanted) {
    if (::fcntl(wanted, F_GETFD) >= 0) continue;
    // open(2) returns the lowest free number: in this order exactly the missing one.
    if (::open("/dev/null", O_RDWR | O_CLOEXEC) != wanted) fail("/dev/null");
  }
}

bool output_was_closed() {
  // A descriptor from our parent does not have this flag, or it would not be here.
  const int flags = ::fcntl(STDOUT_FILENO, F_GETFD);
  return flags < 0 || (flags & FD_CLOEXEC) != 0;
}

void close_descriptors() {
  if (::syscall(SYS_close_range, 0U, ~0U, 0) == 0) return;
  // Before Linux 5.9.
  const long most = std::min(::sysconf(_SC_OPEN_MAX), 65536L);
  for (int fd = 0; fd < most; ++fd) ::close(fd);
}

void detach() {
  ::setsid();
  // If this fails, our present directory stays busy.
  if (::chdir("/") != 0) errno = 0;
  Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) fail("/dev/null");
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    // A caller that reads our output to the end (`token=$(…)`) would wait for our death.
    if (::dup2(null.get(), fd) < 0) fail("dup2");
  }
  null.reset();  // the directory may need its descriptor
  const OpenDirectory ours(::opendir("/proc/self/fd"));
  while (const dirent* const entry = ours ? ::readdir(ours.get()) : nullptr) {
    const auto fd = static_cast<int>(std::strtol(entry->d_name, nullptr, 10));  // 0: . and ..
    // A descriptor that we inherited is not close-on-exec, and one that we opened is.
    const int flags = fd > STDERR_FILENO ? ::fcntl(fd, F_GETFD) : -1;
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) ::close(fd);
  }
}

namespace {

/// Gives the file to this owner and group. A file that has them already needs no fchown(2), for
/// which a seccomp filter may kill us: SystemCallFilter=~@privileged of systemd does.
bool own(int file, const struct stat& now, uid_t owner, gid_t group) {
  return (now.st_uid == owner && now.st_gid == group) || ::fchown(file, owner, group) == 0;
}

}  // namespace

WholeFile::WholeFile(const std::string& path) {
  const std::size_t name = path.rfind('/') + 1;  // 0 without a slash
  const std::string directory = name == 0 ? "." : path.substr(0, name);
  name_ = path.substr(name);
  directory_ = Fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  error_ = !directory_ ? errno : name_.empty() ? EISDIR : 0;
}

int WholeFile::writable() const {
  return ::faccessat(directory_.get(), ".", W_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

int WholeFile::lock(lock::Instant limit) {
  constexpr int kFlags = O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const std::string file = "." + name_ + ".lock";
  lock_ = Fd(::openat(directory_.get(), file.c_str(), kFlags | O_CREAT | O_EXCL, 0200));
  const bool created = static_cast<bool>(lock_);
  if (!created && errno == EEXIST) lock_ = Fd(::openat(directory_.get(), file.c_str(), kFlags));
  // The lock file may be another user's. Without it, one of two runs that end at the same moment
  // may be missing in the metrics.
  if (!lock_) return errno == EACCES ? 0 : errno;
  struct stat status {};
  struct stat directory {};
  if (::fstat(lock_.get(), &status) != 0 || ::fstat(directory_.get(), &directory) != 0)
    return errno;
  if (!S_ISREG(status.st_mode)) return EINVAL;
  // The group shares the lock if it shares the directory. What it has put there itself may be a
  // link to another file.
  if (created && status.st_nlink == 1 && (directory.st_mode & S_IWGRP) != 0 &&
      own(lock_.get(), status, status.st_uid, directory.st_gid)) {
    static_cast<void>(::fchmod(lock_.get(), 0220));
  }
  while (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK || boot_now() >= limit) return errno;
    const timespec pause{.tv_sec = 0, .tv_nsec = 5'000'000};
    ::nanosleep(&pause, nullptr);
  }
  return 0;
}

int WholeFile::read(std::size_t most, std::string& text) const {
  const Fd file(
      ::openat(directory_.get(), name_.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  if (!file) return errno == ELOOP || errno == ENXIO ? EINVAL : errno;
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return errno;
  if (!S_ISREG(status.st_mode)) return EINVAL;
  text.clear();
  const int error = read_all(file.get(), text, most);
  return error == 0 && text.size() > most ? E2BIG : error;
}

int WholeFile::replace(const std::string& text) const {
  struct stat old {};
  const bool there = ::fstatat(directory_.get(), name_.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0;
  if (there && S_ISLNK(old.st_mode)) return ELOOP;
  if (there && !S_ISREG(old.st_mode)) return EINVAL;
  // Nobody can guess the name, and put another file or a link there.
  const std::string temporary = ".redlock-" + random_hex(8) + ".tmp";
  const Fd file(::openat(directory_.get(), temporary.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!file) return errno;
  int error = there ? keep_mode(file.get(), old) : 0;
  if (error == 0) error = write_all(file.get(), text);
  if (error == 0 &&
      ::renameat(directory_.get(), temporary.c_str(), directory_.get(), name_.c_str()) != 0) {
    error = errno;
  }
  if (error != 0) ::unlinkat(directory_.get(), temporary.c_str(), 0);
  return error;
}

/// Gives the new file the mode and the owner of the old one. A stranger may have put the old file
/// into the directory, with a mode of his choice.
int WholeFile::keep_mode(int file, const struct stat& old) const {
  struct stat directory {};
  struct stat now {};
  if (::fstat(directory_.get(), &directory) != 0 || ::fstat(file, &now) != 0) return errno;
  if (old.st_uid != ::geteuid() && old.st_uid != directory.st_uid) return 0;
  if (!own(file, now, old.st_uid, old.st_gid) && !own(file, now, now.st_uid, old.st_gid)) errno = 0;
  return ::fchmod(file, old.st_mode & 0777) == 0 ? 0 : errno;
}

}  // namespace redlock::os
