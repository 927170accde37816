#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
# shellcheck shell=bash disable=SC1003,SC2016,SC2030,SC2031,SC2034,SC2153,SC2154
#
# Standard error is a file on a file system that hangs (NFS, fsfreeze): redlock does not. A library that is
# preloaded holds up each write(2) to descriptor 2 for as long as the file $HANG exists.

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
"""job.py LOG [stubborn]: writes "beat TIME", in ms since 1970, every 10 ms until LOG.end exists, and "TERM" at
a TERM, which ends it unless stubborn."""
import os, signal, sys, time
log = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
def told(number, frame):
    os.write(log, b"TERM\n")
    if "stubborn" not in sys.argv[2:]:
        os._exit(0)
signal.signal(signal.SIGTERM, told)
while not os.path.exists(sys.argv[1] + ".end"):
    os.write(log, b"beat %d\n" % (time.time_ns() // 1000000))
    time.sleep(0.01)
os._exit(5)
JOB
}
teardown() {
  rm -f "$HANG"
  stop_all
  # What writes for redlock outlives it while the file system hangs.
  wait_until "$BOUND" no_writer
}

# no_writer: none is left of those with this test's directory in their environment.
no_writer() {
  local pid
  for pid in $(pgrep -x redlock-stderr); do
    ! grep -qzs "^HANG=$HANG$" "/proc/$pid/environ" || return 1
  done
}

# run_job [OPTIONS…] -- [HABITS…]: the job under L; sets $TOP (PID of redlock).
run_job() {
  local options=()
  while [[ $1 != -- ]]; do options+=("$1") && shift; done
  background env LD_PRELOAD="$SCRATCH/shim.so" "$REDLOCK" run "${options[@]}" L -- \
    "$PYTHON" -SEI "$SCRATCH/job.py" "$LOG" "${@:2}"
  TOP=$BACKGROUND_PID
  wait_for_line "$LOG" beat
}

# last_beat: when the job last ran, in ms since 1970.
last_beat() { awk '$1 == "beat" { time = $2 } END { print time }' "$LOG"; }

@test "stderr hangs: a job that lost its lock is stopped, redlock ends, and is heard later" {
  run_job --ttl 30s --
  touch "$HANG"
  wait_until_listening A
  "$REDLOCK" release --force --yes -q L
  wait_for_line "$LOG" TERM
  await "$TOP"
  assert_status 80
  [[ -z $stderr ]] || fail "$stderr"
  rm "$HANG"
  wait_for_line "$BACKGROUND_ERR" 'lock "L" was revoked'
}

@test "stderr hangs and the worker is stopped: the job is dead before the lease is over" {
  local end
  run_job --ttl 2s --kill-after 300ms -- stubborn
  wait_until "$BOUND" watches "$TOP"
  touch "$HANG"
  kill -STOP "$(tr -d ' ' <"/proc/$TOP/task/$TOP/children")"
  end=$(($(cli A pttl L) + $(now_ms)))
  await "$TOP"
  assert_status 80
  grep -q TERM "$LOG"
  # To the millisecond it is looked at in supervision.bats.
  assert_between 0 "$(last_beat)" $((end + 500))
  rm "$HANG"
  wait_for_line "$BACKGROUND_ERR" 'is stopped or stuck, killed'
}

@test "stderr hangs: a job that ends by itself keeps its status, with --wait-all too" {
  touch "$HANG"
  run_job -v --wait-all --
  touch "$LOG.end"
  await "$TOP" # which is not waited for by its own writers
  assert_status 5
  assert_nothing_left A
  [[ -z $stderr ]] || fail "$stderr"
  rm "$HANG"
  wait_for_line "$BACKGROUND_ERR" 'lock "L" was released'
}

@test "stderr hangs while redlock waits: a signal ends it" {
  cli A set L somebody
  touch "$HANG"
  background env LD_PRELOAD="$SCRATCH/shim.so" "$REDLOCK" run -vv L -- true
  wait_until "$BOUND" eval '[[ $(cli A pubsub channels "*:wake:*") == *wake* ]]'
  kill -TERM "$BACKGROUND_PID"
  await "$BACKGROUND_PID"
  assert_status 143
}

@test "a file gets all lines in order, between those of the job, and no process stays behind" {
  # redlock does not wait for a disk that is busy: its line then comes after those of the job.
  local try in_order=0
  for try in {1..6}; do
    "$REDLOCK" run -vv L -- sh -c 'echo "the job" >&2' 2>"$SCRATCH/said" 3>&-
    no_writer
    ! awk '/acquired after/ { ++n } /^the job$/ && n == 1 { ++n } /released after/ && n == 2 { ++n }
      END { exit n != 3 }' "$SCRATCH/said" || ((++in_order))
    [[ $(grep -c -e 'acquired after' -e '^the job$' -e 'released after' "$SCRATCH/said") == 3 ]] || fail "$(<"$SCRATCH/said")"
    ((in_order < 3)) || break
  done
  ((in_order == 3)) || fail "$(<"$SCRATCH/said")"
}

@test "a file that must not grow (ulimit -f): the messages are lost, the job runs on" {
  run env --default-signal sh -c 'ulimit -f 0; exec "$0" run -vv L -- sh -c "sleep 0.3; exit 5" 2>"$1"' "$REDLOCK" "$SCRATCH/said"
  assert_status 5
  [[ ! -s $SCRATCH/said ]]
}

@test "stderr hangs and the worker is killed: what writes for it is not waited for, with --wait-all neither" {
  local worker
  run_job --ttl 12s --wait-all --
  wait_until "$BOUND" watches "$TOP"
  worker=$(tr -d ' ' <"/proc/$TOP/task/$TOP/children")
  touch "$HANG"
  kill_server A
  writes() { pgrep -x redlock-stderr -P "$worker" >/dev/null; }
  wait_until "$BOUND" writes # that the lock cannot be renewed
  touch "$LOG.end"
  kill -KILL "$worker"
  await "$TOP"
  assert_status 5
}
