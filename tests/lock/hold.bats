#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=memory
#
# `redlock hold`: a lock that keeps everybody out for a fixed time, without a process; and the messages that say why
# a lock is held.

load ../lib/common
load ../lib/looking

setup() { export USER=ops LOGNAME=ops; }
teardown() { stop_all; }

# run_hold ARG…: sets $token; fails unless it is printed alone.
run_hold() {
  run -0 --separate-stderr "$REDLOCK" hold "$@"
  [[ -z $stderr && $output =~ ^[0-9a-f]{40}$ ]] || fail "not a token alone: $output" "$stderr"
  token=$output
}

# kept_out ARG…: a run with -n does not get the lock, and says with -v that it is held for maintenance.
kept_out() {
  run -1 --separate-stderr "$REDLOCK" run -n -vv "$@" -- touch "$SCRATCH/ran"
  assert_contains "$stderr" 'is held for maintenance by ops@'
  [[ ! -e $SCRATCH/ran ]] || fail 'the job ran'
}

# force [-STATUS] ARG…: a forced release, without a terminal.
force() { run_redlock release "$@" --force --yes </dev/null; }

# in_future DATE: prints that moment, as --until takes it.
in_future() { date -d "$1" +%Y-%m-%dT%H:%M:%S; }

@test "hold: keeps everybody out for its time, also a client that only sets the key" {
  servers 1
  run_hold --for 2h -m 'schema migration' L
  [[ $(cli A get L) == "$token" ]]
  assert_between 7100000 "$(cli A pttl L)" 7200000
  [[ -z $(cli A set L foreign NX PX 1000) ]]
  kept_out L
  assert_contains "$stderr" '("schema migration"); the hold ends in '
  [[ $(cli A get L) == "$token" ]]
}

@test "hold: a quorum of five servers, one of them down" {
  servers 5
  kill_server B
  local before
  before=$(evals A)
  run_hold --for 2h L
  # It does not ask again and again for the one that is down.
  assert_between 1 $(($(evals A) - before)) 9
  for server in A C D E; do
    wait_for_key "$server" L
    [[ -z $(cli "$server" set L foreign NX PX 1000) ]]
    assert_between 7000000 "$(cli "$server" pttl L)" 7200000
  done
  kept_out L
  force -0 L
  assert_free L
}

@test "hold: five servers, one of them hangs" {
  servers 5
  pause_server C
  run_hold --for 2h --server-timeout 300ms L
  kept_out --server-timeout 300ms L
  resume_server C
}

@test "hold: a server that refused at first, or lost the lock, gets it" {
  servers 3
  cli C set L foreign PX 300 >/dev/null
  run_hold --for 2h L
  wait_for_value L "$token" A B C
  wait_for_life L 7100000 7200000 A B C
}

@test "hold: no process stays behind, and it ends by its time, for a waiter and in the history" {
  servers 3
  HOLD_MARK=$SCRATCH run_hold --for 2 -m 'done' L
  ! grep -qzsxF "HOLD_MARK=$SCRATCH" /proc/[0-9]*/environ || fail 'a process stays behind'
  run -0 --separate-stderr "$REDLOCK" run -w 20 L -- true
  run --separate-stderr "$REDLOCK" history L
  silent
  has 'ended (its time was over)' 'maintenance (done)'
}

@test "hold: a forced release ends it immediately, asks first, and waits for nobody" {
  servers 3
  run_hold --for 2h L
  wait_for_value L "$token" A B C
  run -64 --separate-stderr "$REDLOCK" release --force L </dev/null
  background "$REDLOCK" run L -- touch "$SCRATCH/ran"
  local waiter=$BACKGROUND_PID
  wait_until "$BOUND" waits A
  force -0 --wait L
  assert_contains "$stderr" 'redlock: lock "L" is free: the maintenance hold of ops@'
  refute_contains "$stderr" 'job'
  await -0 "$waiter"
  [[ -e $SCRATCH/ran ]]
  run --separate-stderr "$REDLOCK" history --json L
  is 'r[0]["outcome"], r[0]["ended_ms"] is not None, r[0]["has_lock"]' "('forced', True, False)"
  run -80 --separate-stderr "$REDLOCK" renew L "$token"
}
waits() { [[ $(cli "$1" exists 'redlock:{L}:queue') == 1 ]]; }

# says_what_stays COMMAND…: it ends the hold while C is down, and names C.
says_what_stays() {
  kill_server C
  run -0 --separate-stderr "$@"
  assert_contains "$stderr" "warning: $C_URI may keep lock \"L\" for another 7h 59m"
  assert_contains "$stderr" 'while the lock is free, redlock release --force L removes it'
  launch_server C "$SCRATCH/server.C" # with what it had
  wait_for_value L "$token" C
}

@test "hold: a server that was down at the release, and comes back with it, is named, shown and emptied" {
  servers 3 --appendonly yes --appendfsync always
  local way
  for way in token force; do
    run_hold --for 8h L
    wait_for_value L "$token" A B C
    if [[ $way == token ]]; then
      says_what_stays "$REDLOCK" release L "$token"
    else
      says_what_stays timeout 30 "$REDLOCK" release --force --yes L
    fi
    run -1 --separate-stderr "$REDLOCK" status L
    assert_contains "$output" 'free (2 of 3 servers)'
    assert_contains "${output//$'\n'*( )/ }" "$C_URI keeps a key that is left over"
    assert_contains "$("$REDLOCK" status --json L)" 'keeps a key that is left over'
    run --separate-stderr "$REDLOCK" list
    [[ $output =~ L\ +left\ over\ +1/3\ .*\ 7h\ 5[0-9]m ]] || fail "$output"
    refute_contains "$("$REDLOCK" list --prometheus)" 'expiry_timestamp_seconds{'
    # Nobody has the lock by it.
    "$REDLOCK" run -n L -- true
    force -0 L
    assert_contains "$stderr" 'the key that was left over is deleted'
    assert_no_key C L
    [[ -z $("$REDLOCK" list) ]] || fail "$("$REDLOCK" list)"
  done
}

@test "hold: its token ends it, and renew extends it, but shortens it never" {
  servers 3
  run_hold --for 1h L
  wait_for_value L "$token" A B C
  run -0 --separate-stderr "$REDLOCK" renew --for 3h L "$token"
  wait_for_life L 10700000 10800000 A B C
  run -0 --separate-stderr "$REDLOCK" renew L "$token"
  wait_for_life L 10700000 10800000 A B C
  run -0 --separate-stderr "$REDLOCK" renew --until "$(in_future '+5 hours')" --json L "$token"
  wait_for_life L 17900000 18000000 A B C
  run -0 --separate-stderr "$REDLOCK" release L "$token"
  wait_until_clean A B C
}

@test "renew --for: ends when the server has its line for the log" {
  servers 1
  run_hold --for 60 L
  delay_proxy "$A_SOCKET" 100
  local began=${EPOCHREALTIME/./}
  REDLOCK_SERVERS=redis://127.0.0.1:$PROXY_PORT "$REDLOCK" renew --server-timeout 6s --for 90 L "$token"
  # Three round trips: it looks at the lock, renews it, and writes the line.
  local took=$(((${EPOCHREALTIME/./} - began) / 1000))
  ((took >= 600)) || fail "ended after $took ms, before the server can have answered"
}

@test "renew --for: only of a maintenance hold" {
  servers 1
  run --separate-stderr "$REDLOCK" acquire L
  local token=$output
  run -64 --separate-stderr "$REDLOCK" renew --for 2h L "$token"
  assert_contains "$stderr" 'is not a maintenance hold'
  assert_between 1 "$(cli A pttl L)" 30000
}

@test "hold --until: the end is that moment, however long redlock waited" {
  servers 3
  run --separate-stderr "$REDLOCK" acquire --ttl 2s L
  local until now
  until=$(in_future '+1 hour')
  run_hold --until "$until" L
  wait_for_key A L
  now=$(now_ms)
  # A second for the request to reach the server; redlock waited for two.
  until=$(date -d "$until" +%s%3N)
  assert_between "$((until - 20000))" "$((now + $(cli A pttl L)))" "$((until + 1000))"
  wait_for_value L "$token" A B C
  run --separate-stderr "$REDLOCK" status --json L
  is 'round(l["holder"]["since_ms"] + l["holder"]["ttl_s"] * 1000)' "$until"
}

@test "hold --until: redlock does not wait for longer than that" {
  servers 1
  "$REDLOCK" acquire --ttl 60s L >/dev/null
  run -1 --separate-stderr "$REDLOCK" hold --until 2s L
  assert_contains "$stderr" 'is still held by ops@'
}

@test "hold --json: the token, the fence and the end" {
  servers 3
  run -0 --separate-stderr "$REDLOCK" hold --json --for 2h L
  is 'sorted(j)' "['acquired', 'fence', 'name', 'token', 'until', 'until_ms', 'valid_for_s']"
  is '7000 < j["valid_for_s"] < 7150' True
  local until
  until=$(json 'j["until_ms"] // 1000')
  assert_between "$(($(date +%s) + 7150))" "$until" "$(($(date +%s) + 7200))"
  until=$(in_future '+3 hours')
  run --separate-stderr "$REDLOCK" hold --json --until "$until" M
  is 'j["until_ms"]' "$(date -d "$until" +%s)000"
}

@test "hold: the restart grace and the bounds of a ttl are not for it; with an empty restart the others keep it" {
  servers 3
  export REDLOCK_RESTART_GRACE=60 REDLOCK_KILL_AFTER=30s
  run_hold --until 20s M
  run_hold --for 30d L
  wait_for_life L 2591000000 2592000000 A B C
  unset REDLOCK_KILL_AFTER
  restart_server B
  assert_no_key B L
  kept_out --ttl 3s L
  wait_until "$BOUND" lacks_key B L # a B that is slow keeps that run's vote for its ttl
  run -0 --separate-stderr "$REDLOCK" renew --for 30d L "$token"
  wait_for_value L "$token" B # which puts it back
}

@test "hold: without standard output nobody would have the token, and so there is no lock" {
  servers 1
  run -71 sh -c 'exec "$0" hold --for 1h L >&-' "$REDLOCK"
  assert_nothing_left A
}

@test "hold: of a held lock it is a conflict, and of a hold it names the reason" {
  servers 1
  run_hold --for 1h -m 'new disk' L
  run -1 --separate-stderr "$REDLOCK" hold -n --for 1h L
  [[ -z $output$stderr ]] || fail "$output$stderr"
  run -75 --separate-stderr "$REDLOCK" hold -w 0.8 -E 75 --for 1h L
  assert_one_line "$stderr" 'is still held for maintenance by ops@' '("new disk") after 800 ms'
  run -1 --separate-stderr "$REDLOCK" hold -n --json --for 1h L
  is 'j["acquired"], j["holder"]["maintenance"], j["holder"]["message"]' "(False, True, 'new disk')"
}

@test "hold: a run that ends gives way to a hold that waits, and then the hold has its whole time" {
  servers 3
  start_job
  background "$REDLOCK" hold --for 1h L
  local hold=$BACKGROUND_PID
  wait_until "$BOUND" waits A
  end_job
  await -0 "$hold"
  wait_for_value L "$output" A B C
  wait_for_life L 3500000 3600000 A B C
}

@test "hold on a terminal, or with -v: a line says until when, and how to end it" {
  servers 1
  run on_terminal 200 "$REDLOCK" hold --prefix app: --for 2h L
  assert_contains "$output" 'redlock: lock "L" is held for maintenance until 20'
  assert_contains "$output" 'to end that sooner: redlock release --force --prefix app: L' "$(cli A get app:L)"
  run on_terminal 200 "$REDLOCK" hold -q --for 2h M
  refute_contains "$output" 'is held for maintenance'
  run -0 --separate-stderr "$REDLOCK" hold -v --for 2h N
  assert_contains "$stderr" 'redlock: lock "N" is held for maintenance until 20'
}
