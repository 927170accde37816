// SPDX-License-Identifier: MIT
#include "config/exposure.h"

#include <sys/stat.h>

#include "config/quote.h"

namespace redlock::config {

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
