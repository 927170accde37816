#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# Long scripts go by hash. A server that does not know one gets it as a whole.

load ../lib/common

LATER_REDLOCK=${REDLOCK%/*}/tests/redlock_later # its scripts have other hashes

setup() {
  [[ -x $LATER_REDLOCK ]] || fail "there is no $LATER_REDLOCK: cmake --build … --target redlock_later"
  servers 1
}
teardown() { stop_all; }

# costs BYTES CMD…: the server reads at most BYTES, the question included, and refuses nothing.
costs() {
  local bytes
  cli A config resetstat >/dev/null
  "${@:2}"
  bytes=$(cli A info stats | tr -d '\r' | sed -n 's/^total_net_input_bytes://p')
  ((bytes <= $1)) || fail "$bytes bytes: ${*:2}"
  [[ $(failures_of A evalsha) == 0 ]] || fail "$(cli A info commandstats)"
}
run_in_vain() { "$REDLOCK" run -q -n L -- false || (($? == 1)); }

@test "by hash: from the second run on, a server gets their hashes" {
  "$REDLOCK" run L -- true
  costs 5000 "$REDLOCK" run L -- true
  local token
  token=$("$REDLOCK" acquire L)
  costs 2000 run_in_vain
  run -0 "$REDLOCK" release L "$token"
  run -0 "$REDLOCK" history L
  [[ $(wc -l <<<"$output") == 4 ]] || fail "$output"
}

@test "by hash: what a release leaves to hand on is repeated in full, after SCRIPT FLUSH and for another version" {
  local holder waiter
  for holder in "$REDLOCK" "$LATER_REDLOCK"; do
    for waiter in "$REDLOCK" "$LATER_REDLOCK"; do
      cli A script flush >/dev/null
      run -0 "$holder" acquire --ttl 1s other # the server knows what acquires, and not what hands on
      wait_until "$BOUND" lacks_key A other
      REDLOCK=$holder start_job
      background "$waiter" run -vv L -- true
      wait_until "$BOUND" wakes A
      [[ $holder != "$waiter" ]] || cli A script flush >/dev/null
      cli A config resetstat >/dev/null
      end_job
      await -0 "$BACKGROUND_PID"
      # Only whoever hands the lock on sends a message: without one, the waiter had to ask by itself.
      [[ $(calls_of A publish) == 1 ]] || fail "$holder wakes $waiter: $(cli A info commandstats)"
    done
  done
}
wakes() { [[ $(answer "$1" pubsub channels '*wake*') == *wake* ]]; }

@test "by hash: a server without EVALSHA gets everything in full" {
  start_server B --rename-command EVALSHA ''
  local REDLOCK_SERVERS=$B_URI
  start_job
  run -1 "$REDLOCK" run -n L -- true
  background "$REDLOCK" run L -- true
  wait_until "$BOUND" wakes B
  cli B config resetstat >/dev/null
  end_job
  [[ -z $stderr ]] || fail "$stderr"
  await -0 "$BACKGROUND_PID"
  [[ $(calls_of B publish) == 1 ]] || fail "$(cli B info commandstats)"
}

@test "by hash: a waiter teaches the server the script by which the holder wakes it" {
  teaches redlock 0
}
@test "by hash: the same for a lock of Redisson's" {
  teaches redisson 2
}
# teaches KIND NUMBER: with --as KIND, whose scripts are known by the hash with that number (redis/requests/scripts.h).
teaches() {
  local sum sums
  export REDLOCK_AS=$1
  cmake -D "SCRIPTS=$SOURCE/src/redis/scripts/hand_on.lua,$SOURCE/src/redis/scripts/redisson.lua" \
    -D "OUTPUT=$SCRATCH/scripts.cc" -P "$SOURCE/src/redis/embed_scripts.cmake"
  mapfile -t sums < <(sed -n '/Script hand_on{/,/}};/p' "$SCRATCH/scripts.cc" | grep -oE '"[0-9a-f]{40}"' | tr -d '"')
  sum=${sums[$2]}
  run -0 "$REDLOCK" acquire other # the server knows what acquires, and not what hands on
  start_job
  [[ $(cli A script exists "$sum") == 0 ]]
  background "$REDLOCK" run -vv L -- true
  wait_until "$BOUND" knows "$sum"
  cli A config resetstat >/dev/null
  end_job
  await -0 "$BACKGROUND_PID"
  [[ $(calls_of A evalsha) -ge 2 && $(failures_of A evalsha) == 0 ]] || fail "$(cli A info commandstats)"
}
knows() { [[ $(cli A script exists "$1") == 1 ]]; }

@test "by hash: the first run of each kind, and a waiter, on a server that knows none" {
  local options
  for options in '' -s '--slots 2' '--once 1h --min-hold 0.1'; do
    cli A script flush >/dev/null
    # shellcheck disable=SC2086
    start_job $options
    run -1 "$REDLOCK" run -n L -- true
    let_go 0
    run -0 "$REDLOCK" run -w "$BOUND" L -- true
    await -0 "$JOB"
    assert_no_key A L
  done
}
