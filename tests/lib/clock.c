// SPDX-License-Identifier: MIT
//
// Preloaded, it shows a server a wall clock that is ahead by the seconds in the file $CLOCK. Redis reads it with
// these two functions; the monotonic clock stays as it is.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long ahead(void) {
  char text[32] = {0};
  const char *const path = getenv("CLOCK");
  const int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return 0;
  if (read(file, text, sizeof text - 1) < 0) text[0] = 0;
  close(file);
  return atol(text);
}

int gettimeofday(struct timeval *now, void *zone) {
  (void)zone;
  struct timespec real;
  syscall(SYS_clock_gettime, CLOCK_REALTIME, &real);
  now->tv_sec = real.tv_sec + ahead();
  now->tv_usec = real.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *result) {
  struct timeval now;
  gettimeofday(&now, 0);
  if (result) *result = now.tv_sec;
  return now.tv_sec;
}
