#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole,slow
#
# A Redis Cluster that changes while jobs run: a slot moves to another primary, a primary fails and a replica takes over.

load ../lib/common
load ../lib/topology
load ../lib/cluster

teardown() { stop_all; }

# ---- a slot that moves -----------------------------------------------------------------------

# half_moves FROM TO: $SLOT begins to move, and of its keys only that of the lock does. arrives FROM TO: all of it.
half_moves() { cluster_begin_migration "$SLOT" "$@" && cluster_move_keys "$SLOT" "$@" "$LOCK"; }
arrives() { cluster_move_keys "$SLOT" "$@" && cluster_finish_migration "$SLOT" "$@"; }

@test "cluster: a job goes on though its lock's key has moved before the others" {
  three_nodes C1
  start_job
  half_moves C1 C2
  # For a job that comes, some keys are missing on each node.
  run -69 --separate-stderr "$REDLOCK" run -n "$LOCK" -- true
  assert_one_line "$stderr"
  assert_contains "$stderr" "moves the lock's slot to another node"
  renew_soon
  wait_until "$BOUND" has_renewed C2 # while the slot is still on its way
  arrives C1 C2
  wait_until "$BOUND" has_renewed C2
  end_job
  wait_until_clean "${CLUSTER[@]}"
}

@test "cluster: a job whose slot has moved goes on, and so does the one that waits for it" {
  three_nodes C1
  start_job
  start_waiter one
  cluster_migrate_slot "$SLOT" C1 C2
  OWNER=C2
  renew_soon
  # The renewal, over a connection to C1 that is still there.
  wait_until "$BOUND" has_renewed C2
  end_job
  [[ -z $stderr ]] || fail "$stderr"
  was_told one
  refute_contains "$stderr" warning
  wait_until_clean "${CLUSTER[@]}"
}

@test "cluster: a waiter subscribes again where its slot has moved" {
  needs_sharded
  three_nodes C1
  start_job
  start_waiter one
  wait_until "$BOUND" listens_sharded C1
  cluster_migrate_slot "$SLOT" C1 C2
  wait_until "$BOUND" listens_sharded C2
  let_go
  was_told one
  refute_contains "$stderr" warning
  await -7 "$JOB"
  assert_sent_sharded C2
}

# A reader's requests name two keys. While one of them has moved and the other one has not, no node serves them. Within
# their time they are sent again.
@test "cluster: a renewal and a leave that begin while the slot is half moved outlast that, in silence" {
  three_nodes C1
  local refused
  start_job -s --ttl 80s --server-timeout 8s # repeated after 1 s each
  half_moves C1 C2
  count_refused C1
  refused=$REFUSED
  renew_soon
  wait_until "$BOUND" has_refused C1 "$refused"
  arrives C1 C2
  wait_until "$BOUND" has_renewed C2
  # Back again: the job ends in the middle.
  half_moves C2 C1
  count_refused C2
  refused=$REFUSED
  let_go
  wait_until "$BOUND" has_refused C2 "$refused"
  arrives C2 C1
  await -7 "$JOB"
  [[ -z $stderr ]] || fail "$stderr"
  wait_until_clean "${CLUSTER[@]}"
}

# A node calls the whole Cluster down while it does not know which node has some slot.
@test "cluster: a renewal outlasts a moment in which the Cluster is down, in silence" {
  three_nodes C1
  local before foreign=$SLOT
  lock_at C3
  start_job --ttl 80s --server-timeout 8s
  wait_until_settled C3
  count_renewals C3
  before=$RENEWALS
  count_refused C3
  wait_until "$BOUND" refuses_a_renewal "$foreign" "$REFUSED"
  say_ok C3 cluster setslot "$foreign" node "${NODE_IDS[C1]}"
  wait_until "$BOUND" has_more_renewals C3 "$before"
  end_job
  [[ -z $stderr ]] || fail "$stderr"
  wait_until_clean "${CLUSTER[@]}"
}
refuses_a_renewal() {
  ask_node C3 "cluster delslots $1"
  renew_soon
  nap 0.1
  has_refused C3 "$2"
}

# count_refused NODE: sets REFUSED to how many EVALs the node has not carried out.
count_refused() {
  ask_node "$1" 'info commandstats' || return 1
  REFUSED=0
  [[ ! $SAID =~ cmdstat_eval:[^$'\n']*rejected_calls=([0-9]+) ]] || REFUSED=${BASH_REMATCH[1]}
}
has_refused() { count_refused "$1" && ((REFUSED > $2)); }

@test "cluster: a release right after the slot has moved goes to the new primary" {
  three_nodes C1
  start_job
  cluster_migrate_slot "$SLOT" C1 C3
  end_job
  [[ -z $stderr ]] || fail "$stderr"
  wait_until_clean "${CLUSTER[@]}"
}

# ---- a primary that fails --------------------------------------------------------------------

# goes_on_after OUTAGE: a job goes on when C1, the primary, meets OUTAGE in the middle of a renewal, and C4 takes over.
goes_on_after() {
  failing_cluster
  start_job
  wait_until "$BOUND" replica_has C4 "$LOCK"
  freeze_in_renewal C1
  "$1" C1
  await_takeover C1
  wait_until "$BOUND" has_renewed C4
  end_job
  wait_until_clean C4
}

@test "cluster: a job goes on when the primary dies, and the fence rises" {
  goes_on_after kill_server
  run -0 "$REDLOCK" run -n "$LOCK" -- sh -c 'echo "$REDLOCK_FENCE"'
  ((output > $(<"$READY"))) || fail "$output after $(<"$READY")"
}

# A process that hangs keeps its connections: the host acknowledges what is sent to it.
@test "cluster: a job goes on when the primary hangs and another one takes over" {
  goes_on_after pause_server
}

@test "cluster: the lock is released on the new primary, though nothing was renewed there" {
  failing_cluster
  start_job
  wait_until "$BOUND" replica_has C4 "$LOCK"
  kill_server C1
  await_takeover C1
  end_job
  wait_until_clean C4
}

@test "cluster: after a planned fail-over the next one in the queue gets the lock" {
  failing_cluster
  start_job
  start_waiter one
  wait_until "$BOUND" replica_has C4 "redlock:{$LOCK}:queue"
  cluster_failover C4
  end_job
  await -0 "$one"
  wait_until_clean C4
}

# cut_off_replica: C4 hears no more from its primary, C1. fail_over_without_key: and then takes over from it.
cut_off_replica() {
  cli C1 acl setuser default -psync -sync -replconf >/dev/null
  cli C1 client kill type replica >/dev/null
}
fail_over_without_key() {
  ! replica_has C4 "$LOCK" || fail 'the replica has the lock'
  kill_server C1
  await_takeover C1
}

@test "cluster: a lock that did not survive the fail-over is lost, and the job is ended" {
  failing_cluster
  cut_off_replica
  start_job
  freeze_in_renewal C1
  fail_over_without_key
  await -80 "$JOB"
  assert_contains "$stderr" "lock \"$LOCK\" was lost" 'the lock is gone there'
  assert_free "$LOCK"
}

@test "cluster: a lock that did not survive the fail-over is put back where others still have it" {
  failing_cluster
  start_server A
  start_server B
  export REDLOCK_SERVERS="$CLUSTER_URI $A_URI $B_URI"
  cut_off_replica
  start_job --ttl 15s
  wait_for_key C1 "$LOCK"
  fail_over_without_key
  wait_for_key C4 "$LOCK"
  end_job
  wait_until_clean C4 A B
}
