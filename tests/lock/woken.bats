#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole,slow
#
# The first waiter is woken when a lock is free: by what, and what the others hear. This is mostly about what
# the servers did and what the waiters heard, and not about how long it took. Their order: order.bats.

load ../lib/common
load ../lib/looking
load ../lib/queue

teardown() { stop_all; }

# ---- who is woken ------------------------------------------------------------------------------

# With more servers a waiter may have the lock from the others, and be gone, before this one hears of the
# release.
@test "woken: a release wakes the first one, and tells the second one to be ready" {
  servers 1
  line_up one two three
  local first second third
  read -r first second third < <(in_queue A | paste -sd ' ')
  listen_in A
  let_go
  await -0 "$one"
  heard_by A free "$first"
  heard_by A next "$second"
  # When that one leaves, and the next one, too.
  heard_by A free "$second"
  heard_by A next "$third"
  heard_by A free "$third"
  await "$two"
  await "$three"
}

@test "woken: under a tagged name with a prefix, over TCP, with a password and in another database" {
  servers 1 --tcp
  cli A config set requirepass secret >/dev/null
  export REDLOCK_SERVERS="redis://:secret@127.0.0.1:$A_PORT/3"
  LOCK='x{tag}'
  start_job --prefix app:
  background "$REDLOCK" run -vv --prefix app: 'x{tag}' -- true
  wait_until "$BOUND" eval '[[ $(cli A -a secret pubsub channels "*:wake:*" 2>/dev/null) ]]'
  [[ $(cli A -a secret -n 3 zcard 'redlock-tag:app:x{tag}:queue' 2>/dev/null) == 1 ]]
  let_go
  await -0 "$BACKGROUND_PID"
  assert_contains "$stderr" 'the lock is free, and it is our turn'
  refute_contains "$stderr" secret
}

# ---- what wakes --------------------------------------------------------------------------------

# wakes COMMAND…: that wakes the one who waits, by some server, and it gets the lock. By then it may be gone
# from the queue of a server that hears of the release later.
wakes() {
  local server
  for server in A B C; do listen_in "$server"; done
  "$@"
  woken() { grep -qsF "\"PUBLISH\" \"redlock:{$LOCK}:wake:$FIRST\" \"free\"" "$SCRATCH"/monitor.[ABC]; }
  wait_until "$BOUND" woken
  await -0 "$one"
  wait_until "$SOON" nobody_waits
}

# one_waits: a waiter, whose number goes to FIRST.
one_waits() {
  waiter one
  FIRST=$(waiter_of "$one")
}

@test "woken: by the release of an acquired lock by its token" {
  servers 3
  local token
  token=$("$REDLOCK" acquire L)
  one_waits
  wakes "$REDLOCK" release L "$token"
}

@test "woken: by the end of a process for which a lock is kept" {
  servers 3
  background sleep 600
  local ward=$BACKGROUND_PID
  "$REDLOCK" acquire --keep-for "$ward" L >/dev/null
  one_waits
  wakes kill -KILL "$ward"
}

@test "woken: by a forced release, when the job is gone" {
  servers 3
  background "$REDLOCK" run L -- bash -c 'trap "echo end holder >>\"\$0\"; exit 3" TERM
    echo start holder >>"$0"; while :; do sleep 0.02; done' "$LOG"
  local holder=$BACKGROUND_PID
  wait_for "$LOG"
  wait_until_listening A B C
  one_waits
  wakes "$REDLOCK" release --force --yes -q L
  assert_no_overlap "$LOG"
  await -80 "$holder"
}

@test "woken: by a forced release of another program's key" {
  servers 3
  local server
  for server in A B C; do cli "$server" set L somebody px 3600000 >/dev/null; done
  one_waits
  wakes "$REDLOCK" release --force --now --yes -q L
}

@test "woken: by a job that is stopped as its lock is lost" {
  servers 3
  background "$REDLOCK" run --ttl 2s L -- sh -c 'echo x >"$0"; exec sleep 600' "$SCRATCH/job"
  local holder=$BACKGROUND_PID server
  wait_for "$SCRATCH/job"
  one_waits
  # Somebody took it on two of three servers: it is released on the third one.
  listen_in C
  for server in A B; do cli "$server" set L somebody px 3600000 >/dev/null; done
  await -80 "$holder"
  heard_by C free "$FIRST"
}

@test "woken: by a waiter that was woken and gives up instead" {
  servers 1
  line_up one two
  local second
  second=$(waiter_of "$two")
  kill -STOP "$one"
  wait_until "$BOUND" stopped "$one"
  listen_in A
  end_hold
  kill -TERM "$one"
  kill -CONT "$one"
  # It may win before it hears that it shall end. Either way it releases its votes, leaves,
  # and the next one is called.
  heard_by A free "$second"
  await -0 "$two"
}

@test "woken: a minimum hold tells the first two when it ends, and the first one gets the lock then" {
  servers 1
  hold --min-hold 60s
  waiter one
  waiter two
  waiter three
  local first second third end
  read -r first second third < <(in_queue A | paste -sd ' ')
  wait_until_settled A # a renewal would give it its time again
  listen_in A
  cli A pexpire L 3000 >/dev/null
  end=$(($(now_ms) + 2900))
  end_hold
  wait_until "$BOUND" eval '[[ $(calls A | wc -l) -ge 2 ]]'
  [[ $(calls A | sed 's/.*wake:\([0-9a-f]*\)" "\([a-z]*\) .*/\1 \2/') == "$first cools"$'\n'"$second cools" ]] || fail "$(calls A)"
  cools A L || fail "the lock: $(cli A get L)"
  await "$one"
  assert_contains "$stderr" 'the lock may be ours in '
  await "$two"
  await -0 "$three"
  [[ $(awk '$1 == "start" { print $2 }' "$LOG" | paste -sd ' ') == 'holder one two three' ]] || fail "$(<"$LOG")"
  assert_between "$end" "$(began_at one)" $((end + 2000))
}

@test "woken: of a lock that is held several times, the last release wakes" {
  servers 1
  export INNER=$SCRATCH/inner
  hold_twice
  waiter one
  listen_in A
  touch "$INNER.go"
  wait_for "$INNER.over"
  # Its release has been there: the server answers the next question after it.
  [[ $(cli A exists L) == 1 ]]
  refute_contains "$(calls A)" '"PUBLISH"'
  let_go
  await -0 "$one"
  heard_by A free "$(calls A | head -n 1 | sed 's/.*wake:\([0-9a-f]*\).*/\1/')"
}
