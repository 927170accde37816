#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# --min-hold: a lock that stays taken although the job has ended.

load ../lib/common

teardown() { stop_all; }

@test "min-hold: after its job the lock is refused until the time is over, and no process stays" {
  servers 1
  local began
  began=$(now_ms)
  run -7 --separate-stderr "$REDLOCK" run --min-hold 3s L -- sh -c 'exit 7'
  [[ -z $stderr ]] || fail "$stderr"
  cools A L || fail "the key: $(cli A get L)"
  run -1 "$REDLOCK" run -n L -- true
  run -0 "$REDLOCK" run -w 20s L -- true
  assert_between 2990 $(($(now_ms) - began)) 15000
  assert_nothing_left A
}

@test "min-hold: five hosts whose clocks differ run a short job once" {
  servers 3
  local i pids=()
  for i in 1 2 3 4 5; do
    background "$REDLOCK" run -n --min-hold 60s L -- sh -c 'echo ran >>"$0"' "$SCRATCH/log"
    pids+=("$BACKGROUND_PID")
    [[ $i != 3 ]] || wait_for "$SCRATCH/log"
  done
  for i in "${pids[@]}"; do await "$i"; done
  [[ $(wc -l <"$SCRATCH/log") == 1 ]] || fail "it ran $(wc -l <"$SCRATCH/log") times"
}

@test "min-hold: a run that asks learns that the lock is cooling down, after whose run, and for how long" {
  servers 3
  "$REDLOCK" run --min-hold 60s L -- true it was me
  run -1 --separate-stderr "$REDLOCK" run -vv -n L -- true
  assert_contains "$stderr" 'lock "L" is cooling down after ' 'true it was me' ' ago; free in '
  refute_contains "$stderr" 'unless renewed'
}

@test "min-hold: the key has it from the start, so that kill -9 does not end it" {
  servers 1
  background "$REDLOCK" run --ttl 10s --min-hold 5m L -- \
    sh -c 'echo $$ >"$0"; exec sleep 100' "$SCRATCH/job"
  wait_for "$SCRATCH/job"
  assert_between 280000 "$(cli A pttl L)" 300000
  kill -KILL "$BACKGROUND_PID"
  wait_gone "$BACKGROUND_PID"
  kill -KILL "$(cat "$SCRATCH/job")" 2>/dev/null || true
  assert_between 270000 "$(cli A pttl L)" 300000
  run -1 "$REDLOCK" run -n L -- true
}

@test "min-hold: renewals leave the rest of it, and a job that outlasts it releases the lock" {
  servers 1
  # The job lasts longer than the minimum hold, and looks after the first renewals, at a third of the ttl each.
  run -0 --separate-stderr "$REDLOCK" run --ttl 2s --min-hold 3s -vv L -- \
    sh -c 'sleep 1.2; redis-cli -s "$0" pttl L >"$1"; sleep 2' "$A_SOCKET" "$SCRATCH/pttl"
  assert_contains "$stderr" 'renewed' 'released after'
  assert_between 1 "$(<"$SCRATCH/pttl")" 2100
  assert_nothing_left A
}

@test "min-hold: a lost lock is not kept" {
  servers 1
  start_job --ttl 1s --min-hold 60s
  cli A set L theirs px 60000
  await -80 "$BACKGROUND_PID"
  [[ $(cli A get L) == theirs ]]
}

@test "min-hold: a hold that most servers lost is removed from the others" {
  servers 3
  background "$REDLOCK" run --ttl 60s --restart-grace 2m --min-hold 90s L -- \
    sh -c 'echo >"$0"; until [ -e "$1" ]; do sleep 0.05; done' "$SCRATCH/job" "$SCRATCH/end"
  wait_for "$SCRATCH/job"
  wait_until_settled A B C # a renewal between the two would give A its key back
  restart_server A B
  echo >"$SCRATCH/end"
  await -80 "$BACKGROUND_PID"
  wait_until "$BOUND" has_no_keys C
}

@test "min-hold: a server that was restarted empty gets the key back for the rest of it" {
  servers 3
  start_job --ttl 2s --min-hold 60s
  restart_server B
  wait_for_key B L
  assert_between 30000 "$(cli B pttl L)" 60000
}

@test "min-hold: one server of three that is down ends it for nobody" {
  servers 3
  kill_server C
  "$REDLOCK" run --min-hold 60s L -- true
  run -1 "$REDLOCK" run -n L -- true
  cools A L
  cools B L
}

@test "min-hold, hold-on-failure: a server that is slower than the job, and knows no script, keeps the lock, too" {
  servers 3
  delay_proxy "$A_SOCKET" 50
  local servers="$PROXY_URI $B_URI $C_URI" server
  cli A script flush >/dev/null
  REDLOCK_SERVERS=$servers "$REDLOCK" run --min-hold 60s L -- true
  wait_until "$BOUND" cools A L
  cli A script flush >/dev/null
  REDLOCK_SERVERS=$servers run -1 "$REDLOCK" run --hold-on-failure 60s M -- false
  for server in A B C; do wait_until "$BOUND" has_key "$server" M; done
}

@test "min-hold: it may be longer than the restart grace" {
  servers 3
  run -0 "$REDLOCK" run --restart-grace 60s --min-hold 10m L -- true
}
