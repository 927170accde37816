#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=memory
#
# Several servers: a failing minority of them changes nothing; redlock reports a failing majority. Minority
# and majority are of the configured servers. What happens under a job is in outage.bats.

load ../lib/common
load ../lib/quorum

teardown() { stop_all; }

# ---- before the job --------------------------------------------------------------------------

# assert_runs: a job runs, without delay and without a word.
assert_runs() {
  timed_below 800 -7 "$REDLOCK" run "${PATIENTLY[@]}" L -- sh -c 'echo ran; exit 7'
  [[ $output == ran ]] || fail "the job did not run: $output"
  assert_silent
}

@test "a job runs with one of three servers in a black hole, and does not wait for it" {
  servers 2
  black_hole
  REDLOCK_SERVERS="$BLACK_HOLE_URI $REDLOCK_SERVERS"
  assert_runs
  assert_nothing_left A B
}

@test "a job runs with two of five servers out of order, one killed and one stopped" {
  servers 5
  kill_server A
  pause_server D
  assert_runs
  assert_nothing_left B C E
  run -0 --separate-stderr "$REDLOCK" run -vv L -- true
  assert_contains "$stderr" "$A_URI: " # what became of it
  resume_server D
  wait_until_free D
}

# assert_unavailable SERVER…: 69, and the message names each of these servers once.
assert_unavailable() {
  run -69 --separate-stderr "$REDLOCK" run --server-wait 300ms L -- sh -c 'echo ran'
  [[ -z $output ]] || fail "the job ran: $output"
  [[ $(wc -l <<<"$stderr") == 1 ]] || fail "not one line: $stderr"
  assert_named_once "$stderr" "$@"
}

@test "no job runs with three of five servers stopped: 69, and nothing is left on any" {
  servers 5
  pause_server B C D
  assert_unavailable B C D
  wait_until_free A E
  local server
  for server in B C D; do
    resume_server "$server"
    wait_until_free "$server"
  done
}

@test "no job runs with two of three servers unreachable, one refusing, one in a black hole: 69" {
  servers 1
  black_hole
  closed_port
  REDLOCK_SERVERS="$A_URI $CLOSED_URI $BLACK_HOLE_URI"
  assert_unavailable
  assert_contains "$stderr" "$CLOSED_URI: " "$BLACK_HOLE_URI: "
  wait_until_free A
}

@test "a job that waits for a quorum runs when one more server comes back" {
  servers 3
  kill_server A B
  background "$REDLOCK" run -vv --server-wait 60s L -- echo ran
  wait_for_line "$BACKGROUND_ERR" "$A_URI: acquire: " # in vain
  launch_server B "$SCRATCH/server.B"
  await -0 "$BACKGROUND_PID" 20
  [[ $output == ran ]] || fail "output: $output"
  assert_nothing_left B C
}

# ---- how many are enough -------------------------------------------------------------------------

@test "a lock held elsewhere on a minority is no obstacle, and stays theirs" {
  servers 5
  cli B set L theirs px 60000
  cli D set L others px 60000
  run -0 "$REDLOCK" run -n L -- true
  wait_until_free A C E
  [[ $(cli B get L) == theirs && $(cli D get L) == others ]]
}

@test "the quorum is one of the configured servers, not of those that answer" {
  servers 5
  kill_server A B
  cli C set L theirs px 60000
  run -1 "$REDLOCK" run -n L -- echo ran # of three that answer, two would grant
  [[ -z $output ]] || fail "the job ran"
  wait_until_free D E
}

# ---- passwords -----------------------------------------------------------------------------------

# with_password NAME: a server that wants a password, on TCP too.
with_password() { start_server "$1" --tcp --requirepass right; }

@test "a wrong password for one of three servers is borne" {
  servers 2
  with_password C
  REDLOCK_SERVERS="redis://:wrong@127.0.0.1:$C_PORT $REDLOCK_SERVERS"
  assert_runs
  # The job lasts until C has answered: two votes are enough to begin.
  start_job -vv
  wait_for_line "$JOB_ERR" "127.0.0.1:$C_PORT: acquire: wrong"
  end_job
  refute_contains "$stderr" :wrong@
}

@test "wrong passwords for two of three servers end the run immediately: 69" {
  servers 1
  with_password B
  with_password C
  REDLOCK_SERVERS="$A_URI redis://:wrong@127.0.0.1:$B_PORT redis://:wrong@127.0.0.1:$C_PORT"
  timed -69 "$REDLOCK" run --server-wait 30s L -- echo ran
  [[ -z $output ]] || fail "the job ran"
  ((elapsed < 20000)) || fail "$elapsed ms"
  assert_contains "$stderr" "127.0.0.1:$B_PORT: wrong" "127.0.0.1:$C_PORT: wrong"
  refute_contains "$stderr" 'has not answered yet' # A is healthy
  refute_contains "$stderr" :wrong@
  wait_until_free A
}

@test "quorum: if too few servers answer, a waiter says that the holder's list is another one: ours may be old" {
  servers 3
  start_job -S "$A_URI" -S "$B_URI"
  background bash -c 'exec "$REDLOCK" run -v L -- true 2>"$0"' "$SCRATCH/words"
  wait_until "$BOUND" has_text "$SCRATCH/words" 'both exclude each other'
  kill_server B C
  wait_until "$BOUND" has_text "$SCRATCH/words" \
    "uses another list of servers (without $C_URI), ours may be out of date"
}

@test "quorum: a holder whose servers need not share one with ours is pointed out, once, also to a run that gets the lock" {
  servers 3
  start_job -S "$A_URI"
  run -0 --separate-stderr "$REDLOCK" run -n L -- echo ran
  [[ $output == ran ]]
  assert_contains "$stderr" 'warning: lock "L" is held by ' "with other servers than here ($A_URI)"
  run --separate-stderr "$REDLOCK" run -w 0.8 -S "$C_URI" -S "$B_URI" -S "$A_URI" L -- true
  [[ $(grep -c 'with other servers' <<<"$stderr") == 1 ]] || fail "$stderr"
  # One server and that one with another always share it. After the time-out of a server, a second here, it is known
  # that A has a holder, and no contender that is about to give up.
  run -1 --separate-stderr "$REDLOCK" run -w 2.5 -S "$B_URI" -S "$A_URI" L -- true
  [[ $stderr != *warning* && $stderr != *'other servers'* ]] || fail "$stderr"
  assert_contains "$stderr" 'lock "L" is still held by '
}
