#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=slow
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2153,SC2154
#
# A Redis Cluster as one server: each lock is in one slot, and redlock finds the primary of that slot, also while the
# slot moves or its primary fails.

load ../lib/common
load ../lib/acl
load ../lib/hostile
load ../lib/looking
load ../lib/tls
load ../lib/topology

setup_file() {
  make_authority ca
  make_certificate server ca IP:127.0.0.1
}
teardown() { stop_all; }

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
  background "$REDLOCK" run "$@" "$LOCK" -- sh -c 'echo "$REDLOCK_FENCE" >"$0"
    until [ -e "$1" ]; do sleep 0.05; done; exit 7' "$SCRATCH/ready.$LOCK" "$SCRATCH/go.$LOCK"
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

# ---- every day -------------------------------------------------------------------------------

@test "cluster: locks in different slots, with a tag and without" {
  quiet_cluster 3 0
  local node LOCK names=('{tag}any')
  for node in "${CLUSTER[@]}"; do
    lock_at "$node"
    names+=("$LOCK")
  done
  for LOCK in "${names[@]}"; do
    start_job
    timed "$REDLOCK" run -n "$LOCK" -- true
    assert_status 1
    assert_contains "$(cli "$(cluster_owner "$LOCK")" keys '*')" "$LOCK"
  done
  run --separate-stderr "$REDLOCK" list
  assert_status 0
  [[ -z $stderr && ${#lines[@]} == 5 ]] || fail "$output" "$stderr"
  run --separate-stderr "$REDLOCK" status "${names[@]}"
  assert_status 0
  [[ $(grep -c ': held (1 of 1 server)' <<<"$output") == 4 ]] || fail "$output"
  for LOCK in "${names[@]}"; do let_go; done
  for JOB in "${BACKGROUND[@]}"; do
    await "$JOB"
    assert_status 7
    [[ -z $stderr ]] || fail "$stderr"
  done
  for LOCK in "${names[@]}"; do
    run --separate-stderr "$REDLOCK" history "$LOCK"
    assert_status 0
    assert_contains "$output" ' 7 '
  done
  assert_clean "${CLUSTER[@]}"
}

@test "cluster: release --force finds the lock, and the next one runs" {
  quiet_cluster 3 0
  lock_at C2
  start_job
  run --separate-stderr "$REDLOCK" release --force --yes "$LOCK"
  assert_status 0
  await "$JOB"
  assert_status 80
  assert_free "$LOCK"
  start_job
  run --separate-stderr "$REDLOCK" release --force --now --yes "$LOCK"
  assert_status 0
  assert_free "$LOCK"
  await "$JOB"
  assert_status 80
  wait_until_clean "${CLUSTER[@]}"
}

@test "cluster: readers, slots, several locks, maintenance, one run a time, and a token between commands" {
  quiet_cluster 3 0
  lock_at C1
  local first=$LOCK token
  lock_at C3
  # Readers.
  start_job -s
  "$REDLOCK" run -n -s "$LOCK" -- true
  run "$REDLOCK" run -n "$LOCK" -- true
  assert_status 1
  let_go
  await "$JOB"
  assert_status 7
  # Slots.
  start_job --slots 2
  "$REDLOCK" run -n --slots 2 "$LOCK" -- "$REDLOCK" run -n --slots 2 "$first" -- true
  let_go
  await "$JOB"
  assert_status 7
  # Several locks in different slots of the Cluster.
  start_job --also "$first"
  run "$REDLOCK" run -n "$first" -- true
  assert_status 1
  let_go
  await "$JOB"
  assert_status 7
  "$REDLOCK" run -n "$first" -- true
  # Maintenance.
  "$REDLOCK" hold --for 60s "$LOCK"
  run "$REDLOCK" run -n "$LOCK" -- true
  assert_status 1
  "$REDLOCK" release --force --yes "$LOCK"
  # A token.
  token=$("$REDLOCK" acquire -n --ttl 60s "$LOCK")
  token=${token%% *}
  "$REDLOCK" renew "$LOCK" "$token"
  run "$REDLOCK" run -n "$LOCK" -- true
  assert_status 1
  "$REDLOCK" release "$LOCK" "$token"
  # Once in an hour.
  "$REDLOCK" run --once 1h "$LOCK" -- touch "$SCRATCH/once"
  rm "$SCRATCH/once"
  "$REDLOCK" run --once 1h "$LOCK" -- touch "$SCRATCH/once"
  [[ ! -e $SCRATCH/once ]] || fail 'it ran twice'
}

# ---- the way to the primary ------------------------------------------------------------------

@test "cluster: one seed that answers is enough, a replica too" {
  quiet_cluster 3 1
  lock_at C2
  closed_port
  REDLOCK_SERVERS=redis+cluster://127.0.0.2:$CLOSED_PORT,127.0.0.1:$CLOSED_PORT,127.0.0.1:$C1_PORT assert_free "$LOCK"
  REDLOCK_SERVERS=$(seeds C4) assert_free "$LOCK"
  # C5 is the replica of the lock's own primary.
  REDLOCK_SERVERS=$(seeds C5) assert_free "$LOCK"
  # None.
  REDLOCK_SERVERS=redis+cluster://127.0.0.1:$CLOSED_PORT run --separate-stderr "$REDLOCK" run -n "$LOCK" -- true
  assert_status 69
  assert_one_line "$stderr"
  assert_contains "$stderr" "node 127.0.0.1:$CLOSED_PORT: connection refused"
}

@test "cluster: seeds that are stopped, unknown or no servers of Redis do not keep us from the next one" {
  quiet_cluster 3 1
  lock_at C2
  pause_server C4
  pause_server C6
  # Each one costs a part of the second for connecting.
  REDLOCK_SERVERS=$(seeds C4 C6 C1) timed "$REDLOCK" run -n "$LOCK" -- true
  assert_status 0
  assert_between 0 "$elapsed" 1900
  garbage_server 'HTTP/1.1 400 Bad Request\r\n\r\n'
  REDLOCK_SERVERS=redis+cluster://127.0.0.1:$GARBAGE_PORT,127.0.0.1:$C1_PORT assert_free "$LOCK"
  REDLOCK_SERVERS=redis+cluster://no-such-host.invalid,127.0.0.1:$C1_PORT assert_free "$LOCK"
}

@test "cluster: 64 seeds, names and IPv6 among them" {
  quiet_cluster 3 0 --bind 127.0.0.1 ::1
  lock_at C2
  closed_port
  local uri=redis+cluster://localhost:$C1_PORT,[::1]:$C3_PORT i
  for i in {1..62}; do uri+=,127.0.0.$((i + 1)):$CLOSED_PORT; done
  REDLOCK_SERVERS=$uri assert_free "$LOCK"
  REDLOCK_SERVERS=redis+cluster://[::1]:$C3_PORT assert_free "$LOCK"
  # The one that answers is the last one.
  uri=redis+cluster://
  for i in {1..63}; do uri+=127.0.0.$((i + 1)):$CLOSED_PORT,; done
  REDLOCK_SERVERS=${uri}localhost:$C1_PORT assert_free "$LOCK"
}

@test "cluster: the URI of a plain server leads to the message what to write" {
  quiet_cluster 3 0
  lock_at C2
  local node
  for node in C1 C2; do
    local -n port=${node}_PORT
    REDLOCK_SERVERS=redis://127.0.0.1:$port/1 run --separate-stderr "$REDLOCK" run -n "$LOCK" -- true
    assert_status 69
    assert_contains "$stderr" 'write redis+cluster://'
  done
  REDLOCK_SERVERS=redis://127.0.0.1:$C1_PORT run --separate-stderr "$REDLOCK" run -n "$LOCK" -- true
  assert_status 69
  assert_one_line "$stderr"
  assert_contains "$stderr" 'write redis+cluster://'
}

@test "cluster: two URIs of one Cluster are not two servers" {
  quiet_cluster 3 1
  lock_at C1
  REDLOCK_SERVERS="$(seeds C1 C2) $(seeds C2)" run --separate-stderr "$REDLOCK" run -n "$LOCK" -- true
  assert_status 78
  REDLOCK_SERVERS="$(seeds C1) $(seeds C2) $(seeds C3)" run --separate-stderr "$REDLOCK" run -n "$LOCK" -- true
  [[ $status != 0 ]] || fail 'it counted one Cluster thrice'
  assert_contains "$stderr" 'same server'
}

# ---- a slot that moves -----------------------------------------------------------------------

# A reader's renewal names two keys. While one of them has moved and the other one has not, no node serves it.
@test "cluster: a renewal that no node serves while the slot moves is tried until the slot has arrived" {
  quiet_cluster 3 0
  lock_at C1
  local slot
  slot=$(cluster_slot "$LOCK")
  start_job -s
  cluster_begin_migration "$slot" C1 C2
  cluster_move_keys "$slot" C1 C2 "$LOCK"
  renew_soon
  wait_for_line "$JOB_ERR" "moves the lock's slot to another node"
  cluster_move_keys "$slot" C1 C2
  cluster_finish_migration "$slot" C1 C2
  wait_until "$BOUND" has_renewed C2
  let_go
  await "$JOB"
  assert_status 7
  wait_until_clean "${CLUSTER[@]}"
}
has_renewed() { (($(time_given "$1") > 0)); }

@test "cluster: a job goes on though its lock's key has moved before the others" {
  quiet_cluster 3 0
  lock_at C1
  local slot
  slot=$(cluster_slot "$LOCK")
  start_job
  cluster_begin_migration "$slot" C1 C2
  cluster_move_keys "$slot" C1 C2 "$LOCK"
  # For a job that comes, some keys are missing on each node.
  run --separate-stderr "$REDLOCK" run -n "$LOCK" -- true
  assert_status 69
  assert_one_line "$stderr"
  assert_contains "$stderr" "moves the lock's slot to another node"
  renew_soon
  wait_until "$BOUND" has_renewed C2 # while the slot is still on its way
  cluster_move_keys "$slot" C1 C2
  cluster_finish_migration "$slot" C1 C2
  wait_until "$BOUND" has_renewed C2
  let_go
  await "$JOB"
  assert_status 7
  wait_until_clean "${CLUSTER[@]}"
}

@test "cluster: a job whose slot has moved goes on, and so does the one that waits for it" {
  quiet_cluster 3 0
  lock_at C1
  local slot
  slot=$(cluster_slot "$LOCK")
  start_job
  start_waiter one
  cluster_migrate_slot "$slot" C1 C2
  OWNER=C2
  renew_soon
  # The renewal, over a connection to C1 that is still there.
  wait_until "$BOUND" has_renewed C2
  # The one that waits hears of the release.
  let_go
  local freed
  freed=$(now_ms)
  await "$JOB"
  assert_status 7
  [[ -z $stderr ]] || fail "$stderr"
  await "$one"
  assert_status 0
  [[ -z $stderr ]] || fail "$stderr"
  assert_between 0 $(($(<"$SCRATCH/one") - freed)) 3000 # it would ask after 5 s
  wait_until_clean "${CLUSTER[@]}"
}

@test "cluster: a release right after the slot has moved goes to the new primary" {
  quiet_cluster 3 0
  lock_at C1
  start_job
  cluster_migrate_slot "$(cluster_slot "$LOCK")" C1 C3
  let_go
  await "$JOB"
  assert_status 7
  [[ -z $stderr ]] || fail "$stderr"
  wait_until_clean "${CLUSTER[@]}"
}

# ---- a primary that fails --------------------------------------------------------------------

@test "cluster: a job goes on when the primary dies, and the fence rises" {
  failing_cluster
  lock_at C1
  start_job --ttl 15s
  local fence
  fence=$(<"$SCRATCH/ready.$LOCK")
  wait_until "$BOUND" replica_has C4 "$LOCK"
  kill_server C1
  await_takeover C1
  wait_until "$BOUND" has_renewed C4
  let_go
  await "$JOB"
  assert_status 7
  wait_until_clean C4
  run "$REDLOCK" run -n "$LOCK" -- sh -c 'echo "$REDLOCK_FENCE"'
  assert_status 0
  ((output > fence)) || fail "$output after $fence"
}

@test "cluster: the lock is released on the new primary, though nothing was renewed there" {
  failing_cluster
  lock_at C1
  start_job --ttl 60s
  wait_until "$BOUND" replica_has C4 "$LOCK"
  kill_server C1
  await_takeover C1
  let_go
  await "$JOB"
  assert_status 7
  wait_until_clean C4
}

@test "cluster: after a planned fail-over the next one in line gets the lock" {
  failing_cluster
  lock_at C1
  start_job --ttl 60s
  start_waiter one
  wait_until "$BOUND" replica_has C4 "redlock:{$LOCK}:queue"
  cluster_failover C4
  let_go
  await "$JOB"
  assert_status 7
  await "$one"
  assert_status 0
  wait_until_clean C4
}

# cut_off_replica: C4 hears no more from its primary, C1. fail_over_without_key: and then takes over from it.
cut_off_replica() {
  cli C1 acl setuser default -psync -replconf >/dev/null
  cli C1 client kill type replica >/dev/null
}
fail_over_without_key() {
  ! replica_has C4 "$LOCK" || fail 'the replica has the lock'
  kill_server C1
  await_takeover C1
}

@test "cluster: a lock that did not survive the fail-over is lost, and the job is ended" {
  failing_cluster
  lock_at C1
  cut_off_replica
  start_job --ttl 15s
  fail_over_without_key
  await "$JOB"
  assert_status 80
  assert_contains "$stderr" "lock \"$LOCK\" was lost"
  assert_contains "$stderr" 'the lock is gone there'
  assert_free "$LOCK"
}

@test "cluster: a lock that did not survive the fail-over is put back where others still have it" {
  failing_cluster
  start_server A
  start_server B
  export REDLOCK_SERVERS="$CLUSTER_URI $A_URI $B_URI"
  lock_at C1
  cut_off_replica
  start_job --ttl 15s
  wait_for_key C1 "$LOCK"
  fail_over_without_key
  wait_for_key C4 "$LOCK"
  let_go
  await "$JOB"
  assert_status 7
  wait_until_clean C4 A B
}

@test "cluster: one vote beside two plain servers, and any one of the three may be down" {
  quiet_cluster 3 0
  start_server A
  start_server B
  export REDLOCK_SERVERS="$CLUSTER_URI $A_URI $B_URI"
  lock_at C1
  start_job
  wait_for_key C1 "$LOCK"
  run "$REDLOCK" run -n "$LOCK" -- true
  assert_status 1
  let_go
  await "$JOB"
  assert_status 7
  kill_server A
  assert_free "$LOCK"
  restart_server A
  pause_server C1
  assert_free "$LOCK"
  kill_server A
  run --separate-stderr "$REDLOCK" run -n "$LOCK" -- true
  assert_status 69
  resume_server C1
  assert_free "$LOCK"
}

@test "cluster: one that is down says so, and works again" {
  CLUSTER_NODE_TIMEOUT=500 start_cluster 3 0
  export REDLOCK_SERVERS=$CLUSTER_URI
  lock_at C3
  pause_server C1
  pause_server C2
  wait_until "$BOUND" is_down C3
  REDLOCK_SERVERS=$(seeds C3) run --separate-stderr "$REDLOCK" run -n "$LOCK" -- true
  assert_status 69
  assert_one_line "$stderr"
  assert_contains "$stderr" 'is part of a Redis Cluster that is down'
  resume_server C1
  resume_server C2
  await_cluster
  assert_free "$LOCK"
}
is_down() { [[ $(cli "$1" cluster info) == *cluster_state:fail* ]]; }

# ---- who waits -------------------------------------------------------------------------------

@test "cluster: who waits is woken at once, through whatever node" {
  quiet_cluster 3 0
  lock_at C1
  REDLOCK_SERVERS=$(seeds C1) start_job
  REDLOCK_SERVERS=$(seeds C2) start_waiter one
  REDLOCK_SERVERS=$(seeds C3) start_waiter two
  local freed
  freed=$(now_ms)
  let_go
  await "$one"
  assert_status 0
  await "$two"
  assert_status 0
  assert_between 0 $(($(<"$SCRATCH/one") - freed)) 3000 # by themselves they ask every 5 s
  assert_between 0 $(($(<"$SCRATCH/two") - $(<"$SCRATCH/one"))) 2500
}

@test "cluster: a lock kept between two commands, and no connection reaches the job" {
  quiet_cluster 3 0
  lock_at C2
  run "$REDLOCK" run "$LOCK" -- sh -c 'ls -l /proc/self/fd'
  assert_status 0
  refute_contains "$output" socket
  refute_contains "$output" eventpoll
}

@test "cluster: a keeper keeps the lock for a process, and releases it" {
  quiet_cluster 3 0
  lock_at C2
  background sleep 60
  local ward=$BACKGROUND_PID
  "$REDLOCK" acquire -n --ttl 2s --keep-for "$ward" "$LOCK" >/dev/null
  wait_for_renewal C2
  wait_for_renewal C2
  kill "$ward"
  wait_until_clean C2
}

# ---- users, TLS ------------------------------------------------------------------------------

# denied: prints the commands that the nodes did not permit, each once.
denied() {
  local name
  for name in "${CLUSTER[@]}"; do node_cli "$name" acl log; done |
    awk 'previous == "object" { print } { previous = $0 }' | sort -u
}

@test "cluster: a user with the permissions of the manual is denied nothing, and list needs CLUSTER SLOTS" {
  acl_of_page
  quiet_cluster 3 0
  LOCK=nightly-backup # as on the page
  OWNER=$(cluster_owner "$LOCK")
  each_node acl setuser "${ACL[@]}" >/dev/null
  export REDLOCK_SERVERS=redis+cluster://cron:password@${CLUSTER_URI#*//}
  start_job --ttl 3s
  start_waiter one
  wait_for_renewal "$OWNER"
  run --separate-stderr "$REDLOCK" run -n "$LOCK" -- true
  assert_status 1
  let_go
  await "$JOB"
  assert_status 7
  [[ -z $stderr ]] || fail "$stderr"
  await "$one"
  assert_status 0
  [[ -z $(denied) ]] || fail "denied: $(denied)"
  run --separate-stderr "$REDLOCK" list
  assert_status 69
  assert_contains "$stderr" 'cluster|slots'
  each_node acl setuser cron '+cluster|slots' +scan >/dev/null
  run --separate-stderr "$REDLOCK" list
  assert_status 0
}

@test "cluster: with TLS, also where a redirection leads" {
  quiet_cluster 3 0 --tls server
  local LOCK names=() node
  for node in "${CLUSTER[@]}"; do
    lock_at "$node"
    run --separate-stderr "$REDLOCK" run -n --tls-ca "$TLS/ca.crt" "$LOCK" -- true
    assert_status 0
    [[ -z $stderr ]] || fail "$stderr"
  done
  start_job --tls-ca "$TLS/ca.crt"
  run --separate-stderr "$REDLOCK" list --tls-ca "$TLS/ca.crt"
  assert_status 0
  assert_contains "$output" "$LOCK"
  let_go
  await "$JOB"
  assert_status 7
  run --separate-stderr "$REDLOCK" run -n "$LOCK" -- true
  assert_status 69
  assert_contains "$stderr" certificate
}

# ---- lies ------------------------------------------------------------------------------------

# lied_to URI: a run against it ends within 3 s with 69, one printable line, and without having kept a processor busy;
# sets $stderr.
lied_to() {
  local began used
  began=$(cpu_of_children)
  REDLOCK_SERVERS=$1 timed "$REDLOCK" run -n --server-wait 1s "$LOCK" -- true
  used=$(($(cpu_of_children) - began))
  assert_status 69
  assert_one_line "$stderr"
  assert_printable "$stderr"
  assert_between 0 "$elapsed" 3500
  assert_between 0 "$used" 70 # hundredths of a second; the sanitizers and a busy machine make it more
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
  hostile_server moved
  lied_to "redis+cluster://127.0.0.1:$HOSTILE_PORT"
  assert_contains "$stderr" 'is the end of 5 redirections'
  local first=$HOSTILE_PORT
  # Two that send to each other.
  hostile_server moved "127.0.0.1:$first"
  lied_to "redis+cluster://127.0.0.1:$HOSTILE_PORT"
  assert_contains "$stderr" 'is the end of 5 redirections'
  # One that sends in circles only those who ask for a lock.
  hostile_server moved-first
  lied_to "redis+cluster://127.0.0.1:$HOSTILE_PORT"
  assert_contains "$stderr" 'is the end of 5 redirections'
  hostile_server moved-flood
  lied_to "redis+cluster://127.0.0.1:$HOSTILE_PORT"
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
  local mode
  for mode in moved-escapes moved-huge; do
    hostile_server "$mode"
    lied_to "redis+cluster://127.0.0.1:$HOSTILE_PORT"
    assert_contains "$stderr" 'does not speak the Redis protocol'
  done
}
