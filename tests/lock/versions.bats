#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole,slow
#
# VERSIONS in redlock-protocol(7): what redlock does when it meets a redlock of another protocol.
#
# First with two programs: this redlock and redlock_later, which is built from the same sources with the next number.
# Each test has each of them in each part. Then with what a redlock that we do not know could leave on the servers: a
# later one writes fields, values, waiters and events that this one does not know; an earlier one lacks fields.

load ../lib/common
load ../lib/looking
load ../lib/queue

LATER_REDLOCK=${REDLOCK%/*}/tests/redlock_later

setup() {
  [[ -x $LATER_REDLOCK ]] || fail "there is no $LATER_REDLOCK: cmake --build … --target redlock_later"
  servers 3
}
teardown() { stop_all; }

# both_ways TEST: calls TEST with both programs, in both orders, each time with a lock of its own.
both_ways() {
  of_lock L
  "$1" "$REDLOCK" "$LATER_REDLOCK"
  of_lock M
  "$1" "$LATER_REDLOCK" "$REDLOCK"
}

# number_of PROGRAM: prints the number of its protocol.
number_of() { "$1" --version | sed -n 's/^protocol //p'; }

# job PROGRAM OPTION…: the program runs a job under $LOCK that ends only by a signal; sets $JOB, the job's PID.
job() {
  rm -f "$SCRATCH/job"
  background "$1" run "${@:2}" "$LOCK" -- sh -c 'echo $$ >"$0"; exec sleep 600' "$SCRATCH/job"
  wait_for "$SCRATCH/job"
  JOB=$(<"$SCRATCH/job")
}

# assert_kept_out PROGRAM COMMAND OPTION…: the program does not get $LOCK.
assert_kept_out() {
  run -1 --separate-stderr "$1" "${@:2}" "$LOCK" -- echo ran
  [[ -z $output ]] || fail "the job ran"
}

# ---- two programs --------------------------------------------------------------------------------

@test "versions: the two programs differ in the number of their protocol" {
  [[ $(number_of "$REDLOCK") == "$(sed -n 's/^It is protocol version \([0-9]*\)\.$/\1/p' "$SOURCE/man/redlock-protocol.7")" ]]
  [[ $(number_of "$LATER_REDLOCK") == $(($(number_of "$REDLOCK") + 1)) ]]
}

excludes() {
  REDLOCK=$1 hold
  assert_kept_out "$2" run -v -n
  assert_contains "$stderr" "is held by $(id -un)@$(uname -n) (pid $HOLDER"
  assert_kept_out "$2" run -s -w 1
  assert_kept_out "$2" run --slots 2 -n
  run -1 "$2" acquire -n "$LOCK"
  end_hold -0
  [[ $("$2" run -n "$LOCK" -- echo ran) == ran ]]
}
@test "versions: two protocols exclude each other, and name the holder" { both_ways excludes; }

wait_in_queue() {
  REDLOCK=$1 hold
  REDLOCK=$2 waiter one
  REDLOCK=$1 waiter two
  REDLOCK=$2 waiter three
  run --separate-stderr "$1" status --json "$LOCK"
  is '[w["pid"] for w in l["waiters"]]' "[$one, $two, $three]"
  assert_kept_out "$2" run -n
  let_go
  local pid woken=0
  for pid in "$one" "$two" "$three"; do
    await -0 "$pid"
    # The program of `two` has released the lock for `three`, and that of the holder for `one`.
    [[ $pid == "$two" || $stderr != *'the lock is free, and it is our turn'* ]] || ((++woken))
  done
  # By itself a waiter asks every 1.7 s, and one of them may have done so in the moment of the release.
  ((woken > 0)) || fail "nobody was woken"
  assert_no_overlap "$LOG"
  [[ $(awk '$1 == "start" { print $2 }' "$LOG" | paste -sd ' ') == 'holder one two three' ]] || fail "$(<"$LOG")"
}
@test "versions: both wait in one queue, get the lock in its order, and wake each other" { both_ways wait_in_queue; }

read_together() {
  local first second readers
  REDLOCK=$1 hold -s
  first=$HOLDER
  REDLOCK=$2 hold -s
  second=$HOLDER
  [[ $(cli A zcard "redlock:{$LOCK}:readers") == 3 ]] # with the generation of the lock
  assert_kept_out "$1" run -n
  assert_kept_out "$2" run -n
  REDLOCK=$1 waiter writer
  REDLOCK=$2 waiter reader -s
  let_go
  for readers in "$first" "$second" "$writer" "$reader"; do await -0 "$readers"; done
  [[ $(awk '$1 == "start" { print $2 }' "$LOG" | paste -sd ' ') == 'holder holder writer reader' ]] || fail "$(<"$LOG")"
}
@test "versions: readers of both read together, and a later reader waits for the writer" { both_ways read_together; }

share_slots() {
  REDLOCK=$1 hold --slots 2
  REDLOCK=$2 hold --slots 2
  assert_kept_out "$1" run -n --slots 2
  assert_kept_out "$2" run -n --slots 2
  REDLOCK=$1 waiter third --slots 2
  let_go
  await -0 "$third"
}
@test "versions: both count each other's slots" { both_ways share_slots; }

joins() {
  run -0 --separate-stderr "$1" run "$LOCK" -- bash -c '"$0" run -n "$1" -- sh -c "echo \$REDLOCK_TOKEN \$REDLOCK_FENCE"
    echo "$REDLOCK_TOKEN $REDLOCK_FENCE"; "$0" run -n --no-reentrant "$1" -- echo ran; echo "status $?"' "$2" "$LOCK"
  [[ ${lines[0]} =~ ^[0-9a-f]{40}\ [0-9]+$ && ${lines[1]} == "${lines[0]}" && ${lines[2]} == 'status 1' ]] || fail "$output$stderr"
}
@test "versions: one in the job of the other joins its lock" { both_ways joins; }

revokes() {
  local how
  for how in --wait --now; do
    job "$1"
    wait_until_listening A B C
    timed -0 "$2" release --force --yes "$how" "$LOCK" </dev/null
    await -80 "$BACKGROUND_PID"
    assert_contains "$stderr" 'was revoked by'
    gone "$JOB"
    [[ $("$1" run -n "$LOCK" -- echo ran) == ran ]]
  done
}
@test "versions: release --force of one stops the job of the other, which ends with 80" { both_ways revokes; }

use_token() {
  local token keeper
  token=$("$1" acquire --ttl 60s "$LOCK")
  "$2" renew --ttl 600s "$LOCK" "$token"
  wait_for_life "$LOCK" 61000 600000 A B C
  "$2" release "$LOCK" "$token"
  run -80 "$1" release "$LOCK" "$token"
  # The keeper of one hears of the release by the other.
  background sleep 600
  read -r token keeper < <("$1" acquire --json --keep-for "$BACKGROUND_PID" "$LOCK" |
    "$PYTHON" -SEIc 'import json, sys; o = json.load(sys.stdin); print(o["token"], o["keeper"])')
  "$2" release "$LOCK" "$token"
  wait_gone "$keeper"
  ! gone "$BACKGROUND_PID" || fail "the keeper told its process of a loss"
}
@test "versions: a token of one is renewed and released by the other, whose keeper then ends" { both_ways use_token; }

keeps_out() {
  "$1" hold --for 1h -m migration "$LOCK" >/dev/null
  assert_kept_out "$2" run -n -v
  assert_contains "$stderr" migration
  "$2" release --force --yes "$LOCK" </dev/null
  "$1" run --min-hold 1h "$LOCK" -- true
  assert_kept_out "$2" run -n -v
  assert_contains "$stderr" "lock \"$LOCK\" is cooling down"
}
@test "versions: a maintenance hold and a minimum hold of one keep the other out" { both_ways keeps_out; }

once() {
  "$1" run --once 1h "$LOCK" -- true it was me
  run -9 --separate-stderr "$2" run -vv --once 1h --once-exit-code 9 "$LOCK" -- echo ran
  [[ -z $output ]] || fail "the job ran again"
  assert_contains "$stderr" 'it was me'
}
@test "versions: --once counts the runs of both" { both_ways once; }

take_several() {
  local first=$LOCK holder one two
  of_lock "$first.more"
  REDLOCK=$1 hold
  holder=$HOLDER
  background "$2" run "$first" --also "$first.more" -- true
  one=$BACKGROUND_PID
  wait_until "$BOUND" queued 1
  of_lock "$first"
  background "$1" run "$first.more" --also "$first" -- true
  two=$BACKGROUND_PID
  wait_until "$BOUND" queued 1 # here, although the job names the other lock first
  : >"$SCRATCH/go.$first.more"
  for first in "$holder" "$one" "$two"; do await -0 "$first"; done
}
@test "versions: both take several locks in the same order" { both_ways take_several; }

# told_of_both PROGRAM: it finds the runs of both in the log.
told_of_both() {
  run --separate-stderr "$1" history --json "$LOCK"
  [[ $(json '[(x["outcome"], x["status"]) for x in r]') == "[('ended', 0), ('ended', 3)]" ]]
}

tells() {
  local own other
  own=$(number_of "$1")
  other=$(number_of "$2")
  REDLOCK=$1 hold -m nightly
  run -0 --separate-stderr "$2" status "$LOCK"
  silent
  has "$LOCK: held (3 of 3 servers)" nightly \
    "warning the holder speaks version $own of the protocol, and this redlock version $other: run the same redlock everywhere"
  run --separate-stderr "$2" status --json "$LOCK"
  is 'l["holder"]["protocol"], l["holder"]["pid"], len(l["warnings"])' "($own, $HOLDER, 1)"
  run -0 --separate-stderr "$2" list --json
  is 'l["holder"]["protocol"], len(l["warnings"])' "($own, 1)"
  run -0 --separate-stderr "$1" status "$LOCK"
  refute_contains "$output" warning
  run --separate-stderr "$2" check "$LOCK"
  assert_contains "$output" '3 of 3 servers usable, 0 failures'
  end_hold
  run -3 "$2" run "$LOCK" -- sh -c 'exit 3'
  wait_until "$BOUND" told_of_both "$1"
  wait_until "$BOUND" told_of_both "$2"
}
@test "versions: status and list --json warn of the other's number, and history has the runs of both" { both_ways tells; }

# ---- what an unknown redlock could leave ------------------------------------------------------------

TOKEN=00000000000000000000000000000000000000aa
LATER='{"protocol":2,"host":"h2","user":"u2","pid":7,"command":"later","seats":{"left":[1,2]},"since":"soon","ttl":null}'
EARLIER='{"host":"h0","user":"u0","pid":7,"command":"earlier"}'

# held_by RECORD: the other redlock holds L, and has stored that about itself.
held_by() {
  everywhere set L $TOKEN px 600000
  everywhere hset 'redlock:{L}:holder' $TOKEN "$1" "fence:$TOKEN" 5 future:$TOKEN '[1]'
}

@test "versions: a lock of a later or an earlier protocol excludes us, and is named" {
  local record who server
  for record in "$LATER" "$EARLIER"; do
    held_by "$record"
    who=$("$PYTHON" -SEIc 'import json, sys; r = json.loads(sys.argv[1]); print(r["user"] + "@" + r["host"])' "$record")
    run -1 --separate-stderr "$REDLOCK" run -v -n L -- echo ran
    [[ -z $output ]] || fail "the job ran"
    assert_contains "$stderr" "is held by $who (pid 7"
    run -1 --separate-stderr "$REDLOCK" run -s -w 1 L -- echo ran
    run -0 --separate-stderr "$REDLOCK" status L
    assert_contains "$output$stderr" "and this redlock version 1: run the same"
    for server in A B C; do
      [[ $(cli "$server" get L) == "$TOKEN" ]] || fail "$server: $(cli "$server" get L)"
      [[ $(cli "$server" hget 'redlock:{L}:holder' future:$TOKEN) == '[1]' ]] || fail "$server lost a field"
    done
  done
}

@test "versions: a value that we do not know is the lock of another program" {
  local value server
  for value in "chaired:$TOKEN" "shared:v2;$TOKEN" "revoked:" 'cooling'; do
    everywhere set L "$value" px 600000
    run -1 --separate-stderr "$REDLOCK" run -w 0.8 L -- echo ran
    [[ -z $output ]] || fail "the job ran beside $value"
    run -0 --separate-stderr "$REDLOCK" status L
    for server in A B C; do [[ $(cli "$server" get L) == "$value" ]] || fail "$server: $(cli "$server" get L)"; done
  done
}

@test "versions: unknown fields beside the lock stay, and its number goes on" {
  local last fence server
  last=$("$REDLOCK" run L -- sh -c 'echo "$REDLOCK_FENCE"')
  everywhere hset 'redlock:{L}:fence' epoch 4
  everywhere hset 'redlock:{L}:waiters' config '{"size":3}'
  fence=$("$REDLOCK" run L -- sh -c 'echo "$REDLOCK_FENCE"')
  ((fence > last)) || fail "$fence after $last"
  for server in A B C; do
    [[ $(cli "$server" hget 'redlock:{L}:fence' epoch) == 4 ]] || fail "$server lost it"
  done
}
