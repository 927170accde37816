# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# What the suites about a Redis Cluster share: clusters, names of locks by their node, jobs and waiters. To be loaded
# after lib/common and lib/topology.

# quiet_cluster PRIMARIES REPLICAS_EACH [OPTION…]: one in which no node fails by itself.
quiet_cluster() {
  CLUSTER_NODE_TIMEOUT=15000 start_cluster "$@"
  export REDLOCK_SERVERS=$CLUSTER_URI
}

# three_nodes NODE: quiet_cluster 3 0, and LOCK is at NODE.
three_nodes() { quiet_cluster 3 0 && lock_at "$1"; }

# failing_cluster: one in which the replica of a primary that dies takes over. LOCK is at C1.
failing_cluster() {
  start_cluster 3 1
  export REDLOCK_SERVERS=$CLUSTER_URI
  lock_at C1
}

# lock_at NODE: sets LOCK to a name whose slot, SLOT, that primary has, and OWNER to the node.
lock_at() {
  local try
  for try in {1..40}; do
    LOCK=lock$try
    find_owner "$LOCK" || return 1
    [[ $OWNER == "$1" ]] || continue
    SLOT=$(cluster_slot "$LOCK")
    return
  done
  fail "no name for $1"
}

# seeds NODE…: prints a URI with these nodes.
seeds() {
  local name text=''
  for name in "$@"; do
    local -n node_port=${name}_PORT
    text+=,127.0.0.1:$node_port
  done
  echo "redis+cluster://${text#,}"
}

JOB_OPTIONS=(--ttl 5m) # outlasts what a loaded machine may take for a fail-over or for moving a slot

# start_waiter NAME: a run that waits for $LOCK; sets the variable NAME to its PID. It stands in the queue and listens on
# the node OWNER when this returns.
start_waiter() {
  ask_node "$OWNER" "zcard redlock:{$LOCK}:queue"
  local before=$SAID
  background "$REDLOCK" run -vv "$LOCK" -- true
  declare -g "$1=$BACKGROUND_PID"
  wait_until "$BOUND" stand_in_queue $((before + 1))
  # It reads that later, and asks every 100 ms until then.
  wait_until "$BOUND" grep -q 'subscribed to wake-ups' "$BACKGROUND_ERR"
}
# was_told NAME: that waiter got the lock, and a server told it so. By itself it asks every 1.7 s.
was_told() {
  await -0 "${!1}"
  [[ $stderr =~ 'the lock is free, and it is our turn'|'the lock may be ours in ' ]] || fail "$1 was not told: $stderr"
}
# stand_in_queue N: N runs wait for $LOCK, and N listen, on whatever nodes.
stand_in_queue() {
  ask_node "$OWNER" "zcard redlock:{$LOCK}:queue" && [[ $SAID == "$1" ]] || return 1
  find_channels wake && ((${#HEARD[@]} == $1))
}

# find_channels KIND: sets HEARD to the channels of $LOCK of that kind to which somebody listens, on whatever node.
find_channels() {
  local name channel
  HEARD=()
  for name in "${CLUSTER[@]}"; do
    node_runs "$name" || continue
    ask_node "$name" "pubsub channels redlock:{$LOCK}:$1:*" || return 1
    split_at $'\n' "$SAID"
    for channel in "${PARTS[@]}"; do [[ $channel != *"$1"* ]] || HEARD+=("$channel"); done
  done
}

# needs_sharded: skips the test where the server knows no messages for the nodes of one slot.
needs_sharded() { server_at_least 7 || skip 'this server has no sharded messages (Redis 7)'; }

# listens_sharded NODE: a waiter for $LOCK has subscribed to the messages for the nodes of its slot, there.
listens_sharded() { ask_node "$1" "pubsub shardchannels redlock:{$LOCK}:wake:*" && [[ $SAID == *wake* ]]; }

# assert_sent_sharded NODE: the node has sent its messages to the nodes of the slot alone.
assert_sent_sharded() {
  (($(calls_of "$1" spublish) > 0)) || fail "$1 has sent no sharded message"
  [[ $(calls_of "$1" publish) == 0 ]] || fail "$1 has sent a message to all nodes"
  refute_contains "$(cli "$1" cluster info)" stats_messages_publish_sent
}

# renew_soon: the holder of $LOCK gets a message, and renews the lock immediately.
renew_soon() {
  local channel
  wait_until "$BOUND" hears
  find_running_node
  for channel in "${HEARD[@]}"; do ask_node "$NODE" "publish $channel x"; done
}
hears() { find_channels told && ((${#HEARD[@]})); }

# replica_has REPLICA KEY: it has got that key from its primary.
replica_has() { ask_node "$1" readonly "exists $2" && [[ $SAID == *1 ]]; }

# assert_clean NODE…: no lock is left on these primaries.
assert_clean() {
  local name
  for name in "$@"; do assert_nothing_left "$name" || return 1; done
}
