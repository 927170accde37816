#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC1003
#
# The main path: the job runs under its lock, gets everything untouched, and leaves nothing behind.

load ../lib/common

setup() { servers 1 --tcp; }

# Whatever a test here did, the server is as it was before.
teardown() {
  local clean=0
  assert_nothing_left A || clean=1
  stop_all
  return "$clean"
}

# locked NAME CMD…: CMD under the lock NAME.
locked() { "$REDLOCK" run "$1" -- "${@:2}"; }

# words_dumper: sets $DUMPER, a program that prints its words, each ended by a NUL.
words_dumper() {
  DUMPER=$SCRATCH/'dumper [a,b] "c"'
  printf '#!/bin/bash\nprintf "%%s\\0" "$#" "$@"\n' >"$DUMPER"
  chmod +x "$DUMPER"
}

# assert_words FILE WORD…: the dumper has printed just these.
assert_words() {
  cmp "$1" <(printf '%s\0' "$(($# - 1))" "${@:2}") ||
    fail "words arrived as:" "$(tr '\0' '\n' <"$1" | cut -c 1-80 | head -n 60)"
}

@test "while the job runs the key holds its token, afterwards it is gone" {
  run -0 --separate-stderr locked L sh -c \
    'echo "$REDLOCK_NAME $REDLOCK_TOKEN"; redis-cli -s "$A_SOCKET" get L'
  [[ -z $stderr ]]
  [[ ${lines[0]} =~ ^L\ [0-9a-f]{40}$ ]] || fail "$output"
  [[ ${lines[1]} == "${lines[0]#L }" ]] || fail "$output"
  assert_no_key A L
}

@test "every run has another token" {
  local i
  for i in {1..20}; do locked L sh -c 'echo "$REDLOCK_TOKEN"'; done >"$SCRATCH/tokens"
  [[ $(sort -u "$SCRATCH/tokens" | wc -l) == 20 ]]
}

@test "the key has a life of its own, of at most the ttl" {
  run "$REDLOCK" run --ttl 40s L -- sh -c 'redis-cli -s "$A_SOCKET" pttl L'
  assert_between 20000 "$output" 40000
  run locked L sh -c 'redis-cli -s "$A_SOCKET" pttl L'
  assert_between 15000 "$output" 30000
}

@test "the holder's record says who, and does not outlive the lock" {
  local record
  run -0 env LOGNAME=someone "$REDLOCK" run L -- sh -c \
    'redis-cli -s "$A_SOCKET" hget "redlock:{L}:holder" "$REDLOCK_TOKEN"; ps -o ppid= -p $PPID | tr -d " "
     redis-cli -s "$A_SOCKET" pttl "redlock:{L}:holder"'
  record=${lines[0]}
  [[ $(grep -oE '"[a-z]+":' <<<"$record" | tr -d '":' | paste -sd ' ') == \
    'command host list pid protocol since ttl user' ]] || fail "$record"
  assert_contains "$record" "\"host\":\"$(hostname)\"" '"user":"someone"'
  assert_contains "$record" "\"pid\":${lines[1]}," # the one the user sees, on top of the worker
  assert_contains "$record" '"command":"sh -c '
  assert_between 30001 "${lines[2]}" 45000
  assert_nothing_left A
}

@test "stdin, stdout and stderr are the job's, byte for byte" {
  head -c 300000 /dev/urandom >"$SCRATCH/in"
  locked L sh -c 'cat; echo to stderr >&2' <"$SCRATCH/in" >"$SCRATCH/out" 2>"$SCRATCH/err"
  cmp "$SCRATCH/in" "$SCRATCH/out"
  [[ $(<"$SCRATCH/err") == 'to stderr' ]]
}

@test "redlock reads nothing of the job's stdin" {
  run bash -c 'printf "one\ntwo\n" | { "$REDLOCK" run L -- head -c 4; cat; }'
  [[ $output == $'one\ntwo' ]] || fail "$output"
}

@test "REDLOCK_NAME and its like are set for the job only, never read or handed on" {
  run -0 env REDLOCK_NAME=x REDLOCK_TOKEN=y REDLOCK_FENCE=7 REDLOCK_SLOT=1 REDLOCK_HELD= \
    "$REDLOCK" run L -- sh -c 'env | grep -E "^REDLOCK_(NAME|TOKEN|FENCE|SLOT|HELD)=" | sort'
  [[ ${#lines[@]} == 4 && ${lines[2]} == REDLOCK_NAME=L ]] || fail "$output"
  [[ ${lines[0]} =~ ^REDLOCK_FENCE=[0-9]+$ && ${lines[0]} != REDLOCK_FENCE=7 ]] || fail "$output"
  [[ ${lines[3]} =~ ^REDLOCK_TOKEN=[0-9a-f]{40}$ ]] || fail "$output"
  [[ ${lines[1]} == "REDLOCK_HELD=${lines[3]#*=}:${lines[0]#*=}:"* ]] || fail "$output"
  # A longer name is another variable.
  [[ $(REDLOCK_NAMES=mine "$REDLOCK" run L -- sh -c 'echo "$REDLOCK_NAMES"') == mine ]]
}

@test "odd words reach the job untouched" {
  words_dumper
  local words=('' '[a,b]' '[abc]' '[]' '--' '' ' ' ' two  blanks ' '"double"' "it's" $'new\nline\n' $'tab\t'
    'ü€😀' $'\xff\xfe' '\' '\n' '$HOME' '`id`' '*' '{}' '%s%n' 'a=b' '-' '---' '!' '#' '"' "'" ';' '&' '@file')
  # A long one, and many.
  words+=("$(printf '%100000s' x)" {1..5000})
  locked L "$DUMPER" "${words[@]}" >"$SCRATCH/words"
  assert_words "$SCRATCH/words" "${words[@]}"
  "$REDLOCK" run L "$DUMPER" "${words[@]}" >"$SCRATCH/words"
  assert_words "$SCRATCH/words" "${words[@]}"
}

@test "-c gives one word to the shell, on either side of the name" {
  run -3 "$REDLOCK" run L -c 'echo "$REDLOCK_NAME" | tr L l; exit 3'
  [[ $output == l ]]
  run -0 "$REDLOCK" run -c 'a=1; echo $((a + 1)) "[x,y]" --' L
  [[ $output == '2 [x,y] --' ]]
}

@test "-c uses \$SHELL, or /bin/sh" {
  printf '#!/bin/sh\necho "shell: $*"\n' >"$SCRATCH/shell"
  chmod +x "$SCRATCH/shell"
  SHELL=$SCRATCH/shell run -0 "$REDLOCK" run L -c -n
  [[ $output == 'shell: -c -n' ]] || fail "$output"
  run -0 env -u SHELL "$REDLOCK" run L -c 'readlink /proc/$$/exe'
  [[ $output == "$(readlink -f /bin/sh)" ]] || fail "$output"
}

@test "odd lock names are taken as they are" {
  local name long
  printf -v long '%*s' 255 x
  for name in a 'a b' ' a' ü€ $'\xff' '{tag}' 'x{tag}y' '[a,b]' a:b/c '*' '$x' '"' "'" . '\' a- 1 "$long"; do
    run -0 --separate-stderr locked "$name" sh -c 'redis-cli -s "$A_SOCKET" exists "$REDLOCK_NAME"'
    [[ $output == 1 ]] || fail "no key of the name '$name': $output"
    assert_nothing_left A
  done
}

# reached URI…: A is, by each of these.
reached() {
  local uri
  for uri in "$@"; do
    run -0 --separate-stderr "$REDLOCK" run -S "$uri" L -- redis-cli -s "$A_SOCKET" exists L
    [[ $output == 1 && -z $stderr ]] || fail "$uri: $output $stderr"
  done
}

@test "a server is reached by socket and address" { reached "$A_URI" "$A_TCP_URI" "$A_TCP_URI/0"; }

@test "a server is reached by name" {
  needs_localhost
  reached "redis://localhost:$A_PORT" "valkey://localhost:$A_PORT/"
}

@test "a server is reached by IPv6, also where its name has an IPv4 address too" {
  grep -qs '^0\{31\}1 ' /proc/net/if_inet6 || skip 'no IPv6 on the loopback interface'
  start_server SIX --tcp --bind ::1
  run -0 "$REDLOCK" run -S "redis://[::1]:$SIX_PORT" L -- redis-cli -s "$SIX_SOCKET" exists L
  [[ $output == 1 ]] || fail "$output"
  getent ahosts localhost | grep -q '^::1 ' || return 0
  run -0 "$REDLOCK" run -S "redis://localhost:$SIX_PORT" L -- redis-cli -s "$SIX_SOCKET" exists L
}

@test "the database of the URI is used, and databases are apart" {
  local uri
  for uri in "$A_URI?db=3" "$A_TCP_URI/3"; do
    run -0 "$REDLOCK" run -S "$uri" L -- redis-cli -s "$A_SOCKET" -n 3 exists L
    [[ $output == 1 ]] || fail "$uri: $output"
  done
  run -0 "$REDLOCK" run -S "$A_TCP_URI/3" L -- "$REDLOCK" run -n -S "$A_URI" L -- echo in
  run -1 "$REDLOCK" run -S "$A_TCP_URI/3" L -- "$REDLOCK" run -n -S "$A_URI?db=3" L -- echo in
}

@test "--prefix stands before the name in the key, and keeps locks apart" {
  run "$REDLOCK" run --prefix app: L -- sh -c 'echo "$REDLOCK_NAME"; redis-cli -s "$A_SOCKET" exists app:L L'
  [[ $output == $'L\n1' ]] || fail "$output"
  run -1 env REDLOCK_PREFIX=app: "$REDLOCK" run L -- \
    env -u REDLOCK_PREFIX "$REDLOCK" run -n --no-reentrant app:L -- true
  run -0 "$REDLOCK" run --prefix app: L -- "$REDLOCK" run -n L -- true
}

@test "nothing stays on the server, however the run ends" {
  local end
  for end in 'exit 0' 'exit 9' 'kill -KILL $$' 'kill -TERM $$'; do
    run locked L sh -c "$end"
    assert_nothing_left A
  done
  run -127 locked L /nonexistent
  assert_nothing_left A
  run -126 locked L /
  assert_nothing_left A
  cli A set L somebody
  run -1 "$REDLOCK" run -n L -- true
  run -1 "$REDLOCK" run -w 1 L -- true
  cli A del L
  assert_nothing_left A
}

@test "standard descriptors that are closed stay closed, and no message goes astray" {
  # With 0, 1 and 2 free, the next ones opened are the connection to the server.
  "$REDLOCK" run -vv -S "$A_TCP_URI" L -- sh -c 'ls -l /proc/self/fd >"$0"; ls -l "/proc/$PPID/fd" >"$0.worker"' \
    "$SCRATCH/fds" <&- >&- 2>&- 3>&-
  (($(grep -cE ' [012] -> /dev/null' "$SCRATCH/fds.worker") == 3)) || fail "$(<"$SCRATCH/fds.worker")"
  run grep -cE ' [012] -> (socket|anon_inode)' "$SCRATCH/fds"
  [[ $output == 0 ]] || fail "$(<"$SCRATCH/fds")"
}

@test "the job's status arrives also where SIGCHLD was ignored at entry" {
  run -7 timeout -s KILL 20 env --ignore-signal=CHLD "$REDLOCK" run L -- sh -c 'exit 7'
}

@test "a job whose reader goes away dies of SIGPIPE" {
  run bash -c 'env --default-signal=PIPE "$REDLOCK" run L -- yes | head -n 1; echo "${PIPESTATUS[0]}"'
  [[ $output == $'y\n141' ]] || fail "$output"
}

@test "the lock is held until the job's main process has ended, not longer" {
  run locked L sh -c 'sleep 30 </dev/null >/dev/null 2>&1 3>&- & echo $!'
  local child=$output
  assert_status 0
  assert_free L
  ! gone "$child" || fail "the job ended by itself, its child should have lived on"
  kill "$child"
}
