// SPDX-License-Identifier: MIT
#include "config/pipes.h"

#include <sys/stat.h>

#include <string_view>

namespace redlock::config {

namespace {

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

}  // namespace

FileRead read_file_or_pipe(const std::string& path, std::size_t most, Draft& draft) {
  FileRead file = read_file(kept_path(draft.earlier_pipes, path), most);
  // A terminal has given its line away, too.
  if (!S_ISREG(file.mode) && !file.text.empty()) draft.settings.pipes.push_back({path, file.text});
  return file;
}

}  // namespace redlock::config
