// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

namespace redlock::config {

/// A file as a whole. /dev/null is one, too, and so is a pipe without a name (`<(…)`, /dev/stdin).
/// A named one (FIFO) is refused: without a writer it would be waited for without end.
struct FileRead {
  int error = 0;          ///< errno, 0 if all went well
  bool too_long = false;  ///< it has more than was asked for
  std::string text;
  mode_t mode = 0;  ///< of fstat(2)
  uid_t owner = 0;
  bool fifo = false;  ///< and nothing was read

  /// Why nothing can be made of it, for people; empty: all went well.
  [[nodiscard]] std::string trouble() const;
};

/// Reads the file, or the beginning of one that has more than `most` bytes. A file that is not
/// there costs one open(2) and no more.
FileRead read_file(const std::string& path, std::size_t most);

}  // namespace redlock::config
