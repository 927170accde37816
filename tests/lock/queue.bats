#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole,slow
#
# The queue of the waiters for a lock: how they join and leave it; and that nothing depends on it where the
# servers do not permit it, or have nonsense in it.

load ../lib/common
load ../lib/acl
load ../lib/looking
load ../lib/queue

teardown() { stop_all; }

# ---- who stands in it --------------------------------------------------------------------------

@test "queue: a waiter is in it on every server, a run that does not wait is not" {
  servers 3
  hold
  "$REDLOCK" run -n L -- true || assert_nobody_waits
  "$REDLOCK" run -w 0 L -- true || assert_nobody_waits
  "$REDLOCK" acquire -n L || assert_nobody_waits
  waiter one
  local server key
  for server in A B C; do
    [[ $(cli "$server" zcard "$QUEUE") == 1 ]]
    [[ $(cli "$server" zcard "$ALIVE") == 1 ]]
    [[ $(cli "$server" hlen "$WAITERS") == 1 ]]
    # For another 20 s from the last time it asked.
    for key in "$QUEUE" "$ALIVE" "$WAITERS"; do assert_between 1 "$(cli "$server" pttl "$key")" 20000; done
  done
  # With the same ticket on all of them.
  [[ $(for server in A B C; do cli "$server" zrange "$QUEUE" 0 -1 withscores; done | sort -u | wc -l) == 2 ]]
  # With no word of its own that anybody could tell from the lock's.
  [[ $(cli A hgetall "$WAITERS") != *"$(cli A get L)"* ]]
}

@test "queue: nor is the one that has the lock in it, while its job runs" {
  servers 3
  hold
  background "$REDLOCK" run L -- sh -c 'echo x >"$0"; exec sleep 600' "$SCRATCH/second"
  wait_until "$BOUND" queued 1
  let_go
  wait_for "$SCRATCH/second"
  wait_until "$SOON" nobody_waits
  wait_until "$SOON" listening 0
}

@test "queue: --max-waiting ends a run that finds as many waiters, and history counts it among those refused" {
  servers 3
  line_up one two
  local before=$EPOCHSECONDS
  run -1 --separate-stderr "$REDLOCK" run --max-waiting 2 -w 600 L -- touch "$SCRATCH/ran"
  assert_contains "$stderr" '; 2 runs wait already (--max-waiting 2), giving up (status 1)'
  run -7 --separate-stderr "$REDLOCK" acquire --max-waiting 1 -E 7 -q L
  [[ -z $stderr && -z $output ]] || fail "$output" "$stderr"
  ((EPOCHSECONDS - before < 60))
  [[ ! -e $SCRATCH/ran ]]
  queued 2
  wait_until "$BOUND" refused_here 2
  # One more may wait, and keeps its place whoever comes after it.
  waiter three --max-waiting 3
  run -1 "$REDLOCK" run --max-waiting 0 L -- true # as -n
  queued 3
  let_go
  await -0 "$three"
}
# refused_here COUNT: a server remembers that many runs of this host that gave up. A run ends when a quorum has answered.
refused_here() {
  local each
  for each in A B C; do
    [[ $(cli "$each" hget 'redlock:{L}:fence' "refused:$(uname -n)") != "$1 "* ]] || return 0
  done
  return 1
}

@test "queue: a waiter that gives up leaves it: at the limit of -w, and by a signal" {
  servers 3
  hold
  local signal
  listen_in A
  run -1 "$REDLOCK" run -w 1s L -- true
  wait_for_line "$SCRATCH/monitor.A" '"ZADD" "redlock:{L}:queue"' # it was in it
  wait_until "$SOON" nobody_waits
  for signal in TERM INT HUP; do
    waiter one
    kill -s "$signal" "$one"
    await "$one"
    assert_status "$((128 + $(kill -l "$signal")))"
    wait_until "$SOON" nobody_waits
  done
  background "$REDLOCK" acquire L
  wait_until "$BOUND" queued 1
  terminate "$BACKGROUND_PID"
  wait_until "$SOON" nobody_waits
  # And as nobody is left for whom the lock was to be kept.
  background sleep 600
  local ward=$BACKGROUND_PID
  background "$REDLOCK" acquire --keep-for "$ward" L
  wait_until "$BOUND" queued 1
  kill -KILL "$ward"
  await -64 "$BACKGROUND_PID"
  wait_until "$SOON" nobody_waits
}

@test "queue: a waiter that was killed is in it until its time is over, and holds nobody up" {
  servers 1
  line_up one two
  kill -KILL "$one"
  wait_gone "$one"
  wait_until "$BOUND" listening 1
  local dead second
  read -r dead second < <(in_queue A | paste -sd ' ')
  waiting L
  is 'l["waiting"]' 2
  # It was to count until 20 s after the last time that it asked. The test does not wait that long: it puts back
  # the time in that record.
  assert_between "$(($(now_ms) + 5000))" "$(until_when A "$dead")" "$(($(now_ms) + 20000))"
  cli A zadd "$ALIVE" "$(($(now_ms) - 1))" "$dead" >/dev/null
  waiting L
  is 'l["waiting"], l["waiters"][0]["pid"]' "(1, $two)"
  listen_in A
  let_go
  await -0 "$two"
  # It was not even called, as nobody would have heard.
  heard_by A free "$second"
  refute_contains "$(calls A)" "$dead"
}

# ---- where there is no queue ---------------------------------------------------------------------

# asked_on SERVER BEFORE: the waiter has had several rounds there since evals was BEFORE.
asked_on() { (($(evals "$1") >= $2 + 4)); }

# limited WORD…: a server A whose user cron may do what the words say and no more; REDLOCK_SERVERS is
# for that user.
limited() {
  needs_users
  start_server A --user cron on '>password' '~L' '~redlock:{L}:holder' '~redlock:{L}:fence' \
    '~redlock:{L}:dead' '~redlock:{L}:log' +@all "$@"
  export REDLOCK_SERVERS="unix://cron:password@${A_URI#unix://}"
}

@test "queue: without the permission for its keys one waits as before, and nothing is said of that" {
  needs_users
  limited "${CHANNELS[@]}"
  hold
  local before
  before=$(evals A)
  background "$REDLOCK" run L -- true
  local waits=$BACKGROUND_PID
  wait_until 10 asked_on A "$before"
  run -0 --separate-stderr "$REDLOCK" status --json L
  [[ -z $stderr ]] || fail "$stderr"
  is 'l["waiting"], l["waiters"]' '(None, None)'
  run -0 --separate-stderr "$REDLOCK" list
  [[ -z $stderr ]] || fail "$stderr"
  has "$(id -un)@$(uname -n)"
  assert_no_key A "$QUEUE"
  let_go
  await -0 "$waits"
  [[ -z $stderr ]] || fail "$stderr"
  await -0 "$HOLDER"
  [[ -z $stderr ]] || fail "$stderr"
}

@test "queue: without the permission to listen one is in it, and asks by itself" {
  needs_channels
  limited "~$QUEUE" "~$ALIVE" "~$WAITERS" "~$TURN" resetchannels
  hold
  background "$REDLOCK" run L -- true
  local waits=$BACKGROUND_PID
  wait_until "$BOUND" queued 1
  waiting L
  is 'l["waiters"][0]["pid"]' "$waits"
  let_go
  await -0 "$waits"
  [[ -z $stderr ]] || fail "$stderr"
  await -0 "$HOLDER"
  [[ -z $stderr ]] || fail "$stderr"
  # It was refused once, and has not tried again.
  (($(cli A acl log | grep -c "wake:") <= 2)) || fail "$(cli A acl log)"
  wait_until "$BOUND" has_no_keys A
}

@test "queue: without the permission to read the clock one is not in it, and nobody loses a place" {
  servers 1
  needs_users
  hold
  plant A 2 1000 20000 '{}'
  local counts
  counts=$(until_when A planted1)
  cli A acl setuser blind on '>password' '~*' "${CHANNELS[@]}" +@all -time
  run -1 "$REDLOCK" run -S "unix://blind:password@${A_URI#unix://}" -w 1s L -- true
  [[ $(until_when A planted1) == "$counts" ]] || fail "$counts has become $(until_when A planted1)"
  [[ $(in_queue A) == $'planted1\nplanted2' ]] || fail "$(in_queue A)"
  end_hold
  # It finds the lock free, and gives nobody the turn.
  plant A 1 1000 40000 '{}'
  run -0 "$REDLOCK" run -S "unix://blind:password@${A_URI#unix://}" -n L -- true
  [[ $(cli A hexists "$WAITERS" mark:planted1) == 0 ]] || fail 'planted1 had a turn'
}

# ---- nonsense in it ------------------------------------------------------------------------------

@test "queue: its keys are something else: looking and waiting go on" {
  servers 1
  hold
  local made waits
  # Without a queue it asks by itself, five times in a second or so. In the queue, that would take 15 s.
  for made in "5 set $QUEUE x" "5 hset $ALIVE x 1" "2 sadd $WAITERS x" "2 lpush $TURN x"; do
    # shellcheck disable=SC2086 # words
    cli A ${made#* } >/dev/null
    background "$REDLOCK" run -vv L -- true
    waits=$BACKGROUND_PID
    wait_until 10 refused_more "$waits" $((${made%% *} - 1))
    run -0 --separate-stderr "$REDLOCK" status L
    [[ -z $stderr ]] || fail "$stderr"
    has 'L: held (1 of 1 server)'
    waiting L
    run -0 --separate-stderr "$REDLOCK" list
    has 'L held 1/1'
    let_go
    await -0 "$waits"
    refute_contains "$stderr" warning
    await -0 "$HOLDER"
    cli A del "$QUEUE" "$ALIVE" "$WAITERS" "$TURN" >/dev/null
    hold
  done
}

@test "queue: odd entries in it: valid facts are told, and present waiters are woken" {
  servers 1
  line_up one
  local later=$(($(now_ms) + 15000)) long
  long=$(head -c 100000 /dev/zero | tr '\0' x)
  cli A zadd "$QUEUE" 1 none 2 empty 3 words 4 late 5 never 6 past 7 text 8 json inf forever -inf ever \
    "$(now_ms)" "$long" "$(now_ms)" $'\e[31mred\x9b' >/dev/null
  cli A zadd "$ALIVE" "$later" empty "$later" words $((later + 3600000)) late inf never 1000 past "$later" text \
    "$later" json "$later" forever "$later" ever "$later" "$long" "$later" $'\e[31mred\x9b' >/dev/null
  printf '%s' "$long" | cli A -x hset "$WAITERS" text >/dev/null
  cli A hset "$WAITERS" empty '' words 'no JSON' late '{}' never '{}' past '{}' \
    json '{"user":[],"host":{},"pid":"x","command":7}' forever '{}' ever '{}' "$long" '{}' \
    $'\e[31mred\x9b' '{"user":"\u001b[31m","host":"h\nredlock: fake","pid":1,"command":"x"}' mark: x mark:x '' >/dev/null
  run -0 --separate-stderr "$REDLOCK" status -v L
  [[ -z $stderr ]] || fail "$stderr"
  has 'unidentified, for ' "(pid $one, "
  refute_contains "$output" $'\e' $'\nredlock: fake'
  ((${#output} < 10000)) || fail "${#output} characters"
  waiting L
  is "$one in [w['pid'] for w in l['waiters']]" True
  end_hold
  word A free "$(waiter_of "$one")" # or it asks within 5 s
  await -0 "$one"
}

@test "queue: a server that hangs up on whoever listens is not asked more often for it" {
  servers 1
  hold
  start_listener DEAF listener.py deaf "$A_SOCKET"
  local began seen most
  began=$(now_ms)
  background "$REDLOCK" run -vv -S "$DEAF_URI" L -- true
  local waits=$BACKGROUND_PID
  wait_until "$BOUND" refused_more "$waits" 1
  nap 1
  # At once, as soon as it listens, and then every 100 ms at the most.
  seen=$(refusals "$waits")
  most=$((3 + ($(now_ms) - began) / 90))
  ((seen <= most)) || fail "$seen times within $(($(now_ms) - began)) ms"
}
