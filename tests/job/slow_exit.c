/* SPDX-License-Identifier: MIT
 *
 * Preloaded: a process takes $EXIT_MS to exit, after it has closed its descriptors. After 1000 calls of poll() it makes
 * the file $BUSY: it does not sleep. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int poll(struct pollfd* polled, nfds_t count, int timeout) {
  static int calls;
  if (++calls == 1000) close(open(getenv("BUSY"), O_CREAT | O_WRONLY, 0600));
  struct timespec limit = {timeout / 1000, timeout % 1000 * 1000000L};
  return (int)syscall(SYS_ppoll, polled, count, timeout < 0 ? NULL : &limit, NULL, 0);
}
void _exit(int status) {
  const int ms = atoi(getenv("EXIT_MS"));
  struct timespec pause = {ms / 1000, ms % 1000 * 1000000L};
  for (int fd = 3; fd < 100; ++fd) close(fd);
  nanosleep(&pause, NULL);
  for (;;) syscall(SYS_exit_group, status);
}
