// SPDX-License-Identifier: MIT
#include "os/directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>

#include "os/clock.h"
#include "os/random.h"

namespace redlock::os {

Directory::Directory(const std::string& path)
    : fd_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), error_(fd_ ? 0 : errno) {}

int Directory::writable() const {
  return ::faccessat(fd_.get(), ".", W_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

int Directory::lock(const std::string& name, lock::Instant limit) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  lock_ = Fd(::openat(fd_.get(), ("." + name + ".lock").c_str(), kFlags, 0200));
  // Another user's, which we may not open: without it, one of two runs that end at the same moment
  // may be missing in the file.
  if (!lock_) return errno == EACCES ? 0 : errno;
  struct stat status {};
  struct stat directory {};
  if (::fstat(lock_.get(), &status) != 0 || ::fstat(fd_.get(), &directory) != 0) return errno;
  if (!S_ISREG(status.st_mode)) return EINVAL;
  // The group shares the lock if it shares the directory.
  if ((directory.st_mode & S_IWGRP) != 0 && (status.st_mode & S_IWGRP) == 0 &&
      ::fchown(lock_.get(), static_cast<uid_t>(-1), directory.st_gid) == 0) {
    static_cast<void>(::fchmod(lock_.get(), 0220));
  }
  while (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
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
  text.clear();
  const int error = read_all(file.get(), text, most);
  return error == 0 && text.size() > most ? E2BIG : error;
}

int Directory::replace(const std::string& name, const std::string& text) const {
  if (name.empty()) return EISDIR;
  struct stat old {};
  const bool there = ::fstatat(fd_.get(), name.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0;
  if (there && S_ISLNK(old.st_mode)) return ELOOP;
  if (there && !S_ISREG(old.st_mode)) return EINVAL;
  // Nobody can guess the name, and put another file or a link there.
  const std::string temporary = ".redlock-" + random_hex(8) + ".tmp";
  const Fd file(::openat(fd_.get(), temporary.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!file) return errno;
  int error = there ? keep_mode(file.get(), old) : 0;
  if (error == 0) error = write_all(file.get(), text);
  if (error == 0 && ::renameat(fd_.get(), temporary.c_str(), fd_.get(), name.c_str()) != 0) {
    error = errno;
  }
  if (error != 0) ::unlinkat(fd_.get(), temporary.c_str(), 0);
  return error;
}

/// Gives the new file the mode and the owner of the old one. A stranger may have put the old file
/// into the directory, with a mode of his choice.
int Directory::keep_mode(int file, const struct stat& old) const {
  struct stat directory {};
  if (::fstat(fd_.get(), &directory) != 0) return errno;
  if (old.st_uid != ::geteuid() && old.st_uid != directory.st_uid) return 0;
  if (::fchown(file, old.st_uid, old.st_gid) != 0 &&
      ::fchown(file, static_cast<uid_t>(-1), old.st_gid) != 0) {
    errno = 0;
  }
  return ::fchmod(file, old.st_mode & 0777) == 0 ? 0 : errno;
}

}  // namespace redlock::os
