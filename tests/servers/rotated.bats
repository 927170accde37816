#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=memory,slow
#
# What changes around a lock that is held or waited for: passwords and certificates that are replaced, and
# addresses that lead to another server.

load ../lib/common
load ../lib/tls
load ../lib/topology

teardown() {
  [[ -z ${KEEPER-} ]] || signal_to KILL "$KEEPER"
  stop_all
}

# write_file FILE TEXT: replaces the file as a whole.
write_file() {
  printf '%s\n' "$2" >"$1.new"
  chmod 600 "$1.new"
  mv "$1.new" "$1"
}

# hold_and_wait: a job holds the lock L, and another run waits for it; sets JOB and WAITER. A keeper holds the lock K;
# sets KEEPER and token.
hold_and_wait() {
  start_job --ttl 9s
  background "$REDLOCK" run --ttl 9s --server-wait 60s -v L -- echo in
  WAITER=$BACKGROUND_PID
  wait_for_line "$BACKGROUND_ERR" waiting
  read -r token KEEPER < <("$REDLOCK" acquire --ttl 9s --json --keep-for "$JOB" K | "$PYTHON" -SEIc 'import json, sys
o = json.load(sys.stdin); print(o["token"], o["keeper"])')
  KEEPER=$(identity_of "$KEEPER")
}

# all_went_on: holder and keeper still have their locks, and then the waiter gets its lock. The holder may have said
# that a connection was closed during a renewal, and that the lock was renewed again; nothing else.
all_went_on() {
  run -0 "$REDLOCK" release K "$token"
  end_job
  local other
  other=$(grep -v 'closed the connection; was it restarted\|was renewed again' <<<"$stderr") || true
  [[ -z $other ]] || fail "the holder said: $other"
  await -0 "$WAITER"
  [[ $output == in ]]
}

# secretly SERVER COMMAND…: with the password $secret.
secretly() { REDISCLI_AUTH=$secret cli "$@" 2>/dev/null; }

# cut SERVER…: ends all connections to it, while the locks are almost due for a renewal.
cut() {
  local server
  for server in "$@"; do
    secretly "$server" pexpire L 6000 >/dev/null
    secretly "$server" pexpire K 6000 >/dev/null
    secretly "$server" client kill type normal skipme yes >/dev/null
    secretly "$server" client kill type pubsub >/dev/null
  done
}

# recovers SERVER: the locks are renewed there, and the waiter listens.
recovers() {
  wait_until "$BOUND" renewed "$1" L
  wait_until "$BOUND" renewed "$1" K
  wait_until "$BOUND" listened "$1"
}
renewed() { (($(secretly "$1" pttl "$2") > 7000)); }
listened() { [[ $(secretly "$1" pubsub channels '*wake*') == *wake* ]]; }

# new_password SERVER…: they take the password "new" instead of $secret, and nobody stays connected.
new_password() {
  local server
  for server in "$@"; do secretly "$server" config set requirepass new >/dev/null; done
  secret=new
  cut "$@"
}

# start_locked NAME…: servers that want the password "old", which is in $SCRATCH/password.
start_locked() {
  local server
  secret=old
  for server in "$@"; do start_server "$server" --requirepass old; done
  cd "$SCRATCH" || return
  write_file password old
  export REDLOCK_SERVERS=$A_URI REDLOCK_PASSWORD_FILE=password
}

@test "rotated: a password whose file is gone, then empty, then being written" {
  start_locked A
  hold_and_wait
  rm password
  new_password A
  wait_for_line "$JOB_ERR" 'wrong user or password'
  local text
  for text in '' n; do
    printf %s "$text" >password
    wait_until "$BOUND" refused_since "$(refusals)"
  done
  write_file password new
  recovers A
  : >"$JOB_ERR"
  all_went_on
}

# refusals: prints how many passwords A has refused.
refusals() {
  [[ $(secretly A info commandstats) =~ cmdstat_auth:[^$'\n']*failed_calls=([0-9]+) ]] && echo "${BASH_REMATCH[1]}"
}
refused_since() { (($(refusals) > $1)); }

@test "rotated: a password that came from a pipe is not read again" {
  start_locked A
  unset REDLOCK_PASSWORD_FILE
  background bash -c 'exec "$REDLOCK" run --ttl 3s --password-file <(echo old) L -- sh -c "echo >ready; sleep 60"'
  wait_for ready
  new_password A
  await -80 "$BACKGROUND_PID"
  assert_contains "$stderr" 'wrong user or password'
}

@test "rotated: a password that is in its file already, on one server of three after the other" {
  local server
  start_locked A B C
  REDLOCK_SERVERS="$A_URI $B_URI $C_URI"
  hold_and_wait
  write_file password new
  for server in A B C; do
    secret=old
    new_password "$server"
    recovers "$server"
  done
  all_went_on
}

@test "rotated: the password of the nodes of a Cluster, of the primary of Sentinels" {
  cd "$SCRATCH"
  write_file password old
  export REDLOCK_PASSWORD_FILE=password
  secret=old
  CLUSTER_NODE_TIMEOUT=15000 start_cluster 3 0 --password old
  find_owner L
  moves "$CLUSTER_URI" "$OWNER" "${CLUSTER[@]}"
  rm ready
  write_file password old
  secret=old
  SENTINEL_DOWN_AFTER=60000 start_sentinels --password old
  moves "$SENTINEL_URI" D1 D1
}
# moves URI NODE SERVER…: a job whose lock is on NODE goes on while the servers get a new password. The URI's own
# password is left out.
moves() {
  background "$REDLOCK" run --ttl 9s -S "${1/:\/\/*@/:\/\/}" L -- sh -c 'echo >ready; sleep 60'
  wait_for ready
  write_file password new
  new_password "${@:3}"
  wait_until "$BOUND" renewed "$2" L
  terminate "$BACKGROUND_PID"
  [[ -z $stderr ]] || fail "$stderr"
}

@test "rotated: the authority of the servers" {
  make_authority ca
  make_authority other
  make_certificate server ca IP:127.0.0.1
  make_certificate stranger other IP:127.0.0.1
  start_tls_server A server
  cd "$SCRATCH"
  cp "$TLS/ca.crt" ca
  export REDLOCK_SERVERS=$A_TLS_URI REDLOCK_TLS_CA=ca REDLOCK_TLS_CA_DIR=$PWD
  hold_and_wait
  cp "$TLS/other.crt" new
  mv new ca
  cli A config set tls-cert-file "$TLS/stranger.crt" tls-key-file "$TLS/stranger.key" >/dev/null
  cut A
  recovers A
  all_went_on
}

@test "rotated: our own certificate, while its key is still the old one" {
  local protocol
  make_authority ca
  make_authority other
  make_certificate server ca IP:127.0.0.1
  make_certificate first ca ''
  make_certificate second other ''
  cd "$SCRATCH"
  export REDLOCK_TLS_CA=$TLS/ca.crt REDLOCK_TLS_CERT=cert REDLOCK_TLS_KEY=key
  for protocol in 2 3; do
    cp "$TLS/first.crt" cert
    cp "$TLS/first.key" key
    start_tls_server A server --tls-auth-clients yes --tls-protocols "TLSv1.$protocol"
    export REDLOCK_SERVERS=$A_TLS_URI
    hold_and_wait
    cp "$TLS/second.crt" cert
    cli A config set tls-ca-cert-file "$TLS/other.crt" >/dev/null
    cut A
    wait_for_line "$JOB_ERR" 'cannot be renewed'
    cp "$TLS/second.key" key
    recovers A
    wait_for_line "$JOB_ERR" 'was renewed again'
    : >"$JOB_ERR"
    all_went_on
    stop_all
    rm -r server.A
  done
}

# replicated: B has all that A has.
replicated() {
  [[ $(printf 'set written x px 60000\nwait 1 20000\n' | cli A) == *1 ]] || fail 'A has no replica'
}
# demote: B is the primary now, and A its replica; $SCRATCH/end still leads to A.
demote() {
  replicated
  cli B replicaof no one >/dev/null
  cli A replicaof 127.0.0.1 "$B_PORT" >/dev/null
  cli A pexpire L 6000 >/dev/null 2>&1 || true
  cli B pexpire L 6000 >/dev/null
  cli B pexpire K 6000 >/dev/null
}
# lead_to SERVER: the address leads there.
lead_to() {
  local -n lead_socket=${1}_SOCKET
  ln -s "$lead_socket" "$SCRATCH/new"
  mv -T "$SCRATCH/new" "$SCRATCH/end"
}
# start_pair: the primary A, to which the address leads, and its replica B.
start_pair() {
  secret=''
  start_server A --tcp
  start_server B --tcp --replicaof "127.0.0.1 $A_PORT"
  # B gets no writes before its first acknowledgement, up to 1 s after it says that its link is up.
  replicated
  lead_to A
  export REDLOCK_SERVERS=$SCRATCH_URI/end
}

@test "moved: the address leads to the new primary, the old one goes on as a replica" {
  start_pair
  hold_and_wait
  lead_to B
  demote
  recovers B
  all_went_on
}

@test "moved: the address leads to the new primary later" {
  start_pair
  hold_and_wait
  demote
  wait_for_line "$JOB_ERR" 'has become a replica'
  lead_to B
  recovers B
  : >"$JOB_ERR"
  all_went_on
}
