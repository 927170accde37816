// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

namespace redlock::config {

/// A file as a whole. Pipes and /dev/null are files, too.
struct FileRead {
  int error = 0;          ///< errno, 0 if all went well
  bool too_long = false;  ///< it has more than was asked for
  std::string text;
  mode_t mode = 0;  ///< of fstat(2)
  uid_t owner = 0;
};

/// Reads the file, or the beginning of one that has more than `most` bytes. A file that is not there
/// costs one open(2) and no more.
FileRead read_file(const std::string& path, std::size_t most);

}  // namespace redlock::config
