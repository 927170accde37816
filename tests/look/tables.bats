#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# How the tables of list, status and history look: which columns stay on a narrow screen, colours, and
# screens without UTF-8.

load ../lib/common
load ../lib/looking

setup() {
  unset NO_COLOR
  export TERM=xterm
  servers 3
}
teardown() { stop_all; }

TOKEN=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
ESCAPE=$'\e'

# planted NAME: a lock that root@web1 has held for two hours.
planted() {
  everywhere set "$1" $TOKEN px 600000
  everywhere hset "redlock:{$1}:holder" $TOKEN \
    "{\"host\":\"web1\",\"user\":\"root\",\"pid\":4711,\"command\":\"./backup.sh\",\"protocol\":1,\"since\":$(($(now_ms) - 7200000))}"
}

# shown COLUMNS LOCALE ARG…: sets $output to what `redlock ARG…` prints on a terminal.
shown() { output=$(LC_ALL=$2 on_terminal "$1" "$REDLOCK" "${@:3}"); }

@test "list: a narrow screen loses FENCE, PID and SERVERS first, FOR last, and never STATE" {
  local width heads
  planted nightly-backup
  everywhere hset 'redlock:{nightly-backup}:holder' "fence:$TOKEN" 1795368232933
  for width in 200 84 78 73 64 56 44 38 37 34 33 25 20; do
    shown $width C.UTF-8 list --color never
    (($(longest_line) <= width)) || fail "$(longest_line) columns of $width:" "$output"
    heads+=$(head -n 1 <<<"$output" | tr -s ' ' | sed 's/ $//')$'\n'
  done
  uniq <<<"$heads" >"$SCRATCH/heads"
  diff - "$SCRATCH/heads" <<'HEADS'
NAME STATE SERVERS HOLDER PID FOR LEFT WAITING FENCE COMMAND
NAME STATE SERVERS HOLDER PID FOR LEFT WAITING COMMAND
NAME STATE SERVERS HOLDER FOR LEFT WAITING COMMAND
NAME STATE HOLDER FOR LEFT WAITING COMMAND
NAME STATE HOLDER FOR WAITING COMMAND
NAME STATE HOLDER FOR COMMAND
NAME STATE HOLDER FOR
NAME STATE FOR

HEADS
}

@test "list: on 40 columns a long holder is cut, and STATE stays, also where all locks are held" {
  planted nightly-backup
  everywhere hset 'redlock:{nightly-backup}:holder' $TOKEN \
    "{\"host\":\"ci-runner-12.example\",\"user\":\"jenkins\",\"pid\":4711,\"command\":\"./backup.sh\",\"protocol\":1,\"since\":$(($(now_ms) - 7200000))}"
  shown 40 C.UTF-8 list --color never
  has 'NAME STATE HOLDER FOR' 'held jenkins@ci' '… 2h 0m'
  (($(longest_line) <= 40)) || fail "$output"
  # Where the command is left out, there is room for all of the holder.
  shown 64 C.UTF-8 list --color never
  has 'held jenkins@ci-runner-12.example 2h 0m'
}

@test "list: a long name gets a third of the screen, more where the other columns leave it over" {
  local width name
  name=$(printf 'n%.0s' {1..52})
  planted "$name"
  planted short
  COLUMNS=200 run "$REDLOCK" list
  assert_contains "$output" "$name  held"
  for width in 60 80 100; do
    COLUMNS=$width LC_ALL=C.UTF-8 run "$REDLOCK" list
    has 'HOLDER FOR' 'root@web1 2h 0m'
    [[ $output =~ (n+…)'  held' ]] || fail "$output"
    ((${#BASH_REMATCH[1]} >= width / 3 && ${#BASH_REMATCH[1]} < width / 2)) || fail "at $width:" "$output"
  done
  COLUMNS=24 LC_ALL=C.UTF-8 run "$REDLOCK" list
  has 'NAME STATE FOR' '… held 2h 0m'
}

@test "list: an empty terminal says so" {
  shown 80 C.UTF-8 list
  [[ $output == 'no locks' ]] || fail "$output"
  shown 80 C.UTF-8 list 'a*'
  [[ $output == 'no locks match "a*"' ]] || fail "$output"
  run --separate-stderr "$REDLOCK" list
  [[ -z $output$stderr ]] || fail "$output$stderr"
}

@test "tables: colours on a terminal, or where --color says so" {
  planted held
  everywhere set cold "cooling:$TOKEN" px 600000
  everywhere hset 'redlock:{cold}:holder' $TOKEN '{"host":"web1","user":"root"}'
  cli A set split $TOKEN px 600000
  cli B set split "${TOKEN//a/b}" px 600000
  cli A hset 'redlock:{split}:holder' $TOKEN '{}'
  run "$REDLOCK" run failed -- false
  run "$REDLOCK" run failed -- true
  shown 80 C.UTF-8 list
  assert_contains "$output" "${ESCAPE}[32mheld${ESCAPE}[m " "${ESCAPE}[33mcooling${ESCAPE}[m "
  assert_contains "$output" "${ESCAPE}[31mundecided${ESCAPE}[m"
  everywhere hset 'redlock:{held}:holder' $TOKEN '{"host":"web1","user":"root","protocol":1,"list":"aaaaaa"}'
  shown 80 C.UTF-8 status held
  assert_contains "$output" "held: ${ESCAPE}[32mheld (3 of 3 servers)${ESCAPE}[m"
  assert_contains "$output" "  ${ESCAPE}[33mwarning${ESCAPE}[m   the holder uses other servers than this host"
  shown 80 C.UTF-8 history failed
  assert_contains "$output" "${ESCAPE}[31mexit 1${ESCAPE}[m "
  refute_contains "$output" "mexit 0"
  # Without a colour each line is the same.
  local colored
  shown 80 C.UTF-8 list
  # shellcheck disable=SC2001 # a pattern, no text
  colored=$(sed "s/${ESCAPE}\[[0-9]*m//g" <<<"$output")
  shown 80 C.UTF-8 list --color never
  timeless() { sed 's/[0-9]*m [0-9]*s/TIME/g; s/[0-9.]* s/x s/g' <<<"$1"; }
  [[ $(timeless "$output") == "$(timeless "$colored")" ]] || fail "$output" "$colored"
  local arguments
  for arguments in 'env NO_COLOR=1' 'env TERM=dumb' 'env -u TERM'; do
    # shellcheck disable=SC2086 # several words
    output=$(on_terminal 80 /usr/bin/env ${arguments#env } "$REDLOCK" list)
    refute_contains "$output" "$ESCAPE"
    # shellcheck disable=SC2086
    output=$(env ${arguments#env } "$REDLOCK" list --color always)
    assert_contains "$output" "${ESCAPE}[32mheld"
  done
  run "$REDLOCK" list
  refute_contains "$output" "$ESCAPE"
  run -64 --separate-stderr "$REDLOCK" list --color blue
}

@test "tables: only ASCII on a screen without UTF-8, and every byte in a pipe" {
  local name command
  name=größe-$(printf 'n%.0s' {1..60})
  planted "$name"
  everywhere hset "redlock:{$name}:holder" $TOKEN '{"host":"bü","user":"jürgen","command":"./großer"}'
  "$REDLOCK" run "lang-$name" -- sh -c ': ä; exit 3' || true
  for command in list "status $name" "history lang-$name" "status x$name"; do
    # shellcheck disable=SC2086
    shown 60 POSIX $command
    ! LC_ALL=C grep -q '[^ -~]' <<<"${output//"$ESCAPE"/}" || fail "$command:" "$output"
  done
  shown 60 POSIX list
  assert_contains "$output" 'gr??e-' '...  '
  LC_ALL=C run "$REDLOCK" list
  assert_contains "$output" "$name"
  # Nor on standard error.
  shown 80 POSIX history "x$name"
  assert_contains "$output" 'nothing is logged about lock "xgr??e'
}
