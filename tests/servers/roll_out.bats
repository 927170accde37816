#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole,slow
#
# The list of servers changes while jobs run: hosts get it one after the other. A host is a loop that runs one
# job after another, with the list that its file has at that moment.

load ../lib/common

teardown() { stop_all; }

# host NUMBER: starts the loop of a host, whose list is in $SCRATCH/list.NUMBER. Each job writes its beginning, with
# its fence, and its end into one log.
host() {
  background bash -c 'while [[ ! -e $2 ]]; do
    REDLOCK_SERVERS=$(<"$1") "$REDLOCK" run -q -w 20 L -- bash -c '\''
      echo "start $REDLOCK_FENCE" >>"$0"; read -rt 0.03 <>"$NAP"; echo end >>"$0"'\'' "$3" || echo "status $?" >>"$3.failed"
  done' host "$SCRATCH/list.$1" "$SCRATCH/over" "$SCRATCH/log"
}

# roll_out LIST: each host gets the list, one after the other, while others run jobs; then the step ends: each host has
# run a job with it.
roll_out() {
  local number
  for number in 1 2 3 4; do
    echo "$1" >"$SCRATCH/list.$number.new" && mv "$SCRATCH/list.$number.new" "$SCRATCH/list.$number"
    more_jobs 3 || return 1
  done
  more_jobs 8
}

# more_jobs N: until this many more jobs have begun.
more_jobs() {
  count_text "$SCRATCH/log" start
  wait_until "$BOUND" has_texts "$SCRATCH/log" start $((COUNT + $1))
}

# rolls LIST…: four hosts go from one list to the next one: no two jobs at the same time, and the fences rise.
rolls() {
  local number list
  : >"$SCRATCH/log"
  for number in 1 2 3 4; do
    echo "$1" >"$SCRATCH/list.$number"
    host "$number"
  done
  for list in "$@"; do roll_out "$list" || return 1; done
  : >"$SCRATCH/over"
  for number in "${BACKGROUND[@]}"; do await "$number"; done
  assert_no_overlap "$SCRATCH/log" || return 1
  [[ ! -e $SCRATCH/log.failed ]] || fail "$(<"$SCRATCH/log.failed")" || return 1
  awk '$1 == "start" { if ($2 <= last) exit 1; last = $2 } END { if (NR < 80) exit 2 }' "$SCRATCH/log" ||
    fail "status $? of the fences:" "$(grep start "$SCRATCH/log")"
}

@test "roll-out: one server, two, three: no two jobs at the same time, and the fences rise" {
  servers 3
  rolls "$A_URI" "$A_URI $B_URI" "$A_URI $B_URI $C_URI"
}

@test "roll-out: a server is replaced, three, four, three: no two jobs at the same time, and the fences rise" {
  servers 4
  rolls "$A_URI $B_URI $C_URI" "$A_URI $B_URI $C_URI $D_URI" "$B_URI $C_URI $D_URI"
}

@test "roll-out: a waiter with two servers has its turn, though all others have one of them" {
  servers 2
  local number
  : >"$SCRATCH/log"
  for number in 1 2 3 4; do
    echo "$A_URI" >"$SCRATCH/list.$number"
    host "$number"
  done
  more_jobs 8
  REDLOCK_SERVERS="$A_URI $B_URI" "$REDLOCK" run -w "$BOUND" L -- true || fail "status $? instead of a turn"
  : >"$SCRATCH/over"
  for number in "${BACKGROUND[@]}"; do await "$number"; done
}

@test "roll-out: lists that need not share a server let two jobs run, so this suite would see it" {
  servers 2
  rolls "$A_URI" "$B_URI" 2>"$SCRATCH/seen" && fail "no overlap: the jobs did not meet"
  assert_contains "$(<"$SCRATCH/seen")" 'two jobs at the same time'
}
