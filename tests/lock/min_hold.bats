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

@test "min-hold: a server that was restarted empty gets the key back for the rest of it" {
  servers 3
  start_job --ttl 2s --min-hold 60s
  restart_server B
  wait_for_key B L
  assert_between 30000 "$(cli B pttl L)" 60000
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
