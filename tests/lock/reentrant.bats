#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=memory
#
# A redlock in the job of a redlock: the same lock is joined, another one is another.

load ../lib/common

teardown() { stop_all; }

# outliving: starts an outer run whose job leaves an inner one behind; sets $OUTER. The inner one's
# job ends once $SCRATCH/end is there.
outliving() {
  background "$REDLOCK" run "$@" L -- sh -c '
    "$0" run -m inner --ttl 2s L -- sh -c "echo \$\$ >\"\$0/inside\"; until [ -e \"\$0/end\" ]; do sleep 0.05; done" "$1" &
    until [ -e "$1/inside" ]; do sleep 0.05; done' "$REDLOCK" "$SCRATCH"
  OUTER=$BACKGROUND_PID
  wait_for "$SCRATCH/inside"
}

@test "reentrant: the same lock inside runs immediately, with the same token and fence, at any depth" {
  local n
  for n in 1 3; do
    servers "$n"
    run -7 --separate-stderr "$REDLOCK" run L -- "$REDLOCK" run -n L -- "$REDLOCK" run -n L -- \
      sh -c 'echo "$REDLOCK_NAME $REDLOCK_TOKEN"; exit 7'
    [[ -z $stderr ]] || fail "$stderr"
    [[ $output == 'L '* ]]
    wait_until_clean A
    stop_servers
  done
  servers 3
  run "$REDLOCK" run L -- sh -c 'echo "$REDLOCK_TOKEN $REDLOCK_FENCE"
    for i in $(seq 500); do test "$(redis-cli -s "$1" exists L)" = 0 || break; sleep 0.05; done
    "$0" run L -- sh -c "echo \"\$REDLOCK_TOKEN \$REDLOCK_FENCE\""
    redis-cli -s "$1" get L' "$REDLOCK" "$A_SOCKET"
  [[ ${lines[0]} == "${lines[1]}" ]] || fail "$output"
  # The inner one has ended: the lock is still the outer's.
  [[ ${lines[2]} == "${lines[0]% *}" ]] || fail "$output"
  wait_until_clean A
}

@test "reentrant: --no-reentrant gives the plain conflict" {
  servers 1
  run -1 "$REDLOCK" run L -- "$REDLOCK" run -n --no-reentrant L -- true
}

@test "reentrant: another name, and another set of servers, are another lock" {
  servers 1
  start_server D
  run -0 "$REDLOCK" run L -- sh -c '
    "$0" run -n M -- "$0" run -n L -- "$0" run -n M -- true || exit 9
    "$0" run -n -S "$1" L -- sh -c "echo \$REDLOCK_TOKEN" || exit 8
    echo "$REDLOCK_TOKEN"' "$REDLOCK" "$D_URI"
  [[ ${lines[0]} != "${lines[1]}" ]] || fail "$output"
  assert_nothing_left A
  assert_nothing_left D
}

@test "reentrant: an inner run that outlives the outer one keeps the lock, and releases it" {
  servers 3
  outliving --ttl 2s
  wait_for_key A L
  local token
  token=$(cli A get L)
  await -0 "$OUTER"
  outlast A L # the inner one renews it
  [[ $(cli A get L) == "$token" ]] || fail "the key: $(cli A get L)"
  run -1 "$REDLOCK" run -n L -- true
  echo >"$SCRATCH/end"
  wait_until_clean A B C
}

@test "reentrant: an inner run that outlives the outer one is named as the holder, with its own ttl" {
  servers 1
  outliving --ttl 60s
  await -0 "$OUTER"
  wait_until "$BOUND" names_inner
  run -1 "$REDLOCK" run -n -v L -- true
  assert_contains "$output" '"inner")'
  refute_contains "$output" 'may be dead'
  echo >"$SCRATCH/end"
  wait_until_clean A
}
names_inner() { [[ $("$REDLOCK" status --json L) == *'"message": "inner"'* ]]; }

@test "reentrant: the minimum hold of an outer run is kept when the inner one ends last" {
  servers 1
  outliving --min-hold 60s
  await "$OUTER"
  echo >"$SCRATCH/end"
  wait_until "$BOUND" cools A L
  assert_between 40000 "$(cli A pttl L)" 60000
}

@test "reentrant: a release by the token while an inner run holds the lock does not free it: 1, and why" {
  servers 1
  run --separate-stderr "$REDLOCK" run L -- "$REDLOCK" run L -- sh -c '"$0" release L "$REDLOCK_TOKEN"; echo "$?"
    redis-cli -s "$1" get L' "$REDLOCK" "$A_SOCKET"
  [[ ${lines[0]} == 1 && ${lines[1]} =~ ^[0-9a-f]{40}$ ]] || fail "$output"
  assert_contains "$stderr" 'redlock: lock "L" is still held: a run inside the one with this token holds it, too'
  wait_until_clean A
}

@test "reentrant: a run that had to kill the one inside says that the lock may stay" {
  servers 1
  run --separate-stderr "$REDLOCK" run --ttl 3s --max-runtime 0.5 L -- sh -c '
    "$0" run --ttl 3s L -- sh -c "trap \"\" TERM; sleep 60"; true' "$REDLOCK"
  assert_status 124
  assert_contains "$stderr" 'warning: lock "L" may stay locked until the ttl of a run inside has passed: that run was killed, and could not release it'
  run -0 "$REDLOCK" run -w 20s L -- true
}

@test "reentrant: an inner run notices that the lock is lost" {
  servers 1
  outliving
  await "$OUTER"
  cli A set L theirs px 60000
  wait_until "$BOUND" no_job
  [[ $(cli A get L) == theirs ]]
}
no_job() { gone "$(<"$SCRATCH/inside")"; }

@test "reentrant: what REDLOCK_HELD says is checked on the servers" {
  servers 1
  local held
  held=$("$REDLOCK" run L -- sh -c 'echo "$REDLOCK_HELD"')
  assert_contains "$held" ':4c'
  # Not held any more: a lock like any other.
  run -0 env REDLOCK_HELD="$held" "$REDLOCK" run -n L -- sh -c 'echo "$REDLOCK_TOKEN"'
  [[ $output != "${held%%:*}" ]] || fail "the old token: $output"
  assert_nothing_left A
  # Held by somebody else.
  cli A set L theirs px 60000
  run -1 env REDLOCK_HELD="$held" "$REDLOCK" run -n L -- true
  [[ $(cli A get L) == theirs ]]
  # Nonsense.
  cli A del L
  run -0 env REDLOCK_HELD=:::: "$REDLOCK" run -n L -- true
}

@test "reentrant: who cannot be noted among the holders does not wait for its own ancestor: 69, and why" {
  servers 1
  local what why
  for what in 'del redlock:{L}:holder' 'config set maxmemory 1'; do
    why='list of holds'
    [[ $what != config* ]] || why=maxmemory
    run -69 timeout "$BOUND" "$REDLOCK" run --ttl 60s L -- sh -c '
      redis-cli -s "$1" $2 >/dev/null
      exec "$0" run --server-wait 100ms --ttl 10s L -- true' "$REDLOCK" "$A_SOCKET" "$what"
    assert_contains "$output" "$why"
    assert_no_key A L
  done
}

@test "reentrant: a run that waits for another holder joins its ancestor if that has the lock again" {
  servers 1
  background "$REDLOCK" run --ttl 60s L -- sh -c '
    until [ -e "$3/go" ]; do sleep 0.05; done
    redis-cli -s "$1" set L other px 1000
    exec timeout "$2" "$0" run L -- sh -c "echo \$REDLOCK_TOKEN"' "$REDLOCK" "$A_SOCKET" "$BOUND" "$SCRATCH"
  wait_until_settled A
  touch "$SCRATCH/go"
  wait_for_key A 'redlock:{L}:queue'
  local token
  token=$(cli A hkeys 'redlock:{L}:holder' | sed -n 's/^fence://p')
  cli A set L "$token" px 60000
  await -0 "$BACKGROUND_PID"
  assert_contains "$output" "$token"
  assert_no_key A L
}

@test "reentrant: one server of three that is down, or was restarted empty, does not matter" {
  servers 3
  run -0 "$REDLOCK" run L -- sh -c '
    kill -KILL "$1"
    "$0" run -n L -- true' "$REDLOCK" "$C_PID"
  wait_until_clean A
  restart_server C
  background "$REDLOCK" run L -- sh -c 'echo >"$1/outside"; until [ -e "$1/go" ]; do sleep 0.05; done
    exec "$0" run -n L -- true' "$REDLOCK" "$SCRATCH"
  wait_for "$SCRATCH/outside"
  restart_server B
  echo >"$SCRATCH/go"
  await -0 "$BACKGROUND_PID"
  wait_until_clean A C
}
