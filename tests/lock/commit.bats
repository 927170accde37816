#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# The script that stores the fencing number of a grant, called as redlock calls it: what it must refuse
# although nothing in a usual run shows it.

# shellcheck disable=SC2153,SC2154 # set by start_server and run

load ../lib/common

TOKEN=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
HOLDER='redlock:{L}:holder'
FENCE='redlock:{L}:fence'

setup() {
  start_server A
  SCRIPT=$(script_of commit)
  RUN_ID=$(cli A info server | sed -n 's/^run_id:\([0-9a-f]*\).*/\1/p')
  cli A set L $TOKEN px 60000
  cli A hset $HOLDER $TOKEN '{}' "fence:$TOKEN" 5
  cli A pexpire $HOLDER 70000
  cli A hset $FENCE value 5 run_id "$RUN_ID"
}
teardown() { stop_all; }

# commit NUMBER: sends the script; sets $output, its answer in one line.
commit() {
  run cli A eval "$SCRIPT" 3 L $HOLDER $FENCE $TOKEN "$1"
  output=${lines[*]}
}

# assert_number N: that is the server's number, and that of the token.
assert_number() {
  [[ $(cli A hget $FENCE value) == "$1" && $(cli A hget $HOLDER "fence:$TOKEN") == "$1" ]] ||
    fail "$(cli A hgetall $FENCE) $(cli A hgetall $HOLDER)"
}

@test "commit: a larger number is stored, as the server's and as the token's" {
  commit 6
  [[ $output == committed ]]
  assert_number 6
}

@test "commit: the same number again is refused, for another one may have it" {
  commit 5
  [[ $output == 'not_committed 5' ]]
  assert_number 5
  commit 6
  commit 6
  [[ $output == 'not_committed 6' ]]
}

@test "commit: a counter of an earlier life of the server is refused" {
  cli A hset $FENCE run_id 0000000000000000000000000000000000000000
  commit 6
  [[ $output == 'not_committed 5' ]]
  assert_number 5
  cli A del $FENCE
  commit 6
  [[ $output == 'not_committed 0' ]]
  assert_no_key A $FENCE
}

@test "commit: nothing is stored for a lock that is another's" {
  cli A set L another px 60000
  commit 6
  [[ $output == 'not_committed 0' ]]
  assert_number 5
}

@test "commit: the holder's hash, if it had expired, comes back with an end" {
  cli A del $HOLDER
  commit 6
  [[ $output == committed ]]
  assert_number 6
  assert_between 60000 "$(cli A pttl $HOLDER)" 70000
}

@test "commit: the holder's hash keeps the end that it has" {
  cli A pexpire $HOLDER 200000
  commit 6
  assert_between 150000 "$(cli A pttl $HOLDER)" 200000
}
