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

setup() {
  unset REDLOCK_SERVER_TIMEOUT # a run with -n asks for two seconds only, the longer in rounds of this
  LOG=$SCRATCH/log
  GATE=$SCRATCH/gate
  : >"$LOG"
  : >"$GATE"
  CONTENDERS=()
}

teardown() { stop_all; }

# close_gate: the process that holds it lives until open_gate: in a container, /proc/locks does not show a lock
# whose process has ended, nor the processes that wait for it.
close_gate() {
  start_tool flock -F "$GATE" sleep 300
  wait_until "$BOUND" is_closed
}
is_closed() { ! flock -n "$GATE" true; }
open_gate() { kill -KILL "$TOOL_PID"; }

# contender ARG…: `redlock run ARG… L -- a job that logs`, at the gate. flock becomes redlock.
contender() {
  setpriv --pdeathsig KILL flock -sF "$GATE" "$REDLOCK" run "$@" L -- \
    sh -c 'echo "start $$" >>"$1"; sleep 0.01; echo "end $$" >>"$1"' job "$LOG" \
    </dev/null 3>&- 2>>"$SCRATCH/stderr" &
  BACKGROUND+=("$!")
  CONTENDERS+=("$!")
}

# queued N: that many wait at the gate.
queued() { [[ $(grep -c -- "-> FLOCK .*:$(stat -c %i "$GATE") " /proc/locks) == "$1" ]]; }

# rush N ARG…: N contenders start at the same instant; they run in the background.
rush() {
  local i contenders=$1
  shift
  close_gate
  for ((i = 0; i < contenders; i++)); do contender "$@"; done
  wait_until 30 queued "$contenders"
  open_gate
}

# settle SECONDS: waits for all contenders; sets ${statuses[status]} to how many ended so.
settle() {
  local pid status
  statuses=()
  for pid in "${CONTENDERS[@]}"; do
    wait_gone "$pid" "$1" || return 1
    status=0
    wait "$pid" || status=$?
    statuses[status]=$((${statuses[status]-0} + 1))
  done
  CONTENDERS=()
}

# assert_statuses STATUS:COUNT…: this many contenders ended so, and no others.
assert_statuses() {
  local seen=() status
  for status in "${!statuses[@]}"; do seen+=("$status:${statuses[status]}"); done
  [[ ${seen[*]} == "$*" ]] || fail "status:contenders ${seen[*]}, expected $*" "$(cat "$SCRATCH/stderr")"
}

# assert_jobs N: that many ran, one after the other.
assert_jobs() {
  assert_no_overlap "$LOG"
  [[ $(grep -c ^start "$LOG") == "$1" ]] || fail "jobs that ran: $(grep -c ^start "$LOG") of $1"
}

# assert_nothing_left SERVER…: no lock stays. A quorum of answers is enough for a redlock to end.
assert_nothing_left() {
  local server
  for server in "$@"; do wait_until "$BOUND" lacks_key "$server" L || fail "$server has the lock" || return 1; done
}

# assert_one_left_at_most SERVER…: for tests whose redlocks end while a server is late. A server that carries out a
# request, stands still before it writes the answer, and then finds the connection closed drops what it has not read:
# the release. Its key lasts a ttl.
assert_one_left_at_most() {
  local server left=()
  for server in "$@"; do wait_until 2 lacks_key "$server" L 2>/dev/null || left+=("$server"); done
  ((${#left[@]} <= 1)) || fail "${left[*]} have the lock"
}

# All of them wait: everyone's turn comes. The ttl bounds how long a contender sleeps between two
# questions.
WAITING=(-w 60 --ttl 3s)

@test "of 30 contenders that wait for three servers, given one by one, all run, one at a time" {
  servers 3
  local uri given=()
  for uri in $REDLOCK_SERVERS; do given+=(-S "$uri"); done
  unset REDLOCK_SERVERS
  rush 30 "${WAITING[@]}" "${given[@]}"
  settle 60
  assert_statuses 0:30
  assert_jobs 30
  assert_nothing_left A B C
}

@test "of 50 contenders all run, one at a time, while servers die, hang and come back" {
  servers 5
  rush 50 "${WAITING[@]}" --server-wait 30s
  local round
  for round in 1 2 3 4; do
    # Always a minority. E comes back empty: whoever had its vote must be through before that, and
    # is, when the second of two more jobs begins.
    pause_server D
    kill_server E
    wait_until 30 two_more_jobs_than "$(grep -c ^start "$LOG")"
    resume_server D
    launch_server E "$SCRATCH/server.E"
    wait_until 30 two_more_jobs_than "$(grep -c ^start "$LOG")"
  done
  settle 60
  assert_statuses 0:50
  assert_jobs 50
  # A server that was stopped may wake to more questions than it reads before it finds that nobody
  # waits for the answers: what it grants then lasts a ttl.
  assert_nothing_left A B C D E
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
  assert_nothing_left A
  [[ $(cli B get L) == theirs && $(cli C get L) == theirs ]]
}

@test "the five contenders of the examples run one at a time" {
  servers 3
  run -0 "$SOURCE/packaging/examples/five-contenders"
  assert_contains "$output" "5 jobs ran, 0 overlapped"
  assert_nothing_left A B C
}

# ---- two hosts' cron at the same instant -------------------------------------------------------

# duel: two contenders with -n start together; the winner's job lasts until the loser has given up.
# Fails unless exactly one of the two runs.
duel() {
  local i first=0 second=0 pid other
  local over=$SCRATCH/over
  rm -f "$over"
  : >"$LOG"
  close_gate
  for i in 1 2; do
    setpriv --pdeathsig KILL flock -sF "$GATE" "$REDLOCK" run -n L -- \
      sh -c 'echo "start $$" >>"$1"
        for i in $(seq 1000); do test ! -e "$2" || break; sleep 0.01; done
        echo "end $$" >>"$1"' job "$LOG" "$over" \
      </dev/null 3>&- 2>>"$SCRATCH/stderr" &
    BACKGROUND+=("$!")
    CONTENDERS+=("$!")
  done
  wait_until "$BOUND" queued 2
  open_gate
  wait_until 30 one_gone "${CONTENDERS[@]}"
  wait -n -p pid "${CONTENDERS[@]}" || first=$?
  : >"$over"
  other=${CONTENDERS[0]}
  [[ $pid != "$other" ]] || other=${CONTENDERS[1]}
  wait_gone "$other" 30
  wait "$other" || second=$?
  CONTENDERS=()
  BACKGROUND=()
  [[ $first == 1 && $second == 0 && $(grep -c start "$LOG") == 1 ]] ||
    fail "the first to end: status $first, the other one: $second" "$(cat "$LOG" "$SCRATCH/stderr")"
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
