/* SPDX-License-Identifier: MIT
 *
 * Preloaded: /proc is the folder $FAKE_PROC. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

DIR* opendir(const char* path) {
  if (strcmp(path, "/proc") == 0) path = getenv("FAKE_PROC");
  const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return fd < 0 ? NULL : fdopendir(fd);
}
