#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
# shellcheck shell=bash disable=SC1003
#
# Standard error is a file on a file system that hangs (NFS, fsfreeze): the job still dies before its lease ends. A
# library that is preloaded holds up each write(2) to descriptor 2 for as long as the file $HANG exists.

load ../lib/common
load ../lib/beating

setup() {
  servers 1
  export HANG=$SCRATCH/hang
  preload hanging_stderr.c
}
teardown() {
  rm -f "$HANG"
  stop_all
}

@test "stderr hangs: a job that lost its lock is stopped, and redlock is heard later" {
  LD_PRELOAD=$SHIM run_job --ttl 3s --
  wait_until_listening A
  touch "$HANG"
  "$REDLOCK" release --force --yes -q L
  wait_for_line "$LOG" TERM
  wait_gone "$JOB"
  rm "$HANG"
  await -80 "$TOP"
  [[ -n $stderr ]]
}

@test "stderr hangs and the lock cannot be renewed: the job is dead before the lease is over" {
  local end
  LD_PRELOAD=$SHIM run_job -v --ttl 2s --kill-after 300ms -- stubborn
  wait_until "$BOUND" watches "$TOP"
  touch "$HANG"
  end=$(($(cli A pttl L) + $(now_ms)))
  kill_server A
  wait_gone "$JOB"
  grep -q TERM "$LOG"
  # To the millisecond it is looked at in supervision.bats.
  assert_between 0 "$(last beat)" $((end + 500))
  rm "$HANG"
  await -80 "$TOP"
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
