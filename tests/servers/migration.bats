#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# A slot that moves to another primary with all its keys at one instant (CLUSTER MIGRATESLOTS of Valkey 9). The old way,
# key by key, is in cluster_failover.bats. tests/servers/versions runs both with such a server.

load ../lib/common
load ../lib/topology
load ../lib/cluster

setup() {
  server_at_least 9 || skip 'this server moves a slot key by key (at one instant: Valkey 9)'
  meet
  lock_at C1
}
teardown() { stop_all; }

# meet: a Cluster of three nodes that have met each other. Those of start_cluster took over from primaries that never
# were. So one of Valkey 9.1 does not know its shard, and crashes at SPUBLISH.
meet() {
  local i name
  CLUSTER=(C1 C2 C3)
  CLUSTER_URI=''
  for i in 1 2 3; do
    name=C$i
    start_server "$name" --tcp --cluster-enabled yes --cluster-node-timeout 15000
    local -n port=${name}_PORT
    # shellcheck disable=SC2004 # an associative array
    NODE_IDS[$name]=$(cli "$name" cluster myid)
    NODE_NAMES[${NODE_IDS[$name]}]=$name
    CLUSTER_URI+=,127.0.0.1:$port
    say_ok "$name" cluster addslotsrange $(((i - 1) * 5000)) $((i < 3 ? i * 5000 - 1 : 16383))
    say_ok "$name" cluster set-config-epoch "$i"
    ((i == 1)) || say_ok C1 cluster meet 127.0.0.1 "$port"
  done
  await_cluster
  export REDLOCK_SERVERS=redis+cluster://${CLUSTER_URI#,}
}

# begin_atomic_migration FROM TO: $SLOT begins to move, and cannot arrive before finish_atomic_migration.
begin_atomic_migration() {
  pause_server "$2"
  say_ok "$1" cluster migrateslots slotsrange "$SLOT" "$SLOT" node "${NODE_IDS[$2]}"
}
finish_atomic_migration() {
  resume_server "$2"
  wait_until "$BOUND" has_moved "$2"
  await_cluster
}
has_moved() { find_owner "$LOCK" "$1" && [[ $OWNER == "$1" ]]; }

# is_renewed NODE: the holder renews the lock there.
is_renewed() {
  [[ $(cli "$1" pexpire "$LOCK" 60000) == 1 ]] || fail "$1 does not have the lock: $(cli "$1" pttl "$LOCK")"
  renew_soon
  wait_for_life "$LOCK" 200000 300000 "$1"
}

@test "migration: locks of each kind are renewed while their slot moves, and where it has arrived, in silence" {
  local option from=C1 to=C2
  for option in --log-entries=100 --shared '--slots=2'; do
    OWNER=$from
    start_job "$option"
    start_waiter one
    begin_atomic_migration "$from" "$to"
    is_renewed "$from"
    finish_atomic_migration "$from" "$to"
    is_renewed "$to"
    run -1 "$REDLOCK" run -n "$LOCK" -- true
    end_job
    [[ -z $stderr ]] || fail "$option: $stderr"
    was_told one
    refute_contains "$stderr" warning
    wait_until_clean "${CLUSTER[@]}"
    [[ $from == C1 ]] && from=C2 to=C1 || from=C1 to=C2
  done
}

@test "migration: jobs that compete while their slot moves again and again never overlap, and none fails" {
  local each from=C1 to=C2
  for each in 1 2 3; do
    background bash -c 'for _ in {1..40}; do
      "$REDLOCK" run "$1" -- sh -c "echo start >>\"$2\"; echo end >>\"$2\"" || exit
    done' loop "$LOCK" "$SCRATCH/log"
  done
  for each in {1..8}; do
    say_ok "$from" cluster migrateslots slotsrange "$SLOT" "$SLOT" node "${NODE_IDS[$to]}"
    wait_until "$BOUND" has_moved "$to"
    await_cluster
    [[ $from == C1 ]] && from=C2 to=C1 || from=C1 to=C2
  done
  for each in "${BACKGROUND[@]}"; do
    await -0 "$each" 120
    [[ -z $stderr ]] || fail "$stderr"
  done
  assert_no_overlap "$SCRATCH/log"
}
