// SPDX-License-Identifier: MIT
//
// File descriptors: owned ones, those that this process has, and those that it passes on; and files
// that are read or replaced as a whole.
#pragma once

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "lock/time.h"

namespace redlock::os {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
/// A directory that is being listed.
using OpenDirectory = std::unique_ptr<DIR, CloseDirectory>;

/// `what` has failed, and errno says why. Throws Error (71).
[[noreturn]] void fail(const std::string& what);

/// An owned file descriptor, closed once.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

struct Pipe {
  Fd read;
  Fd write;
};

/// Both ends are close-on-exec, and have `flags` (pipe2(2)). Throws Error (71).
Pipe make_pipe(int flags = 0);

/// Appends to `text` what `fd` has up to its end, but stops after `most` bytes and a few more;
/// waits for a pipe. Returns an errno, or 0.
int read_all(int fd, std::string& text, std::size_t most = std::string::npos - 1);

/// Writes all of it. Returns an errno, or 0.
int write_all(int fd, std::string_view text);

/// A file in memory with that content, close-on-exec, for this user alone (memfd_create(2)). Empty
/// if that fails (errno).
Fd make_memory_file(std::string_view content);

/// Throws Error (71) unless this process can open `count` more descriptors: otherwise the caller
/// would find out in the middle of its work.
void require_free_descriptors(std::size_t count);

/// Opens /dev/null for each of the descriptors 0, 1 and 2 that was closed at entry (`2>&-`):
/// otherwise a socket could get number 2, and a warning would go to a server. These are
/// close-on-exec, so the job finds them closed, as we did. Throws Error (71).
void occupy_standard_descriptors();

/// Whether standard output was closed at entry. To be called after occupy_standard_descriptors().
bool output_was_closed();

/// Closes all descriptors. Needs no memory.
void close_descriptors();

/// For a child that outlives the process that started us: gives it a session of its own without a
/// terminal, "/" as its directory, and /dev/null for descriptors 0 to 2. Closes all other
/// descriptors that we inherited: a process that reads our output to its end must not wait for us.
/// Descriptors that we opened are close-on-exec and stay. Throws Error (71).
void detach();

/// A small file that is read and replaced as a whole. It stays in the same directory even if
/// somebody renames that. Each result is an errno, or 0.
class WholeFile {
 public:
  explicit WholeFile(const std::string& path);

  /// Why no other call is of use: there is no such directory, or the path ends with it (EISDIR).
  [[nodiscard]] int error() const { return error_; }

  /// Whether we may create files beside it, as far as we can know without creating one.
  [[nodiscard]] int writable() const;

  /// Takes the lock of the file (flock(2)) for as long as this object lives. EWOULDBLOCK: another
  /// process held it until `limit`. The lock is a file beside it, ".NAME.lock", which only its
  /// writers can open: anybody may lock what he may read.
  [[nodiscard]] int lock(lock::Instant limit);

  /// Reads a regular file of at most `most` bytes (else: E2BIG). EINVAL: it is not a regular file,
  /// for example a symbolic link. Never waits for the other end of a pipe.
  [[nodiscard]] int read(std::size_t most, std::string& text) const;

  /// Replaces or creates a regular file; a reader sees the old text or the new one. A new file has
  /// the mode 0666 less the umask. A file of ours, or of the directory's owner, keeps its mode and
  /// (if the system lets us) its owner. A symbolic link is not followed: ELOOP.
  [[nodiscard]] int replace(const std::string& text) const;

 private:
  [[nodiscard]] int keep_mode(int file, const struct stat& old) const;

  std::string name_;
  Fd directory_;
  int error_;
  Fd lock_;
};

}  // namespace redlock::os
