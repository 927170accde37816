#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Several servers: what a minority of them does is nobody's trouble, what a majority does is told
# and acted on in time. "Minority" and "majority" are of the configured servers.

# shellcheck disable=SC2030,SC2031 # what a test changes is meant for that test alone
# shellcheck disable=SC2016 # expanded by the job's shell
# shellcheck disable=SC2153 # A_URI and the like are set by start_server

load lib/common

setup() {
  READY=$SCRATCH/ready
  FINISH=$SCRATCH/finish
  BEATS=$SCRATCH/beats
}

teardown() { stop_all; }

# For tests in which nobody may wait for a server. One that hangs would be waited for: 6 s for an
# answer, 1 s for a connection, 2 s for the end of a release.
PATIENTLY=(--ttl 60s --server-timeout 6s)
PROMPT=800 # ms

# promptly CMD…: `run` with stderr apart; also sets $took, in ms.
promptly() {
  local began=${EPOCHREALTIME/./}
  run --separate-stderr "$@"
  took=$(((${EPOCHREALTIME/./} - began) / 1000))
}

# took_less_than MS: what was timed did.
took_less_than() { ((took < $1)) || fail "it took $took ms" "${stderr-}"; }

assert_silent() { [[ -z $stderr ]] || fail "it says: $stderr"; }

# assert_named_once TEXT SERVER…: TEXT, one message, names each of these servers once.
assert_named_once() {
  local text=$1 server
  shift
  for server in "$@"; do
    local -n uri=${server}_URI
    [[ $(grep -oF "$uri:" <<<"$text" | wc -l) == 1 ]] || fail "$uri is not named once in: $text"
  done
}

# assert_nothing_left SERVER…: no lock there.
assert_nothing_left() {
  local server
  for server in "$@"; do assert_no_key "$server" L; done
}

no_lock() { [[ $(cli "$1" exists L) == 0 ]]; }

# start_job ARG…: `redlock run ARG… L -- a job` in the background; the job says that it is ready,
# ends with 7 once $FINISH is there, and gives up after 60 s.
start_job() {
  # shellcheck disable=SC2016 # expanded by the job's shell
  background "$REDLOCK" run "$@" L -- sh -c 'echo "$$" >"$1"
    for i in $(seq 3000); do test ! -e "$2" || exit 7; sleep 0.02; done' job "$READY" "$FINISH"
  wait_for "$READY"
}

# finish_job: lets the job end, waits for redlock; sets what await does, and $took.
finish_job() {
  local began=${EPOCHREALTIME/./}
  : >"$FINISH"
  await "$BACKGROUND_PID" 20 || return 1
  took=$(((${EPOCHREALTIME/./} - began) / 1000))
}

# time_given SERVER: prints how often a key there was given more time.
time_given() {
  local calls
  calls=$(cli "$1" info commandstats | sed -n 's/^cmdstat_pexpire:calls=\([0-9]*\),.*/\1/p')
  echo "${calls:-0}"
}

# wait_renewal SERVER: until the lock has just been renewed there.
wait_renewal() { wait_until 20 given_more_time "$1" "$(time_given "$1")"; }
given_more_time() { (($(time_given "$1") > $2)); }

# past TIME: it is later than that ($EPOCHREALTIME, in µs).
past() { ((${EPOCHREALTIME/./} > $1)); }

# ---- before the job --------------------------------------------------------------------------

# assert_runs: a job runs, without delay and without a word. The best of three tries counts: what
# else the machine does can only add to the time.
assert_runs() {
  local try
  for try in 1 2 3; do
    promptly "$REDLOCK" run "${PATIENTLY[@]}" L -- sh -c 'echo ran; exit 7'
    assert_status 7
    [[ $output == ran ]] || fail "the job did not run: $output"
    assert_silent
    ((took >= PROMPT)) || return 0
  done
  fail "it took $took ms, in attempt $try"
}

# assert_verbose_names URI: with -v a job that runs says what became of this server.
assert_verbose_names() {
  promptly "$REDLOCK" run -v L -- true
  assert_status 0
  assert_contains "$stderr" "$1: "
}

@test "a job runs with one of three servers killed" {
  servers 3
  kill_server B
  assert_runs
  assert_nothing_left A C
  assert_verbose_names "$B_URI"
}

@test "a job runs with one of three servers stopped, and does not wait for it" {
  servers 3
  pause_server A
  assert_runs
  assert_nothing_left B C
  # It wakes up to the question and to the release behind it.
  resume_server A
  wait_until "$BOUND" no_lock A
}

@test "a job runs with one of three servers refusing connections" {
  servers 2
  local refused
  refused=redis://127.0.0.1:$(free_port)
  REDLOCK_SERVERS="$refused $REDLOCK_SERVERS"
  assert_runs
  assert_nothing_left A B
  assert_verbose_names "$refused"
}

@test "a job runs with one of three servers in a black hole, and does not wait for it" {
  servers 2
  black_hole
  REDLOCK_SERVERS="$BLACK_HOLE_URI $REDLOCK_SERVERS"
  assert_runs
  assert_nothing_left A B
}

@test "a job runs with one of three servers restarted empty" {
  servers 3
  "$REDLOCK" run L -- true
  restart_server C
  assert_runs
  assert_nothing_left A B C
}

@test "a job runs with two of five servers out of order, one killed and one stopped" {
  servers 5
  kill_server A
  pause_server D
  assert_runs
  assert_nothing_left B C E
  resume_server D
  wait_until "$BOUND" no_lock D
}

# assert_unavailable SERVER…: 69, and the message names each of these servers once.
assert_unavailable() {
  promptly "$REDLOCK" run --server-wait 300ms L -- sh -c 'echo ran'
  assert_status 69
  [[ -z $output ]] || fail "the job ran: $output"
  [[ $(wc -l <<<"$stderr") == 1 ]] || fail "not one line: $stderr"
  assert_named_once "$stderr" "$@"
}

@test "no job runs with two of three servers killed: 69, and nothing is left on the third" {
  servers 3
  kill_server A
  kill_server B
  assert_unavailable A B
  refute_contains "$stderr" "$C_URI:"
  assert_nothing_left C
}

@test "no job runs with three of five servers stopped: 69, and nothing is left on any" {
  servers 5
  pause_server B
  pause_server C
  pause_server D
  assert_unavailable B C D
  assert_nothing_left A E
  local server
  for server in B C D; do
    resume_server "$server"
    wait_until "$BOUND" no_lock "$server"
  done
}

@test "no job runs with two of three servers unreachable, one refusing, one in a black hole: 69" {
  servers 1
  black_hole
  local refused
  refused=redis://127.0.0.1:$(free_port)
  REDLOCK_SERVERS="$A_URI $refused $BLACK_HOLE_URI"
  assert_unavailable
  assert_contains "$stderr" "$refused: "
  assert_contains "$stderr" "$BLACK_HOLE_URI: "
  assert_nothing_left A
}

@test "a job that waits for a quorum runs when one more server comes back" {
  servers 3
  kill_server A
  kill_server B
  start_waiting
  launch_server B "$SCRATCH/server.B"
  await "$BACKGROUND_PID" 20
  assert_status 0
  [[ $output == ran ]] || fail "output: $output"
  assert_nothing_left B C
}

# start_waiting: a run that has asked at least once, in vain, and waits for servers.
start_waiting() {
  background "$REDLOCK" run -v --server-wait 60s L -- echo ran
  wait_for_line "$BACKGROUND_ERR" "$A_URI: acquire: "
}

@test "a run that is ended while it waits for a quorum leaves nothing on the others" {
  servers 3
  kill_server A
  pause_server B
  start_waiting
  kill -TERM "$BACKGROUND_PID"
  await "$BACKGROUND_PID"
  assert_status 143
  [[ -z $output ]] || fail "the job ran: $output"
  assert_nothing_left C
  resume_server B
  wait_until "$BOUND" no_lock B
}

# ---- during the job --------------------------------------------------------------------------

SHORT=(--ttl 2s)

# assert_unaffected SERVER: when the lease that it has now is over, the job runs on, and the lock is
# renewed on this server; the job ends with its own status and nobody says a word.
assert_unaffected() {
  wait_until 20 past $((${EPOCHREALTIME/./} + $(cli "$1" pttl L) * 1000))
  wait_renewal "$1"
  [[ ! -s $BACKGROUND_ERR ]] || fail "it says: $(cat "$BACKGROUND_ERR")"
  finish_job
  assert_status 7
  assert_silent
}

@test "a job goes on when one of three servers is killed under it" {
  servers 3
  start_job "${SHORT[@]}"
  kill_server A
  assert_unaffected B
  assert_nothing_left B C
}

@test "a job goes on when one of three servers is stopped under it" {
  servers 3
  start_job "${SHORT[@]}"
  pause_server A
  assert_unaffected B
  assert_nothing_left B C
  resume_server A
  wait_until "$BOUND" no_lock A
}

@test "a job goes on when one of three servers is cut off under it" {
  servers 3
  delay_proxy "$C_SOCKET" 0
  REDLOCK_SERVERS="$A_URI $B_URI $PROXY_URI"
  start_job "${SHORT[@]}"
  kill -STOP "$PROXY_PID"
  assert_unaffected B
  assert_nothing_left A B
}

@test "a job goes on when two of five servers fail under it, one killed and one stopped" {
  servers 5
  start_job "${SHORT[@]}"
  kill_server D
  pause_server A
  assert_unaffected B
  assert_nothing_left B C E
  resume_server A
  wait_until "$BOUND" no_lock A
}

@test "a server that is restarted empty under a job gets the lock back within a renewal interval" {
  servers 3
  start_job --ttl 3s # renewed every second
  restart_server C
  local began=${EPOCHREALTIME/./}
  wait_for_key C L
  took=$(((${EPOCHREALTIME/./} - began) / 1000))
  ((took < 2500)) || fail "the lock came back after $took ms"
  [[ $(cli C get L) == "$(cli A get L)" ]] || fail "another token came back: $(cli C get L)"
  # With all that belongs to it: it expires, and is renewed and released like the others.
  (($(cli C pttl L) > 0)) || fail "it came back without a time to live"
  assert_unaffected C
  assert_nothing_left A B C
}

@test "servers restarted empty one after the other, each repaired before the next, cost no lock" {
  servers 3
  start_job "${SHORT[@]}"
  local server
  for server in A B C; do
    restart_server "$server"
    wait_for_key "$server" L
    wait_renewal "$server"
  done
  assert_unaffected A
  assert_nothing_left A B C
}

@test "a server on which somebody else has the lock now is left alone, and costs nothing" {
  servers 3
  start_job "${SHORT[@]}"
  cli B set L theirs px 60000
  assert_unaffected A
  assert_nothing_left A C
  [[ $(cli B get L) == theirs ]] || fail "it holds: $(cli B get L)"
}

# start_stubborn_job TTL [ARG…]: a job that ignores TERM and logs the time all along.
start_stubborn_job() {
  # shellcheck disable=SC2016 # expanded by the job's shell
  background "$REDLOCK" run --ttl "$@" L -- bash -c 'trap "" TERM
    for i in {1..3000}; do echo "$EPOCHREALTIME" >>"$1"; sleep 0.01; done' job "$BEATS"
  wait_for "$BEATS"
}

# assert_dead_by TIME: redlock ends with 80, and the job's last sign of life is from before TIME
# (of $EPOCHREALTIME, in µs). Its own clock tells, so that it does not matter when we look.
assert_dead_by() {
  await "$BACKGROUND_PID" 20 || return 1
  assert_status 80
  local last
  last=$(tail -n 1 "$BEATS")
  ((${last/./} < $1)) || fail "the job lived $(((${last/./} - $1) / 1000)) ms too long" "$stderr"
}

@test "a job is dead before its lease ends when two of three servers are stopped under it" {
  servers 3
  start_stubborn_job 2s
  wait_renewal A
  pause_server A
  pause_server B
  # Whatever they granted, they granted before now.
  assert_dead_by $((${EPOCHREALTIME/./} + 2000000))
  assert_named_once "$(grep 'stopping the job' <<<"$stderr")" A B
  assert_nothing_left C
}

@test "a job is dead before its lease ends when three of five servers are killed under it" {
  servers 5
  start_stubborn_job 2s
  wait_renewal A
  kill_server A
  kill_server B
  kill_server C
  assert_dead_by $((${EPOCHREALTIME/./} + 2000000))
  assert_named_once "$(grep 'stopping the job' <<<"$stderr")" A B C
  assert_nothing_left D E
}

@test "a job is warned about before it is stopped, and saved if the servers come back in time" {
  servers 3
  start_job --ttl 12s # renewed every 4 s, stopped 2.3 s before the end
  pause_server A
  pause_server B
  wait_for_line "$BACKGROUND_ERR" "cannot be renewed" 15
  resume_server A
  wait_for_line "$BACKGROUND_ERR" "renewed again"
  finish_job
  assert_status 7
  assert_named_once "$(grep 'cannot be renewed' "$BACKGROUND_ERR")" A B
  assert_nothing_left A C
}

@test "a job is stopped when two of three servers are restarted empty under it, and brought back nowhere" {
  servers 3
  # A slow line, so that both have said what they lost before one of them can be repaired.
  delay_proxy "$A_SOCKET" 100
  A_URI=$PROXY_URI
  delay_proxy "$B_SOCKET" 100
  B_URI=$PROXY_URI
  export REDLOCK_SERVERS="$A_URI $B_URI $C_URI"
  start_stubborn_job 6s --server-timeout 600ms # renewed every 2 s: both restarts are in between
  wait_renewal A
  kill_server A
  kill_server B
  launch_server A "$SCRATCH/server.A"
  launch_server B "$SCRATCH/server.B"
  assert_dead_by $((${EPOCHREALTIME/./} + 6000000))
  local line
  line=$(grep 'stopping the job' <<<"$stderr")
  assert_contains "$line" "lost L"
  assert_named_once "$line" A B
  assert_nothing_left A B C
}

@test "a lock that is lost is not brought back where somebody else may take it" {
  servers 3
  start_job --ttl 6s
  wait_renewal A
  cli A del L
  cli B del L
  # Whoever comes now, gets it: the job is being stopped, or will be at the next renewal.
  cli A set L theirs px 60000
  cli B set L theirs px 60000
  await "$BACKGROUND_PID" 20
  assert_status 80
  [[ $(cli A get L) == theirs && $(cli B get L) == theirs ]]
  assert_nothing_left C
}

# ---- at the end of the job ---------------------------------------------------------------------

# assert_release_prompt: the job ends with its own status, without waiting and without a word.
assert_release_prompt() {
  finish_job
  assert_status 7
  took_less_than 1500
  assert_silent
}

@test "the release does not wait for a server that hangs once a quorum has confirmed" {
  servers 3
  start_job "${PATIENTLY[@]}"
  pause_server A
  assert_release_prompt
  assert_nothing_left B C
  # The release is in its socket.
  resume_server A
  wait_until "$BOUND" no_lock A
}

@test "the release does not wait for two of five servers, one that hangs and one that is dead" {
  servers 5
  start_job "${PATIENTLY[@]}"
  pause_server E
  kill_server A
  assert_release_prompt
  assert_nothing_left B C D
  resume_server E
  wait_until "$BOUND" no_lock E
}

@test "a server restarted empty at the end of a job is no reason for a word" {
  servers 3
  start_job "${PATIENTLY[@]}"
  restart_server B
  assert_release_prompt
  assert_nothing_left A B C
}

@test "a release that a majority does not confirm is warned about; the job's status stays" {
  servers 3
  start_job --ttl 10s
  pause_server A
  kill_server B
  finish_job
  assert_status 7
  local line
  line=$(grep 'could not be confirmed' <<<"$stderr") || fail "no warning: $stderr"
  assert_named_once "$line" A B
  assert_nothing_left C
  resume_server A
  wait_until "$BOUND" no_lock A
}

@test "a lock that two of three servers lost before the end of the job is told: 80" {
  servers 3
  start_job "${PATIENTLY[@]}"
  wait_until_settled A B C # a renewal between the two would give A its key back
  restart_server A
  restart_server B
  finish_job
  assert_status 80
  assert_named_once "$stderr" A B
  assert_nothing_left A B C
}

# ---- how many are enough -------------------------------------------------------------------------

@test "of two servers both are needed" {
  servers 2
  run "$REDLOCK" run L -- sh -c 'exit 7'
  assert_status 7
  kill_server B
  assert_unavailable B
  assert_nothing_left A
}

@test "of four servers three are needed" {
  servers 4
  kill_server A
  assert_runs
  assert_nothing_left B C D
  kill_server B
  assert_unavailable A B
  assert_nothing_left C D
}

@test "two of four servers are no quorum for anybody: who finds two held elsewhere gives up" {
  servers 4
  cli A set L theirs px 60000
  cli B set L theirs px 60000
  run "$REDLOCK" run -n L -- true
  assert_status 1
  assert_nothing_left C D
  [[ $(cli A get L) == theirs && $(cli B get L) == theirs ]]
}

@test "a lock held elsewhere on a minority is no obstacle, and stays theirs" {
  servers 5
  cli B set L theirs px 60000
  cli D set L others px 60000
  promptly "$REDLOCK" run -n L -- true
  assert_status 0
  assert_nothing_left A C E
  [[ $(cli B get L) == theirs && $(cli D get L) == others ]]
}

@test "the quorum is one of the configured servers, not of those that answer" {
  servers 5
  kill_server A
  kill_server B
  cli C set L theirs px 60000
  run "$REDLOCK" run -n L -- echo ran # of three that answer, two would grant
  assert_status 1
  [[ -z $output ]] || fail "the job ran"
  assert_nothing_left D E
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
  background "$REDLOCK" run -v L -- sh -c 'until [ -e "$0" ]; do sleep 0.02; done' "$SCRATCH/answered"
  wait_for_line "$BACKGROUND_ERR" "127.0.0.1:$C_PORT: acquire: wrong"
  : >"$SCRATCH/answered"
  await "$BACKGROUND_PID"
  assert_status 0
  refute_contains "$(<"$BACKGROUND_ERR")" :wrong@
}

@test "wrong passwords for two of three servers end the run at once: 69" {
  servers 1
  with_password B
  with_password C
  REDLOCK_SERVERS="$A_URI redis://:wrong@127.0.0.1:$B_PORT redis://:wrong@127.0.0.1:$C_PORT"
  promptly "$REDLOCK" run --server-wait 30s L -- echo ran
  assert_status 69
  [[ -z $output ]] || fail "the job ran"
  took_less_than 5000
  assert_contains "$stderr" "127.0.0.1:$B_PORT: wrong"
  assert_contains "$stderr" "127.0.0.1:$C_PORT: wrong"
  refute_contains "$stderr" :wrong@
  assert_nothing_left A
}

@test "each server has its own password" {
  with_password A
  start_server B --tcp --requirepass another
  export REDLOCK_SERVERS="redis://:right@127.0.0.1:$A_PORT redis://:another@127.0.0.1:$B_PORT"
  assert_runs
}
