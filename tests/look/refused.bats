#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# "Why did my job not run?": what the servers remember of runs that gave up because another one had the lock.

load ../lib/common
load ../lib/looking
load ../lib/scripts

setup() { servers 3; }
teardown() { stop_all; }

# knows SERVER COUNT: it remembers that many refusals on this host.
knows() { [[ $(cli "$1" hget "$FENCE" "refused:$(uname -n)") == "$2 "* ]]; }

@test "refused: the number of runs, the last one and its holder, in history --refused, status and JSON" {
  local me before
  me=$(id -un)@$(uname -n)
  run -0 --separate-stderr "$REDLOCK" history --refused L
  [[ -z $output && $stderr == 'redlock: no run of lock "L" is known to have given up' ]] || fail "$output" "$stderr"
  # Over a Unix socket, a server that has not answered the last request may drop what comes after it.
  local all=$REDLOCK_SERVERS
  export REDLOCK_SERVERS=$A_URI
  start_job
  before=$(now_ms)
  for _ in 1 2; do run -1 "$REDLOCK" run -n L -- true; done
  run -7 "$REDLOCK" run -E 7 -w 0.2 L -- true
  run -1 "$REDLOCK" acquire -n L
  wait_until "$BOUND" knows A 4
  run -0 --separate-stderr "$REDLOCK" history --refused L
  silent
  has "LAST" " $me 4 $me (bash -c " " redlock acquire L"
  run "$REDLOCK" status L
  has " refused $(uname -n), " " ago, held by $me (bash -c " "; see redlock history --refused L"
  run "$REDLOCK" status --json L
  is 'l["refused"][0]["count"], l["refused"][0]["held_by"].split(" ")[0], l["refused"][0]["host"]' "(4, '$me', '$(uname -n)')"
  assert_between "$before" "$(json 'l["refused"][0]["last_ms"]')" "$(($(now_ms) + 1))"
  run "$REDLOCK" history --json --refused
  is '[(each["name"], len(each["refused"]), each["runs"]) for each in j["locks"]]' "[('L', 1, [])]"
  # A server that has missed some, or all, changes nothing.
  cli B hset "$FENCE" refused "$(uname -n)" "refused:$(uname -n)" "3 1 {}" >/dev/null
  REDLOCK_SERVERS=$all run "$REDLOCK" history --json L
  is 'l["refused"][0]["count"]' 4
  # It outlives the lock.
  end_job
  run "$REDLOCK" status L
  has 'L: free' " refused $(uname -n), "
  run -64 "$REDLOCK" history --refused --since 3000-01-01 L
  run "$REDLOCK" history --refused --since 1ms L
  refute_contains "$output" acquire
}

@test "refused: by a maintenance hold, with its reason" {
  export REDLOCK_SERVERS=$A_URI
  run -0 "$REDLOCK" hold --for 1h -m 'new disk' L
  run -1 "$REDLOCK" run -n L -- true
  wait_until "$BOUND" knows A 1
  run "$REDLOCK" history --refused L
  has "$(id -un)@$(uname -n) (maintenance (new disk)) true"
  # The holder's name stays, as much of it as there is room for.
  local width
  for width in 80 60 40; do
    output=$(on_terminal "$width" "$REDLOCK" history --refused L)
    (($(longest_line) <= width)) || fail "$(longest_line) columns of $width:" "$output"
    [[ $(awk 'NR == 1 {print $1, $2, $NF}' <<<"$output") == 'LAST HOST BY' || $width == 80 ]] || fail "$output"
    has 'HELD BY'
  done
}

@test "refused: a run that got the lock, that reached too few servers, or that logs nothing leaves no trace" {
  run -0 "$REDLOCK" run L -- true
  start_job
  run -1 "$REDLOCK" run --log-entries 0 -n L -- true
  run -69 "$REDLOCK" run -n --server-wait 0.2 -S "$A_URI" -S redis://127.0.0.1:1 -S redis://127.0.0.1:2 L -- true
  REDLOCK_SERVERS=$A_URI run -1 "$REDLOCK" run -n L -- true # it counts, and no earlier one
  wait_until "$BOUND" knows A 1
  for option in --at=02:30 --failed --last=1 --svg=- --html=- --until=1h; do
    run -64 --separate-stderr "$REDLOCK" history --refused "$option" L
    assert_one_line "$stderr"
  done
}

@test "refused: nothing that others write is believed or takes long" {
  local host
  answers 0 refuse 1 "$FENCE" h1 '{}' # nobody has ever had the lock
  assert_no_key A "$FENCE"
  cli A hset "$FENCE" value 7 >/dev/null
  for host in 40 5 39; do answers 1 refuse 1 "$FENCE" "h$host" '{"user":"u","command":"c","held_by":"b"}'; done
  export REDLOCK_SERVERS=$A_URI
  cli A hset "$FENCE" refused:h39 'x' refused:h5 "$(printf '1 %020d {}' 0)" refused:h40 '7 9 no JSON' >/dev/null
  run -0 "$REDLOCK" history --json --refused L
  cli A hset "$FENCE" refused "$(printf 'h%.0s ' {1..3000})" >/dev/null
  run -0 "$REDLOCK" history --json --refused L
  is 'l["refused"]' '[]'
  cli A hset "$FENCE" refused "$(printf 'a%.0s ' {1..1900})" refused:a "$(printf '%01500d' 0)" >/dev/null
  run -1 "$REDLOCK" status L
  answers 1 refuse 1 "$FENCE" h1 '{}'
  [[ $(cli A hget "$FENCE" refused | wc -w) == 32 ]] || fail "$(cli A hget "$FENCE" refused)"
}
