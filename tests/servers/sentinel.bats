#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole,slow
#
# The primary that Sentinels name, as one server: redlock finds it, also after a fail-over while a job runs, and says
# the fault where it cannot.

load ../lib/common
load ../lib/acl
load ../lib/beating
load ../lib/hostile
load ../lib/tls
load ../lib/topology
load ../lib/services

setup_file() {
  make_authority ca
  make_certificate server ca IP:127.0.0.1
}
teardown() { stop_all; }

# quiet_sentinels [OPTION…]: a trio that makes no fail-over by itself.
quiet_sentinels() {
  SENTINEL_DOWN_AFTER=60000 start_sentinels "$@"
  export REDLOCK_SERVERS=$SENTINEL_URI
}

# failing_sentinels: one in which a replica takes over from a primary that dies.
failing_sentinels() {
  start_sentinels
  export REDLOCK_SERVERS=$SENTINEL_URI
}

# sentinels_at PORT…: prints a URI with these Sentinels.
sentinels_at() {
  local port text=''
  for port in "$@"; do text+=,127.0.0.1:$port; done
  echo "redis+sentinel://${text#,}/$SERVICE"
}

# try_run [OPTION…]: `run -n` of a job that does nothing, with stderr apart.
try_run() { run --separate-stderr "$REDLOCK" run -n "$@" "$LOCK" -- true; }

# says TEXT…: the last try_run ended with 69 and one line that says so.
says() {
  assert_status 69
  assert_one_line "$stderr" "$@"
}

# fake_sentinel HOST PORT EPOCH: a Sentinel that names this primary; sets HOSTILE_PORT.
fake_sentinel() { hostile_server names "$@"; }

# ---- every day -------------------------------------------------------------------------------

@test "sentinel: all that redlock does, and with another database of the primary" {
  quiet_sentinels
  everything D1
  REDLOCK_SERVERS=$SENTINEL_URI/3
  start_job
  [[ $(cli D1 -n 3 exists "$LOCK") == 1 ]] || fail "$(cli D1 info keyspace)"
  end_job
}

@test "sentinel: check finds nothing wrong" {
  quiet_sentinels --appendonly yes
  run --separate-stderr "$REDLOCK" check -v --replicas 1 "$LOCK"
  [[ $status == 0 ]] || fail "$output" "$stderr"
  assert_contains "$output" 'trial' '0 failures, 0 warnings'
  run --separate-stderr "$REDLOCK" check -v "$LOCK"
  assert_contains "$output" 'use --replicas 1 on every host, or set min-replicas-to-write 1 there'
  assert_contains "$output" '0 failures, 1 warning'
  cli D1 config set min-replicas-to-write 1 >/dev/null
  run --separate-stderr "$REDLOCK" check -v "$LOCK"
  assert_contains "$output" '0 failures, 0 warnings'
}

# ---- a primary that fails --------------------------------------------------------------------

# replicas_have KEY: both have it from the primary.
replicas_have() { wait_for_key D2 "$1" && wait_for_key D3 "$1"; }

# goes_on_after OUTAGE: a job goes on when the primary meets it in the middle of a renewal, and another one takes over.
goes_on_after() {
  failing_sentinels
  start_job --ttl 5m
  replicas_have "$LOCK"
  freeze_in_renewal D1
  "$1" D1
  await_other_primary D1
  find_primary
  wait_until "$BOUND" has_renewed "$PRIMARY"
  end_job
  wait_until_clean "$PRIMARY"
}

@test "sentinel: a job goes on when the primary dies, and the fence rises" {
  goes_on_after kill_server
  run -0 "$REDLOCK" run -n "$LOCK" -- sh -c 'echo "$REDLOCK_FENCE"'
  ((output > $(<"$READY"))) || fail "$output after $(<"$READY")"
}

# A process that hangs keeps its connections: the host acknowledges what is sent to it.
@test "sentinel: a job goes on when the primary hangs and another one takes over" {
  goes_on_after pause_server
}

# hands_on_after CMD: it makes another server the primary while a job holds the lock; the next one in the queue gets it.
hands_on_after() {
  failing_sentinels
  start_job --ttl 5m
  background "$REDLOCK" run --server-wait 5m "$LOCK" -- true
  replicas_have "redlock:{$LOCK}:queue"
  "$1"
  end_job
  await -0 "$BACKGROUND_PID"
  find_primary
  wait_until_clean "$PRIMARY"
}

# The acquire of the one that waits stays unanswered. It goes to the other primary with a new token.
@test "sentinel: when the primary hangs and another one takes over, the next one in the queue gets the lock" {
  hangs() { pause_server D1 && await_other_primary D1; }
  hands_on_after hangs
  refute_contains "$(<"$JOB_ERR")" confirmed # the lock stayed there
}

@test "sentinel: after a planned fail-over the next one in the queue gets the lock" {
  hands_on_after sentinel_failover
}

@test "sentinel: a lock that did not survive the fail-over is lost, and the job is ended" {
  failing_sentinels
  cli D1 acl setuser default -psync -sync -replconf >/dev/null
  cli D1 client kill type replica >/dev/null
  start_job --ttl 5m
  [[ $(cli D2 exists "$LOCK") == 0 ]] || fail 'the replica has it'
  freeze_in_renewal D1
  kill_server D1
  await -80 "$JOB"
  assert_contains "$stderr" 'the lock is gone there'
}

# ---- a primary that is cut off -----------------------------------------------------------------

# isolate_primary: D1 loses its replicas and the Sentinels for good, and keeps its other connections. Returns once
# the Sentinels name another primary, PRIMARY.
isolate_primary() {
  server_at_least 7 || skip 'this server cannot close its port (Redis 7)'
  local id
  cli D1 config set port 0 >/dev/null
  cli D1 client kill type replica >/dev/null
  for id in $(cli D1 client list | sed -n 's/^id=\([0-9]*\) .* name=sentinel-.*/\1/p'); do
    cli D1 client kill id "$id" >/dev/null
  done
  wait_until 60 has_other_primary D1
  wait_until 60 is_primary "$PRIMARY"
}

# has_moved_to NODE: the holder, told on D1 to renew, has left D1 and listens there. If it cannot subscribe there yet, it
# tries again with its next renewal, a third of its ttl later.
has_moved_to() {
  local channel
  channel=$(answer D1 pubsub channels '*:told:*')
  [[ -z $channel ]] || cli D1 publish "$channel" x >/dev/null
  [[ -z $channel ]] && listens "$1"
}

@test "sentinel: a job does not stay with a primary that is cut off from the Sentinels and was replaced" {
  failing_sentinels
  start_job --ttl 90s
  replicas_have "$LOCK"
  wait_until "$BOUND" listens D1
  isolate_primary
  wait_until 60 has_moved_to "$PRIMARY"
  wait_until "$BOUND" has_renewed "$PRIMARY"
  end_job
  wait_until_clean "$PRIMARY"
}

@test "sentinel: a waiter does not stay with a primary that is cut off from the Sentinels and was replaced" {
  failing_sentinels
  start_job --ttl 90s
  background "$REDLOCK" run "$LOCK" -- true
  local waiter=$BACKGROUND_PID
  replicas_have "redlock:{$LOCK}:queue"
  wait_until "$BOUND" listens D1
  isolate_primary
  in_queue_at() { [[ $(answer "$1" pubsub channels '*:wake:*') == *:wake:* ]]; }
  wait_until "$BOUND" in_queue_at "$PRIMARY"
  wait_until 60 has_moved_to "$PRIMARY"
  # A lock that the old primary forgets is not free.
  cli D1 flushall >/dev/null
  ours "$waiter" || fail 'the waiter has the lock'
  end_job
  await -0 "$waiter"
}

@test "sentinel: one that has not heard of the latest fail-over does not lead back to the old primary" {
  quiet_sentinels
  local ports=()
  fake_sentinel 127.0.0.1 "$D1_PORT" 5
  local newest=$HOSTILE_PID
  ports=("$HOSTILE_PORT")
  fake_sentinel 127.0.0.1 "$D2_PORT" 4
  REDLOCK_SERVERS=$(sentinels_at "${ports[@]}" "$HOSTILE_PORT")
  start_job --ttl 6s
  kill "$newest"
  await_renewal D1
  await_renewal D1
  [[ ! -s $JOB_ERR ]] || fail "$(<"$JOB_ERR")"
  cli D1 client kill type normal >/dev/null
  wait_for_line "$JOB_ERR" 'the Sentinels that answer have not heard of the latest fail-over'
}

# ---- Sentinels that are down, or wrong -------------------------------------------------------

@test "sentinel: one of three that answers is enough, and a job needs none" {
  quiet_sentinels
  kill_server S1
  assert_free "$LOCK"
  kill_server S3
  assert_free "$LOCK"
  start_job --ttl 3s
  kill_server S2
  await_renewal D1
  try_run
  says 'none of its 3 Sentinels names the primary; Sentinel 127.0.0.1:' 'connection refused'
  end_job
  wait_until_clean D1
}

@test "sentinel: a resolver that hangs is not asked again for each question" {
  quiet_sentinels
  node_cli D1 set L other px 600000 >/dev/null
  preload slow_resolver.c # none of these names is ever resolved
  background env "LD_PRELOAD=$SHIM" ANSWER=/none \
    "$REDLOCK" run -vv -S "redis+sentinel://127.0.0.1:$S1_PORT,db1.test,db2.test/$SERVICE" L -- true
  # The first waiter asks for the lock every 50 to 200 ms, and each second for the primary.
  wait_until "$BOUND" has_texts "$BACKGROUND_ERR" 'acquire: refused' 60
  # For each name a look-up by the requests, and one by the messages; and again after 10 s.
  local threads=("/proc/$BACKGROUND_PID/task"/*)
  ((${#threads[@]} <= 10)) || fail "${#threads[@]} threads"
}

@test "sentinel: those that are stopped cost a bounded time" {
  quiet_sentinels
  pause_server S1
  timed_below 480 -0 "$REDLOCK" run -n "$LOCK" -- true # the other two are a majority
  pause_server S2
  timed -0 "$REDLOCK" run -n "$LOCK" -- true
  ((elapsed >= 400)) || fail "$elapsed ms" # -n gives up after two seconds
  pause_server S3
  timed -69 "$REDLOCK" run -n "$LOCK" -- true
  assert_one_line "$stderr"
}

@test "sentinel: an unknown service, and servers that are no Sentinels or no data servers" {
  quiet_sentinels
  REDLOCK_SERVERS=${SENTINEL_URI%/*}/other try_run
  says 'monitors no primary of the name other'
  REDLOCK_SERVERS=redis://127.0.0.1:$S1_PORT try_run
  says 'Sentinel' 'redis+sentinel://'
  REDLOCK_SERVERS=$(sentinels_at "$D1_PORT" "$D2_PORT") try_run
  says 'Sentinel 127.0.0.1:' 'is not a Sentinel'
  # One that is wrong does not matter beside a majority that is right.
  REDLOCK_SERVERS=$(sentinels_at "$D1_PORT" "$S2_PORT" "$S3_PORT") assert_free "$LOCK"
}

@test "sentinel: a replica that is named as the primary is used once it is one" {
  quiet_sentinels
  fake_sentinel 127.0.0.1 "$D2_PORT" 9
  REDLOCK_SERVERS=$(sentinels_at "$HOSTILE_PORT")
  try_run
  says "primary 127.0.0.1:$D2_PORT: is a replica, though the Sentinels name it as the primary"
  background "$REDLOCK" run --server-wait 20s "$LOCK" -- true
  cli D2 replicaof no one
  await -0 "$BACKGROUND_PID"
}

# ---- passwords, users, TLS ------------------------------------------------------------------

@test "sentinel: passwords, and which of them is wrong" {
  quiet_sentinels --password data --sentinel-password watch
  (umask 077 && echo data >"$SCRATCH/password")
  local good="$SENTINEL_URI?sentinel_password=watch"
  REDLOCK_SERVERS=$good try_run --password-file "$SCRATCH/password"
  assert_status 0
  REDLOCK_SERVERS=redis+sentinel://:data@${good#*//} try_run
  assert_status 0
  # Of the Sentinels.
  try_run --password-file "$SCRATCH/password"
  says 'Sentinel 127.0.0.1:' 'sentinel_password'
  REDLOCK_SERVERS="$SENTINEL_URI?sentinel_password=nonsense" try_run --password-file "$SCRATCH/password"
  says 'Sentinel 127.0.0.1:' 'wrong user or password'
  refute_contains "$stderr" nonsense
  # Of the primary.
  REDLOCK_SERVERS=$good try_run
  says "primary 127.0.0.1:$D1_PORT: wants a password and none is configured"
  echo nonsense >"$SCRATCH/password"
  REDLOCK_SERVERS=$good try_run --password-file "$SCRATCH/password"
  says "primary 127.0.0.1:$D1_PORT: wrong user or password"
}

@test "sentinel: a user with the permissions of the manual, and SENTINEL MASTER at the Sentinels, is enough" {
  acl_of_page
  quiet_sentinels
  LOCK=nightly-backup # as on the page
  each_node acl setuser "${ACL[@]}" >/dev/null
  local node
  for node in "${SENTINELS[@]}"; do
    cli "$node" acl deluser cron >/dev/null
    cli "$node" acl setuser watch on '>word' '+sentinel|master' >/dev/null
  done
  each_node acl log reset >/dev/null
  local nodes=${SENTINEL_URI#*//}
  export REDLOCK_SERVERS="redis+sentinel://cron:password@$nodes?sentinel_username=watch&sentinel_password=word"
  start_job --ttl 3s
  background "$REDLOCK" run "$LOCK" -- true
  await_renewal D1
  run -1 --separate-stderr "$REDLOCK" run -n "$LOCK" -- true
  end_job
  [[ -z $stderr ]] || fail "$stderr"
  await -0 "$BACKGROUND_PID"
  # ROLE shows a replica immediately; without it, the lock's own scripts tell.
  [[ $(denied_by D1 S1 S2 S3) == role ]] || fail "denied: $(denied_by D1 S1 S2 S3)"
  fake_sentinel 127.0.0.1 "$D2_PORT" 9
  REDLOCK_SERVERS=redis+sentinel://cron:password@127.0.0.1:$HOSTILE_PORT/$SERVICE try_run
  says 'has become a replica'
}

@test "sentinel: with TLS, to the Sentinels and to the primary" {
  quiet_sentinels --tls server
  start_job --tls-ca "$TLS/ca.crt" --ttl 3s
  await_renewal D1
  end_job
  # Without the system's certificates, which a loaded machine may not read in time.
  SSL_CERT_FILE=/dev/null SSL_CERT_DIR=/dev/null try_run
  says "Sentinel 127.0.0.1:" certificate
  # Without TLS.
  REDLOCK_SERVERS=redis${SENTINEL_URI#rediss} try_run
  says "Sentinel 127.0.0.1:"
}

# ---- lies ------------------------------------------------------------------------------------

@test "sentinel: what a lying one says ends in one line" {
  # hostile.bats has more of them.
  garbage_server 'HTTP/1.1 400 Bad Request\r\n\r\n'
  REDLOCK_SERVERS=$(sentinels_at "$GARBAGE_PORT") try_run
  says "Sentinel 127.0.0.1:$GARBAGE_PORT: does not speak the Redis protocol"
  closed_port
  fake_sentinel 127.0.0.1 "$CLOSED_PORT" 1
  REDLOCK_SERVERS=$(sentinels_at "$HOSTILE_PORT") try_run
  says "primary 127.0.0.1:$CLOSED_PORT: connection refused"
  black_hole
  fake_sentinel 127.0.0.1 "$BLACK_HOLE_PORT" 1
  REDLOCK_SERVERS=$(sentinels_at "$HOSTILE_PORT") timed "$REDLOCK" run -n --server-wait 1s "$LOCK" -- true
  says "primary 127.0.0.1:$BLACK_HOLE_PORT: no connection within"
  assert_between 0 "$elapsed" 15000
}
