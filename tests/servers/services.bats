#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole,slow
#
# Services and compatible servers permit less than a Redis of one's own. These tests do to a real server what the
# documentation says of each: fewer permissions, renamed commands, or a proxy. All that redlock does works there, or says
# what the server lacks. redlock-guarantees(7) has the table.

load ../lib/common
load ../lib/tls
load ../lib/topology
load ../lib/cluster
load ../lib/services

setup_file() {
  make_authority ca
  make_certificate server ca IP:127.0.0.1
}
setup() { export REDLOCK_TLS_CA=$TLS/ca.crt; }
teardown() { stop_all; }

needs_users() { server_at_least 6.2 || skip 'this server has no users, or they have no channels (Redis 6.2)'; }

# user SERVER [COMMAND…]: the user "app" of that server may use all commands but these.
user() { [[ $(cli "$1" acl setuser app reset on '>password' '~*' '&*' +@all "${@:2}") == OK ]]; }

# ---- single commands -------------------------------------------------------------------------

@test "services: MEMORY, INFO, CONFIG, CLIENT, SCRIPT and WAIT, each refused alone" {
  needs_users
  start_server A
  export REDLOCK_SERVERS=unix://app:password@${A_URI#unix://}
  local command
  for command in memory info config client script wait; do
    user A "-$command"
    run -7 --separate-stderr "$REDLOCK" run "$LOCK" -- sh -c 'exit 7'
    [[ -z $stderr ]] || fail "$command: $stderr"
    case $command in
    memory) checks 1 'give it +memory' ;;
    info) checks 1 'restarts, replicas, eviction and two addresses of one server go unnoticed (no restart grace)' ;;
    *) checks 1 'the user may do all that is needed' ;;
    esac
  done
  # No job runs for a vote that replicas do not have.
  run -69 --separate-stderr "$REDLOCK" run --server-wait 0.2 --replicas 1 "$LOCK" -- true
  assert_contains "$stderr" "no permissions to run the 'wait' command"
}

@test "services: MEMORY, INFO, CONFIG, CLIENT, SCRIPT, WAIT and SELECT, unknown together" {
  local command missing=()
  for command in MEMORY INFO CONFIG CLIENT SCRIPT WAIT SELECT; do missing+=(--rename-command "$command" ''); done
  start_server A --databases 1 "${missing[@]}"
  export REDLOCK_SERVERS=$A_URI
  everything
  checks 1 'INFO is not permitted' 'give it +memory +info'
}

# A renewal comes after 1 s, over a new connection.
@test "services: a connection that is idle is closed" {
  start_server A
  service A idle=0.3
  export REDLOCK_SERVERS=redis://$SERVICE
  start_job --ttl 3s
  local renewals
  renewals=$(time_given A)
  wait_until "$BOUND" are_votes_unconnected
  wait_until "$BOUND" eval '(($(time_given A) >= renewals + 2))'
  ends_in_silence
}
# The only connection without a subscription is that of this question.
are_votes_unconnected() { [[ $(cli A client list | grep -c ' sub=0 ') == 1 ]]; }

# ---- a service each --------------------------------------------------------------------------

@test "services: as ElastiCache Serverless" {
  server_at_least 7 || skip 'this server has no sharded messages (Redis 7)'
  start_server A --tcp --cluster-enabled yes
  cli A cluster addslotsrange 0 16383 >/dev/null
  user A -config -memory -client -wait -keys
  service A declared keyed slots "tls=$TLS/server"
  cli A config set cluster-announce-port "$SERVICE_PORT" >/dev/null
  export REDLOCK_SERVERS=rediss+cluster://app:password@$SERVICE
  everything
  checks 1 'give it +memory'
}

@test "services: as a cluster of ElastiCache or MemoryDB" {
  needs_users
  needs_tls
  quiet_cluster 3 0 --tls server
  lock_at C2
  local node
  for node in "${CLUSTER[@]}"; do user "$node" -acl -bgsave -config -debug -migrate -module -replicaof -save -shutdown -sync; done
  export REDLOCK_SERVERS=rediss+cluster://app:password@${CLUSTER_URI#*//}
  everything C2
  checks 1 'the user may do all that is needed'
}

@test "services: as Azure Cache" {
  local command missing=()
  for command in ACL BGSAVE CONFIG DEBUG MIGRATE REPLICAOF SAVE SHUTDOWN SYNC; do missing+=(--rename-command "$command" ''); done
  start_tls_server A server --requirepass password "${missing[@]}"
  export REDLOCK_SERVERS=rediss://:password@${A_TLS_URI#*//} REDISCLI_AUTH=password
  everything
  checks 1 'the user may do all that is needed'
}

@test "services: as Memorystore" {
  needs_users
  start_server A --tcp
  user A -acl -bgsave -client -cluster -command -config -debug -lastsave -migrate -monitor -object -replicaof -save -shutdown
  export REDLOCK_SERVERS=redis://app:password@127.0.0.1:$A_PORT
  everything
  checks 1 'the user may do all that is needed'
}

@test "services: as Upstash" {
  start_server A --databases 1
  service A lacks=MEMORY lacks=WAIT lacks=CLIENT hide=run_id hide=role hide=maxmemory "tls=$TLS/server" idle=2
  export REDLOCK_SERVERS=rediss://$SERVICE
  everything
  checks 1 'INFO has no run_id: restarts and' 'no role: replicas go unnoticed' 'no maxmemory: eviction goes' 'give it +memory'
}

@test "services: as Dragonfly" {
  start_server A
  service A declared numbers lacks=WAIT hide=run_id
  export REDLOCK_SERVERS=redis://$SERVICE
  everything
  checks 1 'INFO has no run_id: restarts and two addresses of one server go unnoticed (no restart grace)'
}

@test "services: as Kvrocks with lua-strict-key-accessing" {
  start_server A --databases 1
  service A declared hide=run_id hide=maxmemory
  export REDLOCK_SERVERS=redis://$SERVICE
  everything
  checks 1 'INFO has no run_id: restarts' 'no maxmemory: eviction'
}

@test "services: as Garnet, whose scripts are disabled unless it is started with --lua" {
  start_server A
  service A no-scripts
  export REDLOCK_SERVERS=redis://$SERVICE
  run -69 --separate-stderr "$REDLOCK" run "$LOCK" -- true
  assert_one_line "$stderr" 'runs no Lua scripts, which redlock needs'
}

# ---- declared keys ---------------------------------------------------------------------------

@test "services: where scripts may use declared keys only, --newest, --build and --as redisson work, too" {
  start_server A
  service A declared
  export REDLOCK_SERVERS=redis://$SERVICE
  start_job
  background "$REDLOCK" run --newest "$LOCK" -- true
  local older=$BACKGROUND_PID
  wait_until "$BOUND" has_key A "redlock:{$LOCK}:newest"
  background "$REDLOCK" run --newest "$LOCK" -- true
  await -1 "$older"
  assert_contains "$stderr" 'superseded by'
  ends_in_silence
  await -0 "$BACKGROUND_PID"
  "$REDLOCK" run --build 3 "$LOCK" -- true
  run -1 --separate-stderr "$REDLOCK" run --build 2 "$LOCK" -- true
  assert_contains "$stderr" 'build 2 is older than 3'
  "$REDLOCK" run --as redisson -n R -- "$REDLOCK" status R
}
