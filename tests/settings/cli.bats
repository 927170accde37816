#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
# shellcheck shell=bash disable=SC1003
#
# The command line and the environment: help, flock(1)'s options, where settings and passwords come
# from.

load ../lib/common
load ../lib/acl

teardown() { stop_all; }

# refuses STATUS TEXT ARG…: redlock ends so, with one line that holds TEXT.
refuses() {
  run --separate-stderr "$REDLOCK" "${@:3}"
  assert_status "$1"
  [[ -z $output ]]
  assert_one_line "$stderr" "$2"
}

@test "help is data: stdout, status 0, needs no server" {
  local words
  for words in --help 'help run' 'sandbox -h'; do
    # shellcheck disable=SC2086
    run -0 --separate-stderr "$REDLOCK" $words
    [[ -z $stderr ]]
    assert_contains "$output" Usage:
  done
}

@test "version" {
  run -0 --separate-stderr "$REDLOCK" --version
  # The first line is the version alone. The numbers below it are those of the libraries that are linked in.
  [[ ${lines[0]} =~ ^redlock\ [0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "$output"
  grep -qxF "${lines[1]#protocol }." <(sed -n 's/^It is protocol version //p' "$SOURCE/man/redlock-protocol.7") ||
    fail "not the protocol of redlock-protocol(7): ${lines[1]}"
  grep -qxF "hiredis $(pkg-config --modversion hiredis)" <<<"$output" || fail "$output"
  [[ $output =~ $'\ncompiler '(GNU|Clang)\ [0-9]+\. ]] || fail "$output"
  (($(wc -L <<<"$output") <= 79)) || fail "$output"
}

# words_of TEXT: its words, one a line.
words_of() { tr -s ' ' '\n' <<<"$1"; }

# too_long WIDTH: of a help, prints the lines that are longer, but those of the examples, which a user copies, and those
# of one word.
too_long() { awk -v most="$1" '/^Example/ { example = 1 } /^$/ { example = 0 } !example && NF > 1 && length > most'; }

@test "help: it fits the terminal, loses no word, and off a terminal it has 79 columns" {
  local words width whole
  for words in --help 'run --help' 'run --help-servers' 'release -h' 'completions -h'; do
    # shellcheck disable=SC2086
    whole=$("$REDLOCK" $words)
    (($(wc -L <<<"$whole") <= 79)) || fail "$whole"
    for width in 200 79 78 60 52 40 30; do
      # shellcheck disable=SC2086
      output=$(on_terminal $width "$REDLOCK" $words)
      [[ -z $(too_long $width <<<"$output") ]] || fail "more than $width columns:" "$output"
      ((width < 79)) || [[ $output == "$whole" ]] || fail "$output"
      diff <(words_of "$whole") <(words_of "$output") || fail "$words at $width:" "$output"
      grep -qxFf <(grep -A1 '^Example' <<<"$whole" | tail -n 1) <<<"$output" || [[ $whole != *Example* ]] || fail "$output"
    done
  done
  COLUMNS=40 run "$REDLOCK" run --help
  [[ -z $(too_long 40 <<<"$output") ]] || fail "$output"
  # A description in a narrow window stands below its option, and goes on in lines that are full.
  assert_contains "$output" $'  -w, --wait, --timeout TIME\n      wait no longer than this; 0 is -n\n      [no limit]\n'
  diff <(COLUMNS=5 "$REDLOCK" run --help) <(COLUMNS=20 "$REDLOCK" run --help)
  # The scripts for the shells are not for people.
  diff <("$REDLOCK" completions bash) <(COLUMNS=40 "$REDLOCK" completions bash)
}

@test "help that cannot be written is an error" {
  run -71 bash -c '"$REDLOCK" --help >/dev/full'
}

@test "mistakes are told with what to do; for servers and times as other programs write them, the right form" {
  refuses 64 'redlock --help'
  refuses 64 'did you mean: redlock run' rum L -- true
  refuses 64 'did you mean --wait' run --weit 3 L -- true
  refuses 64 "-w/--wait: expected a time (90, " acquire -w L
  refuses 64 'write redis://db1' run -S db1 L -- true
  REDLOCK_SERVERS=redis://db1,redis://db2 refuses 78 'by blanks, not by commas' run L -- true
  refuses 64 "unexpected argument '2h': write --for 2h" hold L 2h
  refuses 64 "unexpected argument '0': hold runs no command" hold L 0
}

@test "a shell command in one word, or a builtin of the shell: the message names -c" {
  servers 1 --tcp
  local words
  for words in 'echo hi' 'cd /tmp' cd; do
    run -127 --separate-stderr "$REDLOCK" run L -- "$words"
    assert_one_line "$stderr" "for a shell command: redlock run NAME -c 'COMMAND'"
  done
  run -127 --separate-stderr "$REDLOCK" run L cd /tmp
  assert_contains "$stderr" "cannot run cd: No such file or directory; for a shell command"
  for words in no-such-command 'no;such command'; do
    run -127 --separate-stderr "$REDLOCK" run L -- "$words" word
    [[ $stderr == *': No such file or directory' ]] || fail "$stderr"
  done
}

@test "flock's way to give up: each spelling of -n and -w ends with 1, or -E's number" {
  servers 1 --tcp
  cli A set L somebody
  local option
  for option in -n --nb --nonblock --nonblocking '-w 0' '-w .1' '--wait 100ms' '--timeout 0.1s'; do
    # shellcheck disable=SC2086
    run -1 "$REDLOCK" run $option L -- true
    # shellcheck disable=SC2086
    run -9 "$REDLOCK" run $option -E 9 L -- true
  done
}

@test "users and odd passwords, in the URI and in the file" {
  needs_users
  servers 1 --tcp
  cli A acl setuser 'a:b' on '>p@ss/w%rd: ü' '~*' '+@all'
  printf 'p@ss/w%%rd: ü\r\n' >"$SCRATCH/password"
  run -0 "$REDLOCK" run -S "redis://a%3Ab:p%40ss%2Fw%25rd%3A%20%C3%BC@127.0.0.1:$A_PORT" L -- true
  run -0 "$REDLOCK" run -S "redis://a%3Ab:@127.0.0.1:$A_PORT" --password-file "$SCRATCH/password" L -- true
  run -69 "$REDLOCK" run -n -S "redis://a%3Ab:p@127.0.0.1:$A_PORT" L -- true
}
