// SPDX-License-Identifier: MIT
#pragma once

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

  /// Takes the directory's lock (flock(2)) for as long as this object lives. EWOULDBLOCK: another
  /// process held it until `limit`.
  [[nodiscard]] int lock(lock::Instant limit);

  /// Reads a regular file of at most `most` bytes. ENOENT: there is none; EINVAL: it is not a
  /// regular file (a symbolic link is not one); E2BIG. Never waits for the other end of a pipe.
  [[nodiscard]] int read(const std::string& name, std::size_t most, std::string& text) const;

  /// Replaces a file, and keeps its mode and (if the system lets us) its owner; or creates it (mode
  /// 0644, less the umask). A reader sees the old text or the new one. The text passes through
  /// ".NAME.tmp"; this removes such a file that a killed process left behind. The caller must hold
  /// the lock.
  [[nodiscard]] int replace(const std::string& name, const std::string& text) const;

 private:
  Fd fd_;
  int error_ = 0;
};

}  // namespace redlock::os
