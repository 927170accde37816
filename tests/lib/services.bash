# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Servers that permit less than a Redis of one's own, and all that redlock does on one. Where a setting of the server can
# refuse something, the server does; the rest is in service_proxy.py. To be loaded after lib/common.

# service SERVER WORD…: a service_proxy.py with these words before the running server SERVER; sets SERVICE, its address.
service() {
  local -n socket=${1}_SOCKET
  start_listener SERVICE service_proxy.py "$socket" "${@:2}" || return 1
  SERVICE=127.0.0.1:$SERVICE_PORT
}

# ---- all that redlock does -------------------------------------------------------------------

# everything [SERVER]: each command does its work for the lock $LOCK on $REDLOCK_SERVERS, which is SERVER (A) for
# redis-cli. Where MESSAGES is empty, nobody is woken.
everything() {
  SERVER=${1-A}
  MESSAGES=${MESSAGES-told}
  hands_over
  is_shared
  has_slots
  runs_once
  is_held
  is_revoked
  goes_by_token
  tells_its_history
}

# ends_in_silence: the job of start_job ends, and redlock has said nothing.
ends_in_silence() {
  end_job
  [[ -z $stderr ]] || fail "$stderr"
}

# refuses: the lock cannot be had, since somebody has it.
refuses() { run -1 --separate-stderr "$REDLOCK" run -v -n "$LOCK" -- true; }

# One waits behind a job, all commands show both, and it is told when the lock is free.
hands_over() {
  start_job
  refuses
  assert_contains "$stderr" '(pid '
  background "$REDLOCK" run -vv "$LOCK" -- true
  local waiter=$BACKGROUND_PID
  wait_until "$BOUND" stands_in_queue
  run -0 --separate-stderr "$REDLOCK" status "$LOCK"
  assert_contains "$output" ': held' "$waiter"
  [[ -z $stderr ]] || fail "$stderr"
  run -0 --separate-stderr "$REDLOCK" list
  assert_contains "$output" "$LOCK"
  [[ -z $stderr ]] || fail "$stderr"
  ends_in_silence
  await -0 "$waiter"
  # By itself it asks every 1.7 s.
  [[ -z $MESSAGES || $stderr =~ 'the lock is free, and it is our turn'|'the lock may be ours in ' ]] ||
    fail "it was not told: $stderr"
}
stands_in_queue() {
  [[ $(answer "$SERVER" zcard "redlock:{$LOCK}:queue") == 1 ]] || return 1
  [[ -z $MESSAGES || $(answer "$SERVER" pubsub channels "redlock:{$LOCK}:wake:*") == *wake* ]]
}

is_shared() {
  start_job -s
  "$REDLOCK" run -n -s "$LOCK" -- true
  refuses
  run -0 --separate-stderr "$REDLOCK" status "$LOCK"
  assert_contains "$output" ' shared' "$JOB"
  ends_in_silence
}

has_slots() {
  start_job --slots 2
  "$REDLOCK" run -n --slots 2 "$LOCK" -- true
  refuses
  ends_in_silence
}

runs_once() {
  local run
  for run in 1 2; do "$REDLOCK" run -q --once 1h "$LOCK" -- sh -c "echo $run >>'$SCRATCH/once'"; done
  [[ $(<"$SCRATCH/once") == 1 ]] || fail "runs: $(<"$SCRATCH/once")"
  rm "$SCRATCH/once"
}

is_held() {
  "$REDLOCK" hold --for 60s "$LOCK"
  refuses
  "$REDLOCK" release --force --yes "$LOCK"
  "$REDLOCK" run -n "$LOCK" -- true
}

is_revoked() {
  local ttl=60s
  [[ -n $MESSAGES ]] || ttl=3s # it notices when it renews
  start_job --ttl "$ttl"
  [[ -z $MESSAGES ]] || wait_until_listening "$SERVER"
  "$REDLOCK" release --force --yes "$LOCK"
  await -80 "$JOB"
  assert_contains "$stderr" 'was revoked by'
  "$REDLOCK" run -n "$LOCK" -- true
}

goes_by_token() {
  local token
  token=$("$REDLOCK" acquire -n --ttl 60s "$LOCK")
  "$REDLOCK" renew "$LOCK" "$token"
  refuses
  "$REDLOCK" release "$LOCK" "$token"
}

tells_its_history() {
  run -0 --separate-stderr "$REDLOCK" history "$LOCK"
  assert_contains "$output" ' 7 ' ' forced by '
  [[ -z $stderr ]] || fail "$stderr"
}

# checks STATUS TEXT…: `check` ends with STATUS, and says each TEXT.
checks() {
  local text
  run --separate-stderr "$REDLOCK" check -v
  assert_status "$1"
  for text in "${@:2}"; do assert_contains "$output" "$text"; done
}
