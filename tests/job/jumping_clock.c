/* SPDX-License-Identifier: MIT
 *
 * Preloaded: the time since boot is ahead by the seconds in the file $OFFSET_FILE. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec* now) {
  const int result = (int)syscall(SYS_clock_gettime, clock, now);
  FILE* file = clock == CLOCK_BOOTTIME ? fopen(getenv("OFFSET_FILE"), "re") : NULL;
  if (file != NULL) {
    long seconds = 0;
    if (fscanf(file, "%ld", &seconds) == 1) now->tv_sec += seconds;
    fclose(file);
  }
  return result;
}
