#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=memory
#
# A lock with slots: never more than N jobs at the same time, on one server and on a quorum, and one line for all slots.

load ../lib/common
load ../lib/looking
load ../lib/queue

teardown() { stop_all; }

# in_slot NAME [OPTION…]: a job has one of three slots of L until $SCRATCH/go.NAME is there; sets the variable
# NAME to its PID, and $SLOT. let_out NAME…: these end, with 0.
in_slot() {
  background "$REDLOCK" run --slots 3 "${@:2}" L -- bash -c 'echo "start $2 $REDLOCK_SLOT" >>"$1"
    echo "$REDLOCK_SLOT" >"$0"; until [[ -e $3 ]]; do read -rt 0.05 <>"$NAP"; done; echo "end $2 $REDLOCK_SLOT" >>"$1"' \
    "$SCRATCH/slot.$1" "$LOG" "$1" "$SCRATCH/go.$1"
  declare -g "$1=$BACKGROUND_PID"
  wait_for "$SCRATCH/slot.$1"
  SLOT=$(cat "$SCRATCH/slot.$1")
}
let_out() {
  local name
  for name in "$@"; do
    : >"$SCRATCH/go.$name"
    await -0 "${!name}"
  done
}

# never_more_than N: at most N jobs ran at the same time, and no two in one slot.
never_more_than() {
  awk -v most="$1" '$1 == "start" { if (++n > most || ++used[$3] > 1) exit 1 } $1 == "end" { --n; --used[$3] }
    END { if (n) exit 1 }' "$LOG" || fail "too many at the same time:" "$(cat "$LOG")"
}

@test "slots: three of 40 run at the same time, on five servers, one of which is stopped" {
  servers 5
  pause_server E
  SERVERS=(A B C D)
  local i pids=()
  for i in {1..40}; do
    background "$REDLOCK" run --slots 3 L -- sh -c 'echo "start $$ $REDLOCK_SLOT" >>"$0"; sleep 0.02
      echo "end $$ $REDLOCK_SLOT" >>"$0"' "$LOG"
    pids+=("$BACKGROUND_PID")
  done
  for i in "${pids[@]}"; do await -0 "$i" 60; done
  never_more_than 3
  [[ $(grep -c start "$LOG") == 40 ]]
}

@test "slots: three jobs run; the fourth gives up with -n, or waits until a slot is free" {
  servers 5
  in_slot one
  in_slot two
  run -0 --separate-stderr "$REDLOCK" run -n -vv --slots 3 L -- true
  refute_contains "$stderr" 'held in all'
  in_slot three
  [[ $(cat "$SCRATCH"/slot.* | sort | paste -sd ' ') == '1 2 3' ]]
  run -1 --separate-stderr "$REDLOCK" run -n -vv --slots 3 L -- true
  assert_contains "$stderr" 'held in all 3 slots, one of them by'
  background "$REDLOCK" run -vv --slots 3 L -- sh -c 'echo "start four $REDLOCK_SLOT" >>"$0"; echo "end four $REDLOCK_SLOT" >>"$0"' "$LOG"
  local four=$BACKGROUND_PID
  wait_until "$BOUND" queued 1
  let_out two
  await -0 "$four"
  let_out one three
  never_more_than 3
  # In the slot that has become free, and not before. Whether it was woken, or asked in that moment by itself, is open.
  local slot
  slot=$(cat "$SCRATCH/slot.two")
  [[ $(grep -x ".* $slot" "$LOG") == "start two $slot"$'\n'"end two $slot"$'\n'"start four $slot"$'\n'"end four $slot" ]] ||
    fail "$(cat "$LOG")"
}

@test "slots: those that wait are served in the order in which they came, whichever slot is free" {
  servers 3
  in_slot one
  in_slot two
  in_slot three
  local name names=(a b c d e f) before
  for name in "${names[@]}"; do
    before=$(waiters A)
    background "$REDLOCK" run --slots 3 L -- sh -c 'echo "start $1 $REDLOCK_SLOT" >>"$0"; sleep 0.1
      echo "end $1 $REDLOCK_SLOT" >>"$0"' "$LOG" "$name"
    declare "$name=$BACKGROUND_PID"
    wait_until "$BOUND" queued $((before + 1))
  done
  let_out three
  for name in "${names[@]}"; do await -0 "${!name}" 60; done
  let_out one two
  [[ $(awk '$1 == "start" { print $2 }' "$LOG" | paste -sd ' ') == 'one two three a b c d e f' ]] || fail "$(cat "$LOG")"
  never_more_than 3
}

@test "slots: a slot whose redlock was killed is free when it expires; the others keep theirs" {
  servers 3
  in_slot one
  in_slot two --ttl 1s
  in_slot three
  local killed worker job
  killed=$(cat "$SCRATCH/slot.two")
  worker=$(child_of "$two")
  job=$(child_of "$worker")
  kill -KILL "$worker" "$two"
  local began=$EPOCHREALTIME
  run -0 --separate-stderr "$REDLOCK" run -w 20 --slots 3 L -- sh -c 'echo "$REDLOCK_SLOT"'
  [[ $output == "$killed" ]] || fail "slot $output, not $killed"
  # Long before those of the others would end.
  assert_between 0 $(((${EPOCHREALTIME/[.,]/} - ${began/[.,]/}) / 1000)) 15000
  let_out one three
  : >"$SCRATCH/go.two"
  wait_gone "$job"
}

@test "slots: another number of slots, and every other way to hold the lock, is kept out, and keeps out" {
  servers 3
  in_slot one
  kept_out() {
    run -1 --separate-stderr "$REDLOCK" run -n -vv "$@" L -- touch "$SCRATCH/ran"
    assert_contains "$stderr" "$expected"
  }
  local expected='held with 3 slots by'
  kept_out
  kept_out -s
  kept_out --slots 4
  wait_for_key A L
  [[ $(cli A set L thief nx px 1000) != OK ]]
  let_out one
  wait_until_clean A
  expected='held'
  local mode
  for mode in -s -x; do
    start_job "$mode"
    kept_out --slots 3
    end_job
  done
  [[ ! -e $SCRATCH/ran ]]
}

@test "slots: hosts that disagree about the number are told so" {
  servers 3
  in_slot one
  run -1 --separate-stderr "$REDLOCK" run -n --slots 2 L -- true
  [[ $stderr == "redlock: warning: lock \"L\" is held by $(id -un)@$(hostname) with --slots 3, and here it is --slots 2: "* ]] ||
    fail "$stderr"
  assert_one_line "$stderr"
  run --separate-stderr "$REDLOCK" run -q -n --slots 2 L -- true
  [[ -z $stderr ]] || fail "$stderr"
  let_out one
}

@test "slots: status names foreign holders as such, and does not count them" {
  servers 1
  in_slot one
  local each
  for each in p0003 p0403 p0102; do # no slot, one too many, one of two
    cli A zadd 'redlock:{L}:readers' 9999999999999 "$each$(printf '%035d' 0)" >/dev/null
  done
  run --separate-stderr "$REDLOCK" status L
  has "slot $SLOT " '1 of 3 slots taken'
  [[ $(grep -c 'foreign' <<<"$output") == 3 ]] || fail "$output"
  refute_contains "$output" 'slot 0' 'slot 4'
  let_out one
}

# crowd_in COUNT: somebody adds that many members, which stop counting before all holders, to the list of readers.
crowd_in() {
  cli A eval 'for at = 1, ARGV[1] do
      redis.call("ZADD", KEYS[1], redis.call("TIME")[1] * 1000 + 9000, "planted" .. at)
    end' 1 'redlock:{L}:readers' "$1" >/dev/null
}

@test "slots: holders keep their slots, however many members somebody adds to the list" {
  servers 1
  in_slot one --ttl 60s
  in_slot two --ttl 60s
  in_slot three --ttl 60s
  crowd_in 300
  run -1 --separate-stderr "$REDLOCK" run -v -n --slots 3 L -- true
  assert_contains "$stderr" 'held in all 3 slots'
  # Too many to count are not free.
  crowd_in 2000
  run -1 --separate-stderr "$REDLOCK" run -v -n --slots 3 L -- true
  assert_contains "$stderr" 'held by more jobs than can be counted'
  run --separate-stderr "$REDLOCK" status L
  has 'at least '
  let_out one two three
}

@test "slots: a run that waits for all slots comes before later ones, which do not ask all the time" {
  servers 3
  in_slot one
  waiter writer
  run -1 --separate-stderr "$REDLOCK" run -n -vv --slots 3 L -- true
  [[ $stderr == *" is kept for $(id -un)@"*'), which needs all 3 slots to be free; one of them is held by '* ]] || fail "$stderr"
  waiter slot --slots 3
  local asked began
  began=$(now_ms)
  asked=$(refusals "$slot")
  nap 1.2 # two turns and more
  # The writer's turn, with which it shows that it lives, may cost the other one two questions more, to three servers.
  (($(refusals "$slot") <= asked + 6 + ($(now_ms) - began) / 1500)) || fail "$(cat "$BACKGROUND_ERR")"
  let_out one
  await -0 "$writer"
  await -0 "$slot"
  [[ $(grep start "$LOG" | cut -d ' ' -f 2 | paste -sd ' ') == 'one writer slot' ]] || fail "$(cat "$LOG")"
}

@test "slots: a server that comes back empty gets the holders again, and gives their slots to nobody" {
  servers 5
  in_slot one --ttl 3s --restart-grace 4
  in_slot two --ttl 3s --restart-grace 4
  restart_server E
  has_both() { [[ $(cli E zcount 'redlock:{L}:readers' 0 1e15) == 2 ]]; }
  wait_until "$BOUND" has_both
  in_slot three --ttl 3s --restart-grace 4
  run -1 "$REDLOCK" run -n --slots 3 --ttl 3s --restart-grace 4 L -- true
  let_out one
  run -0 "$REDLOCK" run -w 10 --slots 3 --ttl 3s --restart-grace 4 L -- true
  let_out two three
  never_more_than 3
}

@test "slots: a job that loses its slot is stopped, the others go on" {
  servers 3
  in_slot one --ttl 1s
  in_slot two --ttl 1s
  local token server
  token=$(cli A zrange 'redlock:{L}:readers' 0 -1 | grep "^p0${SLOT}") || token=$(cli A zrange 'redlock:{L}:readers' 0 -1 |
    grep "^p$(printf %02x "$SLOT")")
  # A renewal between the two may put it back.
  lost() {
    for server in A B; do cli "$server" zrem 'redlock:{L}:readers' "$token" >/dev/null; done
    gone "$two"
  }
  wait_until "$BOUND" lost
  await -80 "$two"
  let_out one
}

@test "slots: acquire, renew, release by token; status and its JSON; force" {
  servers 3
  local first second
  first=$("$REDLOCK" acquire --slots 2 L)
  second=$("$REDLOCK" acquire --slots 2 L)
  run -1 "$REDLOCK" acquire -n --slots 2 L
  "$REDLOCK" renew L "$second"
  assert_contains "$("$REDLOCK" list)" '2 of 2 slots taken'
  run --separate-stderr "$REDLOCK" history L
  refute_contains "$output" 'never ended'
  [[ $(grep -c running <<<"$output") == 2 ]] || fail "$output"
  run --separate-stderr "$REDLOCK" status --json L
  is 'l["mode"], l["slots"], [r["slot"] for r in l["holders"]]' "('slots', 2, [1, 2])"
  "$REDLOCK" release L "$first"
  run --separate-stderr "$REDLOCK" status L
  has '1 of 2 slots taken'
  assert_contains "$("$REDLOCK" list)" "$(id -un)@$(uname -n) (1 of 2)"
  run -80 "$REDLOCK" release L "$first"
  run -0 --separate-stderr "$REDLOCK" release --force --now -y L
  assert_contains "$stderr" 'the jobs of its holders may still be running'
  refute_contains "$stderr" reader
  run -80 "$REDLOCK" renew L "$second"
  "$REDLOCK" run -n L -- true
}

@test "slots: a lock inside itself; 1 to 64 slots" {
  servers 1
  run "$REDLOCK" run --slots 2 L -- sh -c '"$0" run -n --slots 2 L -- sh -c "echo \$REDLOCK_SLOT"; echo "$REDLOCK_SLOT"
    "$0" run -n --slots 2 --no-reentrant L -- sh -c "echo \$REDLOCK_SLOT"
    "$0" run -n --slots 2 --no-reentrant L -- "$0" run -n --slots 2 --no-reentrant L -- true; echo "$?"' "$REDLOCK"
  [[ ${lines[0]} == "${lines[1]}" && ${lines[2]} != "${lines[0]}" && ${lines[2]} == [12] && ${lines[3]} == 1 ]] || fail "$output"
  run -64 --separate-stderr "$REDLOCK" run --slots 2 L -- "$REDLOCK" run -n L -- true
  assert_contains "$stderr" 'use --slots 2'
  local count
  for count in 0 65 x; do
    run -64 --separate-stderr "$REDLOCK" run --slots "$count" L -- true
    assert_contains "$stderr" --slots
  done
  # One slot is a lock as any other.
  run -0 "$REDLOCK" run --slots 1 L -- sh -c 'echo "${REDLOCK_SLOT-none}"; "$0" run -n L -- true' "$REDLOCK"
  [[ $output == none ]]
}

@test "slots: a job inside joins its slot although others wait" {
  servers 1
  background "$REDLOCK" run --slots 2 L -- sh -c 'echo x >"$1"; until [ -e "$2" ]; do sleep 0.05; done
    exec "$0" run -n --slots 2 L -- true' "$REDLOCK" "$SCRATCH/in" "$SCRATCH/go"
  local outer=$BACKGROUND_PID
  wait_for "$SCRATCH/in"
  "$REDLOCK" acquire --slots 2 L >/dev/null
  background "$REDLOCK" run --slots 2 L -- true
  wait_until "$BOUND" queued 1
  : >"$SCRATCH/go"
  await -0 "$outer"
  await -0 "$BACKGROUND_PID"
}
