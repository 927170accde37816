// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>

#include "lock/time.h"
#include "os/fd.h"

namespace redlock::os {

/// A directory in which small files are read and replaced as a whole. Everything goes by its
/// descriptor: one and the same directory, whatever becomes of its name meanwhile. What fails is
/// said as an errno, 0 being success.
class Directory {
 public:
  /// Opens it; see error().
  explicit Directory(const std::string& path);

  [[nodiscard]] int error() const { return error_; }

  /// Whether files could be made in it, as far as can be told without making one.
  [[nodiscard]] int writable() const;

  /// Shuts out all others who do the same (flock(2)) for as long as this object lives. EWOULDBLOCK:
  /// somebody else had it until `limit`.
  [[nodiscard]] int lock(lock::Instant limit);

  /// Reads a regular file of at most `most` bytes. ENOENT: there is none; EINVAL: it is no regular
  /// file, nor is a symbolic link; E2BIG. Never waits for the other end of a pipe.
  [[nodiscard]] int read(const std::string& name, std::size_t most, std::string& text) const;

  /// Replaces a file, and keeps its mode and (where the system lets us) its owner; or makes it
  /// (mode 0644, less the umask). Whoever reads it sees the old text or the new one. On the way
  /// there is a ".NAME.tmp"; one that was left behind, by a process that was killed, is removed. To
  /// be called with the lock only.
  [[nodiscard]] int replace(const std::string& name, const std::string& text) const;

 private:
  Fd fd_;
  int error_ = 0;
};

}  // namespace redlock::os
