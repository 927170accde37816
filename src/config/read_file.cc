// SPDX-License-Identifier: MIT
#include "config/read_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "os/fd.h"

namespace redlock::config {

namespace {

constexpr long kPipeFileSystem = 0x50495045;  // PIPEFS_MAGIC of linux/magic.h

bool is_named_pipe(int fd, mode_t mode) {
  struct statfs system {};
  return S_ISFIFO(mode) && ::fstatfs(fd, &system) == 0 && system.f_type != kPipeFileSystem;
}

}  // namespace

std::string FileRead::trouble() const {
  if (fifo) return "it is a named pipe (FIFO), not a file";
  return error == 0 ? std::string() : std::generic_category().message(error);
}

FileRead read_file(const std::string& path, std::size_t most) {
  FileRead file;
  // O_NONBLOCK: open(2) must not wait for the writer of a pipe.
  const os::Fd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0) {
    file.error = errno;
    return file;
  }
  file.mode = status.st_mode;
  file.owner = status.st_uid;
  file.fifo = is_named_pipe(fd.get(), status.st_mode);
  if (file.fifo) return file;
  std::array<char, 4096> chunk;
  while (file.text.size() <= most) {
    const ssize_t n = ::read(fd.get(), chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      pollfd ready{fd.get(), POLLIN, 0};
      ::poll(&ready, 1, -1);
      continue;
    }
    if (n < 0) file.error = errno;
    if (n <= 0) break;
    file.text.append(chunk.data(), static_cast<std::size_t>(n));
  }
  file.too_long = file.text.size() > most;
  return file;
}

}  // namespace redlock::config
