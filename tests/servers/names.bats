#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
# shellcheck disable=SC2012 # the names are numbers
#
# Servers by name: several addresses, dead ones, IPv6, a resolver that hangs. The names are those of
# a file of the test's own, by libnss-wrapper; like every host file it may name one name repeatedly.

load ../lib/common
load ../lib/beating

# libnss-wrapper reads its file again when that changes, and does not support two threads there (1.1.12: one
# of them is stuck, or closes a file that is closed). Here each look-up has its turn. After a fork nobody
# is in one.
setup_file() {
  cat >"$BATS_FILE_TMPDIR/turns.c" <<'TURNS'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static void afresh(void) { turn = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER; }
__attribute__((constructor)) static void begin(void) { pthread_atfork(NULL, NULL, afresh); }
int getaddrinfo(const char* host, const char* port, const struct addrinfo* hints, struct addrinfo** list) {
  int (*real)(const char*, const char*, const struct addrinfo*, struct addrinfo**) = dlsym(RTLD_NEXT, "getaddrinfo");
  pthread_mutex_lock(&turn);
  const int result = real(host, port, hints, list);
  pthread_mutex_unlock(&turn);
  return result;
}
TURNS
  cc -shared -fPIC -o "$BATS_FILE_TMPDIR/turns.so" "$BATS_FILE_TMPDIR/turns.c"
}

setup() {
  HOSTS=$SCRATCH/hosts
  [[ $(LD_PRELOAD=libnss_wrapper.so grep -c nss_wrapper /proc/self/maps 2>/dev/null) != 0 ]] ||
    skip 'libnss-wrapper is not installed'
  # Sanitizers do not like to be loaded second, nor deep binding.
  export LD_LIBRARY_PATH=$BATS_FILE_TMPDIR NSS_WRAPPER_HOSTS=$HOSTS NSS_WRAPPER_DISABLE_DEEPBIND=1
  export ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS-}
  printf '#!/bin/sh\nLD_PRELOAD=${SHIM-turns.so libnss_wrapper.so} exec %q "$@"\n' "$REDLOCK" >"$SCRATCH/redlock"
  chmod +x "$SCRATCH/redlock"
  REDLOCK=$SCRATCH/redlock
}
teardown() { stop_all; }

# hosts [ADDRESS NAME]…: these are all the names there are.
hosts() {
  printf '%s %s\n' "$@" >"$HOSTS.new"
  mv "$HOSTS.new" "$HOSTS"
}

# holds URI: the lock is had, at the first attempt.
holds() {
  timed -0 "$REDLOCK" run -vv -n -S "$1" L -- echo in
  [[ $output == in ]]
  [[ $(grep -c ': acquire: ' <<<"$stderr") == 1 ]] || fail "$stderr"
}

# has_ipv6 PORT: a port of ::1 can be had.
has_ipv6() {
  "$PYTHON" -SEIc 'import socket, sys; socket.socket(socket.AF_INET6).bind(("::1", int(sys.argv[1])))' "$1" 2>/dev/null
}

@test "names: one address, and one that is not there" {
  start_server A --tcp
  hosts 127.0.0.1 db1.test
  holds "redis://db1.test:$A_PORT"
  timed -69 "$REDLOCK" run --server-wait 60s -S "redis://db2.test:$A_PORT" L -- true
  assert_between 0 "$elapsed" 10000
  assert_contains "$stderr" 'cannot resolve "db2.test": no such host; is the name right?'
}

@test "names: the first address refuses, the second is taken immediately" {
  start_server A --tcp
  hosts 127.0.0.2 db1.test 127.0.0.3 db1.test 127.0.0.1 db1.test
  holds "redis://db1.test:$A_PORT"
}

@test "names: the first two addresses are black holes, the third is taken within the limit" {
  start_server A --tcp
  black_hole 127.0.0.2 "$A_PORT"
  black_hole 127.0.0.3 "$A_PORT"
  hosts 127.0.0.2 db1.test 127.0.0.3 db1.test 127.0.0.1 db1.test
  holds "redis://db1.test:$A_PORT"
  # With a short ttl there are 100 ms for all three.
  run -0 "$REDLOCK" run -vv -n --ttl 1s -S "redis://db1.test:$A_PORT" L -- echo in
}

@test "names: an address that takes connections and does not answer is passed over the next time" {
  start_server A --tcp
  start_server B --bind 127.0.0.2 --port "$A_PORT"
  pause_server B
  hosts 127.0.0.2 db1.test 127.0.0.1 db1.test
  export REDLOCK_SERVER_TIMEOUT=200ms
  local words=(run -v --server-wait 60s -S "redis://db1.test:$A_PORT" L -- echo in)
  run -0 --separate-stderr "$REDLOCK" "${words[@]}"
  [[ $output == in ]]
  resume_server B
  cli B set L other px 600000 >/dev/null
  background "$REDLOCK" "${words[@]}"
  wait_for_line "$BACKGROUND_ERR" waiting
  pause_server B
  await -0 "$BACKGROUND_PID"
}

@test "names: all addresses are dead" {
  black_hole 127.0.0.2 "$(free_port)"
  hosts 127.0.0.2 db1.test 127.0.0.3 db1.test
  finds_none() {
    run -69 --separate-stderr "$REDLOCK" run --server-wait 300ms -S "redis://db1.test:$BLACK_HOLE_PORT" L -- true
    assert_contains "$stderr" "$1"
  }
  finds_none 'no connection within 1000 ms'
  # The last one fails immediately, and the first one is not given up for that.
  hosts 127.0.0.2 db1.test 255.255.255.255 db1.test
  finds_none 'no connection within 1000 ms'
  hosts 127.0.0.3 db1.test 127.0.0.4 db1.test
  finds_none 'connection refused'
}

@test "names: IPv6, and one family that is dead" {
  local port
  port=$(free_port)
  has_ipv6 "$port" || skip 'no IPv6 here'
  start_server A --tcp --bind 127.0.0.1 ::1
  hosts ::1 db6.test ::1 both.test 127.0.0.2 both.test ::1 other.test 127.0.0.1 other.test
  holds "redis://[::1]:$A_PORT"
  holds "redis://db6.test:$A_PORT"
  holds "redis://both.test:$A_PORT"
  stop_servers
  start_server A --tcp
  holds "redis://other.test:$A_PORT"
}

@test "names: of two families, one of which is dead, the other one is tried second" {
  local port
  port=$(free_port)
  has_ipv6 "$port" || skip 'no IPv6 here'
  start_server A --tcp --bind ::1
  local address
  for address in 127.0.0.{2..4}; do black_hole "$address" "$A_PORT"; done
  hosts 127.0.0.2 db1.test 127.0.0.3 db1.test 127.0.0.4 db1.test ::1 db1.test
  # The next address has its turn after 250 ms.
  timed_below 700 -0 "$REDLOCK" run -n -S "redis://db1.test:$A_PORT" L -- echo in
}

@test "names: a resolver that hangs delays neither the other servers nor the end" {
  start_server A --tcp
  start_server B
  mkfifo "$HOSTS" # until somebody writes (numeric addresses ask this resolver, too)
  # Connecting may take 1 s.
  timed_below 900 -0 "$REDLOCK" run -vv -n -S "$A_URI" -S "$B_URI" -S "redis://db1.test:$A_PORT" L -- echo in
  timed -69 "$REDLOCK" run --server-wait 300ms -S "redis://db1.test:$A_PORT" L -- true
  assert_contains "$stderr" 'its name was not resolved within 1000 ms'
  assert_between 0 "$elapsed" 20000
  background "$REDLOCK" run -S "redis://db1.test:$A_PORT" L -- true
  wait_until "$BOUND" eval '(($(ls "/proc/$BACKGROUND_PID/task" | wc -l) > 1))'
  terminate "$BACKGROUND_PID"
}

@test "names: a resolver that hangs is not asked again as long as it does" {
  mkfifo "$HOSTS"
  background "$REDLOCK" run -vv --server-wait 60s -S redis://db1.test L -- echo in
  wait_until "$BOUND" has_texts "$BACKGROUND_ERR" 'not resolved within 1000 ms' 3
  # The loop's thread, and one for the look-up: it is the same from the first try on.
  [[ $(ls "/proc/$BACKGROUND_PID/task" | wc -l) == 2 ]]
}

@test "names: the name leads to another address, and is looked up again" {
  start_server A --tcp
  start_server B --tcp
  start_server C
  start_server D
  hosts 127.0.0.1 db1.test
  start_job -vv --ttl 6s -S "redis://db1.test:$A_PORT" -S "$C_URI" -S "$D_URI"
  wait_for_key A L
  kill_server A
  start_server M --bind 127.0.0.2 --port "$A_PORT"
  hosts 127.0.0.2 db1.test
  wait_for_key M L
  end_job
  wait_until "$BOUND" has_no_keys M
}

@test "names: a look-up under way when the job starts is the worker's to finish" {
  start_server A --tcp
  start_server B
  start_server C
  preload slow_resolver.c
  export SHIM ANSWER=$SCRATCH/answer
  start_job -vv -S "redis://db1.test:$A_PORT" -S "$B_URI" -S "$C_URI"
  refute_contains "$(<"$JOB_ERR")" db1.test
  : >"$ANSWER"
  wait_until 8 has_key A L # one that never ends is waited for for 10 s
  end_job
}
