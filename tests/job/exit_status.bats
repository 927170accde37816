#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
# shellcheck shell=bash disable=SC1003
#
# Every line of the table of exit statuses.

load ../lib/common

setup() { servers 1 --tcp; }
teardown() { stop_all; }

# ends_with STATUS ARG…: redlock with these arguments ends so, with nothing on stdout.
ends_with() {
  local check=()
  [[ $1 != 127 ]] || check=(-127) # or bats warns
  run "${check[@]}" --separate-stderr "$REDLOCK" "${@:2}"
  assert_status "$1"
  [[ -z $output ]] || fail "on stdout: $output"
}

# refuses STATUS TEXT ARG…: ends so, with one line that holds TEXT.
refuses() {
  ends_with "$1" "${@:3}"
  assert_one_line "$stderr" "$2"
}

# limited LIMIT ARG…: redlock under that limit of prlimit(1), as a user whom limits bind.
limited() {
  local as=() program
  [[ $(id -u) != 0 ]] || as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
  # A copy that every user can execute, in a directory that every user can enter.
  program=$(mktemp /tmp/redlock-test.XXXXXX)
  cp "$REDLOCK" "$program"
  chmod 755 "$program"
  cd /
  # LeakSanitizer needs a process of its own.
  ASAN_OPTIONS=detect_leaks=0 run --separate-stderr \
    prlimit "$1" -- "${as[@]}" "$program" "${@:2}" 3>&- 4>&-
  rm -f "$program"
}

@test "a status of a job, from 0 to 255, is redlock's, without a word from us" {
  local code
  for code in {0..255..5} 1 64 69 71 78 124 {126..129}; do
    ends_with "$code" run L -- sh -c "exit $code"
    [[ -z $stderr ]] || fail "$code: $stderr"
  done
  assert_nothing_left A
}

@test "a script without #! runs under /bin/sh, by its path or from PATH" {
  mkdir -p "$SCRATCH/bin" "$SCRATCH/no/plain-script"
  printf '%s\n' 'echo "$0 $*"' 'exit 7' >"$SCRATCH/bin/plain-script"
  chmod +x "$SCRATCH/bin/plain-script"
  run -7 "$REDLOCK" run L -- "$SCRATCH/bin/plain-script" 'a b' c
  [[ $output == "$SCRATCH/bin/plain-script a b c" ]] || fail "by its path: $output"
  PATH=$SCRATCH/no:$SCRATCH:$SCRATCH/bin:$PATH run -7 "$REDLOCK" run L -- plain-script 'a b' c
  [[ $output == "$SCRATCH/bin/plain-script a b c" ]] || fail "from PATH: $output"
  assert_nothing_left A
}

@test "1: somebody else holds the lock; -E chooses another number" {
  cli A set L somebody
  ends_with 1 run -n L -- true
  ends_with 1 run -w 1 L -- true
  ends_with 0 run -E 0 -n L -- true
  ends_with 77 run -n -E 77 L -- true
  ends_with 255 run -w 0 --conflict-exit-code=255 L -- true
  [[ $(cli A get L) == somebody ]]
}

@test "-E changes nothing but the conflict" {
  ends_with 1 run -E 77 L -- false
  ends_with 69 run -E 77 -n --server-wait 0.1 -S "$SCRATCH_URI/none" L -- true
  ends_with 127 run -E 77 L -- /nonexistent
  cli A del L
}

@test "64: usage, with one line that says what" {
  refuses 64 'redlock --help'
  refuses 64 'no command' run L
  refuses 64 'unknown option' run L -Z -- true
  refuses 64 '-F' run -o -F L -- true
}

@test "69: the server cannot be used" {
  kill_server A
  refuses 69 "$A_URI" run -n --server-wait 0.1 L -- true
  refuses 69 "127.0.0.1:$A_PORT" run -w 0.1 -S "$A_TCP_URI" L -- true
}

@test "71: the system gives no descriptor, or no process; the lock is free" {
  local limit
  for limit in --nofile=4 --nproc=0; do
    limited "$limit" run -S "$A_TCP_URI" L -- true
    assert_status 71 || fail "$limit"
    assert_one_line "$stderr" || fail "$limit"
    assert_nothing_left A
  done
}

@test "78: no servers are configured" {
  unset REDLOCK_SERVERS
  refuses 78 'REDLOCK_SERVERS' run L -- true
  assert_contains "$stderr" '--server' 'redlock sandbox'
  REDLOCK_SERVERS='' refuses 78 'no servers' run L -- true
}

@test "78: what the environment or a file says is wrong" {
  REDLOCK_SERVERS=db1 refuses 78 REDLOCK_SERVERS run L -- true
  REDLOCK_TTL=soon refuses 78 REDLOCK_TTL run L -- true
  REDLOCK_KILL_AFTER=20s refuses 78 REDLOCK_KILL_AFTER run L -- true
  refuses 78 /nonexistent run --password-file /nonexistent L -- true
}

@test "80: the lock was lost while the job ran" {
  ends_with 80 run --ttl 1s L -- sh -c 'redis-cli -s "$A_SOCKET" del L >&2; exec sleep 30'
  assert_contains "$stderr" 'lock "L" was lost'
}

@test "80: at release the lock was not ours, whatever the job's status" {
  ends_with 80 run L -- sh -c 'redis-cli -s "$A_SOCKET" del L >/dev/null; exit 0'
  assert_one_line "$stderr" "$A_URI: the lock is gone there"
  ends_with 80 run -q L -- sh -c 'redis-cli -s "$A_SOCKET" set L other >/dev/null; exit 5'
  assert_contains "$stderr" "$A_URI: somebody else holds the lock there"
  [[ $(cli A get L) == other ]]
}

@test "124: --max-runtime has passed" {
  timed -124 "$REDLOCK" run --max-runtime 300ms L -- sleep 30
  assert_one_line "$stderr" max-runtime
  assert_between 300 "$elapsed" 20000
  assert_nothing_left A
}

@test "124 also where the job traps the TERM and ends in peace, or has to be killed" {
  ends_with 124 run --max-runtime 300ms L -- bash -c 'trap "exit 0" TERM; while :; do sleep 0.02; done'
  # Ignored from the start: there is no moment before a trap is set.
  timed -124 env --ignore-signal=TERM "$REDLOCK" run --max-runtime 300ms --kill-after 200ms L -- sleep 30
  assert_between 500 "$elapsed" 20000
}

@test "a job that is done before --max-runtime keeps its status" {
  ends_with 3 run --max-runtime 20s L -- sh -c 'exit 3'
}

@test "126: the command cannot be executed" {
  echo 'not a program' >"$SCRATCH/file"
  refuses 126 "$SCRATCH/file" run L -- "$SCRATCH/file"
  refuses 126 / run L -- /
  assert_nothing_left A
}

@test "a script whose interpreter cannot be run: the message names the interpreter" {
  local script=$SCRATCH/a-script
  script() { printf '%b\necho hi\n' "$1" >"$script" && chmod +x "$script"; }
  script '#!/bin/sh\r'
  refuses 127 "cannot run $script: the interpreter in its first line, /bin/sh, is followed by a carriage return" \
    run L -- "$script"
  assert_contains "$stderr" "convert the file: sed -i 's/\\r\$//' $script"
  script '#! /no/such/interpreter -e'
  refuses 127 "the interpreter in its first line, /no/such/interpreter: No such file" run L -- "$script"
  PATH=$SCRATCH:$PATH refuses 127 "cannot run a-script: the interpreter in its first line, /no/such" run L -- a-script
  script '#!/etc/passwd'
  refuses 126 "the interpreter in its first line, /etc/passwd: Permission denied" run L -- "$script"
  # Failures that have nothing to do with the interpreter.
  chmod -x "$script"
  refuses 126 "cannot run $script: Permission denied" run L -- "$script"
}

@test "a program for another machine or another loader is not read by a shell; an empty file is" {
  local machine=$SCRATCH/machine
  install -m 755 "$(type -P true)" "$machine"
  printf '\x58\x58' | dd of="$machine" bs=1 seek=18 conv=notrunc status=none # e_machine
  refuses 126 "cannot run $machine: Exec format error: it is a program for another kind of machine" run L -- "$machine"
  "$PYTHON" - "$(type -P true)" "$SCRATCH/loader" <<'LOADER'
import sys
text = open(sys.argv[1], "rb").read()
open(sys.argv[2], "wb").write(text.replace(b"/ld-linux", b"/no-linux").replace(b"/ld-musl", b"/no-musl"))
LOADER
  chmod +x "$SCRATCH/loader"
  refuses 127 "No such file or directory: the file exists, but the loader" run L -- "$SCRATCH/loader"
  install -m 755 /dev/null "$SCRATCH/plain"
  run -0 "$REDLOCK" run L -- "$SCRATCH/plain"
}

@test "the command is searched as execvp(3) does" {
  mkdir "$SCRATCH"/{one,two,three}
  mkdir "$SCRATCH/one/tool"                         # a folder
  printf '#!/none\n' >"$SCRATCH/two/tool"           # without its interpreter
  printf '#!/bin/sh\necho found\n' >"$SCRATCH/three/tool"
  chmod +x "$SCRATCH"/*/tool
  PATH=$SCRATCH/missing:$SCRATCH/two/tool:$SCRATCH/one:$SCRATCH/two:$SCRATCH/three:$PATH run -0 "$REDLOCK" run L -- tool
  [[ $output == found ]] || fail "$output"
  chmod -x "$SCRATCH/three/tool"
  PATH=$SCRATCH/three:$SCRATCH/missing refuses 126 'cannot run tool: Permission denied' run L -- tool
  cd "$SCRATCH/three" && chmod +x tool
  PATH=: run -0 "$REDLOCK" run L -- tool
  run -0 env -u PATH "$REDLOCK" run L -- true
}

@test "127: there is no such command" {
  refuses 127 /nonexistent/command run L -- /nonexistent/command
  refuses 127 no-such-command run L -- no-such-command
  refuses 127 "cannot run '': No such file" run L -- ''
  assert_nothing_left A
}
