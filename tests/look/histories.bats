#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# `redlock history` of several locks, and of some runs only.

load ../lib/common
load ../lib/looking

setup() {
  export TZ=UTC
  servers 3
}
teardown() { stop_all; }

# 2026-11-20 02:30:00 UTC
NIGHT=1795141800000

# ran LOCK MINUTE LENGTH STATUS: a run of LOCK that began MINUTE minutes after NIGHT and took LENGTH seconds, in all logs.
ran() {
  everywhere xadd "redlock:{$1}:log" $((NIGHT + $2 * 60000 + $3 * 1000)) event released run "$1$2" count 1 data \
    "{\"host\":\"web1\",\"user\":\"cron\",\"pid\":7,\"command\":\"./$1\",\"fence\":1,\"waited\":0,\"held\":${3}000,\"status\":$4}"
}

# rows: prints of each line of the table the time, the lock and the outcome.
rows() { awk 'NR > 1 { print $2, $3, $6, $7 }' <<<"$output"; }

@test "history: several names, a pattern, and all locks, in one table by time" {
  ran nightly-a 0 60 0
  ran nightly-b 1 60 3
  ran daily 2 60 0
  ran nightly-a 5 60 1
  history -0 nightly-a daily
  [[ -z $stderr && $output == WHEN\ *NAME\ * ]] || fail "$output" "$stderr"
  [[ $(rows) == $'02:30:00 nightly-a exit 0\n02:32:00 daily exit 0\n02:35:00 nightly-a exit 1' ]] || fail "$output"
  history 'nightly-*'
  [[ $(rows) == $'02:30:00 nightly-a exit 0\n02:31:00 nightly-b exit 3\n02:35:00 nightly-a exit 1' ]] || fail "$output"
  history
  [[ $(rows | wc -l) == 4 ]] || fail "$output"
  history --prefix nightly- # as in list
  [[ $(rows) == $'02:30:00 a exit 0\n02:31:00 b exit 3\n02:35:00 a exit 1' ]] || fail "$output"
  history daily never
  [[ $(rows) == '02:32:00 daily exit 0' ]] || fail "$output"
  [[ $stderr == 'redlock: nothing is logged about lock "never"' ]] || fail "$stderr"
  history -0 'x*'
  [[ -z $output && $stderr == 'redlock: nothing is logged about any such lock' ]] || fail "$output" "$stderr"
  history 'nightly-*' --at 2026-11-20T02:31:30
  [[ ${lines[0]} == 'held at 2026-11-20 02:31:30 +0000:' && $(tail -n +2 <<<"$output" | wc -l) == 2 ]] || fail "$output"
  has '02:31:00 nightly-b'
  # One name needs no column NAME; the JSON has one form.
  history daily
  [[ ${lines[0]} != *NAME* ]] || fail "$output"
  history --json daily
  is 'l["name"], len(r), len(j["locks"])' "('daily', 1, 1)"
  history --json 'nightly-*' daily
  is '[(l["name"], len(l["runs"])) for l in j["locks"]], "name" in j' "([('daily', 1), ('nightly-a', 2), ('nightly-b', 1)], False)"
}

@test "history: a lock whose name looks like a pattern" {
  ran 'x[1]' 0 60 0
  ran x1 1 60 0
  history 'x[1]'
  [[ $(rows) == $'02:30:00 x[1] exit 0\n02:31:00 x1 exit 0' ]] || fail "$output"
}

@test "history: with long names the outcome stays on the screen, then the holder, and the timeline if there is room" {
  local width
  ran "$(printf 'n%.0s' {1..70})" 0 60 0
  ran short 1 60 3
  for width in 120 80 60 40; do
    output=$(LC_ALL=C.UTF-8 on_terminal $width "$REDLOCK" history)
    (($(longest_line) <= width)) || fail "$(longest_line) columns of $width:" "$output"
    has 'n… ' 'exit 3'
    refute_contains "${output%%$'\n'*}" …
    ((width < 60)) || has 'exit 3 cron@web1'
    ((width < 120)) || grep -q '[█▌▐]' <<<"$output" || fail "$output"
  done
}

# wrote LOCK MINUTE EVENT DATA: a line of the logs, so many minutes after NIGHT.
wrote() {
  everywhere xadd "redlock:{$1}:log" $((NIGHT + $2 * 60000)) event "$3" run "$1$2" count 1 data "$4"
}

@test "history: of all locks on 120 columns, long outcomes and names leave room for HELD and HOLDER" {
  ran nightly-backup-of-the-shop 0 5400 0
  wrote deploy 3 superseded '{"host":"ci-runner-7","user":"jenkins"}'
  shown_all() { output=$(LC_ALL=C.UTF-8 on_terminal "$1" "$REDLOCK" history); }
  shown_all 120
  has '1 run superseded (--newest, --build) jenkins@ci-runner-7' ' 1h 30m exit 0 cron@web1'
  [[ $output == WHEN\ *\ NAME\ *\ HELD\ *\ OUTCOME\ *\ HOLDER* ]] || fail "$output"
  # With a name that needs more room than there is, the name is cut.
  ran "$(printf 'n%.0s' {1..50})" 9 60 3
  shown_all 120
  has '1 run superseded (--newest, --build) jenkins@ci-runner-7' 'n… 1m 0s exit 3 cron@web1'
  (($(longest_line) <= 120)) || fail "$output"
  # And so is an outcome that needs most of the screen: the reason of a job that was stopped.
  wrote deploy 20 released "{\"host\":\"ci-runner-7\",\"user\":\"jenkins\",\"held\":60000,\"status\":143,\"reason\":\"$(printf 'r%.0s' {1..60})\"}"
  for width in 110 120 140; do
    shown_all $width
    has 'exit 143 (rrr' 'r… jenkins@ci-runner-7' ' 1m 0s exit 143'
    (($(longest_line) <= width)) || fail "$output"
  done
  output=$(LC_ALL=C.UTF-8 on_terminal 110 "$REDLOCK" history deploy)
  has ' 1m 0s exit 143 (rrr' 'jenkins@ci-runner-7'
  # All of it off a terminal.
  history
  assert_contains "$output" "$(printf 'r%.0s' {1..60}))"
}

@test "history --last, --failed: of each lock, and together" {
  ran a 0 60 0
  ran a 2 60 2
  ran a 4 60 4
  ran a 6 60 0
  ran b 1 60 5
  history --last 2 a
  [[ $(awk 'NR > 1 { print $5, $6 }' <<<"$output") == $'exit 4\nexit 0' ]] || fail "$output"
  history --failed --last 1
  [[ $(rows) == $'02:31:00 b exit 5\n02:34:00 a exit 4' ]] || fail "$output"
  history -64 --last 0 a
}

@test "history: how long the last runs took, on a terminal and in JSON" {
  local minutes at=0
  for minutes in 4 5 6; do ran a $((at += 60)) $((minutes * 60 + 3)) 0; done
  output=$(on_terminal 80 "$REDLOCK" history a)
  [[ $(tail -n 1 <<<"$output") == 'the last 3 runs took 4m to 6m' ]] || fail "$output"
  history a
  refute_contains "$output" 'the last'
  history --json a
  is 'l["usual"]' "{'runs': 3, 'least_s': 243.0, 'most_s': 363.0}"
}
