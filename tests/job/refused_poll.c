/* SPDX-License-Identifier: MIT
 *
 * Preloaded: when the file $ACT_FILE exists, poll() fails, as without memory. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int acts(void) { return access(getenv("ACT_FILE"), F_OK) == 0; }

int poll(struct pollfd* polled, nfds_t count, int timeout) {
  if (!acts()) return (int)syscall(SYS_ppoll, polled, count, timeout < 0 ? NULL : &(struct timespec){
      timeout / 1000, timeout % 1000 * 1000000L}, NULL, 0);
  errno = ENOMEM;
  return -1;
}
