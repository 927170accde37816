#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole,slowest
# shellcheck shell=bash disable=SC1003
#
# Holding and losing: the lock is renewed while the job runs, and where it cannot be, the job is dead
# before anybody else can have the lock.

load ../lib/common
load ../lib/beating

setup() { servers 1; }
teardown() { stop_all; }

@test "renewals keep a lock beyond its ttl" {
  run_job --ttl 2s --
  timed -1 "$REDLOCK" run -w 4 L -- true
  touch "$LOG.end"
  await -0 "$TOP"
  [[ -z $stderr ]] || fail "$stderr"
  assert_nothing_left A
}

@test "lost: the key was deleted, TERM comes with a renewal" {
  run_job --ttl 6s --
  cli A del L
  await -80 "$TOP"
  assert_one_line "$stderr" 'lock "L" was lost, stopping the job' "$A_URI: the lock is gone there"
  (($(last TERM) > 0))
  assert_nothing_left A
}

@test "lost: the key has another value, or another type, which stays" {
  run_job -q --ttl 3s --kill-after 1s -- 0
  cli A set L intruder
  await -80 "$TOP"
  assert_contains "$stderr" 'lock "L" was lost' "$A_URI: somebody else holds the lock there"
  refute_contains "$stderr" intruder
  (($(last TERM) > 0))
  [[ $(cli A get L) == intruder ]]
  cli A del L
  rm "$LOG"
  run_job --ttl 1s --
  cli A eval 'redis.call("DEL", "L"); redis.call("RPUSH", "L", "one")' 0
  await -80 "$TOP"
  [[ $(cli A llen L) == 1 ]]
}

@test "lost: the server was restarted empty" {
  run_job --ttl 3s --kill-after 1s --
  restart_server A
  await -80 "$TOP"
  assert_contains "$stderr" "$A_URI: the lock is gone there"
  (($(last TERM) > 0))
  assert_nothing_left A
}

@test "lost: a job that goes on after TERM is killed after the grace" {
  run_job --ttl 12s --kill-after 1s -- stubborn
  local deleted
  deleted=$(now_ms)
  cli A del L
  await -80 "$TOP"
  # TERM within 4 s, KILL 1 s after it: long before the lease ends.
  assert_between 250 $(($(last beat) - deleted)) 10500
}

@test "lost: the whole tree dies, with setsid and double forks" {
  cat >"$SCRATCH/tree" <<'JOB'
#!/bin/bash
trap '' TERM
setsid bash -c 'trap "" TERM; echo $$ >>"$0"; while :; do sleep 0.1; done' "$1" &
(setsid bash -c 'bash -c "trap \"\" TERM; echo \$\$ >>\"\$0\"; while :; do sleep 0.1; done" "$0" & exit' "$1" &)
bash -c 'trap "" TERM; echo $$ >>"$0"; while :; do sleep 0.1; done' "$1" &
while :; do sleep 0.1; done
JOB
  chmod +x "$SCRATCH/tree"
  background "$REDLOCK" run --ttl 2s --kill-after 100ms L -- "$SCRATCH/tree" "$SCRATCH/pids"
  local redlock=$BACKGROUND_PID pid
  wait_until "$BOUND" eval '[[ $(wc -l <"$SCRATCH/pids") == 3 ]]'
  cli A del L
  await -80 "$redlock"
  while read -r pid; do gone "$pid" || fail "$pid is alive: $(tr '\0' ' ' <"/proc/$pid/cmdline")"; done <"$SCRATCH/pids"
}

@test "lost: children whose parent has ended at the TERM are waited for, and killed" {
  # The main process obeys immediately, its orphan does not.
  background "$REDLOCK" run --ttl 2s --kill-after 300ms L -- bash -c \
    'bash -c "trap \"\" TERM; echo \$\$ >\"\$0\"; while :; do sleep 0.05; done" "$0" & trap "exit 0" TERM
     while :; do sleep 0.02; done' "$SCRATCH/pid"
  wait_for "$SCRATCH/pid"
  cli A del L
  await -80 "$BACKGROUND_PID"
  gone "$(<"$SCRATCH/pid")" || fail 'the orphan is alive'
}

@test "lost: a stopped job is continued, so that it sees its TERM" {
  # Without the CONT the KILL would find it stopped, the TERM still pending.
  background "$REDLOCK" run --ttl 6s --kill-after 2s L -- bash -c \
    'trap "echo TERM >>\"$0\"; exit" TERM; echo $$ >"$0"; while :; do sleep 0.02; done' "$LOG"
  wait_for "$LOG"
  kill -STOP "$(<"$LOG")"
  wait_until "$BOUND" stopped "$(<"$LOG")"
  cli A del L
  await -80 "$BACKGROUND_PID"
  [[ $(tail -n 1 "$LOG") == TERM ]] || fail "$(<"$LOG")"
}

# ends_before_the_lease OUTAGE JOB…: the server becomes unusable by the command OUTAGE while the job of
# `run_job --ttl 2s JOB…` runs; the job is stopped neither needlessly early nor too late. Three tries: a
# machine that stands still for the margin of 50 ms, just when it ends, makes it too late.
ends_before_the_lease() {
  local before after try
  for try in 1 2 3; do
    ((try == 1)) || restart_server A
    rm -f "$LOG"
    run_job --ttl 2s "${@:2}"
    wait_for_renewal A
    before=$(now_ms)
    "$1" A
    after=$(now_ms)
    await -80 "$TOP"
    (($(last beat) > after + 2000)) || ! kept_up || break
  done
  # The last renewal was at most ttl/3 before the outage began, so the job had at least until
  # ttl - ttl/3 - grace - margin - drift, which is 671 ms with the longest grace, less what a loaded
  # machine takes; and no renewal was sent after the outage: never beyond ttl - margin.
  assert_between $((before + 100)) "$(last beat)" $((after + 2000))
}

@test "server killed: the job gets TERM a grace before the lease ends, in plain words" {
  ends_before_the_lease kill_server --kill-after 600ms -- 0
  (($(last TERM) > 0))
  local -a said
  mapfile -t said <<<"$stderr"
  [[ ${said[0]} == "redlock: warning: lock \"L\" cannot be renewed, the job will be stopped in "*"$A_URI: "* ]] || fail "$stderr"
  [[ ${said[1]} == "redlock: lock \"L\" could not be renewed in time, stopping the job before the lock expires: $A_URI: "* ]] ||
    fail "$stderr"
  # Each is said once, however often it was tried.
  [[ $(grep -c 'warning: lock "L" cannot be renewed' <<<"$stderr") == 1 ]] || fail "$stderr"
  [[ $(grep -c 'in time' <<<"$stderr") == 1 ]] || fail "$stderr"
}

@test "server stopped: a job that ignores TERM is dead before the lease ends" {
  ends_before_the_lease pause_server -- stubborn
  resume_server A
}

@test "server stopped and resumed after the end: nobody else ran at the same time" {
  run_job --ttl 1s -- stubborn
  background "$REDLOCK" run -w 30 --server-wait 30s L -- "$PYTHON" -SEI "$TESTS/lib/beating_job.py" "$SCRATCH/other"
  local rival=$BACKGROUND_PID
  pause_server A
  await -80 "$TOP"
  [[ ! -e $SCRATCH/other ]]
  touch "$SCRATCH/other.end"
  resume_server A
  await -0 "$rival"
  assert_nothing_left A
}

@test "-q silences the warning of an outage, not the end" {
  run_job -q --ttl 1s --
  kill_server A
  await -80 "$TOP"
  refute_contains "$stderr" 'cannot be renewed'
  assert_contains "$stderr" 'stopping the job before the lock expires'
  ! kept_up || assert_contains "$stderr" 'could not be renewed in time'
}

@test "server stopped and resumed in time: the job lives on, and so do the renewals" {
  run_job --ttl 6s --
  pause_server A
  wait_for_line "$BACKGROUND_ERR" 'warning: lock "L" cannot be renewed'
  resume_server A
  wait_for_line "$BACKGROUND_ERR" 'lock "L" was renewed again'
  wait_for_renewal A
  wait_for_renewal A
  touch "$LOG.end"
  await -0 "$TOP"
  [[ $(last TERM) == 0 ]]
  assert_nothing_left A
}

@test "a connection that breaks is made again, and the lock is kept" {
  run_job --ttl 2s --
  local try
  for try in 1 2 3; do
    cli A client kill type normal
    wait_for_renewal A
  done
  touch "$LOG.end"
  await -0 "$TOP"
  [[ $(last TERM) == 0 ]]
}

@test "at release: the server is gone; the job's status stays, a warning says how long" {
  timed -7 "$REDLOCK" run --ttl 3s L -- sh -c 'kill -KILL "$0"; exit 7' "$A_PID"
  assert_one_line "$stderr" 'warning: the release of lock "L" could not be confirmed' "$A_URI: "
  assert_between 0 "$elapsed" 15000
  restart_server A
  run -7 --separate-stderr "$REDLOCK" run -q --ttl 1s L -- sh -c 'kill -KILL "$0"; exit 7' "$A_PID"
  [[ -z $stderr ]] || fail "$stderr"
}

@test "at release: the server is stopped; it releases the lock when it wakes" {
  run -7 --separate-stderr "$REDLOCK" run --ttl 60s L -- sh -c 'kill -STOP "$0"; exit 7' "$A_PID"
  assert_contains "$stderr" 'could not be confirmed'
  resume_server A
  wait_until "$BOUND" has_no_keys A
}

@test "a full stderr that nobody reads stops neither renewals nor the job" {
  mkfifo "$SCRATCH/full"
  exec 8<>"$SCRATCH/full"
  # Full to the last byte.
  dd if=/dev/zero of="$SCRATCH/full" oflag=nonblock bs=4096 2>/dev/null || true
  dd if=/dev/zero of="$SCRATCH/full" oflag=nonblock bs=1 2>/dev/null || true
  background bash -c 'exec "$@" 2>"$0" 8>&-' "$SCRATCH/full" \
    "$REDLOCK" run -vv --ttl 2s L -- "${BEATING_JOB[@]}"
  wait_for_line "$LOG" beat
  local try
  for try in 1 2 3; do wait_for_renewal A; done
  touch "$LOG.end"
  await -0 "$BACKGROUND_PID"
  [[ $(last TERM) == 0 ]]
  exec 8>&-
}

@test "redlock's own time-outs do not burden a slow but living server" {
  # Three round trips of 400 ms are more than one --server-timeout in all, none is by itself.
  delay_proxy "$A_SOCKET" 200
  run -4 --separate-stderr "$REDLOCK" run -S "$PROXY_URI" --ttl 10s --server-timeout 1s L -- sh -c 'exit 4'
  [[ -z $stderr ]] || fail "$stderr"
  assert_nothing_left A
}
