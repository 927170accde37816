#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole,slow
#
# Connections that acknowledge everything and answer nothing, while new connections to the same server work.

load ../lib/common
load ../lib/quorum
load ../lib/tls

teardown() { stop_all; }

# swallow_proxy HOST PORT, or unix SOCKET: a proxy in front of that server; sets SWALLOW_URI.
swallow_proxy() { start_listener SWALLOW swallow_proxy.py "$@"; }

# swallow: the proxy forgets its present connections. deliver: later bytes of them reach the server.
swallow() { signal_proxy USR1; }
deliver() { signal_proxy USR2; }
signal_proxy() {
  local done=$SCRATCH/listener.$LISTENERS.done
  : >"$done"
  kill -"$1" "$SWALLOW_PID"
  wait_for "$done"
}

# hears A WORD: somebody on A listens to the messages of that kind.
hears() { [[ $(answer "$1" pubsub channels "*:$2:*") == *":$2:"* ]]; }
hears_not() { ! hears "$@"; }

# job_outlives SERVER: the job goes on when its lease is over, and ends by itself.
job_outlives() {
  outlast "$1" L
  wait_for_renewal "$1"
  end_job
  wait_until_clean "$1"
}

@test "silent: a job goes on over a new connection, and hears of a revocation there" {
  start_server A
  swallow_proxy unix "$A_SOCKET"
  start_job -S "$SWALLOW_URI" --ttl 5s
  wait_until "$BOUND" hears A told
  swallow
  hears_not A told
  wait_until "$BOUND" hears A told
  job_outlives A
}

@test "silent: a job goes on over a new connection with TLS" {
  make_authority ca
  make_certificate server ca DNS:localhost,IP:127.0.0.1
  start_tls_server A server
  swallow_proxy 127.0.0.1 "$A_TLS_PORT"
  start_job -S "${SWALLOW_URI/redis:/rediss:}" --tls-ca "$TLS/ca.crt" --ttl 5s
  swallow
  job_outlives A
}

@test "silent: a release goes over a new connection" {
  start_server A
  swallow_proxy unix "$A_SOCKET"
  start_job -S "$SWALLOW_URI" --ttl 60s
  swallow
  end_job
  assert_silent
  assert_no_key A L
}

@test "silent: a waiter goes on over a new connection, is woken there and gets the lock" {
  start_server A
  swallow_proxy unix "$A_SOCKET"
  start_job -S "$A_URI" --ttl 60s
  background "$REDLOCK" run -S "$SWALLOW_URI" L -- true
  wait_until "$BOUND" hears A wake
  swallow
  hears_not A wake
  wait_until "$BOUND" hears A wake
  end_job
  await -0 "$BACKGROUND_PID"
  # Late requests leave nothing.
  deliver
  wait_until_clean A
}

@test "silent: an acquire that arrives after its release over another connection takes nothing" {
  servers 3
  local names=$REDLOCK_SERVERS server
  for server in A B C; do cli "$server" set L somebody px 600000 >/dev/null; done
  swallow_proxy unix "$C_SOCKET"
  export REDLOCK_SERVERS="$A_URI $B_URI $SWALLOW_URI"
  background "$REDLOCK" run --ttl 5s L -- bash -c 'echo >"$1"; until [[ -e $2 ]]; do read -rt 0.05 <>"$NAP"; done; true' \
    job "$SCRATCH/ready" "$SCRATCH/go"
  wait_until "$BOUND" hears C wake
  swallow
  for server in A B C; do cli "$server" del L >/dev/null; done
  wait_for "$SCRATCH/ready"
  wait_for_key C L # by a repair, over the new connection
  : >"$SCRATCH/go"
  await -0 "$BACKGROUND_PID"
  export REDLOCK_SERVERS=$names
  wait_until_free A B C
  local before
  before=$(evals C)
  deliver
  acquired() { (($(evals C) > before)); }
  wait_until "$BOUND" acquired
  assert_no_key C L
}
