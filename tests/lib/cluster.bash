# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2016,SC2034,SC2154
#
# What the suites about a Redis Cluster share: clusters, names of locks by their node, jobs and waiters. To be loaded
# after lib/common and lib/topology.

# quiet_cluster PRIMARIES REPLICAS_EACH [OPTION…]: one in which no node fails by itself.
quiet_cluster() {
  CLUSTER_NODE_TIMEOUT=15000 start_cluster "$@"
  export REDLOCK_SERVERS=$CLUSTER_URI
}

# failing_cluster: one in which the replica of a primary that dies takes over.
failing_cluster() {
  start_cluster 3 1
  export REDLOCK_SERVERS=$CLUSTER_URI
}

# lock_at NODE: sets LOCK to a name whose slot that primary has, and OWNER to the node.
lock_at() {
  local try
  for try in {1..40}; do
    LOCK=lock$try
    OWNER=$(cluster_owner "$LOCK")
    [[ $OWNER != "$1" ]] || return 0
  done
  fail "no name for $1"
}

# seeds NODE…: prints a URI with these nodes.
seeds() {
  local name text=''
  for name in "$@"; do text+=,127.0.0.1:$(port_of "$name"); done
  echo "redis+cluster://${text#,}"
}

# start_job [OPTION…]: a job under $LOCK that ends with 7 once let_go is called; sets JOB and JOB_ERR.
start_job() {
  rm -f "$SCRATCH/ready.$LOCK" "$SCRATCH/go.$LOCK"
  background "$REDLOCK" run "$@" "$LOCK" -- bash -c 'echo "$REDLOCK_FENCE" >"$0"
    until [[ -e $1 ]]; do read -rt 0.05 <>"$NAP"; done; exit 7' "$SCRATCH/ready.$LOCK" "$SCRATCH/go.$LOCK"
  JOB=$BACKGROUND_PID
  JOB_ERR=$BACKGROUND_ERR
  wait_for "$SCRATCH/ready.$LOCK"
}
let_go() { : >"$SCRATCH/go.$LOCK"; }

# start_waiter NAME [OPTION…]: a run that waits for $LOCK and then writes when its job began to the file NAME; sets
# the variable NAME to its PID. It stands in line and listens on the node OWNER when this returns.
start_waiter() {
  local before
  before=$(cli "$OWNER" zcard "redlock:{$LOCK}:queue")
  background "$REDLOCK" run "${@:2}" "$LOCK" -- sh -c 'date +%s%3N >"$0"' "$SCRATCH/$1"
  declare -g "$1=$BACKGROUND_PID"
  wait_until "$BOUND" stand_in_line $((before + 1))
}
stand_in_line() {
  [[ $(cli "$OWNER" zcard "redlock:{$LOCK}:queue") == "$1" && $(listeners) == "$1" ]]
}

# needs_sharded: skips the test where the server knows no messages for the nodes of one slot.
needs_sharded() { server_at_least 7 || skip 'this server has no sharded messages (Redis 7)'; }

# listens_sharded NODE: a waiter for $LOCK has subscribed to the messages for the nodes of its slot, there.
listens_sharded() { [[ $(cli "$1" pubsub shardchannels "redlock:{$LOCK}:wake:*") == *wake* ]]; }

# assert_sent_sharded NODE: the node has sent its messages to the nodes of the slot alone.
assert_sent_sharded() {
  (($(calls_of "$1" spublish) > 0)) || fail "$1 has sent no sharded message"
  [[ $(calls_of "$1" publish) == 0 ]] || fail "$1 has sent a message to all nodes"
  refute_contains "$(cli "$1" cluster info)" stats_messages_publish_sent
}

# listeners: prints how many waiters listen, on whatever node.
listeners() {
  local name count=0
  for name in "${CLUSTER[@]}"; do
    ! node_runs "$name" ||
      count=$((count + $(node_cli "$name" pubsub channels "redlock:{$LOCK}:wake:*" | grep -c wake)))
  done
  echo "$count"
}

# renew_soon: the holder of $LOCK hears something, and renews the lock at once.
renew_soon() {
  local channel
  wait_until "$BOUND" hears
  for channel in $HEARD; do cli "$(a_running_node)" publish "$channel" x >/dev/null; done
}
hears() {
  local name
  HEARD=''
  for name in "${CLUSTER[@]}"; do
    ! node_runs "$name" || HEARD+=" $(node_cli "$name" pubsub channels "redlock:{$LOCK}:told:*")"
  done
  [[ $HEARD == *told* ]]
}

# replica_has REPLICA KEY: it has got that key from its primary.
replica_has() { [[ $(printf 'readonly\nexists %s\n' "$2" | cli "$1") == *1 ]]; }

# assert_clean NODE…: no lock is left on these primaries.
assert_clean() {
  local name
  for name in "$@"; do assert_nothing_left "$name" || return 1; done
}
