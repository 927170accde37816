#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# Waiters that no quorum can serve, because servers are silent, or keep a key that an earlier lock left behind: they
# hold up nobody, say what stands in their way, and go on as soon as that has gone.

load ../lib/common
load ../lib/looking
load ../lib/queue

teardown() { stop_all; }

# cut_off COUNT: this many runs wait that reach only B and C, of which C has a key that was left over. Returns when none
# of them stands in the queue of B.
cut_off() {
  local at
  closed_port
  for ((at = 0; at < $1; at++)); do
    REDLOCK_SERVERS="$CLOSED_URI $B_URI $C_URI" background "$REDLOCK" run -vv L -- bash -c 'echo cut off >>"$0"' "$LOG"
    CUT_OFF=$BACKGROUND_PID
    wait_for_line "$BACKGROUND_ERR" '1 of 3 servers can grant the lock, 2 needed'
  done
  wait_until "$BOUND" lacks_key B "$QUEUE"
}

# herd COUNT: this many runs with -n begin together; returns how many of them ran.
herd() {
  local at pids=()
  for ((at = 0; at < $1; at++)); do
    background "$REDLOCK" run -n L -- bash -c 'echo start >>"$0"; read -rt 1 <>"$NAP"; echo end >>"$0"' "$LOG"
    pids+=("$BACKGROUND_PID")
  done
  for at in "${pids[@]}"; do await "$at"; done
}

@test "obstacles: of a herd one job runs, though waiters that cannot win are there" {
  servers 3
  hold
  cli C set L left-over px 600000 >/dev/null
  cut_off 3
  : >"$LOG"
  end_hold
  herd 5
  [[ $(grep -c start "$LOG") == 1 ]] || fail "$(cat "$LOG")"
  assert_no_overlap <(grep -v holder "$LOG")
}

@test "obstacles: a waiter that can win has the lock soon, and one that cannot as soon as the key has gone" {
  servers 3
  hold
  cli C set L left-over px 600000 >/dev/null
  cut_off 1
  background "$REDLOCK" run -w 20s L -- true
  let_go
  await -0 "$BACKGROUND_PID" 15
  assert_contains "$(<"$SCRATCH/background.$CUT_OFF.err")" 'held by another program'
  cli C del L >/dev/null
  await -0 "$CUT_OFF" 15
  has_text "$LOG" 'cut off'
}

@test "obstacles: a waiter that gives up says which servers stood in the way" {
  servers 2
  closed_port
  REDLOCK_SERVERS+=" $CLOSED_URI"
  cli B set L left-over px 600000 >/dev/null
  run -1 --separate-stderr "$REDLOCK" run -w 1s L -- true
  assert_contains "$stderr" 'could not get lock "L" within 1 s; 2 of 3 servers must grant lock "L": '
  assert_contains "$stderr" "$B_URI: the lock is held by another program" 'refused' 'giving up (status 1)'
}
