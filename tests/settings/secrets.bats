#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
# shellcheck disable=SC2086
#
# What must stay between the user and the servers: the words of the job, and passwords.

load ../lib/common

setup() { servers 1; }
teardown() { stop_all; }

# stored: prints all that the server keeps, of whatever type.
stored() {
  local key
  while read -r key; do
    case $(cli A type "$key") in
    hash) cli A hgetall "$key" ;;
    stream) cli A xrange "$key" - + ;;
    zset) cli A zrange "$key" 0 -1 ;;
    *) cli A get "$key" ;;
    esac
  done < <(cli A keys '*')
}

# holds_while COMMAND…: runs COMMAND while another redlock holds the lock L, with $RECORDED, for a job whose
# words hold "geheim"; and a third one waits for it.
holds_while() {
  background "$REDLOCK" run $RECORDED L -- /bin/sh -c 'echo >"$0"; sleep 60; : geheim' "$SCRATCH/ready"
  local holder=$BACKGROUND_PID
  wait_for "$SCRATCH/ready"
  background "$REDLOCK" run $RECORDED L -- /bin/echo geheim
  wait_for_key A 'redlock:{L}:waiters'
  "$@"
  terminate "$BACKGROUND_PID"
  terminate "$holder"
}

# tells COMMAND: what the servers keep, and what status, list and history show.
tells() {
  stored >"$SCRATCH/stored"
  "$REDLOCK" status -v L >"$SCRATCH/status"
  "$REDLOCK" status --json L >"$SCRATCH/status.json"
  "$REDLOCK" list >"$SCRATCH/list"
  "$REDLOCK" run -vv -n L -- true 2>"$SCRATCH/refused" || true
}

# told: prints what tells has written, and what is known after the job.
told() {
  cat "$SCRATCH"/{stored,status,status.json,list,refused}
  stored
  "$REDLOCK" history L
}

@test "secrets: the servers keep the whole command, unless told otherwise" {
  RECORDED='' holds_while tells
  local file
  for file in stored status status.json list refused; do assert_contains "$(<"$SCRATCH/$file")" geheim; done
  assert_contains "$(stored)" geheim
  assert_contains "$("$REDLOCK" history L)" geheim
}

@test "secrets: --record-command=name keeps the name of the program" {
  RECORDED=--record-command=name holds_while tells
  refute_contains "$(told)" geheim /bin
  assert_contains "$(<"$SCRATCH/stored")" '"command":"sh"' '"command":"echo"'
  assert_contains "$(<"$SCRATCH/status")" 'command   sh'
  assert_contains "$(<"$SCRATCH/refused")" ', sh)'
}

@test "secrets: --record-command=none keeps nothing of it, and nothing odd is shown" {
  RECORDED=--record-command=none holds_while tells
  refute_contains "$(told)" geheim ', )'
  assert_contains "$(<"$SCRATCH/stored")" '"command":""'
  refute_contains "$(<"$SCRATCH/status")" command
  [[ $(<"$SCRATCH/refused") =~ \(pid\ [0-9]+\) ]] || fail "$(<"$SCRATCH/refused")"
}

@test "secrets: --record-command holds for acquire, its keeper and release --force, too; any other word is refused" {
  local token
  token=$("$REDLOCK" acquire --record-command none --keep-for $$ L 3>&-)
  assert_contains "$(stored)" '"command":""'
  refute_contains "$(stored)" 'redlock acquire'
  "$REDLOCK" release L "$token"
  wait_until "$BOUND" has_no_keys A
  refute_contains "$(stored)" 'redlock acquire'
  REDLOCK_RECORD_COMMAND=name "$REDLOCK" acquire L
  assert_contains "$(stored)" '"command":"redlock"'
  run -0 --separate-stderr "$REDLOCK" release --force --yes --record-command none L
  refute_contains "$(stored)" --force
  REDLOCK_RECORD_COMMAND=some run -78 --separate-stderr "$REDLOCK" run L -- true
  assert_contains "$stderr" 'REDLOCK_RECORD_COMMAND: expected full, name or none'
}

# names_it VALUE TEXT: redlock refuses the first server in VALUE, and shows only TEXT of it.
names_it() {
  REDLOCK_SERVERS=$1 run -78 --separate-stderr "$REDLOCK" list
  assert_contains "$stderr" "redlock: REDLOCK_SERVERS: $2"
  refute_contains "$stderr$output" heim
}

@test "secrets: a URI that cannot be read is shown if it is a place alone, and has its number in the list" {
  names_it redis://db1:99999 '"redis://db1:99999": the port '
  names_it 'redis://db1 redis://db2:99999/1' 'server 2: "redis://db2:99999/1"'
  # A password with a blank in it.
  names_it 'redis://heim:99999 secret@db1' 'server 2: not a valid server URI; put redis'
}

@test "secrets: of a URI that cannot be read and may have a password, nothing after the scheme is shown" {
  local uri command message
  export REDLOCK_CONFIG=$SCRATCH/redlock.toml
  for uri in redis://geheim@db redis://:ge@heim/@db redis://:a?geheim redis://db1/geheim redis://db1:geheim \
    redis://u:geheim%zz@db1 unix://geheim redis:geheim@db1 http://geheim@db1; do
    : >"$REDLOCK_CONFIG"
    for command in run status list check config; do
      run --separate-stderr "$REDLOCK" "$command" -S "$uri"
      refute_contains "$stderr$output" heim
    done
    REDLOCK_SERVERS="redis://one $uri" run -78 --separate-stderr "$REDLOCK" list
    assert_contains "$stderr" 'REDLOCK_SERVERS: server 2: '
    refute_contains "$stderr$output" heim
    echo "servers = [\"$uri\"]" >"$REDLOCK_CONFIG"
    REDLOCK_SERVERS='' run -78 --separate-stderr "$REDLOCK" list
    refute_contains "$stderr$output" heim
    # In a place where none belongs.
    for message in run status 'run --sever' acquire renew; do
      # shellcheck disable=SC2086
      run --separate-stderr "$REDLOCK" $message "$uri" -- true
      [[ $uri != *://* ]] || refute_contains "$stderr$output" heim
    done
  done
}
