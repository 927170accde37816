#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
# shellcheck shell=bash disable=SC1003,SC2016,SC2030,SC2031,SC2034,SC2153,SC2154
#
# Standard error is a file on a file system that hangs (NFS, fsfreeze): the job still dies before its lease ends. A
# library that is preloaded holds up each write(2) to descriptor 2 for as long as the file $HANG exists.

load ../lib/common

setup() {
  start_server A
  export REDLOCK_SERVERS=$A_URI A_SOCKET HANG=$SCRATCH/hang
  LOG=$SCRATCH/log
  cat >"$SCRATCH/shim.c" <<'SHIM'
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
ssize_t write(int fd, const void* data, size_t size) {
  const struct timespec pause = {0, 5000000};
  while (fd == 2 && access(getenv("HANG"), F_OK) == 0) nanosleep(&pause, NULL);
  return syscall(SYS_write, fd, data, size);
}
SHIM
  cc -shared -fPIC -o "$SCRATCH/shim.so" "$SCRATCH/shim.c"
  # A sanitizer wants to be first.
  export ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS-}
  cat >"$SCRATCH/job.py" <<'JOB'
"""job.py LOG [stubborn]: writes its PID, then "beat TIME", in ms since 1970, every 10 ms, and "TERM" at a TERM, which
ends it unless stubborn."""
import os, signal, sys, time
log = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
def told(number, frame):
    os.write(log, b"TERM\n")
    if "stubborn" not in sys.argv[2:]:
        os._exit(0)
signal.signal(signal.SIGTERM, told)
os.write(log, b"%d\n" % os.getpid())
while True:
    os.write(log, b"beat %d\n" % (time.time_ns() // 1000000))
    time.sleep(0.01)
JOB
}
teardown() {
  rm -f "$HANG"
  stop_all
}

# run_job [OPTIONS…] -- [HABITS…]: the job under L; sets $TOP (PID of redlock) and $JOB.
run_job() {
  local options=()
  while [[ $1 != -- ]]; do options+=("$1") && shift; done
  background env LD_PRELOAD="$SCRATCH/shim.so" "$REDLOCK" run "${options[@]}" L -- \
    "$PYTHON" -SEI "$SCRATCH/job.py" "$LOG" "${@:2}"
  TOP=$BACKGROUND_PID
  wait_for_line "$LOG" beat
  read -r JOB <"$LOG"
}

# last_beat: when the job last ran, in ms since 1970.
last_beat() { awk '$1 == "beat" { time = $2 } END { print time }' "$LOG"; }

@test "stderr hangs: a job that lost its lock is stopped, and redlock is heard later" {
  run_job --ttl 3s --
  wait_until_listening A
  touch "$HANG"
  "$REDLOCK" release --force --yes -q L
  wait_for_line "$LOG" TERM
  wait_gone "$JOB"
  rm "$HANG"
  await "$TOP"
  assert_status 80
  [[ -n $stderr ]]
}

@test "stderr hangs and the lock cannot be renewed: the job is dead before the lease is over" {
  local end
  run_job -v --ttl 2s --kill-after 300ms -- stubborn
  wait_until "$BOUND" watches "$TOP"
  touch "$HANG"
  end=$(($(cli A pttl L) + $(now_ms)))
  kill_server A
  wait_gone "$JOB"
  grep -q TERM "$LOG"
  # To the millisecond it is looked at in supervision.bats.
  assert_between 0 "$(last_beat)" $((end + 500))
  rm "$HANG"
  await "$TOP"
  assert_status 80
  assert_contains "$stderr" 'is stopped or stuck, killed'
}

@test "a file gets all lines in order, between those of the job" {
  "$REDLOCK" run -vv L -- sh -c 'echo "the job" >&2' 2>"$SCRATCH/said" 3>&-
  awk '/acquired after/ { ++n } /^the job$/ && n == 1 { ++n } /released after/ && n == 2 { ++n } END { exit n != 3 }' \
    "$SCRATCH/said" || fail "$(<"$SCRATCH/said")"
}

@test "a file that must not grow (ulimit -f): the messages are lost, the job runs on" {
  run env --default-signal sh -c 'ulimit -f 0; exec "$0" run -vv L -- sh -c "sleep 0.3; exit 5" 2>"$1"' "$REDLOCK" "$SCRATCH/said"
  assert_status 5
  [[ ! -s $SCRATCH/said ]]
}
