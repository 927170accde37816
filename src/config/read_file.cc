// SPDX-License-Identifier: MIT
#include "config/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "os/fd.h"

namespace redlock::config {

FileRead read_file(const std::string& path, std::size_t most) {
  FileRead file;
  const os::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0) {
    file.error = errno;
    return file;
  }
  file.mode = status.st_mode;
  file.owner = status.st_uid;
  std::array<char, 4096> chunk;
  while (file.text.size() <= most) {
    const ssize_t n = ::read(fd.get(), chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) file.error = errno;
    if (n <= 0) break;
    file.text.append(chunk.data(), static_cast<std::size_t>(n));
  }
  file.too_long = file.text.size() > most;
  return file;
}

}  // namespace redlock::config
