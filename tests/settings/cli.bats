#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
# shellcheck shell=bash disable=SC1003,SC2016,SC2030,SC2031,SC2034,SC2153,SC2154
#
# The command line and the environment: help, flock(1)'s options, where settings and passwords come
# from.

load ../lib/common
load ../lib/acl

setup() { export A_SOCKET; }
teardown() { stop_all; }

# start: most tests here need a server, some need none.
start() {
  start_server A --tcp "$@"
  export REDLOCK_SERVERS=$A_URI
}

# refuses STATUS TEXT ARG…: redlock ends so, with one line that holds TEXT.
refuses() {
  run --separate-stderr "$REDLOCK" "${@:3}"
  assert_status "$1"
  [[ -z $output ]]
  assert_one_line "$stderr"
  assert_contains "$stderr" "$2"
}

@test "help is data: stdout, status 0, needs no server" {
  local words
  for words in --help -h help 'run --help' 'run -h' 'help run' 'sandbox --help' 'help sandbox' 'run L --help'; do
    # shellcheck disable=SC2086
    run --separate-stderr "$REDLOCK" $words
    assert_status 0
    [[ -z $stderr ]]
    assert_contains "$output" Usage:
  done
}

@test "the help of run has every option and every exit status" {
  run eval '"$REDLOCK" run --help; "$REDLOCK" run --help-servers'
  local word
  for word in -n --nb --nonblock --nonblocking -w --wait --timeout -E --conflict-exit-code -x -e --exclusive -s --shared \
    -c --command -F --no-fork -o --close -v --verbose -q --quiet -h --help -V --version -S --server --ttl --kill-after \
    --max-runtime --server-timeout --server-wait --prefix --password-file REDLOCK_SERVERS REDLOCK_PASSWORD REDISCLI_AUTH; do
    grep -qE -- "(^|[^-[:alnum:]])$word([^-[:alnum:]]|$)" <<<"$output" || fail "no $word in: $output"
  done
  for word in 1 64 69 71 78 80 124 126 127; do grep -qE "^  $word  " <<<"$output" || fail "no status $word"; done
  # It fits a terminal.
  ! grep -E '^.{80}' <<<"$output" || fail 'longer than 79 columns'
}

@test "version" {
  local words
  for words in --version -V 'run --version' 'run -V'; do
    # shellcheck disable=SC2086
    run --separate-stderr "$REDLOCK" $words
    assert_status 0
    # The first line is the version alone. The numbers below it are those of the libraries that are linked in.
    [[ ${lines[0]} =~ ^redlock\ [0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "$output"
    grep -qxF "${lines[1]#protocol }." <(sed -n 's/^It is protocol version //p' "$SOURCE/man/redlock-protocol.7") ||
      fail "not the protocol of redlock-protocol(7): ${lines[1]}"
    grep -qxF "hiredis $(pkg-config --modversion hiredis)" <<<"$output" || fail "$output"
    # shellcheck disable=SC1011 # the pattern is in several pieces
    [[ $output =~ $'\ncompiler '(GNU|Clang)\ [0-9]+\. && $output =~ $'\n'toml\+\+\ 3\.[0-9]+\.[0-9]+$'\n' ]] || fail "$output"
  done
}

@test "help that cannot be written is an error" {
  run bash -c '"$REDLOCK" --help >/dev/full'
  assert_status 71
}

@test "mistakes are told with what to do" {
  refuses 64 'redlock --help'
  refuses 64 'did you mean: redlock run' rum L -- true
  refuses 64 'redlock run NAME -- COMMAND' L -- true
  refuses 64 'did you mean --nonblock' run --nonblok L -- true
  refuses 64 'did you mean --wait' run --weit 3 L -- true
  refuses 64 "-w/--wait: expected a time (90, " run -n -w L -- true
  refuses 64 "-w/--wait: expected a time (90, " acquire -w L
  refuses 64 'options go after the subcommand' -n run L -- true
  refuses 64 'NAME goes before the --' run -- true
}

@test "habits from other programs: the message has the right word" {
  refuses 64 'did you mean: redlock run NAME -- COMMAND' lock L
  refuses 64 'redlock release --force NAME' unlock L
  refuses 64 'did you mean: redlock list' ls
  refuses 64 'did you mean: redlock run' exec L true
  refuses 64 'did you mean: redlock --version' version
  refuses 64 'put redis:// before the host' run -S db1 L -- true
  REDLOCK_SERVERS=redis://db1,redis://db2 refuses 78 'by blanks, not by commas' run L -- true
}

@test "a shell command in one word: the message names -c" {
  start
  run -127 --separate-stderr "$REDLOCK" run L -- 'echo hi'
  assert_one_line "$stderr"
  assert_contains "$stderr" "for a shell command: redlock run NAME -c 'COMMAND'"
  run -127 --separate-stderr "$REDLOCK" run L -- no-such-command
  [[ $stderr == *': No such file or directory' ]] || fail "$stderr"
}

@test "help: server and TLS options have a page of their own" {
  local command
  for command in run acquire renew release status list history check config; do
    run --separate-stderr "$REDLOCK" "$command" --help-servers
    assert_status 0
    [[ -z $stderr ]]
    assert_contains "$output" '--tls-ca FILE'
    ! grep -E '^.{80}' <<<"$output" || fail 'longer than 79 columns'
    run "$REDLOCK" "$command" --help
    refute_contains "$output" '--tls-ca FILE'
    assert_contains "$output" '--help-servers'
  done
}

@test "help: check and config run nothing, acquire runs no command" {
  local command
  for command in check config; do
    run "$REDLOCK" "$command" --help
    assert_contains "$output" $'\nSettings:\n'
    refute_contains "$output" 'Running the command'
    refute_contains "$output" 'Waiting for the lock'
  done
  run "$REDLOCK" acquire --help
  assert_contains "$output" '--slots N'
  refute_contains "$output" 'Running the command'
}

@test "long options are not abbreviated" {
  refuses 64 'unknown option' run --non L -- true
  refuses 64 'unknown option' run --verb L -- true
  refuses 64 'unknown option' run --serv unix:///x L -- true
}

@test "options join and take their values as getopt's do" {
  start
  local words
  for words in '-nv L' '-nw5 L' '-nvw 5 L' '-w5 L' '-w=5 L' '--wait=5 L' '--wait 5 L' '-nE7 L' '-nE 7 L' \
    '--conflict-exit-code=7 L' 'L -n' 'L -nvw5' '-n L -v'; do
    case $words in
      -w=5*)
        # As getopt: the = is part of the value.
        refuses 64 '=5' run -w=5 L -- true
        ;;
      *)
        # shellcheck disable=SC2086
        run "$REDLOCK" run $words true
        assert_status 0
        ;;
    esac
  done
  refuses 64 'needs a value' run -w -n L -- true
}

@test "all of flock's options are understood" {
  start
  local option
  for option in -n --nb --nonblock --nonblocking '-w 1' '--wait 1' '--timeout 1' '--timeout=1.5' '-E 3' \
    '--conflict-exit-code 3' -x -e --exclusive -s --shared -F --no-fork -o --close --verbose '-s -x' '-w 0.5 -n'; do
    # shellcheck disable=SC2086
    run "$REDLOCK" run $option L -- sh -c 'exit 4'
    assert_status 4
  done
  run "$REDLOCK" run L -c 'exit 4'
  assert_status 4
  run "$REDLOCK" run L --command 'exit 4'
  assert_status 4
  refuses 64 'nothing to unlock' run -u L -- true
  refuses 64 'nothing to unlock' run --unlock L -- true
  refuses 64 'exclude each other' run -s --min-hold 1m L -- true
  refuses 64 'exclude each other' run --once 1m --shared L -- true
  refuses 64 -o run -o -F L -- true
}

@test "flock's way to give up: each spelling of -n and -w ends with 1, or -E's number" {
  start
  cli A set L somebody
  local option
  for option in -n --nb --nonblock --nonblocking '-w 0' '-w .1' '--wait 100ms' '--timeout 0.1s'; do
    # shellcheck disable=SC2086
    run "$REDLOCK" run $option L -- true
    assert_status 1
    # shellcheck disable=SC2086
    run "$REDLOCK" run $option -E 9 L -- true
    assert_status 9
  done
}

@test "a wrong variable is named, a flag makes up for it" {
  start
  local setting name
  for setting in REDLOCK_SERVERS=nonsense REDLOCK_TTL=soon REDLOCK_TTL=10ms REDLOCK_KILL_AFTER=x REDLOCK_SERVER_TIMEOUT=0 \
    REDLOCK_SERVER_WAIT=-1 REDLOCK_PREFIX=redlock: REDLOCK_PASSWORD_FILE=/nonexistent; do
    name=${setting%%=*}
    run --separate-stderr env "$setting" "$REDLOCK" run L -- true
    assert_status 78
    assert_one_line "$stderr"
    [[ $name == REDLOCK_PASSWORD_FILE ]] || assert_contains "$stderr" "$name"
  done
  run env REDLOCK_SERVERS=nonsense REDLOCK_TTL=soon "$REDLOCK" run -S "$A_URI" --ttl 5s L -- true
  assert_status 0
}

@test "the environment's settings are used, flags go first" {
  start
  local ttl='redis-cli -s "$A_SOCKET" pttl L'
  run env REDLOCK_TTL=100s "$REDLOCK" run L -c "$ttl"
  assert_between 60000 "$output" 100000
  run env REDLOCK_TTL=100s "$REDLOCK" run --ttl 50s L -c "$ttl"
  assert_between 10000 "$output" 50000
  run env REDLOCK_TTL= REDLOCK_PREFIX= "$REDLOCK" run L -c "$ttl"
  assert_between 5000 "$output" 30000
  timed env REDLOCK_SERVER_WAIT=200ms "$REDLOCK" run -S "unix://$SCRATCH/none" L -- true
  assert_status 69
  assert_between 200 "$elapsed" 5000
}

@test "a REDLOCK_ variable that is no setting does not matter" {
  start
  run env REDLOCK_NONSENSE=1 REDLOCK_WAIT=x REDLOCK_SLOT=x "$REDLOCK" run L -- true
  assert_status 0
}

# can URI: whether the server lets redlock in; with settings from the environment and these options.
can() {
  run --separate-stderr "$REDLOCK" run -n "${@:2}" -S "$1" L -- true
  [[ $status == 0 ]]
}
cannot() {
  ! can "$@" || fail 'it was let in'
  assert_status 69
}

@test "the password comes from the URI, then the file, then REDLOCK_PASSWORD, then REDISCLI_AUTH" {
  start --requirepass right
  local uri=$A_TCP_URI with=redis://:right@127.0.0.1:$A_PORT wrong=redis://:wrong@127.0.0.1:$A_PORT
  echo right >"$SCRATCH/right"
  echo wrong >"$SCRATCH/wrong"
  cannot "$uri"

  can "$with"
  REDLOCK_PASSWORD=wrong REDISCLI_AUTH=wrong can "$with" --password-file "$SCRATCH/wrong"
  REDLOCK_PASSWORD=right REDISCLI_AUTH=right cannot "$wrong" --password-file "$SCRATCH/right"

  can "$uri" --password-file "$SCRATCH/right"
  REDLOCK_PASSWORD=wrong REDISCLI_AUTH=wrong can "$uri" --password-file "$SCRATCH/right"
  REDLOCK_PASSWORD=right REDISCLI_AUTH=right cannot "$uri" --password-file "$SCRATCH/wrong"

  REDLOCK_PASSWORD=right can "$uri"
  REDLOCK_PASSWORD=right REDISCLI_AUTH=wrong can "$uri"
  REDLOCK_PASSWORD=wrong REDISCLI_AUTH=right cannot "$uri"

  REDISCLI_AUTH=right can "$uri"
  REDISCLI_AUTH=wrong cannot "$uri"
  REDLOCK_PASSWORD_FILE=$SCRATCH/right can "$uri"
}

@test "users and odd passwords, in the URI and in the file" {
  needs_users
  start
  cli A acl setuser 'a:b' on '>p@ss/w%rd: ü' '~*' '+@all'
  can "redis://a%3Ab:p%40ss%2Fw%25rd%3A%20%C3%BC@127.0.0.1:$A_PORT"
  can "unix://a%3Ab:p%40ss%2Fw%25rd%3A%20%C3%BC@$A_SOCKET"
  printf 'p@ss/w%%rd: ü' >"$SCRATCH/password"
  can "redis://a%3Ab:@127.0.0.1:$A_PORT" --password-file "$SCRATCH/password"
  printf 'p@ss/w%%rd: ü\r\n' >"$SCRATCH/password"
  can "redis://a%3Ab:@127.0.0.1:$A_PORT" --password-file "$SCRATCH/password"
  cannot "redis://a%3Ab:p@127.0.0.1:$A_PORT"
}

@test "a password file that cannot be used is 78, and named" {
  start
  : >"$SCRATCH/empty"
  printf 's3cret\nsecond\n' >"$SCRATCH/two"
  refuses 78 "$SCRATCH/empty" run --password-file "$SCRATCH/empty" L -- true
  refuses 78 "$SCRATCH/two" run --password-file "$SCRATCH/two" L -- true
  refute_contains "$stderr" s3cret
  refuses 78 "$SCRATCH/none" run --password-file "$SCRATCH/none" L -- true
  refuses 78 "$SCRATCH" run --password-file "$SCRATCH" L -- true
}

@test "a password and a database go together" {
  start --requirepass right
  REDISCLI_AUTH=right run "$REDLOCK" run -S "unix://:right@$A_SOCKET?db=2" L -- redis-cli -s "$A_SOCKET" -n 2 exists L
  assert_status 0
  [[ ${lines[-1]} == 1 ]] || fail "$output"
}
