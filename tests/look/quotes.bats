#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# Every sentence puts the name of a lock in quotes: a name may have blanks, or be a word of the sentence.

load ../lib/common

NAME='the lock is held'

setup() { servers 1; }
teardown() { stop_all; }

# said STATUS TEXT COMMAND…: it ends with this status and says TEXT on standard error, or on standard output; wherever
# the name stands, it stands in quotes.
said() {
  local expected=$1 text=$2 all
  shift 2
  run --separate-stderr "$@" 3>&- </dev/null
  [[ $status == "$expected" ]] || fail "$*: status $status, not $expected" "$output" "$stderr"
  all=$stderr$'\n'$output
  assert_contains "$all" "$text"
  all=${all//\"$NAME\"/}
  all=${all//\'$NAME\'/} # in a command that the user may type
  all=${all/#$NAME: held/} # the heading of what redlock status shows
  all=${all//\"redlock:\{$NAME\}:/}
  refute_contains "$all" "$NAME"
}

@test "names in quotes: a run that gets the lock, that is refused, and that is stopped" {
  said 0 'was released after' "$REDLOCK" run -v "$NAME" -- true
  said 0 'cools down for another' "$REDLOCK" run -v --min-hold 100ms "$NAME" -- true
  said 0 'was acquired after' "$REDLOCK" run -v --once 1h "$NAME" -- true
  said 0 'job skipped' "$REDLOCK" run -v --once 1h "$NAME" -- true
  said 124 '--max-runtime has passed' "$REDLOCK" run --max-runtime 50ms "$NAME" -- sleep 60
  cli A set "$NAME" other px 60000
  said 1 'is held by another program' "$REDLOCK" run -v -n "$NAME" -- true
  said 1 '; waiting' "$REDLOCK" run -v -w 1 "$NAME" -- true
  assert_contains "$stderr" 'is still held by'
  cli A del "$NAME"
  said 80 'was lost, stopping the job' "$REDLOCK" run --ttl 2s "$NAME" -- \
    sh -c 'redis-cli -s "$1" del "$2"; exec sleep 60' job "$A_SOCKET" "$NAME"
  said 80 'was no longer ours when the job ended' "$REDLOCK" run "$NAME" -- \
    sh -c 'redis-cli -s "$1" del "$2"' job "$A_SOCKET" "$NAME"
  said 64 'an outer redlock run holds' "$REDLOCK" run -s "$NAME" -- "$REDLOCK" run "$NAME" -- true
  said 64 'no command to run under' "$REDLOCK" run "$NAME"
  said 64 'is named twice' "$REDLOCK" run "$NAME" --also "$NAME" -- true
  REDLOCK_SERVERS=$SCRATCH_URI/none said 69 'cannot reach enough servers' \
    "$REDLOCK" run --server-wait 0 "$NAME" -- true
}

@test "names in quotes: a lock without a job, a maintenance hold, and tokens" {
  local token
  token=$("$REDLOCK" acquire "$NAME")
  said 64 'is not a maintenance hold' "$REDLOCK" renew "$NAME" "$token" --for 1h
  "$REDLOCK" release "$NAME" "$token"
  said 80 'is not held with this token any more' "$REDLOCK" release "$NAME" "$token"
  said 80 'is not held with this token any more' "$REDLOCK" renew "$NAME" "$token"
  run on_terminal 200 "$REDLOCK" hold --for 1h -m why "$NAME"
  assert_contains "$output" "redlock: lock \"$NAME\" is held for maintenance until " "redlock release --force '$NAME'"
  said 1 'is held for maintenance by' "$REDLOCK" run -v -n "$NAME" -- true
  said 0 'is free' "$REDLOCK" release --force --yes --now "$NAME"
  said 0 'is free, there is nothing to release' "$REDLOCK" release --force --yes "$NAME"
}

@test "names in quotes: stop the job of somebody else" {
  background "$REDLOCK" run "$NAME" -- sleep 60
  wait_for_key A "$NAME"
  # What status shows above is a heading, with the name in front.
  run -0 --separate-stderr "$REDLOCK" release --force --yes --wait "$NAME"
  assert_contains "$stderr" "lock \"$NAME\" is revoked from "
  await -80 "$BACKGROUND_PID"
  assert_contains "$(<"$BACKGROUND_ERR")" "lock \"$NAME\" was revoked by "
  cli A set "$NAME" other px 60000
  run -1 --separate-stderr "$REDLOCK" release --force --yes "$NAME"
  assert_contains "$stderr" "lock \"$NAME\" is held by another program"
}

@test "names in quotes: history, status, list and check" {
  said 0 'nothing is logged about' "$REDLOCK" history "$NAME"
  run on_terminal 200 "$REDLOCK" list "$NAME"
  assert_contains "$output" "no locks match \"$NAME\""
  cli A set "redlock:{$NAME}:log" other
  said 69 'is not a log' "$REDLOCK" history "$NAME"
  cli A del "redlock:{$NAME}:log"
  "$REDLOCK" run "$NAME" -- true
  said 0 'no record of a holder of' "$REDLOCK" history --at 1h "$NAME"
  said 0 'no failed run of lock' "$REDLOCK" history --since 1s --failed "$NAME"
  cli A set "redlock:{$NAME}:fence" '-'
  said 69 'the fencing number in the key' "$REDLOCK" run --server-wait 0 "$NAME" -- true
  cli A del "redlock:{$NAME}:fence"
  cli A set "$NAME" other px 60000
  said 1 'the test was skipped' "$REDLOCK" check -v "$NAME"
  REDLOCK_SERVERS=$SCRATCH_URI/none said 69 'is not known' "$REDLOCK" status --json "$NAME"
}
