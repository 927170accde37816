#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# --as redisson: redlock and Redisson's RLock exclude each other. redis-cli plays Redisson here, with its scripts to the
# letter; tests/interop has the real one.

load ../lib/common
load ../lib/looking
load ../lib/queue
load ../lib/acl
load ../lib/topology
load ../lib/cluster

ID=8a4ef9e2-91b5-4d4c-a2c9-6e5f07f1a7f9:63
CHANNEL='redisson_lock__channel:{L}'
LOCK_SCRIPT='if ((redis.call("exists", KEYS[1]) == 0) or (redis.call("hexists", KEYS[1], ARGV[2]) == 1)) then
  redis.call("hincrby", KEYS[1], ARGV[2], 1); redis.call("pexpire", KEYS[1], ARGV[1]); return nil; end;
  return redis.call("pttl", KEYS[1]);'
UNLOCK_SCRIPT='if (redis.call("hexists", KEYS[1], ARGV[3]) == 0) then return nil; end;
  local counter = redis.call("hincrby", KEYS[1], ARGV[3], -1);
  if (counter > 0) then redis.call("pexpire", KEYS[1], ARGV[2]); return 0;
  else redis.call("del", KEYS[1]); redis.call("publish", KEYS[2], ARGV[1]); return 1; end; return nil;'

setup() {
  [[ $BATS_TEST_DESCRIPTION == *Cluster* ]] || start_server A
  export REDLOCK_SERVERS=${A_URI-} REDLOCK_AS=redisson
}
teardown() { stop_all; }

# theirs SERVER [ID]: Redisson asks for L; prints nothing if it has it now, otherwise for how many ms it will wait.
theirs() { cli "$1" eval "$LOCK_SCRIPT" 1 L 30000 "${2-$ID}"; }
# unlock SERVER [ID]: Redisson unlocks L; prints 1.
unlock() { cli "$1" eval "$UNLOCK_SCRIPT" 2 L "$CHANNEL" 0 30000 "${2-$ID}"; }

# listen SERVER CHANNEL…: $HEARD gets what Redisson hears there.
listen() {
  local -n listen_socket=${1}_SOCKET
  HEARD=$SCRATCH/heard.$SRANDOM
  : >"$HEARD"
  background sh -c 'exec redis-cli -s "$@" >"$0"' "$HEARD" "$listen_socket" "${SUBSCRIBE-subscribe}" "${@:2}"
  wait_until "$BOUND" has_texts "$HEARD" subscribe $(($# - 1))
}

# ---- redlock holds it ----------------------------------------------------------------------------

@test "redisson: Redisson does not get a lock that redlock holds, and hears of its release, in a fair lock too" {
  cli A rpush 'redisson_lock_queue:{L}' "$ID" other:1 >/dev/null
  listen A "$CHANNEL" "$CHANNEL:$ID" "$CHANNEL:other:1"
  hold
  [[ $(answer A type L) == hash && $(answer A hvals L) == 1 ]] || fail "$(cli A hgetall L)"
  [[ $(answer A hkeys L) == r*:0 ]] || fail "$(cli A hgetall L)"
  local left
  left=$(theirs A)
  ((left > 20000 && left <= 30000)) || fail "Redisson waits for $left ms"
  [[ $(answer A hlen L) == 1 ]] || fail "$(cli A hgetall L)"
  end_hold -0
  assert_no_key A L
  [[ -z $(theirs A) ]] || fail "it is not free"
  wait_until "$BOUND" has_texts "$HEARD" message 2
  assert_contains "$(tr '\n' ' ' <"$HEARD")" "message $CHANNEL 0 message $CHANNEL:$ID 0"
}

@test "redisson: re-entrancy, --also, -n, -w, queue, --once, fence, history, as always" {
  run -0 "$REDLOCK" run --also M L -- sh -c '"$0" run L -- sh -c "echo \$REDLOCK_FENCE" && "$0" run -n M -- echo in' "$REDLOCK"
  [[ ${#lines[@]} == 2 && ${lines[1]} == in ]] || fail "$output"
  local fence=${lines[0]}
  hold
  run -1 "$REDLOCK" run -n L -- false
  run -1 "$REDLOCK" run -w 0.2 L -- false
  background "$REDLOCK" run L -- sh -c 'echo first $REDLOCK_FENCE'
  wait_until "$BOUND" has_waiters 1
  local first=$BACKGROUND_PID
  background "$REDLOCK" run L -- sh -c 'echo second $REDLOCK_FENCE'
  wait_until "$BOUND" has_waiters 2
  end_hold -0
  await -0 "$first"
  [[ $output == "first $((fence + 2))" ]] || fail "$output"
  await -0 "$BACKGROUND_PID"
  [[ $output == "second $((fence + 3))" ]] || fail "$output"
  "$REDLOCK" run --once 1h L -- true
  run -0 "$REDLOCK" run --once 1h L -- false
  cli A del 'redlock:{L}:done' 'redlock:{M}:done' >/dev/null
  run -0 "$REDLOCK" history L
  assert_contains "$output" 'echo second'
  assert_nothing_left A
}
has_waiters() { [[ $(answer A zcard 'redlock:{L}:queue') == "$1" ]]; }

@test "redisson: what a run of the other kind has left behind takes its own kind; inside that run it joins" {
  local theirs ours held
  for theirs in redlock redisson; do
    ours='hash'
    [[ $theirs != redisson ]] || ours=string
    held=$("$REDLOCK" run --as "$theirs" L -- sh -c 'echo "$REDLOCK_HELD"')
    wait_until_clean A
    [[ $theirs == redlock ]] && REDLOCK_AS=redisson || REDLOCK_AS=redlock
    run -0 env REDLOCK_HELD="$held" "$REDLOCK" run L -- redis-cli -s "$A_SOCKET" type L
    [[ $output == "$ours" ]] || fail "after $theirs: $output"
    run "$REDLOCK" run --as "$theirs" L -- "$REDLOCK" run -n L -- echo joined
    [[ $output == joined ]] || fail "inside $theirs: $output"
  done
}

@test "redisson: renewals raise the ttl and never cut it; a minimum hold cools; the ttl is never -1" {
  local before
  hold --ttl 1s
  outlast A L
  lives A L 1 1000
  cli A pexpire L 9000 >/dev/null
  before=$(calls_of A pttl) # it looks at the ttl at each renewal
  wait_until "$BOUND" has_more_pttl "$before"
  lives A L 5000 9000
  end_hold -0
  "$REDLOCK" run --min-hold 2s L -- true
  [[ $(answer A hkeys L) == cooling:r*:0 ]] || fail "$(cli A hgetall L)"
  lives A L 1 3000
  [[ -n $(theirs A) ]] || fail "Redisson got a lock that cools"
  wait_until "$BOUND" lacks_key A L
}
has_more_pttl() { (($(calls_of A pttl) > $1)); }

@test "redisson: acquire, renew and release by token, which need no --as; a keeper; a maintenance hold" {
  local token
  token=$("$REDLOCK" acquire L)
  [[ $token == r* && -n $(theirs A) ]] || fail "$token"
  cli A pexpire L 5000 >/dev/null
  REDLOCK_AS='' run -0 "$REDLOCK" renew L "$token"
  lives A L 20000 30000
  REDLOCK_AS='' run -0 "$REDLOCK" release L "$token"
  assert_no_key A L
  run -80 "$REDLOCK" release L "$token"

  background sh -c 'until [ -e "$0/go" ]; do sleep 0.02; done' "$SCRATCH"
  "$REDLOCK" acquire --ttl 1s --keep-for "$BACKGROUND_PID" L >/dev/null
  outlast A L
  has_key A L || fail "the keeper does not renew"
  : >"$SCRATCH/go"
  wait_until "$BOUND" lacks_key A L

  run -0 "$REDLOCK" hold --for 1h L
  lives A L 3500000 3600000
  [[ -n $(theirs A) ]] || fail "Redisson got it"
  REDLOCK_AS='' run -0 "$REDLOCK" release --force --yes L
  assert_no_key A L
}

@test "redisson: the job is lost when Redisson's forceUnlock deletes the key" {
  hold --ttl 1s
  cli A eval 'if (redis.call("del", KEYS[1]) == 1) then redis.call("publish", KEYS[2], ARGV[1]); return 1 else return 0 end' \
    2 L "$CHANNEL" 0 >/dev/null
  await -80 "$HOLDER"
  [[ -z $(theirs A) ]] || fail "not free"
}

@test "redisson: a user without PEXPIRE gets no lock, and leaves none that never expires" {
  needs_users
  cli A acl setuser cron on '>secret' '~*' "${CHANNELS[@]}" +@all -pexpire >/dev/null
  run -69 --separate-stderr "$REDLOCK" run -n -S "${A_URI/:\/\//:\/\/cron:secret@}" L -- true
  assert_no_key A L
  # Before redlock could release what it may have got.
  run redis-cli -s "$A_SOCKET" --user cron --pass secret --no-auth-warning eval "$(script_of redisson)
    return redis.call('SET', KEYS[1], 'r', 'NX', 'PX', '1000')" 1 L
  [[ $output != OK ]] || fail "it has set a key"
  assert_no_key A L
}

@test "redisson: the permissions that redlock-protocol(7) has are enough, and check names a missing one" {
  acl_of_page
  needs_channels
  local words
  mapfile -t words < <(sed -n '/^\.Fl -as Cm redisson$/,/^\.Ed/{/^[~&+]/p}' "$SOURCE/man/redlock-protocol.7" | tr ' ' '\n')
  [[ ${#words[@]} == 5 ]] || fail "${words[*]}"
  ! server_at_least 7 || words+=(+spublish)
  cli A acl setuser "${ACL[@]}" "${words[@]}" >/dev/null
  local uri=${A_URI/:\/\//:\/\/cron:password@}
  cli A acl log reset >/dev/null
  LOCK=nightly-backup
  start_job -S "$uri"
  background "$REDLOCK" run --min-hold 0.1 -S "$uri" nightly-backup -- true
  wait_until "$BOUND" has_backup_waiter
  end_job
  await -0 "$BACKGROUND_PID"
  [[ -z $(cli A acl log) ]] || fail "$(cli A acl log)"
  wait_until "$BOUND" lacks_key A nightly-backup
  "$REDLOCK" run --as redlock -S "$uri" nightly-backup -- true
  run "$REDLOCK" check -v -S "$uri" nightly-backup
  assert_contains "$output" 'the user may do all that is needed'
  cli A acl setuser cron -lindex >/dev/null
  run "$REDLOCK" check -S "$uri" nightly-backup
  assert_contains "$output" 'that --as redisson needs; give it +lindex'
  run "$REDLOCK" check --as redlock -S "$uri" nightly-backup
  refute_contains "$output" lindex
}
has_backup_waiter() { [[ $(answer A zcard 'redlock:{nightly-backup}:queue') == 1 ]]; }

@test "redisson: a hash that only resembles one of redlock's is somebody else's, and stays" {
  local big
  printf -v big '%020000d' 0
  local fields
  for fields in "$big:0 1" 'a:0 1 b:0 1' "r${big:0:39}:0 1 b:0 1" 'a:1 1' 'field value'; do
    cli A del L >/dev/null
    # shellcheck disable=SC2086 # several words
    cli A hset L $fields >/dev/null
    run -1 --separate-stderr "$REDLOCK" run -n -v L -- false
    assert_contains "$stderr" 'held by a process that uses Redisson'
    [[ $(cli A hgetall L) == "${fields// /$'\n'}" ]] || fail "$(cli A hgetall L)"
  done
}

@test "redisson: SET with NX changes nothing where there is a key, of whatever kind" {
  local before
  for before in "hset L other:0 1" 'hset L a:1 1' 'set L x'; do
    cli A del L >/dev/null
    # shellcheck disable=SC2086 # several words
    cli A $before >/dev/null
    before=$(cli A dump L)
    [[ -z $(redis-cli -s "$A_SOCKET" eval "$(script_of redisson)
      return redis.call('SET', KEYS[1], 'r', 'NX', 'PX', '1000')" 1 L) ]] || fail "it is set"
    [[ $(cli A dump L) == "$before" ]] || fail "$(cli A hgetall L)"
  done
}

# ---- Redisson holds it ---------------------------------------------------------------------------

@test "redisson: redlock waits for Redisson, hears of its unlock, and starts; Redisson's ttl is not touched" {
  theirs A
  run -1 --separate-stderr "$REDLOCK" run -n -v L -- false
  assert_contains "$stderr" 'held by a process that uses Redisson'
  local try
  for try in {1..5}; do
    background "$REDLOCK" run -vv L -- true
    wait_until "$BOUND" subscribed A
    [[ $(unlock A) == 1 ]] || fail "unlock"
    await -0 "$BACKGROUND_PID"
    ! heard_unlock || break
    theirs A
  done
  heard_unlock || fail "$stderr"
  assert_nothing_left A
}
# heard_unlock: the waiter has heard more than the confirmation of its subscription. On a busy machine, the question that
# it repeats every 250 ms may be quicker than the message, so tests try five times.
heard_unlock() { (($(grep -c 'Redisson has unlocked the lock' <<<"$stderr") > 1)); }
subscribed() { [[ $(cli "$1" pubsub numsub "$CHANNEL" | tail -n 1) == 1 ]]; }

@test "redisson: only the first two waiters hear Redisson's messages" {
  theirs A
  local i
  for i in 1 2 3 4; do
    background "$REDLOCK" run L -- true
    wait_until "$BOUND" has_waiters "$i"
  done
  wait_until "$BOUND" two_listen
  # An unlock of a fair lock sends no message there: the first two ask often.
  cli A del L >/dev/null
  for i in "${BACKGROUND[@]}"; do await -0 "$i"; done
  assert_nothing_left A
}
two_listen() { [[ $(cli A pubsub numsub "$CHANNEL" | tail -n 1) == 2 ]]; }

@test "redisson: a RedissonRedLock on three servers, which has another ID on each, is held, not undecided" {
  servers 3
  theirs A a:1
  theirs B b:1
  theirs C c:1
  run -0 "$REDLOCK" status L
  assert_contains "$output" 'held by another program (3 of 3 servers)' 'of a Redisson lock'
  run -1 "$REDLOCK" run -n L -- false
  background "$REDLOCK" run L -- true
  wait_until "$BOUND" subscribed C
  unlock A a:1 && unlock B b:1
  await -0 "$BACKGROUND_PID"
  unlock C c:1
  wait_until_clean A B C
  # One server of three is no lock.
  theirs B b:1
  run -0 "$REDLOCK" run -n L -- true
}

@test "redisson: a server of three that has lost the key gets it back, but not if Redisson has it there" {
  servers 3
  hold --ttl 1s
  cli B del L >/dev/null
  wait_until "$BOUND" has_key B L
  [[ $(answer B type L) == hash && $(answer B hkeys L) == "$(answer A hkeys L)" ]] || fail "$(cli B hgetall L)"
  cli B eval 'redis.call("del", KEYS[1]); return redis.call("hset", KEYS[1], ARGV[1], 1)' 1 L x:1 >/dev/null
  outlast A L
  [[ $(cli B hgetall L) == $'x:1\n1' ]] || fail "$(cli B hgetall L)"
  end_hold -0
  wait_until_clean A C
}

# ---- by force ------------------------------------------------------------------------------------

@test "redisson: --force revokes from redlock; of Redisson it says that it cannot; --now is forceUnlock" {
  hold
  wait_until_listening A
  REDLOCK_AS='' run -0 --separate-stderr "$REDLOCK" release --force --yes L
  assert_contains "$stderr" 'was notified and stops its job'
  await -80 "$HOLDER"
  assert_no_key A L
  hold
  listen A "$CHANNEL"
  run -0 "$REDLOCK" release --force --now --yes L
  assert_no_key A L
  await -80 "$HOLDER"
  wait_until "$BOUND" has_text "$HEARD" message

  theirs A
  run -1 --separate-stderr "$REDLOCK" release --force --yes L
  assert_contains "$stderr" 'redlock cannot stop its job: --now only'
  [[ $(answer A hget L "$ID") == 1 ]] || fail "$(cli A hgetall L)"
  listen A "$CHANNEL"
  run -0 --separate-stderr "$REDLOCK" release --force --now --yes L
  refute_contains "$stderr" 'would let other locks'
  assert_no_key A L
  wait_until "$BOUND" has_text "$HEARD" message
  theirs A
  REDLOCK_AS='' run -0 --separate-stderr "$REDLOCK" release --force --now --yes L
  assert_contains "$stderr" 'a string under this name would let other locks of the same Java process expire'
  assert_no_key A L
}

# ---- one name, one kind --------------------------------------------------------------------------

@test "redisson: the other kind is named: run, acquire, hold, status" {
  theirs A
  local command
  for command in 'run -v -n L -- false' 'acquire -v -n L' 'hold -v -n --for 1h L'; do
    # shellcheck disable=SC2086 # several words
    REDLOCK_AS='' run -1 --separate-stderr "$REDLOCK" $command
    assert_contains "$stderr" 'use --as redisson'
  done
  REDLOCK_AS='' run "$REDLOCK" check L
  assert_contains "$output" 'use --as redisson'
  REDLOCK_AS='' run -0 "$REDLOCK" status L
  assert_contains "$output" 'this redlock runs without --as redisson'
  run -0 "$REDLOCK" status L
  refute_contains "$output" warning
  unlock A
  REDLOCK_AS='' run -0 --separate-stderr "$REDLOCK" acquire L
  for command in 'run -v -n L -- false' 'acquire -v -n L' 'hold -v -n --for 1h L'; do
    # shellcheck disable=SC2086 # several words
    run -1 --separate-stderr "$REDLOCK" $command
    assert_contains "$stderr" 'a redlock without --as redisson'
  done
  run -0 "$REDLOCK" status L
  assert_contains "$output" 'this redlock runs with --as redisson'
  [[ $(answer A type L) == string ]] || fail "$(cli A type L)"
}

@test "redisson: by flag and file" {
  unset REDLOCK_AS
  run -64 --separate-stderr "$REDLOCK" run --as java L -- true
  assert_contains "$stderr" 'redlock or redisson'
  printf 'as = "redisson"\n' >"$SCRATCH/file"
  run -0 "$REDLOCK" run --config "$SCRATCH/file" L -- redis-cli -s "$A_SOCKET" type L
  [[ $output == hash ]] || fail "$output"
  run -0 "$REDLOCK" run --config "$SCRATCH/file" --as redlock L -- redis-cli -s "$A_SOCKET" type L
  [[ $output == string ]] || fail "$output"
}

# ---- Cluster -------------------------------------------------------------------------------------

@test "redisson: in a Cluster, redlock sends and hears SPUBLISH and PUBLISH" {
  server_at_least 7 || skip 'this server has no SPUBLISH (Redis 7)'
  quiet_cluster 3 0
  find_home L
  local how try
  for how in subscribe ssubscribe; do
    SUBSCRIBE=$how listen "$HOME_NODE" "$CHANNEL"
    "$REDLOCK" run L -- true
    wait_until "$BOUND" has_text "$HEARD" message
  done
  for how in publish spublish; do
    for try in {1..5}; do
      theirs "$HOME_NODE"
      background "$REDLOCK" run -vv L -- true
      wait_until "$BOUND" hears_both
      cli "$HOME_NODE" eval 'redis.call("del", KEYS[1]); return redis.call(ARGV[1], KEYS[2], "0")' 2 L "$CHANNEL" "$how" >/dev/null
      await -0 "$BACKGROUND_PID"
      ! heard_unlock || break
    done
    heard_unlock || fail "$how: $stderr"
  done
}
# hears_both: besides the two listeners.
hears_both() {
  [[ $(cli "$HOME_NODE" pubsub numsub "$CHANNEL" | tail -n 1) == 2 &&
    $(cli "$HOME_NODE" pubsub shardnumsub "$CHANNEL" | tail -n 1) == 2 ]]
}
# find_home KEY: sets HOME_NODE to the node that has its slot.
find_home() {
  for HOME_NODE in "${CLUSTER[@]}"; do [[ $(cli "$HOME_NODE" exists "$1" 2>&1) != 0 ]] || return 0; done
  fail "no node has the slot of $1"
}

@test "redisson: run and check know a read-write lock, which respects no other; --force --now removes it" {
  cli A hset L mode read "$ID" 1
  cli A pexpire L 60000
  run -1 --separate-stderr "$REDLOCK" run -v -n L -- true
  assert_contains "$stderr" "a read-write lock of Redisson's"
  run "$REDLOCK" check L
  assert_contains "$output" 'use another name'
  run -0 "$REDLOCK" release --force --now --yes L
  assert_no_key A L
}

@test "redisson: a lock of its thread 0 is its own, and not a token of ours" {
  cli A hset L "${ID%:*}:0" 1
  cli A pexpire L 60000
  run --separate-stderr "$REDLOCK" status L
  assert_contains "$output" Redisson
  run -0 "$REDLOCK" release --force --now --yes L
  assert_no_key A L
}

@test "redisson: when the lock begins to cool, Redisson's waiters hear that they must ask again" {
  listen A "$CHANNEL"
  run -0 "$REDLOCK" run --min-hold 1h L -- true
  wait_until "$BOUND" has_texts "$HEARD" message 1
}
