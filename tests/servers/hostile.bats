#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=memory,slowest
#
# Servers that mean harm, or are broken: whatever one says, every command ends in bounded time, with
# bounded memory, a status of its own and no more than lines of its own. tests/hostile/README.md. How much
# redlock reads of what never ends: floods.bats.

load ../lib/common
load ../lib/hostile

setup() {
  unset REDLOCK_SERVERS
  export REDLOCK_SERVER_TIMEOUT=500ms
}
teardown() { stop_all; }

# all_meet MODE…: all commands meet each of these servers, as servers of that KIND.
all_meet() {
  local mode
  for mode in "$@"; do
    hostile_server "$mode"
    HOSTILE_URI=${KIND-redis}://127.0.0.1:$HOSTILE_PORT${SERVICE-}
    meets || fail "mode $mode"
    stop_servers
  done
}

@test "hostile: replies of sizes that cannot be, or have no end" {
  all_meet huge-bulk huge-array lengths endless-line huge-error
}

@test "hostile: arrays in arrays" {
  all_meet deep-arrays wide-arrays
}

@test "hostile: replies of other types, too many, half of one, or none" {
  all_meet types unasked half-reply tls
}

@test "hostile: replies that come byte by byte, or never" {
  REDLOCK_SERVER_TIMEOUT=100ms all_meet trickle silence
}

@test "hostile: long records of waiters, INFO without measure, floods of word" {
  all_meet huge-waiters huge-info pushes turns
}

@test "hostile: numbers and times at the ends of what can be counted" {
  all_meet big-numbers small-numbers odd-numbers
}

@test "hostile: what terminals obey, wherever there is text" {
  all_meet escapes escapes-held escapes-revoked escapes-replica escapes-error
}

@test "hostile: nodes of a Cluster that send in circles" {
  KIND=redis+cluster all_meet moved moved-first moved-flood moved-escapes moved-huge
}

@test "hostile: Sentinels" {
  KIND=redis+sentinel SERVICE=/redlock all_meet names-escapes names-much names-fields silence
}

@test "hostile: list is not led in circles, and says so" {
  hostile_server same-cursor
  meets list list-json list-none
  assert_contains "$output" 'list-none: status 69' "redlock: warning: $HOSTILE_URI repeats the same page of locks"
  run --separate-stderr "$REDLOCK" list --json -S "$HOSTILE_URI"
  "$PYTHON" -SEIc 'import json, sys
assert json.loads(sys.argv[1])["servers"][0]["error"].startswith("repeats the same page of locks")' "$output"
}

@test "hostile: the attack sees what it looks for" {
  # Killed, too slow, too large, an unprintable character, a line that is not redlock's.
  cat >"$SCRATCH/fake" <<'FAKE'
#!/bin/bash
case $1 in
run) kill -SEGV $$ ;;
list) head -c 700000000 /dev/zero | tail -c 600000000 >/dev/null ;;
status) printf 'a\u009bb' ;;
history) echo 'Segmentation fault' >&2 ;;
check) exit 71 ;;
esac
FAKE
  chmod +x "$SCRATCH/fake"
  run -1 "$PYTHON" -B "$TESTS/hostile/attack.py" "$SCRATCH/fake" 30 400 redis://x run list status history check renew
  assert_contains "$output" 'run: status -11' 'FAILED, killed by SIGSEGV'
  [[ $output == *list:*' MiB FAILED, '*' MiB:'* ]] || fail "$output"
  assert_contains "$output" 'U+009B on stdout' "a line that is not redlock's" 'FAILED, status 71'
  [[ $output =~ 'renew: status 0, '[^F]*': ' ]] || fail "$output"
}
