# SPDX-License-Identifier: MIT
#
# A system that refuses something: descriptors, memory, processes. Whatever it is, and whenever: no lock
# stays behind, no job runs without one, and one line says what was refused.

load lib/common

setup() { export LOCK=L; }
teardown() { stop_all; }

# locked_on: prints the servers that hold the lock.
locked_on() {
  local server
  for server in "${SERVERS[@]}"; do [[ $(cli "$server" exists L) == 0 ]] || echo "$server"; done
}

# within DESCRIPTORS ARG…: `run` of redlock with so many descriptors at most.
within() {
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
    for limit in {4..14}; do
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
