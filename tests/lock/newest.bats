#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole,slow
#
# What CI and Kubernetes have in their own systems: of the runs that wait with --newest only the newest goes on;
# --replace stops the job of the holder; --build lets no older build run after a newer one.

load ../lib/common
load ../lib/acl
load ../lib/looking
load ../lib/forcing
load ../lib/queue

teardown() { stop_all; }

# came NAME [OPTION…]: as `waiter`, with --newest, while others leave: returns when it listens.
came() {
  background "$REDLOCK" run -vv --newest "${@:2}" "$LOCK" -- bash -c 'echo "start $1 0" >>"$0"; echo "end $1" >>"$0"' "$LOG" "$1"
  declare -g "$1=$BACKGROUND_PID"
  wait_until "$BOUND" hears_somewhere "$BACKGROUND_PID"
}
hears_somewhere() { has_texts "$SCRATCH/background.$1.err" 'subscribed to wake-ups' 1 || gone "$1" || [[ -n $(waiter_of "$1") ]]; }

# ran: prints who ran, in their order.
ran() { awk '$1 == "start" && $2 != "holder" { print $2 }' "$LOG" | paste -sd ' '; }

# superseded PID BY [STATUS]: it has ended so, with that status, or 1.
superseded() {
  await "-${3-1}" "$1"
  local lines
  lines=$(grep -c . <<<"$(grep superseded <<<"$stderr" | grep '^redlock: lock "')")
  [[ $lines == 1 && $stderr =~ 'redlock: lock "L": superseded by '[^\ ]+@[^\ ]+' ('.*"$2".*\)' after '[0-9] ]] || fail "$stderr"
}

# on_five_with_one_down: five servers; the last one is down.
on_five_with_one_down() {
  servers 5
  kill_server E
  SERVERS=(A B C D)
}

@test "newest: only the newest goes on; a waiter without it keeps its place; five servers, one down" {
  on_five_with_one_down
  hold
  came first
  waiter plain
  came second
  superseded "$first" second
  came third -E 75
  superseded "$second" third
  ! gone "$plain" || fail 'the one without --newest gave way'
  came fourth -E 75
  superseded "$third" fourth 75
  end_hold
  await -0 "$plain"
  await -0 "$fourth"
  [[ $(ran) == 'plain fourth' ]] || fail "$(ran)"
}

@test "newest: history, JSON and metrics" {
  servers 3
  hold
  came first --metrics-file "$SCRATCH/m"
  came second
  superseded "$first" second
  [[ $(grep '^redlock_conflicts_total' "$SCRATCH/m") == *' 1' ]] || fail "$(cat "$SCRATCH/m")"
  run --separate-stderr env "$REDLOCK" acquire --json -w 0.2 L # without it
  is 'j["state"]' held
  background "$REDLOCK" acquire --json --newest L
  local third=$BACKGROUND_PID
  superseded "$second" 'redlock acquire'
  came fourth
  await -1 "$third"
  is 'j["acquired"], j["state"], j["left_s"]' "(False, 'superseded', None)"
  assert_contains "$(json 'j["holder"]["command"]')" fourth
  let_go
  await -0 "$fourth"
  run --separate-stderr "$REDLOCK" history L
  has ' superseded (--newest, --build)'
  run --separate-stderr "$REDLOCK" history --json L
  # Consecutive ones share a line; the holder's own may come between them, and not at the same place on all servers.
  is 'sum(each["skips"] for each in r if each["outcome"] == "superseded") in (3, 4)' True
  (($(cli A xrange 'redlock:{L}:log' - + | grep -c '^superseded$') < 3))
}

@test "newest: 200 within a second leave one, and all others are gone 2 s later" {
  local pid i began newest cost
  for newest in 1 5; do
    rm -f "$LOG" "$SCRATCH"/go.* "$SCRATCH"/background.*
    stop_all
    servers "$newest"
    ((newest == 1)) || { kill_server E && SERVERS=(A B C D); }
    hold
    BACKGROUND=("$HOLDER")
    began=$(now_ms)
    "$PYTHON" -B - "$REDLOCK" "$LOG" <<'PY' || fail 'not so'
import subprocess, sys, time
redlock, log = sys.argv[1:]
started = time.monotonic()
runs = []
for number in range(200):
    runs.append(subprocess.Popen([redlock, "run", "--newest", "L", "--", "sh", "-c", 'echo start "$0" >>"$1"',
                                  str(number), log],
                                 stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    time.sleep(max(0, started + (number + 1) / 200 - time.monotonic()))
last = time.monotonic()
while sum(run.poll() is None for run in runs) > 1 and time.monotonic() < last + 20:
    time.sleep(0.02)
took = time.monotonic() - last
left = [number for number, run in enumerate(runs) if run.poll() is None]
print(f"started within {last - started:.1f} s, left after {took:.1f} s: {left}", file=open(log + '.times', 'a'))
# This machine starts 200 processes in its own time.
slow = max(1, last - started)
sys.exit(not (len(left) == 1 and took < 2 * slow and all(run.returncode == 1 for run in runs if run.poll() is not None)))
PY
    let_go
    wait_until "$BOUND" has_text "$LOG" 'start 1'
    nap 0.3
    (($(awk '$1 == "start" && $2 != "holder"' "$LOG" | wc -l) == 1)) || fail "$(cat "$LOG")"
  done
}

@test "newest: with the permissions of the manual, and without that for the key" {
  acl_of_page
  of_lock nightly-backup
  start_server A
  cli A acl setuser "${ACL[@]}" '~redlock:{nightly-backup}:newest' '~redlock:{nightly-backup}:build' >/dev/null
  export REDLOCK_SERVERS=unix://cron:password@${A_URI#unix://}
  SERVERS=(A)
  hold
  came first --build 1
  came second --build 2
  await -1 "$first"
  let_go
  await -0 "$second"
  run -1 --separate-stderr "$REDLOCK" run --build 1 "$LOCK" -- true
  assert_contains "$stderr" 'older than 2'
  # Everybody keeps their places.
  cli A acl setuser cron resetkeys "${ACL[@]:2}" >/dev/null
  rm -f "$LOG"
  hold
  came first
  came second
  let_go
  await "$first"
  await "$second"
  [[ $(ran) == 'first second' ]] || fail "$(ran)"
  assert_contains "$stderr" 'does not let us replace older waiters, so --newest may have no effect'
}

# ---- --build -------------------------------------------------------------------------------------

# build -STATUS NUMBER [STATUS]: redlock ends with that status; a job of that build, if it runs, with the second one.
build() {
  run "$1" --separate-stderr "$REDLOCK" run --build "$2" L -- sh -c 'echo "start $0 0" >>"$1"; exit "$2"' \
    "$2" "$LOG" "${3-0}"
}

@test "build: no older build runs after one that succeeded; five servers, one down" {
  on_five_with_one_down
  build -0 4713
  build -1 4711
  [[ $stderr =~ ^'redlock: lock "L": build 4711 is older than 4713, which succeeded '[^$'\n']+' ago'$ ]] || fail "$stderr"
  build -9 4800 9
  build -0 4714 # the failed run has left the number
  run -0 "$REDLOCK" run L -- true # the option belongs to the run
  run -75 "$REDLOCK" run -E 75 --build 4713 --newest L -- true
  [[ $(ran) == '4713 4800 4714' ]] || fail "$(ran)"
}

@test "build: one that succeeded may run again, and then counts for another 30 days" {
  servers 1
  build -0 7
  cli A pexpire 'redlock:{L}:build' 10000 >/dev/null
  build -0 7
  (($(cli A pttl 'redlock:{L}:build') > 2590000000))
}

@test "build: release --forget-build, on all servers or with 69; a job's lock is not concerned" {
  servers 3
  build -0 4713
  run -0 --separate-stderr "$REDLOCK" release --forget-build L
  [[ -z $output$stderr ]]
  build -0 4711
  kill_server C
  SERVERS=(A B)
  run -69 --separate-stderr "$REDLOCK" release --forget-build L
  assert_contains "$stderr" 'these servers may still know the last build: '
  hold
  run "$REDLOCK" release --forget-build L
  [[ -n $(cli A get L) ]]
}

@test "build: 1 to 50 in a random order beside each other: the numbers that ran rise, and 50 ran" {
  servers 3
  "$PYTHON" -B - "$REDLOCK" "$LOG" <<'PY'
import random, subprocess, sys
redlock, log = sys.argv[1:]
order = list(range(1, 51))
random.shuffle(order)
runs = [subprocess.Popen([redlock, "run", "--build", str(number), "L", "--", "sh", "-c",
                          f'echo start {number} >>"$0"; sleep 0.0{random.randrange(10)}', log],
                         stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for number in order]
statuses = {run.wait(60) for run in runs}
ran = [int(line.split()[1]) for line in open(log)]
print("#", order[:5], "…", ran, statuses, file=sys.stderr)
sys.exit(not (ran == sorted(ran) and ran[-1] == 50 and statuses <= {0, 1}))
PY
}

# ---- --replace -----------------------------------------------------------------------------------

@test "replace: the holder's job is stopped as by release --force, and then ours runs" {
  setup_job
  start_job --on-lost 'echo "$REDLOCK_NAME" >"$SCRATCH/lost"'
  wait_until_listening A B C
  run -0 --separate-stderr "$REDLOCK" run --replace L -- sh -c 'echo "start replaced 0" >>"$0"' "$LOG"
  await -80 "$HOLDER"
  [[ $stderr =~ ^'redlock: lock "L": replaced by ops@'[^\ ]+' (pid '[0-9]+', --replace), stopping the job'$ ]] || fail "$stderr"
  [[ $(<"$SCRATCH/lost") == L ]]
  [[ $(cut -d' ' -f1 "$LOG" | paste -sd' ') == 'start TERM end start' ]] || fail "$(cat "$LOG")"
  run --separate-stderr "$REDLOCK" history --json L
  is '[(each["outcome"], (each["forced_by"] or {}).get("user")) for each in r]' "[('forced', 'ops'), ('ended', None)]"
  run "$REDLOCK" history L
  has ' replaced by ops@'
}

@test "replace: five servers, one down; acquire, too" {
  on_five_with_one_down
  hold
  run -0 --separate-stderr "$REDLOCK" acquire --replace L
  [[ ${#output} == 40 ]]
  await -80 "$HOLDER"
}

@test "replace: a maintenance hold, a cooling lock and another program's are waited for" {
  servers 1
  "$REDLOCK" hold L --for 1h >"$SCRATCH/token"
  run -1 --separate-stderr "$REDLOCK" run --replace -w 0.5 L -- true
  assert_contains "$stderr" 'held for maintenance'
  "$REDLOCK" release L - <"$SCRATCH/token"
  "$REDLOCK" run --min-hold 1h M -- true
  run -1 "$REDLOCK" run --replace -w 0.5 M -- true
  cools A M
  cli A set N foreign px 60000
  run -1 "$REDLOCK" run --replace -w 0.5 N -- true
  [[ $(cli A get N) == foreign ]]
  # One that looks like a token, without a record.
  cli A set O 0123456789abcdef0123456789abcdef01234567 px 60000
  run -1 "$REDLOCK" run --replace -w 0.5 O -- true
  [[ $(cli A get O) == 0123456789abcdef0123456789abcdef01234567 ]]
}

@test "newest, build: what another program wrote with a number above all of ours counts for nothing" {
  servers 1
  cli A set 'redlock:{L}:newest' '0 9007199254740992 zzz has {}'
  cli A set 'redlock:{L}:build' '9007199254740993 1 {}'
  hold
  came first --build 5
  let_go
  await -0 "$first"
  [[ $(cli A get 'redlock:{L}:build') == '5 '* ]] || fail "$(cli A get 'redlock:{L}:build')"
}

@test "replace: readers and slots lose their lock to one that is alone" {
  servers 3
  local option
  for option in -s '--slots 3'; do
    rm -f "$SCRATCH/go.L"
    # shellcheck disable=SC2086
    hold $option
    run -0 --separate-stderr "$REDLOCK" run --replace L -- true
    await -80 "$HOLDER"
  done
  run --separate-stderr "$REDLOCK" history --json L
  is '[each["outcome"] for each in r].count("forced")' 2
}

@test "replace: with --newest, the job of the older run is cancelled, and the last one runs" {
  servers 3
  hold
  local name
  for name in first second third; do came "$name" --replace; done
  await -80 "$HOLDER"
  await -0 "$third"
  [[ $(ran) == *third ]] || fail "$(ran)"
}

@test "replace: 20 that replace each other never run at the same time, and it ends" {
  servers 3
  hold
  local i pids=()
  for i in {1..20}; do
    background "$REDLOCK" run --replace --kill-after 1s L -- sh -c \
      'trap "echo end $1 >>\"$0\"; exit 3" TERM; echo "start $1" >>"$0"; sleep 0.2 & wait; echo "end $1" >>"$0"' "$LOG" "$i"
    pids+=("$BACKGROUND_PID")
  done
  for i in "${pids[@]}"; do await "$i" 60; done
  await -80 "$HOLDER"
  sed -i '/holder/d' "$LOG"
  assert_no_overlap "$LOG"
  assert_free L
}
