#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole,slow
#
# A server that was restarted may have forgotten who holds a lock: it is no witness for a while.
load ../lib/common

setup() { export REDLOCK_RESTART_GRACE=60; }
teardown() { stop_all; }

# age NAME SECONDS: waits until the server has been up for SECONDS.
age() {
  local up
  wait_until "$BOUND" eval "up=\$(cli $1 info server | tr -d '\r' | sed -n 's/^uptime_in_seconds://p'); ((up >= $2))"
}

@test "a new installation is usable immediately, and again" {
  servers 3
  run -0 --separate-stderr "$REDLOCK" run -n L -- echo one
  run -0 --separate-stderr "$REDLOCK" run -n L -- echo two
}

@test "servers restarted empty one after the other under a running job let no second one in" {
  servers 3
  start_job --ttl 3s
  local name
  for name in A B C; do
    restart_server "$name"
    wait_for_key "$name" L # by the next renewal
    (($(cli "$name" pttl L) > 0)) || fail "it came back without a time to live"
    run --separate-stderr "$REDLOCK" run -n L -- touch "$SCRATCH/second"
    [[ $status != 0 && ! -e $SCRATCH/second ]] || fail "a second one got in after $name"
  done
  end_job
}

@test "a majority restarted empty at the same time lets nobody in, though it has no lock" {
  export REDLOCK_RESTART_GRACE=3
  servers 3
  # Past twice the grace it can no longer be taken for a new installation.
  age C 7
  # A run may be over before C has heard of it.
  wait_until "$BOUND" eval '"$REDLOCK" run -n --ttl 3s L -- true && [[ $(cli C exists "redlock:{L}:fence") == 1 ]]'
  local began
  for _ in {1..5}; do # on a loaded machine the grace may be over before redlock has asked
    began=$(now_ms)
    restart_server A B
    run --separate-stderr "$REDLOCK" run --ttl 3s -w 1 L -- true
    (($(now_ms) - began >= 3000)) || break
  done
  assert_status 69
  assert_one_line "$stderr" 'trusted in'
  # When their time has come they are servers like any other.
  run -0 "$REDLOCK" run --ttl 3s -w 15 --server-wait 15s L -- true
}

@test "a server restarted with an old copy of its data says so and writes nothing" {
  export REDLOCK_RESTART_GRACE=30
  servers 1
  run -0 "$REDLOCK" run L -- true
  # As after a restart from a snapshot: the trace of the name is of another life.
  cli A hset 'redlock:{L}:fence' run_id 0123456789012345678901234567890123456789
  local before
  before=$(cli A hgetall 'redlock:{L}:fence')
  run -69 --separate-stderr "$REDLOCK" run -n --server-wait 300ms L -- true
  assert_contains "$stderr" 'was restarted'
  has_no_keys A
  [[ $(cli A hgetall 'redlock:{L}:fence') == "$before" ]]
  run -0 "$REDLOCK" run -n --restart-grace 0 L -- true
}

@test "one server under two addresses is an error, and nothing stays locked" {
  start_server A --tcp
  run -78 --separate-stderr "$REDLOCK" run -S "$A_URI" -S "$A_TCP_URI" L -- true
  assert_one_line "$stderr" 'one and the same server'
  assert_nothing_left A
}

@test "the fence rises from grant to grant, over restarts and over servers that were away" {
  export REDLOCK_RESTART_GRACE=0
  servers 3
  local last=0 fence round
  for round in 1 2 3 4 5 6 7 8; do
    case $round in
      3) kill_server A ;;
      4) restart_server A ;;
      5) pause_server B ;;
      6) resume_server B ;;
      7) restart_server A B C ;;
    esac
    fence=$("$REDLOCK" run -w 10 L -- sh -c 'echo $REDLOCK_FENCE')
    ((fence > last)) || fail "fence $fence after $last in round $round"
    last=$fence
  done
}
