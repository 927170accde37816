/* SPDX-License-Identifier: MIT
 *
 * Preloaded into redlock, this library stops a process that redlock has forked, as SIGSTOP does, at one moment
 * that a test could hit otherwise by chance alone:
 *
 *   STOP_AT=subreaper   the worker has begun, and has not yet looked at the clock
 *   STOP_AT=session     off a terminal: the worker has started the job, and has told nobody
 *   STOP_ONCE           a file that is not there; only the process that makes it is stopped
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static pid_t first;
static const char *place = "", *once;

__attribute__((constructor)) static void begin(void) {
  if (strcmp(program_invocation_short_name, "redlock") != 0) return;
  once = getenv("STOP_ONCE");
  if (once != NULL && getenv("STOP_AT") != NULL) place = getenv("STOP_AT");
  first = getpid();
}

static void pass(const char *here) {
  if (strcmp(place, here) != 0 || getpid() == first) return;
  const int fd = open(once, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return;
  close(fd);
  raise(SIGSTOP);
}

int prctl(int option, ...) {
  va_list list;
  va_start(list, option);
  const unsigned long two = va_arg(list, unsigned long), three = va_arg(list, unsigned long),
                      four = va_arg(list, unsigned long), five = va_arg(list, unsigned long);
  va_end(list);
  if (option == PR_SET_CHILD_SUBREAPER) pass("subreaper");
  return (int)syscall(SYS_prctl, option, two, three, four, five);
}

pid_t setsid(void) {
  pass("session");
  return (pid_t)syscall(SYS_setsid);
}
