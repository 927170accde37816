# SPDX-License-Identifier: MIT
# bats file_tags=whole,slow
#
# A system that refuses something: descriptors, memory, processes. Whatever it is, and whenever: no lock
# stays behind, no job runs without one, and one line says what was refused.
# shellcheck disable=SC2030,SC2031 # each test has a shell of its own

load ../lib/common

setup() { export LOCK=L; }
teardown() { stop_all; }

# locked_on: prints the servers that hold the lock.
locked_on() {
  local server
  for server in "${SERVERS[@]}"; do [[ $(cli "$server" exists L) == 0 ]] || echo "$server"; done
}

# within DESCRIPTORS ARG…: `run` of redlock with so many descriptors at most.
within() {
  # shellcheck disable=SC2016
  run --separate-stderr bash -c 'exec 3>&- 4>&-; ulimit -n "$1"; exec "$REDLOCK" "${@:2}"' _ "$@"
}

# refused: the system refused something: there is no socket for a server (69), or else (71).
refused() {
  [[ $status == 69 || $status == 71 ]] || fail "status $status: $stderr"
  one_line
}

# one_line: standard error has one line, redlock's.
one_line() { [[ $stderr == 'redlock: '* && $stderr != *$'\n'* ]] || fail "not one line: $stderr"; }

@test "few descriptors: the job runs, or there is no lock" {
  local count limit ran
  for count in 1 3; do
    servers "$count"
    ran=0
    for limit in {4..32}; do
      within "$limit" run --min-hold 1h --server-wait 100ms L -- echo ran
      if [[ $status == 0 ]]; then
        [[ $output == ran && -z $stderr ]] || fail "$limit: $output $stderr"
        ran=$((ran + 1))
        for server in "${SERVERS[@]}"; do cli "$server" flushall; done
      else
        refused
        assert_contains "$stderr" 'Too many open files'
        [[ -z $output ]] || fail "$limit: the job ran"
        [[ -z $(locked_on) ]] || fail "$limit descriptors: locked on $(locked_on)"
      fi
    done
    ((ran > 0)) || fail "it never ran with $count servers"
    stop_servers
  done
}

@test "few descriptors: acquire prints a token that holds the lock, or there is no lock" {
  local count limit held ward
  sleep 60 3>&- &
  ward=$!
  BACKGROUND+=("$ward")
  for count in 1 3; do
    servers "$count"
    held=0
    for limit in {4..14}; do
      within "$limit" acquire --server-wait 100ms --keep-for "$ward" L
      if [[ $status == 0 ]]; then
        held=$((held + 1))
        "$REDLOCK" release L "$output" || fail "$limit: $output holds nothing"
        wait_until "$BOUND" is_free
        for server in "${SERVERS[@]}"; do cli "$server" flushall; done
      else
        refused
        [[ -z $output ]] || fail "$limit: $output"
        [[ -z $(locked_on) ]] || fail "$limit descriptors: locked on $(locked_on)"
      fi
    done
    ((held > 0)) || fail "it was never held with $count servers"
    stop_servers
  done
}
is_free() { [[ -z $(locked_on) ]]; }

# refuse SERVERS ARG…: tests/faults/refusals with so many servers.
refuse() {
  local count=$1
  shift
  servers "$count"
  run "${CC:-cc}" -O2 -shared -fPIC -o "$SCRATCH/refuse.so" "$TESTS/faults/refuse.c" -ldl
  assert_status 0
  run timeout 280 "$PYTHON" -B "$TESTS/faults/refusals" "$SCRATCH/refuse.so" "$REDLOCK" "$@" 3>&- 4>&-
  assert_status 0
  assert_contains "$output" 'status 0, the job ran'
  assert_contains "$output" 'status 71, the job ran 0 times'
}

@test "run: every second call is refused, from before the first request to the end" { refuse 1 run --from 80 --step 2; }

@test "run on three servers: every fifth call is refused" { refuse 3 run --step 5; }

@test "run: no memory for a dozen allocations" { refuse 1 run --memory --for 12 --step 11; }

@test "run of a longer job: some calls are refused" { refuse 1 long --from 102 --step 37; }

@test "acquire: every second call is refused, from before the first request to the end" { refuse 1 acquire --from 80 --step 2; }

@test "acquire --keep-for: some calls are refused" { refuse 3 keeper --from 100 --step 13; }
