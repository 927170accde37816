#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=memory,slowest
#
# A Redis Cluster as one server: each lock is in one slot, and redlock finds the primary of that slot from any node. A
# slot that moves, a primary that fails: cluster_failover.bats.

load ../lib/common
load ../lib/acl
load ../lib/hostile
load ../lib/tls
load ../lib/topology
load ../lib/cluster
load ../lib/services

setup_file() {
  make_authority ca
  make_certificate server ca IP:127.0.0.1
}
teardown() { stop_all; }

# ---- every day -------------------------------------------------------------------------------

@test "cluster: list, history and status of one whose slots lie in thousands of ranges" {
  quiet_cluster 1 0 --cluster-require-full-coverage no
  # Every second slot has no node.
  # shellcheck disable=SC2046 # words
  cli C1 cluster delslots $(seq 0 2 16382) >/dev/null
  local name names=() lost=()
  for name in L{1..20}; do
    ask_node C1 "cluster keyslot $name"
    if ((SAID % 2 == 0)); then lost+=("$name"); else names+=("$name"); fi
  done
  for name in "${names[@]:0:2}"; do "$REDLOCK" acquire --ttl 60s "$name" >/dev/null; done
  # redlock shows what it has found, and says that more may exist.
  local command
  set -f # the patterns are for redlock
  for command in list 'history L*' 'history' 'list none*'; do
    # shellcheck disable=SC2086 # several words
    run -69 --separate-stderr "$REDLOCK" $command
    assert_contains "$stderr" 'no node of the Cluster serves 8192 of the 16384 slots'
    [[ $command == *none* || ${#lines[@]} == 3 ]] || fail "$output" "$stderr"
    # shellcheck disable=SC2086 # several words
    run -69 --separate-stderr "$REDLOCK" $command --json
    assert_contains "$output" '"error": "no node of the Cluster serves 8192 of'
  done
  set +f
  run -0 --separate-stderr "$REDLOCK" status "${names[@]:0:2}"
  [[ -z $stderr && $(grep -c ': held' <<<"$output") == 2 ]] || fail "$output" "$stderr"
  run -69 --separate-stderr "$REDLOCK" status "${lost[@]:0:2}"
  assert_contains "$output$stderr" 'no node of the Cluster serves the slot of this lock'
}

@test "cluster: locks in different slots, with a tag and without" {
  quiet_cluster 3 0
  local node LOCK names=('{tag}any')
  for node in "${CLUSTER[@]}"; do
    lock_at "$node"
    names+=("$LOCK")
  done
  for LOCK in "${names[@]}"; do
    start_job
    timed -1 "$REDLOCK" run -n "$LOCK" -- true
    find_owner "$LOCK"
    assert_contains "$(answer "$OWNER" keys '*')" "$LOCK"
  done
  run -0 --separate-stderr "$REDLOCK" list
  [[ -z $stderr && ${#lines[@]} == 5 ]] || fail "$output" "$stderr"
  run -0 --separate-stderr "$REDLOCK" status "${names[@]}"
  [[ $(grep -c ': held (1 of 1 server)' <<<"$output") == 4 ]] || fail "$output"
  for LOCK in "${names[@]}"; do let_go; done
  for JOB in "${BACKGROUND[@]}"; do
    await -7 "$JOB"
    [[ -z $stderr ]] || fail "$stderr"
  done
  for LOCK in "${names[@]}"; do
    run -0 --separate-stderr "$REDLOCK" history "$LOCK"
    assert_contains "$output" ' 7 '
  done
  assert_clean "${CLUSTER[@]}"
}

@test "cluster: all that redlock does, several locks in different slots, and release --force --now" {
  three_nodes C1
  everything C1
  local first=$LOCK
  lock_at C3
  start_job --also "$first"
  run -1 "$REDLOCK" run -n "$first" -- true
  end_job
  "$REDLOCK" run -n "$first" -- true
  start_job
  run -0 --separate-stderr "$REDLOCK" release --force --now --yes "$LOCK"
  assert_free "$LOCK"
  await -80 "$JOB"
  wait_until "$BOUND" lacks_key C3 "$LOCK"
}

# ---- the way to the primary ------------------------------------------------------------------

@test "cluster: one seed that answers is enough, a replica too, whatever the others are" {
  quiet_cluster 3 1
  lock_at C2
  closed_port
  REDLOCK_SERVERS=redis+cluster://127.0.0.2:$CLOSED_PORT,127.0.0.1:$CLOSED_PORT,127.0.0.1:$C1_PORT assert_free "$LOCK"
  REDLOCK_SERVERS=$(seeds C4) assert_free "$LOCK"
  # C5 is the replica of the lock's own primary.
  REDLOCK_SERVERS=$(seeds C5) assert_free "$LOCK"
  garbage_server 'HTTP/1.1 400 Bad Request\r\n\r\n'
  REDLOCK_SERVERS=redis+cluster://127.0.0.1:$GARBAGE_PORT,127.0.0.1:$C1_PORT assert_free "$LOCK"
  REDLOCK_SERVERS=redis+cluster://no-such-host.invalid,127.0.0.1:$C1_PORT assert_free "$LOCK"
  # None.
  local uri="redis+cluster://127.0.0.1:$CLOSED_PORT,127.0.0.2:$CLOSED_PORT,127.0.0.3:$CLOSED_PORT"
  REDLOCK_SERVERS=$uri,127.0.0.4:$CLOSED_PORT run_redlock run -69 -n --server-wait 0.1 "$LOCK" -- true
  assert_one_line "$stderr" "${uri%%,*} and 3 more: none of its 4 nodes can be used; node 127.0.0.1:$CLOSED_PORT: "
  # None, and no other is known.
  REDLOCK_SERVERS=redis+cluster://127.0.0.1:$CLOSED_PORT run -69 --separate-stderr \
    "$REDLOCK" run -n --server-wait 0.1 "$LOCK" -- true
  assert_one_line "$stderr"
  refute_contains "$stderr" 'none of'
  assert_contains "$stderr" "node 127.0.0.1:$CLOSED_PORT: connection refused"
  # Each one that is stopped costs a part of the second for connecting. -n gives up after two.
  pause_server C4 C6
  REDLOCK_SERVERS=$(seeds C4 C6 C1) assert_free "$LOCK"
}

@test "cluster: the URI of a plain server leads to the message what to write" {
  three_nodes C2
  local node nodes=(C1 C2)
  ! server_at_least 9 || nodes=() # Clusters of Valkey 9 have databases
  for node in "${nodes[@]}"; do
    local -n port=${node}_PORT
    REDLOCK_SERVERS=redis://127.0.0.1:$port/1 run -69 --separate-stderr "$REDLOCK" run -n "$LOCK" -- true
    assert_contains "$stderr" 'write redis+cluster://'
  done
  REDLOCK_SERVERS=redis://127.0.0.1:$C1_PORT run -69 --separate-stderr "$REDLOCK" run -n "$LOCK" -- true
  assert_one_line "$stderr" 'write redis+cluster://'
}

@test "cluster: two URIs of one Cluster are not two servers" {
  quiet_cluster 3 1
  lock_at C1
  REDLOCK_SERVERS="$(seeds C1 C2) $(seeds C2)" run -78 --separate-stderr "$REDLOCK" run -n "$LOCK" -- true
  REDLOCK_SERVERS="$(seeds C1) $(seeds C2) $(seeds C3)" run --separate-stderr "$REDLOCK" run -n "$LOCK" -- true
  [[ $status != 0 ]] || fail 'it counted one Cluster thrice'
  assert_contains "$stderr" 'same server'
}

# ---- beside others -----------------------------------------------------------------------------

@test "cluster: one vote beside two plain servers, and any one of the three may be down" {
  quiet_cluster 3 0
  start_server A
  start_server B
  export REDLOCK_SERVERS="$CLUSTER_URI $A_URI $B_URI"
  lock_at C1
  start_job
  wait_for_key C1 "$LOCK"
  run -1 "$REDLOCK" run -n "$LOCK" -- true
  end_job
  kill_server A
  assert_free "$LOCK"
  restart_server A
  pause_server C1
  assert_free "$LOCK"
  kill_server A
  run --separate-stderr "$REDLOCK" run -vv -n "$LOCK" -- true
  stopped "$(pid_of C1)" || fail 'something has continued the server that this test stopped' "$stderr"
  assert_status 69
  resume_server C1
  assert_free "$LOCK"
}

# ---- who waits -------------------------------------------------------------------------------

@test "cluster: a waiter is woken immediately, through whatever node" {
  three_nodes C1
  REDLOCK_SERVERS=$(seeds C1) start_job
  REDLOCK_SERVERS=$(seeds C2) start_waiter one
  REDLOCK_SERVERS=$(seeds C3) start_waiter two
  let_go
  was_told one
  was_told two
}

# tells_a_waiter [CMD…]: a server tells a waiter that the lock is free, once it waits and CMD has succeeded. A waiter
# asks once more when it listens, and may find the lock free at just that moment: three tries.
tells_a_waiter() {
  local told=false
  for _ in 1 2 3; do
    start_job
    start_waiter one
    "$@"
    let_go
    ! was_told one || told=true
    refute_contains "$stderr" warning
    await -7 "$JOB"
    ! "$told" || return 0
  done
  fail 'no waiter was told'
}

@test "cluster: a waiter is woken by a message that only the nodes of its slot get" {
  needs_sharded
  three_nodes C1
  tells_a_waiter wait_until "$BOUND" listens_sharded C1
  assert_sent_sharded C1
}

@test "cluster: who may not send or hear such a message, sends or hears one for all nodes, and check says so" {
  needs_sharded
  three_nodes C1
  local denied sent
  for denied in spublish ssubscribe; do
    echo "without $denied:"
    each_node acl setuser default +@all "-$denied" >/dev/null
    sent=$(calls_of C1 publish)
    tells_a_waiter
    (($(calls_of C1 publish) > sent)) || fail "nobody sends a message to all nodes"
    run --separate-stderr "$REDLOCK" check "$LOCK"
    assert_contains "$output" 'each message goes to all nodes of the Cluster'
    [[ $(grep -o 'Cluster; give it.*' <<<"$output") == "Cluster; give it +$denied" ]] || fail "$output"
  done
  each_node acl setuser default +@all >/dev/null
  run --separate-stderr "$REDLOCK" check -v "$LOCK"
  assert_contains "$output" 'the user may do all that is needed'
}

@test "cluster: nodes without sharded messages, as before Redis 7, wake a waiter by one for all nodes" {
  quiet_cluster 3 0 --rename-command SPUBLISH '' --rename-command SSUBSCRIBE ''
  lock_at C1
  tells_a_waiter
  run --separate-stderr "$REDLOCK" check -v "$LOCK"
  assert_contains "$output" 'the user may do all that is needed'
}

@test "cluster: a forced release, and a release by token, reach the holder by a message for its slot" {
  needs_sharded
  three_nodes C1
  start_job --ttl 60s
  wait_until_listening C1
  run -0 --separate-stderr "$REDLOCK" release --force --yes "$LOCK"
  await -80 "$JOB" 10 # the next renewal is 20 s away
  background sleep 60
  local token
  token=$("$REDLOCK" acquire -n --ttl 60s --keep-for "$BACKGROUND_PID" "$LOCK")
  "$REDLOCK" release "$LOCK" "${token%% *}"
  (($(calls_of C1 spublish) > 1)) || fail 'no sharded message'
  assert_sent_sharded C1
}

@test "cluster: no connection reaches the job" {
  three_nodes C2
  run -0 "$REDLOCK" run "$LOCK" -- sh -c 'ls -l /proc/self/fd'
  refute_contains "$output" socket eventpoll
}

@test "cluster: a keeper keeps the lock for a process, and releases it" {
  three_nodes C2
  background sleep 60
  local ward=$BACKGROUND_PID
  "$REDLOCK" acquire -n --ttl 2s --keep-for "$ward" "$LOCK" >/dev/null
  await_renewal C2
  await_renewal C2
  kill "$ward"
  wait_until_clean C2
}

# ---- users, TLS ------------------------------------------------------------------------------

@test "cluster: a user with the permissions of the manual is denied nothing, and list needs CLUSTER SLOTS" {
  acl_of_page
  quiet_cluster 3 0
  LOCK=nightly-backup # as on the page
  find_owner "$LOCK"
  each_node acl setuser "${ACL[@]}" >/dev/null
  if server_at_least 7; then
    grep -qx '\.Li +ssubscribe +spublish' "$SOURCE/man/redlock-protocol.7"
    each_node acl setuser cron +ssubscribe +spublish >/dev/null
  fi
  export REDLOCK_SERVERS=redis+cluster://cron:password@${CLUSTER_URI#*//}
  start_job --ttl 3s
  start_waiter one
  await_renewal "$OWNER"
  run -1 --separate-stderr "$REDLOCK" run -n "$LOCK" -- true
  end_job
  [[ -z $stderr ]] || fail "$stderr"
  await -0 "$one"
  [[ -z $(denied_by "${CLUSTER[@]}") ]] || fail "denied: $(denied_by "${CLUSTER[@]}")"
  run -69 --separate-stderr "$REDLOCK" list
  assert_contains "$stderr" 'cluster|slots'
  each_node acl setuser cron '+cluster|slots' +scan >/dev/null
  run -0 --separate-stderr "$REDLOCK" list
}

@test "cluster: with TLS, also where a redirection leads" {
  quiet_cluster 3 0 --tls server
  local LOCK node
  for node in "${CLUSTER[@]}"; do
    lock_at "$node"
    run -0 --separate-stderr "$REDLOCK" run -n --tls-ca "$TLS/ca.crt" "$LOCK" -- true
    [[ -z $stderr ]] || fail "$stderr"
  done
  start_job --tls-ca "$TLS/ca.crt"
  run -0 --separate-stderr "$REDLOCK" list --tls-ca "$TLS/ca.crt"
  assert_contains "$output" "$LOCK"
  end_job
  # Without the system's certificates, which a loaded machine may not read in time.
  SSL_CERT_FILE=/dev/null SSL_CERT_DIR=/dev/null run -69 --separate-stderr "$REDLOCK" run -n "$LOCK" -- true
  assert_contains "$stderr" certificate
}

# ---- lies ------------------------------------------------------------------------------------

# lied_to URI: a run against it ends soon with 69, one printable line, and without having kept a processor busy;
# sets $stderr.
lied_to() { lied_to_by "$1" run -n --server-wait 1s "$LOCK" -- true; }
# lied_to_by URI COMMAND…: the same for another command.
lied_to_by() {
  local began used
  began=$(cpu_of_children)
  REDLOCK_SERVERS=$1 timed "$REDLOCK" "${@:2}"
  used=$(($(cpu_of_children) - began))
  assert_status 69
  assert_one_line "$stderr"
  assert_printable "$stderr"
  assert_between 0 "$elapsed" 15000
  assert_between 0 "$used" 90 # hundredths of a second, of at least 100
}
# cpu_of_children: prints the hundredths of a second that the children of this shell have used.
cpu_of_children() {
  local stat
  IFS= read -r stat <"/proc/$BASHPID/stat"
  read -ra stat <<<"${stat##*) }"
  echo $((stat[13] + stat[14]))
}

@test "cluster: redirections in circles end in an error" {
  LOCK=L
  local mode
  # One that sends everybody in circles, and one that does so only to those who ask for a lock.
  for mode in moved moved-first; do
    echo "$mode:"
    hostile_server "$mode"
    lied_to "redis+cluster://127.0.0.1:$HOSTILE_PORT"
    assert_contains "$stderr" 'is the end of 5 redirections'
  done
  # It serves the command that goes before a renewal.
  lied_to_by "redis+cluster://127.0.0.1:$HOSTILE_PORT" renew --ttl 30s --server-wait 1s "$LOCK" "$(printf 'a%.0s' {1..40})"
  assert_contains "$stderr" 'is the end of 5 redirections'
}

@test "cluster: list says when a lock has moved since the node was asked who has its slot" {
  three_nodes C2
  start_job
  # Its map knows the slots of C1 and C2 from a time before the lock was at C2.
  garbage_server ":1\\r\\n*2\\r\\n*3\\r\\n:0\\r\\n:16382\\r\\n*2\\r\\n\$9\\r\\n127.0.0.1\\r\\n:$C1_PORT\\r\\n*3\\r\\n:16383\\r\\n:16383\\r\\n*2\\r\\n\$9\\r\\n127.0.0.1\\r\\n:$C2_PORT\\r\\n"
  REDLOCK_SERVERS=redis+cluster://127.0.0.1:$GARBAGE_PORT run --separate-stderr "$REDLOCK" list
  assert_contains "$stderr" "has just moved the lock's slot to another node; try again"
  refute_contains "$stderr$output" 'write redis+cluster'
}

@test "cluster: a node whose slot stays half moved, and one that ends each subscription, keep nobody busy" {
  LOCK=L
  hostile_server try-again
  lied_to "redis+cluster://127.0.0.1:$HOSTILE_PORT"
  assert_contains "$stderr" "moves the lock's slot to another node"
  # The node that has the slot sends a new lock to the one that gets it, which lacks one of the keys.
  hostile_server asks "127.0.0.1:$HOSTILE_PORT"
  lied_to "redis+cluster://127.0.0.1:$HOSTILE_PORT"
  hostile_server ends-subscriptions "$SCRATCH/subscriptions"
  REDLOCK_SERVERS=redis+cluster://127.0.0.1:$HOSTILE_PORT run -1 "$REDLOCK" run -w 2 "$LOCK" -- true
  assert_between 1 "$(stat -c %s "$SCRATCH/subscriptions")" 40
}

@test "cluster: redirections to nowhere end in an error" {
  LOCK=L
  closed_port
  hostile_server moved "127.0.0.1:$CLOSED_PORT"
  lied_to "redis+cluster://127.0.0.1:$HOSTILE_PORT"
  assert_contains "$stderr" "node 127.0.0.1:$CLOSED_PORT: connection refused"
  black_hole
  hostile_server moved "127.0.0.1:$BLACK_HOLE_PORT"
  lied_to "redis+cluster://127.0.0.1:$HOSTILE_PORT"
  assert_contains "$stderr" "node 127.0.0.1:$BLACK_HOLE_PORT: no connection within"
}

@test "cluster: nodes that announce no name are at the host that was dialed" {
  server_at_least 7 || skip 'nodes have no preferred kind of endpoint (Redis 7)'
  quiet_cluster 3 0 --cluster-preferred-endpoint-type hostname
  local node
  for node in "${CLUSTER[@]}"; do
    lock_at "$node"
    REDLOCK_SERVERS="$(seeds C1)" run -0 --separate-stderr "$REDLOCK" run -n "$LOCK" -- "$REDLOCK" list
    assert_contains "$output" "$LOCK"
    [[ -z $stderr ]] || fail "$stderr"
  done
}
