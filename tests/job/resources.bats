#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole,slowest
#
# A system that refuses something: descriptors, memory, processes. Whatever it is, and whenever: no job runs without
# a lock, one line says what was refused, and no lock stays behind, except when there is no memory to release it.

load ../lib/common
load ../lib/looking
load ../lib/queue

setup_file() { "${CC:-cc}" -O2 -shared -fPIC -o "$BATS_FILE_TMPDIR/refuse.so" "$TESTS/faults/refuse.c" -ldl; }
setup() { export LOCK=L; }
teardown() { stop_all; }

# locked_on: prints the servers that hold the lock.
locked_on() {
  local server
  for server in "${SERVERS[@]}"; do [[ $(cli "$server" exists L) == 0 ]] || echo "$server"; done
}

# within DESCRIPTORS ARG…: `run` of redlock with at most this many descriptors.
within() {
  run --separate-stderr bash -c 'exec 3>&- 4>&-; ulimit -n "$1"; exec "$REDLOCK" "${@:2}"' _ "$@"
}

# assert_system_refused: the system refused something, and one line says so.
assert_system_refused() { assert_status 71 && assert_one_line "$stderr" "$@"; }

# few_descriptors MOST LOOK ARG…: redlock with these arguments and 4 to MOST descriptors, on one server and on three: it
# does its work, at which LOOK looks, or says what was refused, and there is no lock.
few_descriptors() {
  local count limit server worked
  for count in 1 3; do
    servers "$count"
    worked=0
    for ((limit = 4; limit <= $1; ++limit)); do
      within "$limit" "${@:3}"
      if [[ $status == 0 ]]; then
        worked=$((worked + 1))
        "$2" || fail "$limit: $output $stderr"
        for server in "${SERVERS[@]}"; do cli "$server" flushall; done
      else
        assert_system_refused 'Too many open files'
        [[ -z $output ]] || fail "$limit: $output"
        is_free || fail "$limit descriptors: locked on $(locked_on)"
      fi
    done
    ((worked > 0)) || fail "it never worked with $count servers"
    stop_servers
  done
}
is_free() { [[ -z $(locked_on) ]]; }

@test "few descriptors: the job runs, or there is no lock" {
  has_run() { [[ $output == ran && -z $stderr ]]; }
  few_descriptors 32 has_run run --min-hold 1h --server-wait 60s L -- echo ran
}

@test "few descriptors: acquire prints a token that holds the lock, or there is no lock" {
  local ward
  sleep 60 3>&- &
  ward=$!
  BACKGROUND+=("$ward")
  holds() { "$REDLOCK" release L "$output" && wait_until "$BOUND" is_free; }
  few_descriptors 24 holds acquire --server-wait 60s --keep-for "$ward" L
}

@test "few descriptors: a command answers, or says so, and never takes a server for unreachable" {
  servers 3
  local limit token command usual
  token=$("$REDLOCK" acquire --ttl 1h L)
  while read -r usual command; do
    for limit in {4..24}; do
      # shellcheck disable=SC2086
      within "$limit" $command
      [[ $status != "$usual" ]] || break
      assert_system_refused 'Too many open files'
    done
    [[ $status == "$usual" ]] || fail "$command: never"
  done <<END
0 status L
0 list
0 history L
0 renew L $token
1 check L2
0 release L $token
END
}

# refuse SERVERS ARG…: tests/faults/refusals with this many servers.
refuse() {
  local count=$1
  shift
  servers "$count"
  run -0 timeout 110 "$PYTHON" -B "$TESTS/faults/refusals" "$BATS_FILE_TMPDIR/refuse.so" "$REDLOCK" "$@" 3>&- 4>&-
  assert_contains "$output" 'status 0, the job ran' 'status 71, the job ran 0 times'
}

@test "run: every call is refused" { refuse 1 run --jobs 4; }

@test "run on three servers: every call is refused" { refuse 3 run --jobs 4; }

@test "run of a longer job: every second call is refused" { refuse 1 long --jobs 24 --step 2; }

@test "acquire: every call is refused" { refuse 1 acquire --jobs 4; }

@test "acquire --keep-for: every call is refused" { refuse 3 keeper --jobs 12; }

@test "run: two waits in a row are refused; the lock is released all the same, in a second attempt" {
  refuse 1 run --call poll --for 2 --given-back --jobs 4
}

@test "acquire --keep-for: a keeper that the system refuses something signals its process" {
  servers 1
  background bash -c 'trap "echo told >>\"$0\"" USR1; echo x >"$0.ready"; while :; do sleep 0.05; done' "$SCRATCH/ward"
  wait_for "$SCRATCH/ward.ready"
  refuse_later REFUSE_CALL=poll REFUSE_FOR=1000000
  run -0 --separate-stderr "${LATER[@]}" acquire --ttl 2s --keep-for "$BACKGROUND_PID" --on-lost-signal USR1 L
  refuse_now
  wait_for_line "$SCRATCH/ward" told
}

@test "run: a waiter that the system refuses something leaves the queue" {
  servers 1
  "$REDLOCK" acquire L
  refuse_later REFUSE_CALL=poll
  background "${LATER[@]}" run L -- true
  wait_until "$BOUND" queued 1
  wait_until "$BOUND" hears "$BACKGROUND_PID"
  refuse_now
  word A free "$(in_queue A)"
  await "$BACKGROUND_PID"
  assert_system_refused
  assert_nobody_waits
}

# refuse_later VARIABLE=VALUE…: sets LATER, a redlock to which something is refused after refuse_now: they share the
# count of its calls, which goes up to a million.
refuse_later() {
  head -c 4096 /dev/zero >"$SCRATCH/calls"
  LATER=(env "LD_LIBRARY_PATH=$BATS_FILE_TMPDIR" LD_PRELOAD=refuse.so "REFUSE_STATE=$SCRATCH/calls" REFUSE_AT=1000001 "$@" "$REDLOCK")
}
refuse_now() { printf '\x40\x42\x0f' | dd of="$SCRATCH/calls" conv=notrunc status=none; }

@test "run: no memory any more; no job without a lock, and a line says that the lock may stay" {
  refuse 1 run --memory --for 1000000 --jobs 4
}

@test "run of a longer job: no memory any more; the job is dead when the lock expires" {
  refuse 1 long --memory --for 1000000 --jobs 24 --step 6
}

@test "acquire: no memory any more; no token, and a line says that the lock may stay" {
  refuse 1 acquire --memory --for 1000000 --jobs 4
}
