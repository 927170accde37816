#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# --once: a job that succeeded does not run again for a time.

load ../lib/common
load ../lib/acl

teardown() { stop_all; }

MARK='redlock:{L}:done'

# job: a run of L under --once 1h, which ends with 0; its job adds a line to $SCRATCH/ran.
job() { run -0 --separate-stderr "$REDLOCK" run --once 1h L -- sh -c 'echo ran >>"$0"' "$SCRATCH/ran"; }

# assert_ran N: the job of `job` ran that many times.
assert_ran() {
  local times=0
  [[ ! -e $SCRATCH/ran ]] || times=$(wc -l <"$SCRATCH/ran")
  [[ $times == "$1" ]] || fail "it ran $times times, not $1" "${stderr-}"
}

@test "once: a second run within the time does nothing, with status 0 and no word" {
  servers 1
  job
  job
  [[ -z $output$stderr ]] || fail "$output$stderr"
  assert_ran 1
}

@test "once: -v says who did it and when; --once-exit-code" {
  servers 3
  "$REDLOCK" run --once 1h L -- true it was me
  run -9 --separate-stderr "$REDLOCK" run -vv --once 1h --once-exit-code 9 L -- true
  assert_contains "$stderr" 'lock "L": job skipped, done by ' 'true it was me), begun ' ' ago'
}

# older_than_a_second SERVER: the run that its mark is of began longer ago, by its own clock.
older_than_a_second() {
  local seconds microseconds began
  { read -r seconds && read -r microseconds; } < <(cli "$1" time)
  began=$(cli "$1" get "$MARK" | cut -d' ' -f1)
  ((seconds * 1000 + microseconds / 1000 > began + 1000))
}

@test "once: when the time is over it runs again, also for one who asks for less" {
  servers 1
  job
  wait_until "$BOUND" older_than_a_second A
  run "$REDLOCK" run --once 1h L -- sh -c 'echo ran >>"$0"' "$SCRATCH/ran"
  assert_ran 1
  run "$REDLOCK" run --once 1s L -- sh -c 'echo ran >>"$0"' "$SCRATCH/ran"
  assert_ran 2
}

@test "once: a mark from the future counts for as long as a run that just began, and then expires" {
  servers 1
  cli A set "$MARK" "$(($(now_ms) + 600000)) {}" px 90000000
  job
  assert_ran 0
  cli A set "$MARK" "$(($(now_ms) + 7200000)) {}" px 90000000
  job
  assert_ran 1
}

@test "once: a run without it, and other locks, are not concerned" {
  servers 1
  job
  "$REDLOCK" run L -- sh -c 'echo ran >>"$0"' "$SCRATCH/ran"
  "$REDLOCK" run --once 1h M -- sh -c 'echo ran >>"$0"' "$SCRATCH/ran"
  assert_ran 3
}

@test "once: a waiter is told as soon as the run before it was successful, and runs the job if it failed" {
  servers 3
  local status_of_first first second
  for status_of_first in 4 0; do
    rm -f "$SCRATCH/ran" "$SCRATCH/end"
    background "$REDLOCK" run --once 1h L -- sh -c 'echo ran >>"$0"; until [ -e "$1" ]; do sleep 0.05; done; exit "$2"' \
      "$SCRATCH/ran" "$SCRATCH/end" "$status_of_first"
    first=$BACKGROUND_PID
    wait_for "$SCRATCH/ran"
    background "$REDLOCK" run -vv --once 1h L -- sh -c 'echo ran >>"$0"; exit 5' "$SCRATCH/ran"
    second=$BACKGROUND_PID
    wait_for_line "$BACKGROUND_ERR" 'waiting'
    echo >"$SCRATCH/end"
    await "-$status_of_first" "$first"
    await "$second" 30
    if ((status_of_first == 0)); then
      assert_status 0
      assert_contains "$stderr" 'skipped'
      assert_ran 1
    else
      assert_status 5
      assert_ran 2
    fi
  done
}

@test "once: while the lock is cooling down, or held by another, the mark goes first" {
  servers 3
  "$REDLOCK" run --once 1h --min-hold 1m L -- true
  run -0 "$REDLOCK" run -n --once 1h L -- false
  run -1 "$REDLOCK" run -n L -- false
}

@test "once: one server that knows is believed, and those that lack the mark get it" {
  servers 3
  job
  wait_for_key C "$MARK"
  restart_server A B
  [[ $(cli A exists "$MARK") == 0 ]]
  job
  assert_ran 1
  wait_for_key A "$MARK"
  wait_for_key B "$MARK"
  [[ $(cli A get "$MARK" | cut -d' ' -f2-) == "$(cli C get "$MARK" | cut -d' ' -f2-)" ]]
  local of_a of_c
  of_c=$(cli C pttl "$MARK")
  of_a=$(cli A pttl "$MARK")
  # Never longer.
  ((of_a <= of_c + 100)) || fail "$of_a ms of $of_c"
  kill_server C
  job
  assert_ran 1
}

@test "once: too few marks are told, the job's status stands" {
  servers 1
  needs_users
  cli A acl setuser default +@all '-time'
  job
  assert_contains "$stderr" 'warning: too few servers know that the job of lock "L" was done'
}

@test "once: a foreign thing in the mark's place is no mark" {
  servers 1
  cli A rpush "$MARK" x
  job
  assert_ran 1
  job
  assert_ran 1
  cli A set "$MARK" nonsense
  job
  assert_ran 2
}

@test "once: it needs one key more than redlock-protocol(7)'s smallest set of permissions" {
  acl_of_page
  start_server A --user "${ACL[@]}"
  export REDLOCK_SERVERS=unix://cron:password@${A_URI#unix://}
  run -0 "$REDLOCK" run nightly-backup -- true
  run -69 "$REDLOCK" run -n --once 1h nightly-backup -- true
  cli A acl setuser cron '~redlock:{nightly-backup}:done'
  run -0 --separate-stderr "$REDLOCK" run -n --once 1h nightly-backup -- true
  [[ -z $stderr ]] || fail "$stderr"
  run -0 "$REDLOCK" run -n --once 1h nightly-backup -- false
}
