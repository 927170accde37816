#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# The log that the servers keep of a lock: which events are written there, and which are not.

load ../lib/common
load ../lib/log

setup() { servers 3; }
teardown() { stop_all; }

@test "log: a short run is a line on every server, with all facts about it" {
  run -3 "$REDLOCK" run L -- sh -c 'exit 3'
  assert_logged released
  local line
  line=$(lines "$LOGGED" | grep ^released)
  assert_contains "$line" '"command":"sh -c '"'exit 3'"'"' '"status":3' "\"host\":\"$(uname -n)\""
  [[ $line =~ \"held\":[0-9]+ && $line =~ \"waited\":[0-9]+ && $line =~ \"fence\":[0-9]+ ]] || fail "$line"
  refute_contains "$line" reason
  assert_between $((30 * 24 * 3600 * 1000 - 60000)) "$(cli "$LOGGED" pttl "$LOG")" $((30 * 24 * 3600 * 1000))
}

@test "log: a longer run is two lines of the same run, and no token is told" {
  local token=$SCRATCH/token
  run -0 "$REDLOCK" run L -- sh -c 'printf %s "$REDLOCK_TOKEN" >"$0"
    for i in $(seq 500); do
      test "$(redis-cli -s "$1" exists "redlock:{L}:log")" = 0 || exit 0; sleep 0.02
    done; exit 1' "$token" "$A_SOCKET"
  # A alone has surely logged that it was acquired; that it was released, a quorum has.
  some_logged() {
    for LOGGED in A B C; do ! logged "$LOGGED" 'acquired released' || return 0; done
    return 1
  }
  wait_until "$BOUND" some_logged
  refute_contains "$(cli "$LOGGED" xrange "$LOG" - +)" "$(<"$token")"
  local digest
  digest=$(sha1sum "$token")
  [[ $(cli "$LOGGED" xrange "$LOG" - + | grep -cx "${digest:0:16}") == 2 ]] || fail "$(cli "$LOGGED" xrange "$LOG" - +)"
}

@test "log: skipped runs are one line with their number, until there is a run again" {
  for _ in 1 2 3 4; do "$REDLOCK" run --once 1h L -- true; done
  assert_logged 'released skipped'
  some_skipped 3
  run "$REDLOCK" run L -- true
  run "$REDLOCK" run --once 1h L -- true
  assert_logged 'released skipped released skipped'
  some_skipped 1
}
# some_skipped COUNT: until the last line of some log says that COUNT were skipped. A quorum has each of them.
some_skipped() { wait_until "$BOUND" last_line "skipped $1 "; }
last_line() {
  local server
  for server in A B C; do [[ $(lines "$server" | tail -n 1) != "$1"* ]] || return 0; done
  return 1
}

@test "log: runs inside the job's, conflicts and redlock check leave nothing" {
  run -1 "$REDLOCK" run L -- "$REDLOCK" run L -- "$REDLOCK" run -n --no-reentrant L -- true
  run "$REDLOCK" check L
  [[ $status == [01] ]] || fail "$output"
  assert_logged released
}

@test "log: it is cut at --log-entries, and with 0 nothing is written" {
  export REDLOCK_SERVERS=$A_URI
  run -0 "$REDLOCK" run --log-entries 0 L -- true
  [[ $(cli A exists "$LOG") == 0 ]] || fail "$(lines A)"
  cli A eval 'for i = 1, 500 do redis.call("XADD", KEYS[1], "*", "data", string.rep("x", 400)) end' 1 "$LOG"
  REDLOCK_LOG_ENTRIES=20 run -0 "$REDLOCK" run L -- true
  # In whole blocks, of 4 KB.
  assert_between 20 "$(cli A xlen "$LOG")" 60
  run -64 "$REDLOCK" run --log-entries 100001 L -- true
  assert_contains "$output" log-entries
}

@test "log: one that cannot be written disturbs nothing, not even with -v" {
  local server
  for server in A B C; do cli "$server" set "$LOG" other >/dev/null; done
  run -0 --separate-stderr "$REDLOCK" run -vv L -- true
  refute_contains "$stderr" log
  [[ $(cli A get "$LOG") == other ]]
  # Nothing is heard of a line that goes by itself.
  run -0 --separate-stderr "$REDLOCK" run -vv L -- sleep 0.8
  [[ $(grep -c ': acquire: ' <<<"$stderr") == 3 ]] || fail "$stderr"
  # Nor do servers that are down, or do not answer.
  cli B del "$LOG"
  kill_server A
  run -0 --separate-stderr "$REDLOCK" run L -- true
  [[ -z $stderr ]] || fail "$stderr"
  released_on_b() { [[ $(short_events B) == released ]]; }
  wait_until "$BOUND" released_on_b
}
