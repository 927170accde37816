// SPDX-License-Identifier: MIT
#include "os/process_name.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "os/fd.h"

namespace redlock::os {

namespace {

/// How many bytes from argv[0] on the kernel shows to others as the arguments. These are not all of
/// the arguments if `ld.so PROGRAM` started this program.
std::size_t size_of_arguments() {
  const Fd file(::open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> piece{};
  std::size_t size = 0;
  if (!file) return 0;
  for (ssize_t length = 0; (length = ::read(file.get(), piece.data(), piece.size())) > 0;) {
    for (ssize_t i = 0; i < length; ++i, ++size) {
      if (program_invocation_name[size] != piece[static_cast<std::size_t>(i)]) return size;
    }
  }
  return size;
}

}  // namespace

void rename_process(const char* name, const std::string& title) {
  ::prctl(PR_SET_NAME, name, 0, 0, 0);
  // The last byte stays 0: otherwise the kernel would read on behind the end (proc(5)).
  const std::size_t size = size_of_arguments();
  if (size == 0) return;
  char* const arguments = program_invocation_name;
  std::memset(arguments, 0, size);
  std::memcpy(arguments, title.data(), std::min(title.size(), size - 1));
}

}  // namespace redlock::os
