#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
# shellcheck shell=bash disable=SC2086
#
# What combines with what: the table of redlock-run(1), "What combines", cell by cell.

load ../lib/common

teardown() { stop_all; }

# The options of the table, by the word that it has for them.
declare -gA OPTION=([s]='-s' [slots]='--slots 2' [also]='--also other' [once]='--once 1h' [min_hold]='--min-hold 1s'
  [as]='--as redisson')

# cells: prints the cells of the table "WORD WORD YES-OR-NO" from the manual.
cells() {
  sed -n '/^\.Ss What combines/,/^\.S[sh] [^W]/p' "$SOURCE/man/redlock-run.1" | awk -F'\t' '
    /^It is combined/ { next }
    NF == 6 && $1 == "with" { for (i = 2; i <= NF; ++i) word[i] = $i; next }
    NF == 6 { for (i = 2; i <= NF; ++i) if ($i == "yes" || $i == "no") print $1, word[i], $i }' |
    sed 's/--min-hold/min_hold/g; s/--//g; s/\(^\| \)-s/\1s/g'
}

@test "combine: each pair of the table does what the table says" {
  servers 1
  local one other answer count=0
  while read -r one other answer; do
    count=$((count + 1))
    run --separate-stderr "$REDLOCK" run ${OPTION[$one]} ${OPTION[$other]} "lock$count" -- echo ran
    if [[ $answer == yes ]]; then
      [[ $status == 0 && $output == ran ]] || fail "$one with $other: $status $stderr"
    else
      [[ $status == 64 && -z $output && $stderr == *'exclude each other'* ]] || fail "$one with $other: $status $stderr"
    fi
  done < <(cells)
  ((count == 15)) || fail "$count pairs in the table: $(cells)"
}

@test "combine: each of them goes with the options of every run" {
  servers 1
  local word options count=0
  cd "$SCRATCH" || return # for --metrics-file: the options are split into words
  for word in "${!OPTION[@]}"; do
    for options in -n '-w 5' '-E 9' '--ttl 2s' '--kill-after 100ms' '--max-runtime 9s' '--wait-all' '--signal INT' \
      '--on-lost true' '--no-reentrant' '--log-entries 5' '--record-command none' '-m why' '-v' '-q' '--metrics-file m'; do
      count=$((count + 1))
      run --separate-stderr "$REDLOCK" run ${OPTION[$word]} $options "lock$count" -- echo ran
      [[ $status == 0 && $output == ran ]] || fail "${OPTION[$word]} $options: $status $stderr"
    done
  done
}

@test "combine: one inside the other, of the same lock" {
  servers 1
  local outer inner expected
  while read -r outer inner expected; do
    run --separate-stderr "$REDLOCK" run ${outer//=/ } L -- "$REDLOCK" run -n ${inner//=/ } L -- echo ran
    case $expected in
      joins) [[ $status == 0 && $output == ran ]] || fail "$inner in $outer: $status $stderr" ;;
      refused) [[ $status == 64 && -z $output ]] || fail "$inner in $outer: $status $stderr" ;;
    esac
    wait_until "$BOUND" lacks_key A L
  done <<'END'
-x -x joins
-x -s joins
-x --slots=2 joins
-s -x refused
-s -s joins
-s --slots=2 refused
--slots=2 -x refused
--slots=2 -s refused
--slots=2 --slots=2 joins
--slots=2 --slots=3 refused
--as=redisson -x joins
-x --as=redisson joins
END
}

@test "combine: acquire takes a shared lock and a slot; hold does not" {
  servers 1
  local option token
  for option in -s '--slots 2'; do
    token=$("$REDLOCK" acquire $option L)
    "$REDLOCK" renew L "$token"
    "$REDLOCK" release L "$token"
    run -64 --separate-stderr "$REDLOCK" hold $option --for 1m L
  done
  for option in '--also b' '--once 1h' '--min-hold 1s'; do
    run -64 --separate-stderr "$REDLOCK" acquire $option L
  done
}
