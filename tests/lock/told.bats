#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=memory
#
# How a holder hears of a forced release: over connections of their own, that it makes and keeps, and that
# may be missing, refused, broken or flooded.

load ../lib/common
load ../lib/acl
load ../lib/forcing

setup() { setup_job; }
teardown() { stop_all; }

@test "told: before anybody listens, the job is stopped as soon as it does" {
  local began
  began=$(now_ms)
  start_job
  force -0 --yes L
  await -80 "$HOLDER"
  assert_contains "$stderr" 'lock "L" was revoked by ops@'
  assert_between 0 $(($(time_of TERM) - began)) "$TOLD"
}

@test "told: nobody listens when the job is over" {
  start_job
  wait_until_listening A B C
  touch "$LOG.finish"
  await -7 "$HOLDER"
  deaf() { ! listens A; }
  wait_until "$BOUND" deaf # it has noticed that the connection is closed
}

@test "told: who may not listen sees it with the next renewal, and nothing is said of that" {
  needs_channels
  local name
  for name in A B C; do cli "$name" acl setuser cron on '>pw' '~*' resetchannels +@all; done
  local servers="unix://cron:pw@${A_URI#unix://} unix://cron:pw@${B_URI#unix://} unix://cron:pw@${C_URI#unix://}"
  background env REDLOCK_SERVERS="$servers" "$REDLOCK" run --ttl 3s L -- "$SCRATCH/job" "$LOG"
  HOLDER=$BACKGROUND_PID
  wait_for "$LOG"
  # It is asked for once, and not with every renewal.
  denied() { [[ $(cli A acl log) == *told:* ]]; }
  wait_until "$BOUND" denied
  cli A acl log reset
  wait_for_renewal A
  wait_for_renewal A
  run ! denied
  REDLOCK_SERVERS=$servers force -0 --yes L
  assert_contains "$stderr" 'the holder could not be notified, and will notice at its next renewal, within 1 s'
  await -80 "$HOLDER"
  assert_one_line "$stderr"
}

@test "told: listening is taken up again after a server was restarted" {
  # With a lock that the other two hold.
  start_job --ttl 3s
  wait_until_listening A B C
  restart_server C
  wait_until_listening C
  # And a server that is stopped is nobody's trouble.
  pause_server B
  force -0 --yes L
  await -80 "$HOLDER"
  assert_contains "$stderr" 'lock "L" was revoked by'
  resume_server B
}

@test "told: over TCP, with a password and a database, under a tagged name" {
  server_at_least 7 || skip 'this server cannot open a port while it runs (Redis 7)'
  open_port A
  cli A config set requirepass secret
  export REDLOCK_SERVERS="redis://:secret@127.0.0.1:$PORT/3"
  background "$REDLOCK" run 'x{tag}' -- "$SCRATCH/job" "$LOG"
  wait_for "$LOG"
  listens_tagged() { [[ $(cli A -a secret pubsub channels 'redlock-tag:x{tag}:told:*' 2>/dev/null) == *told* ]]; }
  wait_until "$BOUND" listens_tagged
  local began
  began=$(now_ms)
  force -0 --yes 'x{tag}'
  refute_contains "$stderr" secret
  await -80 "$BACKGROUND_PID"
  assert_between 0 $(($(time_of TERM) - began)) "$TOLD"
}

@test "told: a run inside the job is told, too, and the lock is free when both are gone" {
  export REDLOCK_KILL_AFTER=10s
  cat >"$SCRATCH/outer" <<'OUTER'
#!/bin/bash
# outer LOG: the job, under the same lock; it ends half a second after that, and writes "outer TIME" before.
trap : TERM
"$REDLOCK" run L -- "${0%/*}/job" "$1" &
wait $! || wait $!
sleep 0.5
echo "outer ${EPOCHREALTIME//[.,]/}" >>"$1"
OUTER
  chmod +x "$SCRATCH/outer"
  background "$REDLOCK" run L -- "$SCRATCH/outer" "$LOG"
  wait_for "$LOG"
  wait_until_listening A
  local channel
  channel=$(cli A pubsub channels 'redlock:{L}:told:*')
  both_listen() { [[ $(cli A pubsub numsub "$channel") == *$'\n'2 ]]; }
  wait_until "$BOUND" both_listen
  force -0 --yes --wait L
  [[ -n $(time_of end) && -n $(time_of outer) ]] || fail "they are not gone yet:" "$(cat "$LOG")"
  await -80 "$BACKGROUND_PID"
  wait_until_clean A B C
}
