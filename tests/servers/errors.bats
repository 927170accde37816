#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=memory,slow
# shellcheck shell=bash disable=SC1003
#
# What can be wrong with a server: each is one line that names the server and says what to do, and no
# secret is ever in it.

load ../lib/common
load ../lib/acl

setup() {
  start_server A --tcp
  unset REDLOCK_SERVERS
}
teardown() { stop_all; }

# unavailable URI TEXT…: a run with this server ends with 69, without having run, and says so in one
# line with the URI as it may be shown ($SHOWN, or the URI) and each TEXT.
unavailable() {
  timed -69 "$REDLOCK" run --server-wait "${WAIT-300ms}" -S "$1" L -- touch "$SCRATCH/ran"
  [[ -z $output && ! -e $SCRATCH/ran ]]
  assert_one_line "$stderr" "${SHOWN-$1}: " "${@:2}"
}

# fatal URI TEXT…: the same, and there is no waiting for it to pass.
fatal() {
  WAIT=60s unavailable "$@"
  assert_between 0 "$elapsed" 30000
}

@test "no server at the address: a port, a socket on which no server listens, no such socket" {
  closed_port
  kill_server A
  unavailable "$CLOSED_URI" 'connection refused' 'is the server running'
  unavailable "$A_URI" 'no server listens' 'start the server'
  unavailable "$SCRATCH_URI/none" 'no such socket file' unixsocket
}

@test "no connection within the time-out, which is short for a short ttl" {
  black_hole
  run -69 --separate-stderr "$REDLOCK" run -vv --ttl 1s --server-wait 600ms -S "$BLACK_HOLE_URI" L -- true
  assert_contains "$stderr" "$BLACK_HOLE_URI: acquire: no connection within 100 ms; is the host up"
}

@test "a server that does not answer" {
  pause_server A
  unset REDLOCK_SERVER_TIMEOUT
  run -69 --separate-stderr "$REDLOCK" run -vv --server-wait 600ms -S "$A_URI" L -- true
  assert_contains "$stderr" "$A_URI: acquire: did not answer within 200 ms; it is stopped, overloaded or cut off"
  SHOWN="unix://:***@${A_URI#unix://}" unavailable "unix://:secret@${A_URI#unix://}"
  refute_contains "$stderr" secret
}

@test "a server that does not answer: the advice stays also where the limit comes in a later round" {
  pause_server A
  unset REDLOCK_SERVER_TIMEOUT
  # The first round is given up after 200 ms, the second lasts from 250 or 300 ms to 450 or 500 ms.
  run -69 --separate-stderr "$REDLOCK" run --server-wait 400ms -S "$A_URI" L -- true
  assert_one_line "$stderr" "$A_URI: did not answer within 200 ms; it is stopped, overloaded or cut off"
}

@test "a password is wanted, is wrong, or is for a server that has none" {
  start_server P --tcp --requirepass s3cret
  fatal "$P_URI" 'wants a password' --password-file
  SHOWN="redis://:***@127.0.0.1:$P_PORT" fatal "redis://:wr0ng@127.0.0.1:$P_PORT" 'wrong ' password
  refute_contains "$stderr" wr0ng
  SHOWN="unix://:***@${A_URI#unix://}" fatal "unix://:s3cret@${A_URI#unix://}" 'the server has none'
  refute_contains "$stderr" s3cret
}

@test "a database that is not there" { fatal "$A_URI?db=16" 'no database of this number'; }

@test "a wrong password takes no lock, though the default user could" {
  needs_users
  start_server P
  cli P acl setuser eve on '>right' '~*' '+@all'
  SHOWN="unix://eve:***@${P_URI#unix://}" fatal "unix://eve:wr0ng@${P_URI#unix://}" 'wrong user or password'
  refute_contains "$stderr" wr0ng
  [[ $(evals P) == 0 ]]
  assert_nothing_left P
}

@test "READONLY: a replica" {
  start_server R --replicaof 127.0.0.1 "$A_PORT"
  fatal "$R_URI" 'replica' 'primary'
  # Nor does one that takes writes.
  cli R config set replica-read-only no
  fatal "$R_URI" 'replica' 'primary'
}

@test "LOADING" {
  server_at_least 6.2 || skip 'this server cannot be made to load slowly (Redis 6.2)'
  start_server L
  cli L eval 'for i = 1, 20000 do redis.call("SET", "key" .. i, "a value") end' 0
  cli L save
  # So many microseconds for each key; a look at the network every kilobyte.
  L_ARGS+=(--key-load-delay 1000 --loading-process-events-interval-bytes 1024)
  restart_server L
  [[ $(cli L get x 2>&1) == LOADING* ]] || fail 'the server is not loading'
  unavailable "$L_URI" 'still loading its data'
}

@test "MISCONF: the server cannot save" {
  start_server M --save 3600 100000
  mkdir "$SCRATCH/server.M/dump.rdb" # where the file should go
  cli M bgsave
  wait_until "$BOUND" eval 'cli M info persistence | grep -q rdb_last_bgsave_status:err'
  unavailable "$M_URI" 'cannot save to disk' 'disk space'
}

@test "OOM: the server has no memory left" {
  start_server O --maxmemory 1 --maxmemory-policy noeviction
  unavailable "$O_URI" 'memory' maxmemory
}

@test "OOM: holders keep their lock and release it, and it can be taken from them" {
  local flag token places
  export REDLOCK_SERVERS=$A_URI
  places() { cli A zrange 'redlock:{L}:readers' 0 -1 withscores; }
  for flag in -s '--slots=2'; do
    token=$("$REDLOCK" acquire "$flag" --ttl 60s L)
    start_job "$flag" --ttl 3s
    cli A config set maxmemory 1
    places=$(places)
    wait_until "$BOUND" eval '[[ $(places) != "$places" ]]' # it is renewed
    end_job
    "$REDLOCK" release L "$token"
    assert_no_key A L
    cli A config set maxmemory 0
  done
  "$REDLOCK" acquire --ttl 60s L
  cli A config set maxmemory 1
  run -0 "$REDLOCK" release --force --now --yes L
  assert_no_key A L
}

@test "BUSY: another client's script does not end" {
  start_server B --lua-time-limit 20
  background redis-cli -s "$B_SOCKET" eval 'while true do end' 0
  wait_until "$BOUND" eval '[[ $(cli B ping 2>&1) == *BUSY* ]]'
  unavailable "$B_URI" 'long script' 'SCRIPT KILL'
  cli B script kill
  await "$BACKGROUND_PID"
}

@test "a server that is full" {
  start_server F --maxclients 1
  "$PYTHON" -SEIc 'import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.send(b"PING\r\n")
s.recv(9); open(sys.argv[2], "w").write("in"); s.recv(9)' "$F_SOCKET" "$SCRATCH/in" 3>&- &
  STARTED+=("$!")
  wait_for "$SCRATCH/in"
  unavailable "$F_URI" maxclients
}

@test "not a Redis at all: HTTP, garbage, another protocol, and nothing but the end of the connection" {
  local answer
  for answer in 'HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n' '\x00\x01\x02\xff' '220 mail ESMTP\r\n'; do
    garbage_server "$answer"
    fatal "$GARBAGE_URI" 'does not speak the Redis protocol' 'right port'
  done
  garbage_server ''
  unavailable "$GARBAGE_URI" 'closed the connection'
}

@test "passwords are in no message, no command line and no record" {
  start_server P --tcp --requirepass s3cret
  echo s3cret >"$SCRATCH/password"
  local look='for pid in $(ps -o ppid= -p "$PPID") "$PPID" "$$"; do tr "\0" " " <"/proc/$pid/cmdline"; done
    REDISCLI_AUTH=$(cat "$1") redis-cli -s "$0" hgetall "redlock:{L}:holder"'
  run -0 "$REDLOCK" run -vv -S "$P_TCP_URI" --password-file "$SCRATCH/password" L -- \
    sh -c "$look" "$P_SOCKET" "$SCRATCH/password"
  assert_contains "$output" '"pid":'
  refute_contains "$output" s3cret
  run -0 env REDLOCK_PASSWORD=s3cret "$REDLOCK" run -vv -S "$P_TCP_URI" L -- \
    sh -c "$look" "$P_SOCKET" "$SCRATCH/password"
  refute_contains "$output" s3cret
  run -0 "$REDLOCK" run -vv -S "redis://:s3cret@127.0.0.1:$P_PORT" L -- true
  assert_contains "$output" "redis://:***@127.0.0.1:$P_PORT: acquire: granted"
  refute_contains "$output" s3cret
}
