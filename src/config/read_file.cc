// SPDX-License-Identifier: MIT
#include "config/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>

#include "config/quote.h"
#include "os/fd.h"

namespace redlock::config {

namespace {

constexpr long kPipeFileSystem = 0x50495045;  // PIPEFS_MAGIC of linux/magic.h

bool is_named_pipe(int fd, mode_t mode) {
  struct statfs system {};
  return S_ISFIFO(mode) && ::fstatfs(fd, &system) == 0 && system.f_type != kPipeFileSystem;
}

/// Where `lines`, in the form of kPipesVariable, say that the content is; otherwise `path`.
std::string kept_path(std::string_view lines, const std::string& path) {
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    const std::size_t blank = line.find(' ');
    if (blank != std::string_view::npos && line.substr(blank + 1) == path) {
      return "/proc/self/fd/" + std::string(line.substr(0, blank));
    }
    lines.remove_prefix(line.size() < lines.size() ? line.size() + 1 : line.size());
  }
  return path;
}

/// A missing file costs one open(2) and no more.
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
  file.error = os::read_all(fd.get(), file.text, most);
  file.too_long = file.text.size() > most;
  return file;
}

}  // namespace

std::string FileRead::trouble() const {
  if (fifo) return "it is a named pipe (FIFO), not a file";
  return error == 0 ? std::string() : std::generic_category().message(error);
}

FileRead read_file_or_pipe(const std::string& path, std::size_t most, Draft& draft) {
  FileRead file = read_file(kept_path(draft.earlier_pipes, path), most);
  // A terminal has given its line away, too.
  if (!S_ISREG(file.mode) && !file.text.empty()) draft.settings.pipes.push_back({path, file.text});
  return file;
}

std::string exposure(const FileRead& file, const std::string& path, Content content) {
  const bool opened_by_shell =
      path.starts_with("/dev/fd/") || path == "/dev/stdin" || path.starts_with("/proc/");
  if (!S_ISREG(file.mode) || opened_by_shell) return {};
  const bool secret = content == Content::secret;
  const mode_t others = file.mode & (file.owner == 0 ? S_IRWXO : S_IRWXG | S_IRWXO);
  const bool read = secret && (others & (S_IRGRP | S_IROTH)) != 0;
  const bool write = (others & (S_IWGRP | S_IWOTH)) != 0;
  if (!read && !write) return {};
  const std::string may = read && write ? "read and write" : read ? "read" : "write";
  const std::string whom = file.owner == 0 ? "o" : "go";
  return "others may " + may + ' ' + quote(path) +
         (secret ? ", which holds a password" : ", which controls what redlock does") + "; chmod " +
         whom + (secret ? "-rwx " : "-w ") + path;
}

}  // namespace redlock::config
