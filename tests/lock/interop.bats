#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# Others on the same key: a lock of redis-py's or of `SET key token NX PX` and one of redlock's
# exclude each other. Whatever else stands in the key is somebody else's: never touched, no error.

load ../lib/common

setup() { servers 1; }
teardown() { stop_all; }

needs_redis_py() {
  "$PYTHON" -c 'import redis.lock' 2>/dev/null || skip "needs python3-redis: apt-get install python3-redis"
}

# redis_py CODE: sets $PROGRAM to a command that runs CODE, in which `lock(name)` is redis-py's Lock
# of 60 s on that name, and `finish()` waits for let_go.
redis_py() {
  PROGRAM=("$PYTHON" -c "
import os, sys, time, redis
client = redis.Redis(unix_socket_path='$A_SOCKET')
def lock(name): return client.lock(name, timeout=60, sleep=0.01)
def finish():
    for _ in range(3000):
        if os.path.exists('$SCRATCH/go.L'): return
        time.sleep(0.02)
    sys.exit('nobody ended this')
$1")
}

# hold_by_redis_py: L, in the background, until let_go; sets JOB. Ends with 0 only if the lock is still its own then.
hold_by_redis_py() {
  redis_py "
held = lock('L')
assert held.acquire(blocking=False)
open('$SCRATCH/held', 'w').write('held')
finish()
assert held.owned()
held.release()"
  background "${PROGRAM[@]}"
  JOB=$BACKGROUND_PID
  wait_for "$SCRATCH/held"
}

# ---- redis-py's Lock -----------------------------------------------------------------------------

@test "redlock does not get a lock that redis-py's Lock holds, and gets it when that releases it" {
  needs_redis_py
  hold_by_redis_py
  run -1 "$REDLOCK" run -n L -- echo ran
  [[ -z $output ]] || fail "the job ran"
  run -1 "$REDLOCK" run -w 1 L -- echo ran
  background "$REDLOCK" run -vv -w 30 L -- echo ran
  wait_for_line "$BACKGROUND_ERR" refused
  [[ ! -s $BACKGROUND_OUT ]] || fail "the job ran"
  end_job 0
  await -0 "$BACKGROUND_PID"
  [[ $output == ran ]] || fail "the job did not run"
}

@test "redis-py's Lock does not get a lock that redlock holds, and gets it afterwards" {
  needs_redis_py
  start_job
  redis_py "
assert not lock('L').acquire(blocking=False)
assert not lock('L').acquire(blocking_timeout=0.2)
assert lock('L').locked()"
  run -0 "${PROGRAM[@]}"
  end_job
  redis_py "
again = lock('L')
assert again.acquire(blocking=False)
again.release()"
  run -0 "${PROGRAM[@]}"
}

@test "redis-py's Lock on three servers is respected by redlock on those three" {
  needs_redis_py
  servers 3
  hold_by_redis_py
  cli B set L "$(cli A get L)" px 60000 # the same token on a quorum, as redsync & Co. do it
  # Not waiting for a server that seems silent, it would leave C's key there for a ttl.
  run -1 "$REDLOCK" run -n --server-timeout 2s L -- true
  wait_until "$BOUND" lacks_key C L
  end_job 0
}

# ---- SET key token NX PX ---------------------------------------------------------------------------

@test "redlock does not get a lock that SET NX PX holds, and leaves value and time to live" {
  [[ $(cli A set L token nx px 60000) == OK ]]
  run -1 "$REDLOCK" run -n L -- true
  run -1 "$REDLOCK" run -w 1 L -- true
  [[ $(cli A get L) == token ]] || fail "it holds: $(cli A get L)"
  local left
  left=$(cli A pttl L)
  ((left > 30000 && left <= 60000)) || fail "time to live: $left ms"
}

@test "the value of the key is the job's token, and compare-and-delete with it ends the hold" {
  run --separate-stderr "$REDLOCK" run L -- sh -c '
    redis-cli -s "$1" eval "if redis.call(\"get\", KEYS[1]) == ARGV[1] then
      return redis.call(\"del\", KEYS[1]) end return 0" 1 L "$REDLOCK_TOKEN"' job "$A_SOCKET"
  [[ $output == 1 ]] || fail "the token is not the key's value: $output"
  assert_status 80 # it was gone when the job ended
}

# ---- what redlock would never write ----------------------------------------------------------------

# assert_foreign CMD…: what CMD has put into the key L is somebody else's lock.
assert_foreign() {
  local before after
  cli A del L
  cli A "$@"
  before=$(cli A dump L | od -c)
  run -1 --separate-stderr "$REDLOCK" run -n L -- echo ran
  [[ -z $output && -z $stderr ]] || fail "it says: $output $stderr"
  after=$(cli A dump L | od -c)
  [[ $after == "$before" ]] || fail "the key was changed"
  [[ $(cli A pttl L) == -1 ]] || fail "the key was given a time to live: $(cli A pttl L)"
  [[ $(cli A dbsize) == 1 ]] || fail "left: $(cli A keys '*')"
}

@test "whatever else stands in the key is somebody else's lock: of each type, without a time to live, no text, 2 MB" {
  assert_foreign set L whatever
  assert_foreign set L ''
  assert_foreign eval 'return redis.call("set", KEYS[1], "\0\r\n\255")' 1 L
  assert_foreign setrange L 2000000 x
  assert_foreign rpush L a b
  assert_foreign sadd L a b
  assert_foreign zadd L 1 a
  assert_foreign xadd L '*' field value
  assert_foreign hset L 8743c9c0-0795-4907-87fd-6c719a6b4586:1 1 # as Redisson's locks are
  run -1 "$REDLOCK" run -w 1 L -- echo ran
  [[ $(cli A type L) == hash && $(cli A pttl L) == -1 ]] || fail "the key was changed"
}
