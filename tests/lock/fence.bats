#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# The fencing number: what a server stores of it, and what becomes of a lock whose number cannot be read
# or cannot grow.

load ../lib/common
load ../lib/scripts

teardown() { stop_all; }

# run_lock ARG…: a job that prints its number; sets $output and $stderr.
run_lock() { run_redlock run "$@" L -- sh -c 'echo "$REDLOCK_FENCE"'; }

stored() { cli "$1" hget "$FENCE" value; }

# life SERVER: prints the run_id.
life() { cli "$1" info server | sed -n 's/^run_id:\([0-9a-f]*\).*/\1/p'; }

# ---- one server ------------------------------------------------------------------------------------

@test "fence: it is kept for 30 days after the last grant" {
  servers 1
  takes "$TOKEN"
  assert_between 2591000000 "$(cli A pttl "$FENCE")" 2592000000
  # From the latest grant on.
  cli A pexpire "$FENCE" 60000 >/dev/null
  cli A del L >/dev/null
  takes "$TOKEN"
  assert_between 2591000000 "$(cli A pttl "$FENCE")" 2592000000
}

@test "fence: a number that could not be stored is not given out" {
  server_at_least 6 || skip 'this server knows no users (Redis 6)'
  servers 1
  cli A acl setuser default -hset >/dev/null
  takes "$TOKEN"
  [[ ${lines[-2]} == 0 ]] || fail "$output"
}

# assert_fence_unusable VALUE TEXT: with that number stored no job runs, nothing is written, and redlock immediately says why.
assert_fence_unusable() {
  local before
  before=$(cli A --no-raw dump "$FENCE")
  timed -69 "$REDLOCK" run --server-wait 60s L -- echo ran
  [[ -z $output ]] || fail "the job ran"
  assert_between 0 "$elapsed" 30000
  assert_contains "$stderr" "$A_URI: the fencing number in the key \"$FENCE\" is not usable ($2); delete that key there"
  [[ $(cli A --no-raw dump "$FENCE") == "$before" ]] || fail "it was written"
  assert_no_key A L
}

@test "fence: a number that is none, or too large to grow, or another kind of key, is told, and no job runs" {
  servers 1
  local value run_id
  for run_id in "$(life A)" 0123456789012345678901234567890123456789; do
    for value in abc '' inf nan 1e300 -5 1.5 0x10 ' 7' '7 ' $'a\e[31m'; do
      cli A hset "$FENCE" value "$value" run_id "$run_id" >/dev/null
      assert_fence_unusable "$value" "\"${value//$'\e'/?}\""
    done
    for value in 9007199254740991 9007199254740992 99999999999999999999 20000000000000; do
      cli A hset "$FENCE" value "$value" run_id "$run_id" >/dev/null
      assert_fence_unusable "$value" "$value, far ahead of its clock"
    done
  done
  cli A hset "$FENCE" value "$(head -c 20000 /dev/zero | tr '\0' 1)" >/dev/null
  assert_fence_unusable long '"20000 bytes"'
  cli A set "$FENCE" 7 >/dev/null
  assert_fence_unusable string 'a string'
  cli A del "$FENCE" >/dev/null
  cli A rpush "$FENCE" 7 >/dev/null
  assert_fence_unusable list 'a list'
}

@test "fence: the advice helps: with the key deleted numbers go on from the server's clock" {
  servers 1
  cli A hset "$FENCE" value 9007199254740991 run_id "$(life A)" >/dev/null
  run_lock -69
  cli A del "$FENCE" >/dev/null
  local before last
  before=$(now_ms)
  run_lock -0
  assert_between "$before" "$output" "$(($(now_ms) + 1))"
  last=$output
  run_lock
  ((output > last)) || fail "$output after $last"
}

@test "fence: a number some centuries ahead of the clock is gone on from" {
  servers 1
  cli A hset "$FENCE" value 9000000000000 run_id "$(life A)" >/dev/null
  run_lock -0
  [[ $output == 9000000000001 ]] || fail "$output"
}

@test "fence: it does not keep anybody from joining a lock" {
  servers 1
  run -0 "$REDLOCK" run L -- sh -c 'redis-cli -s "$1" hset "$2" value abc >/dev/null
    "$0" run L -- echo joined' "$REDLOCK" "$A_SOCKET" "$FENCE"
  [[ ${lines[-1]} == joined ]] || fail "$output"
}

@test "fence: check tells of a number that cannot be used" {
  servers 1
  cli A hset "$FENCE" value abc >/dev/null
  run -69 --separate-stderr "$REDLOCK" check L
  assert_contains "$output$stderr" 'is not usable ("abc")'
}

# ---- three servers -----------------------------------------------------------------------------------

@test "fence: a server whose number cannot be used gives no vote, and the others are enough" {
  servers 3
  run_lock
  local last=$output value
  for value in 9007199254740991 abc; do
    wait_until_clean A B C # a quorum is enough for the end of the last run
    cli B hset "$FENCE" value "$value" >/dev/null
    # The job runs until B has answered, too: redlock needs only the other two.
    rm -f "$SCRATCH/go"
    background "$REDLOCK" run -vv L -- sh -c 'echo "$REDLOCK_FENCE"; until [ -e "$0" ]; do sleep 0.02; done' "$SCRATCH/go"
    wait_for_line "$BACKGROUND_ERR" "$B_URI: acquire: the fencing number in the key \"$FENCE\" is not usable"
    : >"$SCRATCH/go"
    await -0 "$BACKGROUND_PID"
    ((last < output && output < last + 1000000000)) || fail "$output after $last"
    last=$output
    [[ $(stored B) == "$value" ]] || fail "it was overwritten: $(stored B)"
    # Also where the others have to agree on one first. (Five is less than the milliseconds that this
    # takes: no number may be ahead of the clock when the keys are deleted below.)
    cli A hset "$FENCE" value $((last + 5)) >/dev/null
    run_lock -0
    ((last + 5 < output && output < last + 1000000000)) || fail "$output after $last"
    last=$output
    [[ $(stored B) == "$value" ]] || fail "it was overwritten: $(stored B)"
  done
  cli C hset "$FENCE" value abc >/dev/null
  run_lock -69
  [[ -z $output ]] || fail "the job ran"
  cli B del "$FENCE" >/dev/null
  cli C del "$FENCE" >/dev/null
  run_lock -0 --restart-grace 0
  ((output > last)) || fail "$output after $last"
}

# missed NAME…: these servers did not get the last five numbers.
missed() {
  local name
  for name in "$@"; do cli "$name" hset "$FENCE" value $((last - 5)) >/dev/null; done
}

# rises SERVER…: with these servers as the list, the next number is larger than the last one.
rises() {
  local name uris=() uri
  for name in "$@"; do
    uri=${name}_URI
    uris+=("${!uri}")
  done
  REDLOCK_SERVERS="${uris[*]}" run_lock -0 -vv --restart-grace 0
  ((output > last)) || fail "$output after $last with $*"
  last=$output
}

@test "fence: it rises while the list shrinks, of a name that nobody used with the list in between, too" {
  servers 5
  local last=0
  rises A B C D E
  missed A B
  kill_server C
  rises A B C
  missed A
  rises A
}

@test "fence: only the first run with another list goes on from the clock" {
  servers 2
  local last=0 before
  rises A B
  before=$last
  rises B A
  ((last == before + 1)) || fail "$last after $before: $stderr"
  # That is one round trip less: servers whose numbers are equal need no commit.
  [[ $stderr != *'commit fence'* ]] || fail "$stderr"
  rises A
  assert_between $((before + 3)) "$last" "$(now_ms)"
  before=$last
  rises A
  ((last == before + 1)) || fail "$last after $before"
  rises A B
  assert_between $((before + 3)) "$last" "$(($(now_ms) + 1))"
}

@test "fence: a number that an earlier version gave goes on from the clock once" {
  servers 1
  local last=5
  cli A hset "$FENCE" value 5 run_id "$(life A)" >/dev/null
  rises A
  assert_between $(($(now_ms) - 60000)) "$last" "$(now_ms)"
  local first=$last
  rises A
  ((last == first + 1)) || fail "$last after $first"
}
