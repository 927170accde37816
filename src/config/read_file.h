// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

namespace redlock::config {

/// The content of a file. /dev/null counts as a file, and so does a pipe without a name (`<(…)`,
/// /dev/stdin). A named pipe (FIFO) does not: without a writer, redlock would wait for ever.
struct FileRead {
  int error = 0;          ///< errno; 0: no error
  bool too_long = false;  ///< the file has more bytes than the caller asked for
  std::string text;
  mode_t mode = 0;  ///< of fstat(2)
  uid_t owner = 0;
  bool fifo = false;  ///< a named pipe; nothing was read

  /// Why the file is unusable, for people; empty: it is usable.
  [[nodiscard]] std::string trouble() const;
};

/// Reads the file, or the beginning of a file with more than `most` bytes. A missing file costs one
/// open(2) and no more.
FileRead read_file(const std::string& path, std::size_t most);

}  // namespace redlock::config
