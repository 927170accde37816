#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# VERSIONS in redlock-protocol(7): what redlock does when it meets a redlock of another protocol. The other one is
# played by what it leaves on the servers: a later one writes fields, values, waiters and events that this one does
# not know; an earlier one lacks fields.

# shellcheck disable=SC2153,SC2154 # A_SOCKET and the like are set by start_server

load ../lib/common

TOKEN=00000000000000000000000000000000000000aa
LATER='{"protocol":2,"host":"h2","user":"u2","pid":7,"command":"later","seats":{"left":[1,2]},"since":"soon","ttl":null}'
EARLIER='{"host":"h0","user":"u0","pid":7,"command":"earlier"}'

setup() {
  local server
  REDLOCK_SERVERS=
  for server in A B C; do
    start_server "$server"
    local -n uri=${server}_URI
    REDLOCK_SERVERS+="$uri "
  done
  export REDLOCK_SERVERS
}

teardown() { stop_all; }

everywhere() {
  local server
  for server in A B C; do cli "$server" "$@" >/dev/null; done
}

# held_by RECORD: the other redlock holds L, and has stored that about itself.
held_by() {
  everywhere set L $TOKEN px 600000
  everywhere hset 'redlock:{L}:holder' $TOKEN "$1" "fence:$TOKEN" 5 future:$TOKEN '[1]'
}

@test "versions: a lock of a later or an earlier protocol excludes us, and is named" {
  local record who server
  for record in "$LATER" "$EARLIER"; do
    held_by "$record"
    who=$("$PYTHON" -c 'import json, sys; r = json.loads(sys.argv[1]); print(r["user"] + "@" + r["host"])' "$record")
    run --separate-stderr "$REDLOCK" run -v -n L -- echo ran
    assert_status 1
    [[ -z $output ]] || fail "the job ran"
    assert_contains "$stderr" "is held by $who (pid 7"
    run --separate-stderr "$REDLOCK" run -s -w 0.2 L -- echo ran
    assert_status 1
    run --separate-stderr "$REDLOCK" status L
    assert_status 0
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
    run --separate-stderr "$REDLOCK" run -w 0.3 L -- echo ran
    assert_status 1
    [[ -z $output ]] || fail "the job ran beside $value"
    run --separate-stderr "$REDLOCK" status L
    assert_status 0
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

@test "versions: a waiter of a kind that we do not know holds nobody up, and is shown" {
  local now
  now=$(now_ms)
  everywhere zadd 'redlock:{L}:queue' "$((now - 60000))" zz00000000000000000b
  everywhere zadd 'redlock:{L}:alive' "$((now + 20000))" zz00000000000000000b
  everywhere hset 'redlock:{L}:waiters' zz00000000000000000b "$LATER" mood:zz00000000000000000b 1
  run --separate-stderr "$REDLOCK" run -w 20 L -- echo ran
  assert_status 0
  [[ $output == ran ]]
}

@test "versions: release --force revokes a lock of a later protocol" {
  held_by "$LATER"
  run --separate-stderr "$REDLOCK" release --force --yes L
  assert_status 0
  local server
  for server in A B C; do
    wait_until "$BOUND" eval '[[ $(cli "$server" get L) == "revoked:$TOKEN"* ]]'
  done
}

@test "versions: history skips events of a later protocol" {
  "$REDLOCK" run L -- sh -c 'exit 3' || true
  wait_until "$BOUND" eval '[[ $(cli A xlen "redlock:{L}:log") -ge 1 && $(cli B xlen "redlock:{L}:log") -ge 1 ]]'
  everywhere xadd 'redlock:{L}:log' '*' event handed_over run aa data "$LATER" count 1
  everywhere xadd 'redlock:{L}:log' '*' what ever
  run --separate-stderr "$REDLOCK" history L
  assert_status 0
  assert_contains "$output" 3
  refute_contains "$output" handed_over
}
