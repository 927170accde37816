/* SPDX-License-Identifier: MIT
 *
 * Preloaded: when the file $ACT_FILE exists, no process has a file /proc/PID/stat, as if it had just ended. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int acts(void) { return access(getenv("ACT_FILE"), F_OK) == 0; }

int openat(int directory, const char* path, int flags, ...) {
  size_t length = strlen(path);
  if (length > 5 && strcmp(path + length - 5, "/stat") == 0 && acts()) {
    errno = ENOENT;
    return -1;
  }
  return (int)syscall(SYS_openat, directory, path, flags, 0);
}
int openat64(int directory, const char* path, int flags, ...) __attribute__((alias("openat")));
int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  int mode = va_arg(rest, int);
  va_end(rest);
  if (strncmp(path, "/proc/", 6) == 0) return openat(AT_FDCWD, path, flags);
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) __attribute__((alias("open")));
