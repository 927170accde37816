#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# redlock run as a service of systemd with Type=notify: ready once the lock is held.

load ../lib/common

setup() {
  servers 1
  MESSAGES=$SCRATCH/messages
  manager "$SCRATCH/notify"
}
teardown() { stop_all; }

# manager ADDRESS: a service manager that listens there; redlock hears of it from here on.
manager() {
  rm -f "$SCRATCH/listens"
  : >"$MESSAGES"
  start_tool "$PYTHON" -SEI "$TESTS/lib/notified.py" "$SCRATCH/listens" "$MESSAGES" "$1"
  wait_for "$SCRATCH/listens"
  export NOTIFY_SOCKET=$1
}

@test "service: the manager hears of the wait, and is told READY once the lock is held, not before" {
  local token
  token=$("$REDLOCK" acquire L)
  background "$REDLOCK" run L -- sh -c 'echo runs >"$1"; exec sleep 60' job "$SCRATCH/runs"
  wait_for_line "$MESSAGES" 'STATUS=lock "L" is held by '
  ! grep -q READY "$MESSAGES" || fail "ready without the lock"
  "$REDLOCK" release L "$token"
  wait_for_line "$MESSAGES" 'READY=1 STATUS=holds the lock'
  wait_for "$SCRATCH/runs"
  [[ $(grep -c READY=1 "$MESSAGES") == 1 ]]
  terminate "$BACKGROUND_PID"
}

@test "service: with --also it is ready when all locks are held" {
  local token
  token=$("$REDLOCK" acquire z)
  background "$REDLOCK" run a --also z -- sh -c 'echo "${NOTIFY_SOCKET-none}" >"$1"; exec sleep 60' job "$SCRATCH/runs"
  wait_for_line "$MESSAGES" 'STATUS=lock "z" is held by '
  ! grep -q READY "$MESSAGES" || fail "ready without the second lock"
  "$REDLOCK" release z "$token"
  wait_for "$SCRATCH/runs"
  wait_for_line "$MESSAGES" READY=1
  [[ $(grep -c READY=1 "$MESSAGES") == 1 && $(<"$SCRATCH/runs") == none ]]
  terminate "$BACKGROUND_PID"
}

@test "service: a manager at an abstract address" {
  manager "@redlock-test-$$-$RANDOM"
  "$REDLOCK" run L -- true
  wait_for_line "$MESSAGES" READY=1
}

@test "service: a lock that is not had is not ready" {
  "$REDLOCK" acquire L
  run -1 "$REDLOCK" run -n L -- true
  run -127 "$REDLOCK" run L2 -- /nonexistent/program
  "$REDLOCK" run L3 -- true
  wait_for_line "$MESSAGES" READY=1
  [[ $(grep -c READY=1 "$MESSAGES") == 1 ]] || fail "$(<"$MESSAGES")"
}

@test "service: a manager that is gone, or an address that is none, disturbs nothing" {
  local address
  for address in "$SCRATCH/nobody" nonsense / @ vsock:2:1 "/$(printf 'x%.0s' {1..200})"; do
    NOTIFY_SOCKET=$address run -0 --separate-stderr "$REDLOCK" run L -- echo fine
    [[ $output == fine && -z $stderr ]] || fail "$address: $output $stderr"
  done
}

@test "service: a manager that does not read delays the job by little, and is left alone" {
  # Its queue is full.
  start_tool "$PYTHON" -SEc 'import socket, sys, time
manager, sender = (socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(2))
manager.bind(sys.argv[1])
sender.setblocking(False)
try:
    while True: sender.sendto(b"x", sys.argv[1])
except BlockingIOError:
    open(sys.argv[2], "w").write("full\n")
time.sleep(600)' "$SCRATCH/deaf" "$SCRATCH/full"
  wait_for "$SCRATCH/full"
  NOTIFY_SOCKET=$SCRATCH/deaf run -0 --separate-stderr timeout -k 1 10 "$REDLOCK" run L -- echo fine
  [[ $output == fine && -z $stderr ]] || fail "$output" "$stderr"
}

# ---- WatchdogSec ------------------------------------------------------------------------------

# fed: prints the number of times that the manager was told WATCHDOG=1.
fed() { grep -c '^WATCHDOG=1$' "$MESSAGES" || true; }

# fed_more: waits until the manager is told so three times more.
fed_more() {
  local enough=$(($(fed) + 3))
  fed_enough() { (($(fed) >= enough)); }
  wait_until "$BOUND" fed_enough
}

@test "service: a watchdog hears of redlock while it waits, holds the lock, and its job cleans up" {
  local token
  token=$("$REDLOCK" acquire L)
  WATCHDOG_USEC=400000 background sh -c 'WATCHDOG_PID=$$ exec "$REDLOCK" run L -- bash -c "$0" "$1"' '
    trap "echo told; until test -e \"$0.end\"; do read -t 0.05 line <>\"$NAP\"; done; exit 0" TERM
    echo >"$0"; while :; do read -t 0.05 line <>"$NAP"; done' "$SCRATCH/runs"
  wait_for_line "$MESSAGES" 'STATUS=lock "L" is held by '
  fed_more
  "$REDLOCK" release L "$token"
  wait_for "$SCRATCH/runs"
  fed_more
  kill -TERM "$BACKGROUND_PID"
  wait_for_line "$BACKGROUND_OUT" told
  fed_more
  echo >"$SCRATCH/runs.end"
  await -0 "$BACKGROUND_PID"
  # Half of the period, not less.
  local -i from till
  WATCHDOG_USEC=20000000 background "$REDLOCK" run L -- true
  from=$(fed)
  await "$BACKGROUND_PID"
  till=$(fed)
  ((from == till)) || fail "$((till - from)) times more"
}

@test "service: a worker that is stuck is a service that is stuck: the watchdog hears nothing more" {
  WATCHDOG_USEC=100000 background "$REDLOCK" run --ttl 3s --kill-after 1s L -- bash -c '
    trap "echo told" TERM; echo >"$0"; while :; do read -t 0.05 line <>"$NAP"; done' "$SCRATCH/runs"
  wait_for "$SCRATCH/runs"
  fed_more
  kill -STOP "$(child_of "$BACKGROUND_PID")"
  wait_for_line "$BACKGROUND_OUT" told
  local -i before
  before=$(fed)
  await -80 "$BACKGROUND_PID"
  (($(fed) <= before + 1)) || fail "$(fed), $before when the job was stopped"
}

@test "service: a watchdog that is not for redlock, or no time, gets nothing" {
  local variables
  for variables in "WATCHDOG_USEC=100000 WATCHDOG_PID=$$" 'WATCHDOG_USEC=100000 WATCHDOG_PID=' WATCHDOG_USEC=0 \
    WATCHDOG_USEC= WATCHDOG_USEC=-100000 WATCHDOG_USEC=100000x WATCHDOG_USEC=18446744073709551616 WATCHDOG_USEC=18446744073709551615; do
    # shellcheck disable=SC2086
    run --separate-stderr env $variables "$REDLOCK" run L -- bash -c 'read -t 0.3 line <>"$NAP"; echo fine'
    [[ $status == 0 && $output == fine && -z $stderr ]] || fail "$variables: $status $output $stderr"
    [[ $(fed) == 0 ]] || fail "$variables: $(<"$MESSAGES")"
  done
}

@test "service: neither the job nor the command of --on-lost gets the watchdog's variables" {
  export WATCHDOG_USEC=100000 SCRATCH
  run -1 "$REDLOCK" run L --also M -- sh -c 'env | grep -E "^(WATCHDOG|NOTIFY)"'
  [[ -z $output ]] || fail "$output"
  background "$REDLOCK" run --ttl 2s --on-lost 'env | grep -cE "^(WATCHDOG|NOTIFY)" >"$SCRATCH/lost"' L -- \
    sh -c 'echo >"$0"; exec sleep 60' "$SCRATCH/runs"
  wait_for "$SCRATCH/runs"
  cli A del L
  await -80 "$BACKGROUND_PID"
  [[ $(<"$SCRATCH/lost") == 0 ]] || fail "$(<"$SCRATCH/lost")"
}

@test "service: with --also, the first redlock alone feeds the watchdog, for all of them" {
  local token
  token=$("$REDLOCK" acquire z)
  WATCHDOG_USEC=400000 background "$REDLOCK" run a --also z -- sh -c 'echo >"$0"; exec sleep 60' "$SCRATCH/runs"
  wait_for_line "$MESSAGES" 'STATUS=lock "z" is held by '
  fed_more
  "$REDLOCK" release z "$token"
  wait_for "$SCRATCH/runs"
  fed_more
  terminate "$BACKGROUND_PID"
}
