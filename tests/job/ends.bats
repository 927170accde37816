#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=slow
#
# A job ends whole before its lock is free: only a main process that exits by itself, with nobody having told
# it to end, leaves descendants on purpose. And what a trap starts to clean up survives the signal
# that started it.

load ../lib/common

setup() {
  servers 1
  printf -v SLOW 'exec %q -SEI %q' "$PYTHON" "$TESTS/lib/slow_child.py"
  export SLOW
  declare -gA JOB=() NEXT=()
  cd "$SCRATCH" || return
}
teardown() { stop_all; }

# start CASE [OPTION…] -- COMMAND…: runs the command under the lock CASE, and after it a command that notes
# when it has the lock. Returns once a slow child beats in CASE.log.
start() {
  local name=$1 options=()
  shift
  while [[ $1 != -- ]]; do options+=("$1") && shift; done
  shift
  background "$REDLOCK" run --ttl 20s --kill-after 3s "${options[@]}" "$name" -- "$@"
  JOB[$name]=$BACKGROUND_PID
  wait_for_line "$name.log" beat
  background "$REDLOCK" run "$name" -- sh -c 'read up rest </proc/uptime && echo "$up" >"$0.next"' "$name"
  NEXT[$name]=$BACKGROUND_PID
  wait_until "$BOUND" has_member "$name"
}
has_member() { [[ $(answer A zcard "redlock:{$1}:queue") != 0 ]]; }

# pid_of_child CASE: of its slow child.
pid_of_child() { awk '$1 == "pid" { print $2 }' "$1.log"; }

# main_of CASE: the PID of its main process.
main_of() { child_of "$(child_of "${JOB[$1]}")"; }

# ends CASE STATUS [TEXT]: redlock ends with that status and says that, and nothing of the job beats once the next one
# has the lock.
ends() {
  local began
  await "${JOB[$1]}"
  assert_status "$2"
  assert_contains "$stderr" "${3-}"
  await -0 "${NEXT[$1]}"
  began=$(<"$1.next")
  began=$((10#${began/./} * 10 + 10))
  ! awk -v began="$began" '$1 == "beat" && $2 > began { late = $2 - began } END { exit !late }' "$1.log" ||
    fail "$1: the next job began at $began" "$(tail -n 3 "$1.log")"
}

@test "a signal to redlock that ends the main process: the lock is free when its slow child has ended, too" {
  local signal text
  for signal in TERM HUP INT QUIT USR1 ALRM; do start "$signal" -- sh -c "($SLOW $signal.log 1.9); true"; done
  for signal in TERM HUP INT QUIT USR1 ALRM; do kill -"$signal" "${JOB[$signal]}"; done
  for signal in TERM HUP INT QUIT USR1 ALRM; do
    text="redlock: lock \"$signal\": 1 process of the job is still ending, KILL in "
    [[ $signal != INT ]] || text= # a shell waits for its foreground command before it dies of INT
    ends "$signal" $((128 + $(kill -l "$signal"))) "$text"
    [[ $(grep -c told "$signal.log") == 1 ]] || fail "$signal: $(grep told "$signal.log")"
  done
}

@test "somebody ends the main process alone: its child is told to end, and the lock waits for it" {
  local signal
  for signal in KILL SEGV TERM; do start "$signal" -- sh -c "ulimit -c 0; ($SLOW $signal.log 1.2); true"; done
  for signal in KILL SEGV TERM; do kill -"$signal" "$(main_of "$signal")"; done
  for signal in KILL SEGV TERM; do
    ends "$signal" $((128 + $(kill -l "$signal")))
    has_text "$signal.log" 'told TERM'
  done
}

@test "a main process that exits because it was told to: what ignores the signal gets KILL after the grace" {
  start handler -- sh -c "trap 'exit 3' TERM; ($SLOW handler.log 1.2) & wait"
  start stubborn -- sh -c "setsid sh -c '$SLOW stubborn.log 60' & wait"
  start forced -- sh -c "($SLOW forced.log 1.2); true"
  start limited --max-runtime 1s -- sh -c "($SLOW limited.log 1.2); true"
  kill -TERM "${JOB[handler]}" "${JOB[stubborn]}"
  run -0 "$REDLOCK" release --force --yes forced
  ends handler 3
  ends stubborn 143
  ends forced 80
  ends limited 124
}

@test "a job in a PID namespace of its own ends whole" {
  local inside=(unshare --user --map-root-user --pid --fork)
  "${inside[@]}" true 2>/dev/null || skip 'this system permits no PID namespace'
  start namespace -- sh -c "${inside[*]} sh -c '$SLOW namespace.log 60'; true"
  kill -TERM "${JOB[namespace]}"
  ends namespace 143
}

@test "a main process that exits by itself leaves what it has started, also after a signal of no consequence" {
  background "$REDLOCK" run L -- sh -c "trap : USR1 WINCH; ($SLOW daemon.log 60) & until [ -e end ]; do sleep 0.01; done"
  wait_for_line daemon.log beat
  local daemon
  daemon=$(pid_of_child daemon)
  kill -WINCH "$BACKGROUND_PID"
  touch end
  await -0 "$BACKGROUND_PID"
  wait_until "$BOUND" lacks_key A L
  : >daemon.log
  wait_for_line daemon.log beat
  kill -KILL "$daemon"
}

@test "a main process that was told a moment before redlock, as a service manager does one by one" {
  local try whole=0
  for try in 1 2 3; do # on a busy machine the moment may last for too long
    start "$try" -- sh -c "trap 'exit 0' TERM; ($SLOW $try.log 1) & wait"
    kill -TERM "$(main_of "$try")"
    nap 0.01
    kill -TERM "${JOB[$try]}"
    if ends "$try" 0; then whole=1; fi
  done
  [[ $whole == 1 ]] || fail 'the next job began too early each time'
}

@test "a main process that was told together with a supervisor that gets no processor for a while" {
  start busy -- sh -c "trap 'exit 3' TERM; ($SLOW busy.log 1.2) & wait"
  local supervisor=${JOB[busy]} main
  main=$(main_of busy)
  freeze "$supervisor"
  kill -TERM "$supervisor" "$main" "$(pid_of_child busy)"
  wait_gone "$main" # its parent knows how it ended; only then does it continue the supervisor
  ends busy 3
}

@test "worker killed, then told to end: a handler's exit, or its death, and the supervisor ends the rest" {
  local name worker
  start death --ttl 30s -- sh -c "($SLOW death.log 60); true"
  start handler --ttl 30s -- sh -c "trap 'exit 3' TERM; ($SLOW handler.log 60) & wait"
  for name in death handler; do
    worker=$(child_of "${JOB[$name]}")
    kill -KILL "$worker"
    wait_gone "$worker"
    kill -TERM "${JOB[$name]}"
  done
  for name in death handler; do
    await "${JOB[$name]}"
    [[ $name == death ]] && assert_status 143 || assert_status 3
    assert_contains "$stderr" 'could not be released'
    gone "$(pid_of_child "$name")" || fail 'its child lives'
  done
}

@test "supervisor killed while a slow child ends: the worker ends it, and releases the lock" {
  local worker
  start L -- sh -c "($SLOW L.log 60); true"
  worker=$(child_of "${JOB[L]}")
  kill -TERM "${JOB[L]}"
  wait_for_line L.log told
  kill -KILL "${JOB[L]}"
  await -0 "${NEXT[L]}"
  wait_gone "$worker"
  gone "$(pid_of_child L)" || fail 'its child lives'
}

# clean_ups SHELL CHILDREN RUNS OPTION…: that many runs of a shell with a trap and CHILDREN children, each told
# to end; prints "cut" for each command of a trap that a signal ended, and "left" for each child that lives.
clean_ups() {
  local shell=$1 children=$2 runs=$3 number
  shift 3
  cat >clean.sh <<'JOB'
trap 'for i in 1 2 3; do /bin/sleep 0.02 || echo cut >>"$1"; done; echo done >>"$1"; exit 7' TERM
i=0
while [ $i -lt "$2" ]; do /bin/sleep 3071 & echo $! >>"$1.pids"; i=$((i + 1)); done
echo ready >>"$1"
wait
JOB
  for ((number = 0; number < runs; ++number)); do
    background "$REDLOCK" run --kill-after 2s "$@" "$shell$number" -- "$shell" clean.sh "$shell$number" "$children"
    wait_for_line "$shell$number" ready
    [[ $* == *max-runtime* ]] || kill -TERM "$BACKGROUND_PID"
    await "$BACKGROUND_PID"
    grep -h -e cut "$shell$number" || has_text "$shell$number" 'done' || echo unfinished
    # shellcheck disable=SC2046 # PIDs
    kill -KILL $(<"$shell$number.pids") 2>/dev/null && echo left
    rm "$shell$number" "$shell$number.pids"
  done
}

@test "what a trap starts survives the signal, and nothing that lived when it came does" {
  local shells=(bash)
  ! command -v dash >/dev/null || shells+=(dash)
  for shell in "${shells[@]}"; do
    [[ -z $(clean_ups "$shell" 10 8) ]] || fail "$shell: $(clean_ups "$shell" 10 8)"
    [[ -z $(clean_ups "$shell" 60 3) ]] || fail "$shell, 60 children"
  done
  [[ -z $(clean_ups bash 10 2 --max-runtime 300ms) ]] || fail 'max-runtime'
}

@test "a clean-up that outlives its shell has the grace, and a shell without a trap ends quickly" {
  start cleans -- sh -c "trap '(sleep 0.5; echo done >cleaned) & exit 5' TERM; ($SLOW cleans.log 0.1) & wait"
  kill -TERM "${JOB[cleans]}"
  ends cleans 5
  [[ $(<cleaned) == 'done' ]] || fail 'cut'
  background "$REDLOCK" run quick -- sh -c 'touch quick; sleep 3071; echo x'
  wait_until "$BOUND" test -e quick
  local began
  began=$(now_ms)
  terminate "$BACKGROUND_PID"
  (($(now_ms) < began + 1500)) || fail "it took $(($(now_ms) - began)) ms"
}
