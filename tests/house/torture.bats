#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole,slow
#
# Short torture with real servers, and that its checker sees what it is there to see. Longer ones:
#
#   tests/torture/torture --servers 5 --contenders 12 --locks 2 --seconds 60 --seed 7
#   tests/torture/soak --seconds 60 --waiters 300
#   tests/torture/roll_out

load ../lib/common

TORTURE=$TESTS/torture

setup() {
  LOGS=$SCRATCH/logs
  AT=0
}

# torture ARG…: one run; shows what went wrong, its events and redlock's own words. A ttl of 2 s: the
# machine that runs all tests at the same time may forget a process for a while.
torture() {
  TMPDIR=$SCRATCH run --separate-stderr "$TORTURE/torture" --ttl 2s "$@"
  [[ $status == 0 ]] || fail "$output" "$stderr" "$(tail -n 40 "$SCRATCH"/redlock-torture.*/{events.log,*.err})"
  assert_contains "$output" ' 0 overlaps, 0 repeated fences, 0 fences out of order, 0 starved,'
  assert_contains "$output" ' 0 outlived, 0 wrong statuses, 0 keys left behind,'
  [[ $(wc -l <<<"$output") == 1 ]] || fail "more than one line: $output"
  [[ ! -e $(echo "$SCRATCH"/redlock-torture.*) ]] || fail 'it left its logs behind'
}

@test "three servers, runs with several locks: no overlap, rising fences, nobody starved, nothing left behind" {
  torture --servers 3 --contenders 8 --locks 2 --several 0.5 --seconds 12 --seed 11
}

@test "one server: no overlap, rising fences, nobody starved, nothing left behind" {
  torture --servers 1 --contenders 5 --seconds 8 --seed 12
}

@test "torture sees real overlaps: kill and stop both of redlock's processes, and the job lives on" {
  # On a machine that is busy with other things, 8 s may be too short for one.
  local seconds
  for seconds in 8 9 16 32; do
    TMPDIR=$SCRATCH run --separate-stderr "$TORTURE/torture" --seconds $seconds --contenders 6 --seed $seconds \
      --faults client-killed,client-stopped --pace 0.1 --long-jobs 0.8 --kill-clients both
    [[ ! $output =~ ,\ [1-9][0-9]*\ overlaps, ]] || break
  done
  assert_status 1
  [[ $output =~ ,\ [1-9][0-9]*\ overlaps, ]] || fail "$output"
  assert_contains "$stderr" 'the logs are in '
}

@test "roll_out sees real overlaps: a list without a server of the one before" {
  TMPDIR=$SCRATCH run -1 --separate-stderr "$TORTURE/roll_out" --lists A,BC --seconds 1 --herds 0
  assert_contains "$stderr" 'roll_out: A > BC: overlap: '
}

@test "60 waiters in the queue, killed at random, and servers stopped: never two jobs, served in order, nothing left" {
  TMPDIR=$SCRATCH run --separate-stderr "$TORTURE/soak" --seconds 7 --waiters 60 --settle 1 --seed 13
  [[ $status == 0 ]] || fail "$output" "$stderr" "$(tail -n 40 "$SCRATCH"/redlock-soak.*/{events.log,queue.log})"
  assert_contains "$output" ' 0 overlaps, ' ' 0 wrong statuses, 0 keys left behind, 0 overtaken, 0 never served,'
  [[ $output =~ \ [1-9][0-9]*\ waiter-killed ]] || fail "no waiter was killed: $output"
  [[ $(wc -l <<<"$output") == 1 ]] || fail "more than one line: $output"
  [[ ! -e $(echo "$SCRATCH"/redlock-soak.*) ]] || fail 'it left its logs behind'
}

@test "soak sees a job that runs without the lock" {
  # The wrapper stands for a redlock that gives the lock to one in three immediately.
  cat >"$SCRATCH/wrapper" <<'WRAPPER'
#!/bin/bash
(($$ % 3 == 0)) || exec "$REAL" "$@"
while [[ $1 != -- ]]; do shift; done
export REDLOCK_NAME=soak REDLOCK_FENCE=1 REDLOCK_TOKEN=$$.$$.$$.$$
for ((i = 0; i < 20; i++)); do "${@:2}"; REDLOCK_TOKEN=$i.$$.$$.$$; done
WRAPPER
  chmod +x "$SCRATCH/wrapper"
  TMPDIR=$SCRATCH REAL=$REDLOCK run -1 --separate-stderr "$TORTURE/soak" --seconds 2 --waiters 9 --settle 1 \
    --redlock "$SCRATCH/wrapper"
  [[ $output =~ ,\ [1-9][0-9]*\ overlaps, ]] || fail "$output"
  assert_contains "$stderr" 'the logs are in '
}

# ---- the checker, with logs made by hand -----------------------------------------------------

# Lines are 20 ms apart; the format stands in tests/torture/check.
# tells WORD CONTENDER [MORE]: a line about its redlock, which has the PID 1000 + CONTENDER.
tells() {
  ((AT += 20))
  echo "$1 ${AT}000000 $2 L $((1000 + $2)) ${*:3}" >>"$LOGS/runs.log"
}
asks() { tells asks "$1" -w 1; }
leaves() { tells left "$1" "$2"; }

# starts SECTION CONTENDER FENCE: the job's first line. signs WORD SECTION FENCE: a further one.
starts() {
  ((AT += 20))
  echo "start $1 L $3 ${AT}000000 ${AT}000000 1 $((1000 + $2)) $2" >>"$LOGS/jobs.L.log"
}
signs() {
  ((AT += 20))
  echo "$1 $2 L $3 ${AT}000000" >>"$LOGS/jobs.L.log"
}

# begins SECTION CONTENDER FENCE: its redlock asks, and the job starts. ends: both end well. section: all of that run.
begins() { asks "$2" && starts "$@"; }
ends() { signs end "$1" "$3" && leaves "$2" 0; }
section() { begins "$@" && ends "$@"; }

# logs: begins with two sections that are in order.
logs() {
  mkdir -p "$LOGS"
  echo 'listed 0 0' >"$LOGS/keys.log"
  section first 1 10
  section second 2 11
}

check() { run "$@" --separate-stderr "$TORTURE/check" "$LOGS"; }

# finds COUNT-OF-WHAT TEXT: the checker reports exactly that.
finds() {
  check -1
  assert_contains "$output" ", $1,"
  assert_contains "$stderr" "$2"
  [[ $(wc -l <<<"$stderr") == 1 ]] || fail "more than that: $stderr"
}

@test "checker: logs in order" {
  logs
  check -0
  [[ -z $stderr ]]
  assert_contains "$output" '2 sections (2 to their end, 0 lost) of 2 runs, 0 overlaps,'
}

@test "checker: an overlap under a further lock of a run" {
  logs
  asks 1
  tells asks 3 -w 1 --also L
  sed -i '$s/ L / M /' "$LOGS/runs.log"
  starts third 1 12
  starts fourth.L 3 13
  sed -i '$s/$/ also/' "$LOGS/jobs.L.log"
  sed '$s/fourth.L L/fourth M/; $s/ also//; $!d' "$LOGS/jobs.L.log" >"$LOGS/jobs.M.log"
  ends third 1 12
  signs end fourth.L 13
  sed '$s/fourth.L L/fourth M/; $!d' "$LOGS/jobs.L.log" >>"$LOGS/jobs.M.log"
  leaves 3 0
  sed -i '$s/ L / M /' "$LOGS/runs.log"
  finds '1 overlaps' 'overlap: L: contender 1'
}

@test "checker: an overlap" {
  logs
  asks 1
  asks 2
  starts third 1 12
  starts fourth 2 13
  signs alive third 12
  signs end fourth 13
  ends third 1 12
  leaves 2 0
  finds '1 overlaps' 'overlap: L: contender 1 (section third, fence 12) was alive 60.0 ms after the birth of L: contender 2'
}

@test "checker: an overlap with one further back, after a short one" {
  logs
  begins long 1 12
  section short 2 13
  section next 2 14
  ends long 1 12
  check -1
  assert_contains "$output" ', 2 overlaps,'
}

@test "checker: an overlap only the kernel saw, of a job that was killed" {
  logs
  begins third 1 12
  begins fourth 2 13
  signs busy fourth 13
  ends fourth 2 13
  leaves 1 80
  finds '1 overlaps' 'fourth, fence 13) found another job existing'
}

@test "checker: existing is no overlap while torture keeps the job frozen, being alive after it is" {
  logs
  begins third 1 12
  tells frozen 1
  begins fourth 2 13
  signs busy fourth 13
  ends fourth 2 13
  tells thawed 1
  cp -r "$LOGS" "$LOGS.later"
  leaves 1 80
  check -0
  LOGS+=.later
  signs alive third 12
  leaves 1 80
  finds '1 overlaps' 'third, fence 12) was alive'
}

@test "checker: an overlap while the machine stalled is counted by itself" {
  logs
  begins third 1 12
  begins fourth 2 13
  signs alive third 12
  signs end fourth 13
  ends third 1 12
  leaves 2 0
  # The fourth begins at 240 ms; one stall is over long before, one comes after.
  printf '%s\n' 'stall -90000000 -20000000' 'stall 241000000 242000000' >"$LOGS/stalls.log"
  finds '1 overlaps' 'overlap: L:'
  echo 'stall 150000000 200000000' >>"$LOGS/stalls.log"
  check -0
  assert_contains "$output" ' 0 overlaps,' ', 1 overlaps in stalls of the machine (3)'
  assert_contains "$stderr" 'no violation, overlaps in stalls of the machine: overlap: L:'
}

@test "checker: a repeated fence" {
  logs
  section third 1 11
  finds '1 repeated fences' 'repeated fence: L: contender 1 (section third, fence 11)'
}

@test "checker: a fence out of order" {
  logs
  section third 1 9
  finds '1 fences out of order' 'fence out of order: L: contender 1 (section third, fence 9) came after'
}

@test "checker: a starved contender" {
  logs
  asks 3
  local i
  for ((i = 0; i < 50; i++)); do section "more$i" 1 $((20 + i)); done
  leaves 3 1
  finds '1 starved' 'starved: contender 3 was passed over 50 times'
}

@test "checker: a job that outlives its redlock, one that never came back, statuses that lie" {
  logs
  begins third 1 12
  leaves 1 80
  signs end third 12
  finds '1 outlived' 'outlived: L: contender 1 (section third'
  asks 1
  tells stuck 1
  leaves 1 -9
  asks 2
  leaves 2 0
  asks 2
  leaves 2 139
  check
  assert_contains "$output" ', 3 wrong statuses,'
  assert_contains "$stderr" 'stuck: L: contender 1' 'ended with 0, but its job never came to its end' 'ended with 139'
}

@test "checker: 71 is a status of a redlock whose worker was killed, and of no other" {
  logs
  asks 1
  tells maimed 1
  leaves 1 71
  check -0
  asks 2
  leaves 2 71
  finds '1 wrong statuses' 'contender 2 (run 1002) ended with 71'
}

@test "checker: keys left behind, but not helper keys with a life of their own" {
  logs
  printf '%s\n' 'key 0 5000 redlock:{L}:holder' 'key 0 5000 redlock:{L}:fence' \
    'key 0 5000 redlock-tag:{a}b:fence' 'key 0 5000 redlock:{L}:queue' \
    'key 0 5000 redlock:{L}:alive' 'key 0 5000 redlock:{L}:waiters' 'key 0 400 redlock:{L}:turn' >>"$LOGS/keys.log"
  check -0
  echo 'key 0 700 L' >>"$LOGS/keys.log"
  finds '1 keys left behind' "left behind: server 0 still has 'L' (ttl 700 ms)"
  echo 'key 1 -1 redlock:{L}:fence' >>"$LOGS/keys.log"
  check
  assert_contains "$output" ' 2 keys left behind,'
}

# in_queue: logs of a queue of waiters, of which contender 3 has asked first. joined: it stands there.
in_queue() {
  logs
  printf '%s\n' 'ttl 2000' 'rest 0' >"$LOGS/queue.log"
  asks 3
}
joined() { echo "joined ${AT}000000 1003" >>"$LOGS/queue.log"; }

# newcomers COUNT: COUNT runs ask, and have the lock immediately.
newcomers() {
  local i
  for ((i = 10; i < 10 + $1; i++)); do section "s$i" "$i" $((20 + i)); done
}

@test "checker: a waiter that many newcomers overtook, served late or killed" {
  in_queue
  joined
  newcomers 61
  starts third 3 95
  ends third 3 95
  finds '1 overtaken' 'overtaken: run 1003 by 61 newcomers'
  sed -i '/ third /d' "$LOGS"/jobs.L.log
  sed -i 's/^\(left .*\) 3 L 1003 0/\1 3 L 1003 orphaned/' "$LOGS/runs.log"
  finds '1 overtaken' 'overtaken: run 1003 by 61 newcomers'
}

@test "checker: few newcomers, or such as asked before it stood in the queue, are no violation" {
  in_queue
  joined
  newcomers 60
  starts third 3 95
  ends third 3 95
  check -0
  assert_contains "$output" ', 1 runs seen in the queue, overtaken 60 times at most,'
  rm -r "$LOGS"
  in_queue
  newcomers 20
  joined
  starts third 3 95
  ends third 3 95
  check -0
  assert_contains "$output" ', overtaken 0 times at most, lock free for 80 ms at most, 0 ms besides the ttl at kills,'
}

@test "checker: a waiter that gave up, and keys of the queue that live on for too long" {
  in_queue
  leaves 3 69
  finds '1 never served' 'never served: run 1003 left with 69'
  rm -r "$LOGS"
  in_queue
  leaves 3 killed
  printf '%s\n' 'key 0 5000 redlock:{L}:fence' 'key 0 5000 redlock:{L}:log' >>"$LOGS/keys.log"
  check -0
  echo 'key 0 700 redlock:{L}:queue' >>"$LOGS/keys.log"
  finds '1 keys left behind' "left behind: server 0 still has 'redlock:{L}:queue' (ttl 700 ms)"
  echo 'rest 700' >>"$LOGS/queue.log"
  check -0
}

@test "checker: logs of nothing, or that make no sense, are no good logs" {
  mkdir -p "$LOGS"
  : >"$LOGS/runs.log"
  echo 'listed 0 0' >"$LOGS/keys.log"
  check -1
  assert_contains "$stderr" 'no job ever ran'
  logs
  echo 'alive unknown L 12 1' >>"$LOGS/jobs.L.log"
  check -2
  assert_contains "$stderr" 'jobs.L.log:5'
  "$TORTURE/check" "$LOGS/none" 2>/dev/null || [[ $? == 2 ]]
}
