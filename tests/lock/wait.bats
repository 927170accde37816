#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole,slow
# shellcheck shell=bash disable=SC1003
#
# Waiting for the lock, for servers, and the limits of both. Upper bounds leave room for a loaded
# machine; the lower ones are exact.

load ../lib/common
load ../lib/looking
load ../lib/queue

setup() { servers 1 --tcp; }
teardown() { stop_all; }

SLACK=15000 # milliseconds a loaded machine may take for what should take none

# timed_conflict LIMIT: somebody else has the lock L until the limit; as often as twenty times while the
# machine is too slow for the server to say so by then, which is 69.
timed_conflict() {
  local try
  for try in {1..20}; do
    timed "$REDLOCK" run -w "$1" L -- true
    [[ $status == 69 ]] || break
  done
  assert_status 1
}

@test "-w gives up at its limit, not before" {
  cli A set L somebody
  local limit
  for limit in 100 300 700; do
    timed_conflict "${limit}ms"
    assert_between "$limit" "$elapsed" $((limit + SLACK))
  done
  timed_conflict .25
  assert_between 250 "$elapsed" $((250 + SLACK))
  [[ $(cli A get L) == somebody ]]
}

@test "an unreachable server may come back within --server-wait" {
  kill_server A
  background "$REDLOCK" run -vv --server-wait 30s L -- echo in
  wait_for_line "$BACKGROUND_ERR" 'acquire:'
  restart_server A
  await -0 "$BACKGROUND_PID"
  [[ $output == in ]]
}

@test "-n tolerates an unreachable server for two seconds, or for a shorter --server-wait" {
  timed -69 "$REDLOCK" run -n --server-wait 60s -S "$SCRATCH_URI/none" L -- true
  assert_between 2000 "$elapsed" $((2000 + SLACK))
  timed_below 1900 -69 "$REDLOCK" run -n --server-wait 200ms -S "$SCRATCH_URI/none" L -- true
  ((elapsed >= 200)) || fail "$elapsed ms"
}

@test "--server-wait 0 tolerates no outage, but a server that answers is asked" {
  run -69 --separate-stderr "$REDLOCK" run --server-wait 0 -S "$SCRATCH_URI/none" L -- true
  assert_contains "$stderr" 'no such socket file'
  run -0 "$REDLOCK" run --server-wait 0 L -- true
  run -0 "$REDLOCK" run -n --server-wait 0 -S "$A_TCP_URI/1" L -- true
  # Also for the number, if the servers must agree on one: A alone knows an earlier one.
  start_server B
  start_server C
  local each
  for each in {1..5}; do
    "$REDLOCK" run "L$each" -- true
    run -0 "$REDLOCK" run --server-wait 0 -S "$A_URI" -S "$B_URI" -S "$C_URI" "L$each" -- true
  done
}

@test "-w bounds connecting, too" {
  black_hole
  timed -69 "$REDLOCK" run -w 300ms --server-wait 60s -S "$BLACK_HOLE_URI" L -- true
  assert_between 300 "$elapsed" $((300 + SLACK))
  assert_one_line "$stderr" "$BLACK_HOLE_URI"
}

@test "-w bounds a server that is stopped, and nothing is left when it wakes" {
  run -0 "$REDLOCK" run other -- true # A knows the scripts
  local before
  before=$(evals A)
  pause_server A
  timed -69 "$REDLOCK" run -w 500ms --server-wait 60s L -- true
  assert_between 500 "$elapsed" $((500 + SLACK))
  resume_server A
  wait_until "$BOUND" has_no_keys A
  # It has not been spared the question: it has carried it out, and the release after it.
  wait_until "$BOUND" eval '(($(evals A) >= before + 2))'
  assert_nothing_left A
}

@test "with -v a conflict says who holds the lock, and for how long" {
  LOGNAME=someone hold
  local token
  token=$(cli A get L)
  run -1 --separate-stderr "$REDLOCK" run -v -n L -- true
  [[ -z $output ]]
  assert_contains "$stderr" "lock \"L\" is held by someone@$(hostname) (pid $HOLDER, bash -c " 'expires in'
  refute_contains "$stderr" "$token"
  assert_one_line "$stderr"
  run --separate-stderr "$REDLOCK" run --verbose -w 1 L -- true
  assert_contains "$stderr" '; waiting'
}

@test "on a terminal a conflict says who holds the lock, in one line" {
  LOGNAME=someone hold
  run on_terminal 200 "$REDLOCK" run -n L -- true
  assert_contains "$output" 'lock "L" is held by someone@'
  [[ ${#lines[@]} == 1 ]] || fail "$output"
}

@test "-q does not silence 69" {
  run -69 --separate-stderr "$REDLOCK" run -q -n --server-wait 0.1 -S "$SCRATCH_URI/none" L -- true
  assert_one_line "$stderr"
}

@test "-v tells of the acquire and the release, -vv also of each server's answers" {
  run -0 --separate-stderr "$REDLOCK" run -v L -- true
  [[ $stderr == 'redlock: lock "L" was acquired after '*$'\nredlock: lock "L" was released after '* ]] || fail "$stderr"
  refute_contains "$stderr" "$A_URI"
  local flags
  for flags in -vv '-v -v' '--verbose --verbose'; do
    # shellcheck disable=SC2086 # several words
    run -0 --separate-stderr "$REDLOCK" run $flags L -- true
    assert_contains "$stderr" "$A_URI: acquire: granted"
  done
  assert_contains "$stderr" 'lock "L" was acquired after' 'lock "L" was released after'
  [[ ! $stderr =~ [0-9a-f]{20} ]] ||
    fail "is that a token? $stderr"
}
