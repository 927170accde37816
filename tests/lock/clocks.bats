#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# The wall clocks of servers are corrected, forward and back.

load ../lib/common
load ../lib/queue

setup_file() { cc -O1 -shared -fPIC -o "$BATS_FILE_TMPDIR/clock.so" "$TESTS/lib/clock.c"; }
teardown() { stop_all; }

# set_clock NAME SECONDS: from now on, that server's clock is ahead by SECONDS; returns when the server has seen it.
set_clock() {
  echo "$2" >"$SCRATCH/clock.$1.new"
  mv "$SCRATCH/clock.$1.new" "$SCRATCH/clock.$1"
  [[ ! -v ${1}_PID ]] || wait_until "$BOUND" shows "$1" "$2"
}
shows() {
  local shown ahead
  shown=$(cli "$1" time)
  ahead=$((${shown%%$'\n'*} - EPOCHSECONDS))
  ((ahead > $2 - 5 && ahead < $2 + 5))
}

# clocked NAME SECONDS [OPTION…]: a server with a clock of its own, which is ahead by SECONDS.
clocked() {
  set_clock "$1" "$2"
  CLOCK=$SCRATCH/clock.$1 LD_LIBRARY_PATH=$BATS_FILE_TMPDIR LD_PRELOAD=clock.so start_server "$1" "${@:3}"
  local -n uri=${1}_URI
  export REDLOCK_SERVERS="${REDLOCK_SERVERS-} $uri"
}

@test "clocks: set back, the next renewal gives the lock the life that its holder asked for" {
  clocked A 0
  start_job --ttl 2s
  set_clock A -3600
  wait_until "$BOUND" lives A L 1 2000
}

# place_lives_for SERVER LEAST MOST: the lock and the place of its only reader have that many ms to live.
place_lives_for() {
  local place clock
  mapfile -t place < <(cli "$1" zrange 'redlock:{L}:readers' 0 0 withscores)
  mapfile -t clock < <(cli "$1" time)
  ((place[1] - clock[0] * 1000 >= $2 && place[1] - clock[0] * 1000 <= $3 + 1000)) && lives "$1" L "$2" "$3"
}

@test "clocks: set back, the next renewal of a reader gives its place the right life" {
  clocked A 0
  start_job --ttl 2s -s
  set_clock A -3600
  wait_until "$BOUND" place_lives_for A 1 2000
}

@test "clocks: set back, a lock that processes joined gets the life that the longest of them asked for, and keeps it" {
  clocked A 0
  background "$REDLOCK" run --ttl 2s L -- "$REDLOCK" run --ttl 15s L -- \
    sh -c 'echo started >"$0"; exec sleep 300' "$SCRATCH/started"
  wait_for "$SCRATCH/started"
  set_clock A -3600
  # The inner one renews every 5 s, the outer one three times in 2 s.
  wait_until "$BOUND" lives A L 11000 13000
}

@test "clocks: history has the true times of what happened after a clock was set back" {
  clocked A 86400
  "$REDLOCK" run L -- true before
  set_clock A 0
  "$REDLOCK" run L -- true after
  local began
  began=$("$REDLOCK" history L --json | "$PYTHON" -c '
import json, sys
print(*[int(run["began_ms"]) for run in json.load(sys.stdin)["locks"][0]["runs"] if run["holder"]["command"] == "true after"])')
  assert_between $(($(now_ms) - 60000)) "$began" $(($(now_ms) + 1000))
  run -0 "$REDLOCK" history L --since 5m
  assert_contains "$output" 'true after'
}

@test "clocks: a server whose uptime is negative is trusted a restart grace after the first question" {
  export REDLOCK_RESTART_GRACE=2s
  clocked A 3600 --appendonly yes --appendfsync always
  "$REDLOCK" run L -- true
  kill_server A
  CLOCK=$SCRATCH/clock.A LD_LIBRARY_PATH=$BATS_FILE_TMPDIR LD_PRELOAD=clock.so launch_server A "$SCRATCH/server.A"
  set_clock A 0
  [[ $(cli A info server) == *uptime_in_seconds:-* ]] || fail "$(cli A info server)"
  run -0 "$REDLOCK" run -w 20s --server-wait 20s L -- true
  # Also when the clock has caught up.
  set_clock A 3602
  run -0 "$REDLOCK" run -n L -- true
}

asks_more() { (($(evals A) > asked)); }

@test "clocks: --newest does not give way to a run that ended, on a server that is or was an hour ahead" {
  clocked A 3600
  clocked B 0
  clocked C 0
  local when holder asked
  for when in ahead 'two servers lost their data' corrected; do
    [[ $when != two* ]] || { cli B flushall && cli C flushall; } >/dev/null
    [[ $when != corrected ]] || set_clock A 0
    background "$REDLOCK" run L -- bash -c 'until [[ -e $0 ]]; do read -rt 0.05 <>"$NAP"; done' "$SCRATCH/go.$when"
    holder=$BACKGROUND_PID
    wait_for_key A L
    wait_for_key B L
    # A answers first: its ticket counts. Without it, the run would be older than the one before.
    asked=$(evals A)
    pause_server B C
    background "$REDLOCK" run --newest --server-timeout 5s L -- true
    wait_until "$BOUND" asks_more
    resume_server B C
    wait_until "$BOUND" queued 1
    : >"$SCRATCH/go.$when"
    await "$BACKGROUND_PID"
    [[ $status == 0 ]] || fail "$when: $stderr"
    await "$holder"
  done
}
