/* SPDX-License-Identifier: MIT
 *
 * Preloaded: each process but the first waits 0.3 s before it sends a KILL. */
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
static pid_t top;
__attribute__((constructor)) static void begin(void) { top = getpid(); }
int kill(pid_t pid, int number) {
  if (number == SIGKILL && getpid() != top) usleep(300000);
  return (int)syscall(SYS_kill, pid, number);
}
