#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# The line of `redlock check --acl`: it has the permissions of redlock-protocol(7) and no others, redis-cli reads it,
# and under it redlock does all that it does. acl.bats shows that each permission of the page's first list is needed.

load ../lib/common
load ../lib/acl

LOCK=nightly-backup # as on the page

setup() { needs_channels; }
teardown() { stop_all; }

# line ARG…: prints the line for the user cron.
line() { "$REDLOCK" check --acl cron "$@"; }

# words ARG…: prints the words of that line that give something, in order.
words() { line "$@" | tr ' ' '\n' | grep '^[~&+]' | LC_ALL=C sort; }

# added ARG…: prints the words that these options add to the line of the lock.
added() { LC_ALL=C comm -13 <(words "$LOCK") <(words "$@" "$LOCK") | paste -sd ' '; }

# permit SERVER ARG…: redis-cli takes the line there, and the user has a password.
permit() {
  [[ $(line "${@:2}" | cli "$1") == OK ]] || fail "$1 did not take: $(line "${@:2}")"
  cli "$1" acl setuser cron '>password' >/dev/null
}

# servers_for_cron N: starts N servers; their URIs in REDLOCK_SERVERS are for that user.
servers_for_cron() {
  servers "$1"
  REDLOCK_SERVERS=${REDLOCK_SERVERS//unix:\/\//unix://cron:password@}
}

# ends STATUS ARG…: redlock ARG… does.
ends() {
  run --separate-stderr "$REDLOCK" "${@:2}"
  assert_status "$1"
}

@test "acl line: the list of redlock-protocol(7), and what history needs" {
  acl_of_page
  [[ $(line "$LOCK") == 'ACL SETUSER cron on resetkeys resetchannels -@all '* ]] || fail "$(line "$LOCK")"
  (($(line "$LOCK" | wc -l) == 1))
  diff <(printf '%s\n' "${ACL[@]:4}" +xrevrange +xlen | LC_ALL=C sort) <(words "$LOCK")
}

@test "acl line: each option adds what redlock-protocol(7) says" {
  local key="~redlock:{$LOCK}:" page word
  [[ $(added -s) == "${key}readers" ]]
  [[ $(added --slots 3) == "${key}readers" ]]
  [[ $(added --once 1h) == "+xdel ${key}done" ]]
  [[ $(added --build 4) == "+xdel ${key}build" ]]
  [[ $(added --newest) == "+xdel ${key}newest" ]]
  [[ $(added --as redisson) == \
    "&redisson_lock__channel:{$LOCK}* +hgetall +hlen +lindex +spublish ~redisson_lock_queue:{$LOCK}" ]]
  [[ $(added --replicas 1) == +wait ]]
  [[ $(added -S unix:///s -S 'unix:///t?db=2') == +select ]]
  [[ $(added -S redis+cluster://h) == '+asking +spublish +ssubscribe' ]]
  [[ $(added -S redis+sentinel://h/s) == +role ]]
  page=$(sed -n '/^\.Sh PERMISSIONS/,/^\.Sh /p' "$SOURCE/man/redlock-protocol.7")
  for word in $(added -s --once 1h --build 4 --newest --as redisson --replicas 1 -S 'unix:///t?db=2' \
    -S redis+cluster://h -S redis+sentinel://h/s); do
    [[ $page == *"$word"* ]] || fail "$word is not on the page"
  done
}

@test "acl line: with it nothing that redlock does is denied" {
  # acl.bats does the rest under the permissions of the page.
  local server token
  servers_for_cron 3
  for server in A B C; do permit "$server" --newest --build 1 --once 1h "$LOCK"; done
  start_job
  background "$REDLOCK" run -w 60 "$LOCK" -- true
  wait_until "$BOUND" has_key C "redlock:{$LOCK}:queue"
  ends 0 status -v "$LOCK"
  assert_contains "$output" 'waiting'
  end_job
  await -0 "$BACKGROUND_PID"
  token=$("$REDLOCK" hold --for 1h "$LOCK")
  ends 0 renew --for 2h "$LOCK" "$token"
  ends 0 release "$LOCK" "$token"
  start_job
  ends 0 release --force --yes --wait "$LOCK"
  await -80 "$JOB"
  ends 0 run --newest --build 2 "$LOCK" -- true
  ends 1 run --build 1 "$LOCK" -- true
  ends 1 run --build 1 "$LOCK" -- true
  ends 0 run --once 1h "$LOCK" -- true
  ends 0 run --once 1h "$LOCK" -- false
  ends 3 run --hold-on-failure 1h "$LOCK" -- sh -c 'exit 3'
  ends 0 release --force --yes "$LOCK"
  ends 0 release --forget-build "$LOCK"
  ends 0 history "$LOCK"
  assert_contains "$output" 'exit 3'
  assert_nothing_denied A B C
}

@test "acl line: each word that an option adds is needed" {
  local word less all=(-s --newest --build 1 --once 1h "$LOCK")
  servers_for_cron 1
  for word in readers newest build 'done' +xdel +xrevrange +xlen; do
    [[ $word == +* ]] || word="~redlock:{$LOCK}:$word"
    permit A "${all[@]}"
    start_job
    less=$(line "${all[@]}" | sed "s/ $word\b//")
    [[ $less != "$(line "${all[@]}")" ]] || fail "$word is not in the line"
    [[ $(cli A <<<"$less") == OK ]]
    "$REDLOCK" run --newest -w 100ms "$LOCK" -- true || true
    let_go
    await "$JOB"
    "$REDLOCK" run -n -s --server-wait 0 "$LOCK" -- true || true
    for _ in 1 2; do "$REDLOCK" run -n --once 1h --server-wait 0 "$LOCK" -- true || true; done
    "$REDLOCK" run -n --build 2 --server-wait 0 "$LOCK" -- true || true
    for _ in 1 2; do "$REDLOCK" run -n --build 1 --server-wait 0 "$LOCK" -- true || true; done
    "$REDLOCK" history "$LOCK" || true
    [[ $(denied A) == "${word#[~+]}" ]] || fail "without $word: $(cli A acl log)"
    cli A flushall >/dev/null
  done
}

@test "acl line: any name, and no other one" {
  servers_for_cron 1
  local name other
  for name in 'a*b?c[d]e\f^g' '{t*}"x' "it's a \"name\"" $'caf\xc3\xa9 \\x41' '~&+>'; do
    permit A "$name"
    ends 5 run -n "$name" -- sh -c 'exit 5'
    assert_nothing_denied A
  done
  for name in 'a*b' 'a?b' 'a[x]b' 'a\xb'; do
    permit A "$name"
    for other in axb axxb; do ends 69 run -n "$other" -- true; done
  done
  # Blanks are the one exception.
  permit A 'a b'
  ends 0 run -n axb -- true
}

@test "acl line: without a name, for all locks with the prefix" {
  servers_for_cron 1
  local prefix
  for prefix in 'app:' 'my "*" app:' '{tag}:' ''; do
    export REDLOCK_PREFIX=$prefix
    permit A
    ends 5 run -n one -- sh -c 'exit 5'
    [[ $prefix == *'{'* ]] || ends 5 run -n '{t}two' -- sh -c 'exit 5'
    "$REDLOCK" acquire three
    ends 0 list
    assert_contains "$output" three
    ends 0 release --force --yes three
    assert_nothing_denied A
    [[ -z $prefix ]] || REDLOCK_PREFIX=other: ends 69 run -n one -- true
    denied A >/dev/null
  done
  [[ $(added --as redisson) == *'&redisson_lock__channel:{'* ]]
  diff <(line --as redisson | tr ' ' '\n' | grep '^[~&]') - <<<$'&redisson_lock__channel:*\n&redlock-tag:*\n&redlock:{*\n~*'
}

@test "acl line: it takes what the user had before, and no password" {
  start_server A
  local as=(--user cron --pass password --no-auth-warning)
  cli A acl setuser cron on '>password' '~*' '&*' +@all >/dev/null
  [[ $(line "$LOCK" | cli A) == OK ]]
  [[ $(redis-cli -s "$A_SOCKET" "${as[@]}" get "$LOCK") == '' ]]
  [[ $(redis-cli -s "$A_SOCKET" "${as[@]}" get other 2>&1) == *NOPERM* ]]
  [[ $(redis-cli -s "$A_SOCKET" "${as[@]}" set other x 2>&1) == *NOPERM* ]]
  [[ $(redis-cli -s "$A_SOCKET" "${as[@]}" flushall 2>&1) == *NOPERM* ]]
  # A new user cannot log in before there is a password.
  cli A acl deluser cron >/dev/null
  [[ $(line "$LOCK" | cli A) == OK ]]
  [[ $(redis-cli -s "$A_SOCKET" "${as[@]}" get "$LOCK" 2>&1) == *WRONGPASS* ]]
}

@test "acl line: it asks no server and needs none, and what it cannot print it refuses" {
  unset REDLOCK_SERVERS
  ends 0 check --acl cron "$LOCK"
  [[ -z $stderr ]]
  REDLOCK_SERVERS=redis://127.0.0.1:1 ends 0 check --acl cron "$LOCK"
  [[ -z $stderr ]]
  local user
  for user in '' ' ' 'a b' $'a\nb' $'\e[2J' default; do
    ends 64 check --acl "$user" "$LOCK"
    [[ -z $output && $(wc -l <<<"$stderr") == 1 ]] || fail "$output" "$stderr"
    assert_contains "$stderr" '--acl: expected '
  done
  # What a script writes with an empty variable must not mean all locks.
  ends 64 check --acl cron ''
  ends 64 check --acl cron --json "$LOCK"
}
