// SPDX-License-Identifier: MIT
#pragma once

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string_view>

#include "os/fd.h"

namespace redlock::os {

/// A file in memory with that content, close-on-exec, for this user alone (memfd_create(2)). None:
/// the system refused it (errno).
inline Fd make_memory_file(std::string_view content) {
  Fd file(::memfd_create("redlock", MFD_CLOEXEC));
  const auto length = static_cast<ssize_t>(content.size());
  if (!file || ::fchmod(file.get(), S_IRUSR | S_IWUSR) != 0 ||
      ::pwrite(file.get(), content.data(), content.size(), 0) != length) {
    return {};
  }
  return file;
}

}  // namespace redlock::os
