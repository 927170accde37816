#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole,slow
#
# Many want one lock: never two have it at the same time, and nobody is forgotten.
#
# The contenders of a test stand at a gate, a lock on a local file, and rush off together when
# it opens. Their jobs log "start" and "end" with O_APPEND, so that the order of the lines is the
# order of the events.

load ../lib/common
load ../lib/quorum

setup() {
  unset REDLOCK_SERVER_TIMEOUT # a run with -n asks for two seconds only, the longer in rounds of this
  LOG=$SCRATCH/log
  GATE=$SCRATCH/gate
  : >"$LOG"
  : >"$GATE"
}

teardown() { stop_all; }

# close_gate: the process that holds it lives until open_gate: in a container, /proc/locks does not show a lock
# whose process has ended, nor the processes that wait for it.
close_gate() {
  start_tool flock -F "$GATE" sleep 300
  wait_until "$BOUND" is_closed
}
is_closed() { ! flock -n "$GATE" true; }

# contender JOB ARG…: `redlock run ARG… L -- JOB`, at the gate. flock becomes redlock.
contender() {
  background flock -sF "$GATE" "$REDLOCK" run "${@:2}" L -- sh -c "$1" job "$LOG" "$SCRATCH/over"
}

# open_gate N: once that many wait there.
open_gate() {
  wait_until 30 queued "$1"
  kill -KILL "$TOOL_PID"
}
queued() { [[ $(grep -c -- "-> FLOCK .*:$(stat -c %i "$GATE") " /proc/locks) == "$1" ]]; }

# assert_one_left_at_most SERVER…: for tests whose redlocks end while a server is late. A server that carries out a
# request, stands still before it writes the answer, and then finds the connection closed drops what it has not read:
# the release. Its key lasts a ttl.
assert_one_left_at_most() {
  local server left=()
  for server in "$@"; do wait_until 2 lacks_key "$server" L 2>/dev/null || left+=("$server"); done
  ((${#left[@]} <= 1)) || fail "${left[*]} have the lock"
}

@test "of 50 contenders all run, one at a time, while servers die, hang and come back" {
  servers 5
  local each
  close_gate
  # All of them wait: everyone's turn comes. The ttl bounds how long a contender sleeps between two questions.
  for each in {1..50}; do
    contender 'echo "start $$" >>"$1"; sleep 0.01; echo "end $$" >>"$1"' -w 60 --ttl 3s --server-wait 30s
  done
  open_gate 50
  for each in 1 2 3 4; do
    # Always a minority. E comes back empty: whoever had its vote must be through before that, and
    # is, when the second of two more jobs begins.
    pause_server D
    kill_server E
    wait_until 30 two_more_jobs_than "$(grep -c ^start "$LOG")"
    resume_server D
    launch_server E "$SCRATCH/server.E"
    wait_until 30 two_more_jobs_than "$(grep -c ^start "$LOG")"
  done
  for each in "${BACKGROUND[@]}"; do await -0 "$each" 60; done
  assert_no_overlap "$LOG"
  [[ $(grep -c ^start "$LOG") == 50 ]] || fail "jobs that ran: $(grep -c ^start "$LOG")"
  # A server that was stopped may wake to more questions than it reads before it finds that nobody
  # waits for the answers: what it grants then lasts a ttl.
  wait_until_free A B C D E
}

# two_more_jobs_than N: two more jobs have begun, or all have.
two_more_jobs_than() {
  local begun
  begun=$(grep -c ^start "$LOG")
  ((begun >= $1 + 2 || begun == 50))
}

@test "a conflict at the wait limit leaves nothing of the loser's on any server" {
  servers 3
  cli B set L theirs px 60000
  cli C set L theirs px 60000
  run -1 "$REDLOCK" run -w 1 L -- true
  wait_until_free A
  [[ $(cli B get L) == theirs && $(cli C get L) == theirs ]]
}

@test "the five contenders of the examples run one at a time" {
  servers 3
  run -0 "$SOURCE/packaging/examples/five-contenders"
  assert_contains "$output" "5 jobs ran, 0 overlapped"
  wait_until_free A B C
}

# ---- two hosts' cron at the same instant -------------------------------------------------------

# duel: two contenders with -n start together; the winner's job lasts until the loser has given up.
# Fails unless exactly one of the two runs.
duel() {
  local each loser='' winner=''
  rm -f "$SCRATCH/over"
  : >"$LOG"
  BACKGROUND=()
  close_gate
  for each in 1 2; do
    contender 'echo "start $$" >>"$1"; until [ -e "$2" ]; do sleep 0.01; done; echo "end $$" >>"$1"' -n
  done
  open_gate 2
  wait_until 30 one_gone "${BACKGROUND[@]}"
  for each in "${BACKGROUND[@]}"; do if gone "$each"; then loser=$each; else winner=$each; fi; done
  : >"$SCRATCH/over"
  [[ -n $winner ]] || fail "both have ended" || return 1
  await -1 "$loser" && await -0 "$winner" 30 || return 1
  [[ $(grep -c start "$LOG") == 1 ]] || fail "$(cat "$LOG")"
}
one_gone() { gone "$1" || gone "$2"; }

# duels N
duels() {
  local round
  for ((round = 1; round <= $1; round++)); do duel || fail "in round $round" || return 1; done
}

@test "of two hosts that do not wait and start at the same instant exactly one runs, every time" {
  servers 5
  duels "${DUELS:-40}"
  assert_one_left_at_most A B C D E
}

@test "of two such hosts exactly one runs, every time, on two and on three servers" {
  servers 2
  duels 8
  stop_servers
  servers 3
  duels 8
}

@test "of two such hosts exactly one runs, every time, with one server of five stopped and one killed" {
  servers 5
  pause_server B
  kill_server E
  duels 8
  resume_server B
  # Its questions and the releases after them are still in the socket, in order.
  assert_one_left_at_most A B C D
}
