/* SPDX-License-Identifier: MIT
 *
 * hop LOG: goes from process to process, each in a session of its own, and writes "beat TIME" to LOG. So fast that
 * whoever reads /proc comes too late. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
int main(int count, char** words) {
  signal(SIGTERM, SIG_IGN);
  int log = open(words[count - 1], O_WRONLY | O_APPEND | O_CREAT, 0600);
  struct timespec now;
  time_t end = time(NULL) + 20; /* should it not be caught */
  if (fork() != 0) pause(); /* the job's main process waits */
  while (time(NULL) < end) {
    if (fork() != 0) _exit(0);
    setsid();
    clock_gettime(CLOCK_REALTIME, &now);
    dprintf(log, "beat %lld\n", now.tv_sec * 1000LL + now.tv_nsec / 1000000);
  }
}
