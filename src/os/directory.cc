// SPDX-License-Identifier: MIT
#include "os/directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>

#include "os/clock.h"

namespace redlock::os {

namespace {

int write_all(int fd, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno != EINTR) return errno;
    if (n > 0) done += static_cast<std::size_t>(n);
  }
  return 0;
}

}  // namespace

Directory::Directory(const std::string& path)
    : fd_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), error_(fd_ ? 0 : errno) {}

int Directory::writable() const {
  return ::faccessat(fd_.get(), ".", W_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

int Directory::lock(lock::Instant limit) {
  while (::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK || boot_now() >= limit) return errno;
    const timespec pause{.tv_sec = 0, .tv_nsec = 5'000'000};
    ::nanosleep(&pause, nullptr);
  }
  return 0;
}

int Directory::read(const std::string& name, std::size_t most, std::string& text) const {
  const Fd file(::openat(fd_.get(), name.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  if (!file) return errno == ELOOP || errno == ENXIO ? EINVAL : errno;
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return errno;
  if (!S_ISREG(status.st_mode)) return EINVAL;
  std::array<char, 4096> chunk;
  text.clear();
  while (text.size() <= most) {
    const ssize_t n = ::read(file.get(), chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) return 0;
    text.append(chunk.data(), static_cast<std::size_t>(n));
  }
  return E2BIG;
}

int Directory::replace(const std::string& name, const std::string& text) const {
  const std::string temporary = "." + name + ".tmp";
  // A killed process left it behind, or somebody put it there to make us write through it.
  ::unlinkat(fd_.get(), temporary.c_str(), 0);
  const Fd file(::openat(fd_.get(), temporary.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file) return errno;
  // Its mode and owner stay the same, as far as we may set them.
  struct stat old {};
  const bool there = ::fstatat(fd_.get(), name.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0;
  if (there && ::fchown(file.get(), old.st_uid, old.st_gid) != 0 &&
      ::fchown(file.get(), static_cast<uid_t>(-1), old.st_gid) != 0) {
    errno = 0;
  }
  if (there && ::fchmod(file.get(), old.st_mode & 0777) != 0) return errno;
  int error = write_all(file.get(), text);
  if (error == 0 && ::renameat(fd_.get(), temporary.c_str(), fd_.get(), name.c_str()) != 0) {
    error = errno;
  }
  if (error != 0) ::unlinkat(fd_.get(), temporary.c_str(), 0);
  return error;
}

}  // namespace redlock::os
