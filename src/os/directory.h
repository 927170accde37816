// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <string>

#include "lock/time.h"
#include "os/fd.h"

namespace redlock::os {

/// Reads small files in a directory and replaces them as a whole. All calls use the directory's
/// descriptor: it stays the same directory even if its name changes meanwhile. Results are an
/// errno; 0: success.
class Directory {
 public:
  /// Opens it; see error().
  explicit Directory(const std::string& path);

  [[nodiscard]] int error() const { return error_; }

  /// Whether we may create files in it, as far as we can know without creating one.
  [[nodiscard]] int writable() const;

  /// Takes the lock of the file `name` (flock(2)) for as long as this object lives. EWOULDBLOCK:
  /// another process held it until `limit`. The lock is a file beside it, ".NAME.lock", which only
  /// those can open who may write to it: anybody may lock what he may read.
  [[nodiscard]] int lock(const std::string& name, lock::Instant limit);

  /// Reads a regular file of at most `most` bytes. ENOENT: there is none; EINVAL: it is not a
  /// regular file (a symbolic link is not one); E2BIG. Never waits for the other end of a pipe.
  [[nodiscard]] int read(const std::string& name, std::size_t most, std::string& text) const;

  /// Replaces or creates a regular file; a reader sees the old text or the new one. This is how
  /// redlock writes each file that users name. A new file has the mode 0666 less the umask. A file
  /// of ours, or of the directory's owner, keeps its mode and (if the system lets us) its owner. A
  /// symbolic link is not followed: ELOOP.
  [[nodiscard]] int replace(const std::string& name, const std::string& text) const;

 private:
  [[nodiscard]] int keep_mode(int file, const struct stat& old) const;

  Fd fd_;
  int error_ = 0;
  Fd lock_;
};

}  // namespace redlock::os
