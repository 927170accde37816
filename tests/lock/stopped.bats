#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole,slow
#
# Waiters that say nothing any more, because they were killed or stopped, before others who need the lock in another
# way, and in large numbers: whoever can have the lock has it soon.

load ../lib/common
load ../lib/looking
load ../lib/queue

teardown() { stop_all; }

# stop_soon WAITER KILL|STOP: kills or stops it, and returns when it has not asked for half a second.
stop_soon() {
  local name server
  name=$(waiter_of "$1")
  kill -"$2" "$1"
  if [[ $2 == KILL ]]; then wait_gone "$1"; else wait_until "$BOUND" stopped "$1"; fi
  for server in "${SERVERS[@]}"; do wait_until "$BOUND" long_silent "$server" "$name"; done
}

# within MS COMMAND…: it succeeds, and takes no longer. Whoever is not passed over counts for 20 s.
within() {
  local before
  before=$(now_ms)
  run -0 --separate-stderr "${@:2}" || return 1
  (($(now_ms) - before < $1)) || fail "it took $(($(now_ms) - before)) ms"
}

@test "stopped: a living writer keeps readers out, however often they ask" {
  servers 1
  hold -s
  waiter writer
  local name before took fastest=60000
  name=$(waiter_of "$writer")
  for _ in {1..10}; do
    wait_until "$BOUND" long_silent A "$name" # it is called, and answers
    before=$(now_ms)
    run -1 --separate-stderr "$REDLOCK" run -s -n L -- true
    took=$(($(now_ms) - before))
    fastest=$((took < fastest ? took : fastest))
  done
  ((fastest < 2000)) || fail "after $fastest ms"
  let_go
  await -0 "$writer"
}

@test "stopped: readers and slots do not wait for a killed or stopped waiter for the whole lock" {
  servers 3
  local mode signal
  for mode in -s '--slots 3'; do
    # shellcheck disable=SC2086 # words
    hold $mode
    for signal in KILL STOP; do
      waiter whole
      stop_soon "$whole" "$signal"
      # shellcheck disable=SC2086
      within 12000 "$REDLOCK" run $mode -n L -- true || fail "$mode $signal"
      # shellcheck disable=SC2086
      within 12000 "$REDLOCK" run $mode -w 20s L -- true || fail "$mode $signal"
    done
    # It has lost no more than that: it asks when it goes on, and then others wait for it.
    kill -CONT "$whole"
    wait_until "$BOUND" queued 1
    # shellcheck disable=SC2086
    run -1 --separate-stderr "$REDLOCK" run $mode -n L -- true
    let_go
    await -0 "$whole"
  done
}

# listeners: somebody hears whatever A says to waiters, and says nothing: planted waiters seem to be stopped.
listeners() {
  start_tool redis-cli -s "$A_SOCKET" psubscribe 'redlock:{L}:wake:*' >"$SCRATCH/ears"
  wait_for_line "$SCRATCH/ears" psubscribe
}

# plant_readers COUNT: this many stopped readers.
plant_readers() {
  cli A eval 'local now = redis.call("TIME")
    for at = 1, ARGV[1] do
      redis.call("ZADD", KEYS[1], at, "splanted" .. at)
      redis.call("ZADD", KEYS[2], now[1] * 1000 + 15000, "splanted" .. at)
    end' 2 "$QUEUE" "$ALIVE" "$1" >/dev/null
}

@test "stopped: 40 stopped readers keep a free lock from a writer, and from a reader, for three seconds at most" {
  servers 1
  listeners
  local mode
  for mode in -x -s; do
    hold
    plant_readers 40
    background "$REDLOCK" run "$mode" L -- true
    wait_until "$BOUND" queued 41
    let_go
    within 12000 wait_gone "$BACKGROUND_PID"
    await -0 "$BACKGROUND_PID"
  done
}

@test "stopped: of a herd with -n after 150 stopped waiters, one job runs" {
  servers 1
  listeners
  local at pids=()
  plant A 150 1000 15000 '{}'
  for at in {1..5}; do
    background "$REDLOCK" run -n L -- bash -c 'echo start >>"$0"; read -rt 2 <>"$NAP"; echo end >>"$0"' "$LOG"
    pids+=("$BACKGROUND_PID")
  done
  for at in "${pids[@]}"; do await "$at"; done
  [[ $(grep -c start "$LOG") == 1 ]] || fail "$(cat "$LOG")"
}
