#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# --hold-on-failure: after a run that failed nobody goes on until an operator says so.

load ../lib/common
load ../lib/looking
load ../lib/queue
load ../lib/scripts

teardown() { stop_all; }

fails() { "$REDLOCK" run --hold-on-failure "$@"; }

# held_on SERVER TOKEN: the key of L has that token there, and lives for about an hour.
held_on() {
  [[ $(cli "$1" get L) == "$2" ]] || fail "$1 has '$(cli "$1" get L)'"
  assert_between 3500000 "$(cli "$1" pttl L)" 3600000
}

@test "hold-on-failure: a failed run keeps the lock, waiters keep their places, and an operator ends it" {
  servers 3
  local me token server
  me=$(id -un)@$(uname -n)
  start_job --hold-on-failure 1h
  wait_for_key A L
  token=$(cli A get L)
  CI=1 waiter one
  waiter two
  end_job 3
  assert_contains "$stderr" 'the command failed, and lock "L" is held for maintenance for 1h (--hold-on-failure); ' \
    'to end that sooner: redlock release --force L'
  for server in A B C; do held_on "$server" "$token"; done
  # The waiters hear why.
  wait_for_line "$SCRATCH/background.$one.err" "is now held for maintenance by $me (\"exit 3 of bash -c "
  queued 2
  [[ ! -s $LOG ]] || fail "a waiter got in:" "$(<"$LOG")"
  run "$REDLOCK" status L
  has 'L: held for maintenance (3 of 3 servers)' " message exit 3 of bash -c " " by $me" \
    ' to end it now: redlock release --force L'
  run "$REDLOCK" status --json L
  is 'l["state"], l["holder"]["maintenance"], l["holds"]' "('held', True, 1)"
  run -1 "$REDLOCK" run -n L -- true
  run "$REDLOCK" list --prometheus
  has 'redlock_lock_held{lock="L"} 1'
  run "$REDLOCK" history --json L
  is '[(each["outcome"], each["status"], each["holder"]["maintenance"]) for each in l["runs"]]' \
    "[('ended', 3, False), ('running', None, True)]"
  run -0 "$REDLOCK" release --force -y L
  await -0 "$two"
  run "$REDLOCK" history --json L
  is '[each["outcome"] for each in l["runs"]][:2]' "['ended', 'forced']"
}

@test "hold-on-failure: a run that fails while an operator is asked: its hold ends, and the operator hears why" {
  servers 3
  start_job --hold-on-failure 1h
  export JOB SCRATCH A_SOCKET
  scenario <<'SCENARIO'
at = Terminal("bash")
at.type('"$REDLOCK" release --force L\n')
at.expect(r'Stop its job and release the lock\? \[y/N\]')
open(os.environ["SCRATCH"] + "/go.L", "w").write("3")
until("the run has ended", lambda: not os.path.exists("/proc/" + os.environ["JOB"]) or
      open("/proc/" + os.environ["JOB"] + "/stat").read().split(") ")[1][0] == "Z")
assert held("L")
at.type('y\n')
at.expect('lock "L" is free: its job had failed, and the hold of --hold-on-failure is over')
SCENARIO
  await -3 "$JOB"
  local server
  for server in A B C; do wait_until "$BOUND" lacks_key "$server" L; done
}

@test "hold-on-failure: after a signal, and after --max-runtime" {
  servers 1
  run -137 --separate-stderr fails 1h -m 'release 7' L -- sh -c 'kill -KILL $$'
  run "$REDLOCK" status L
  has "exit 137 of sh -c 'kill -KILL \$\$' by $(id -un)@$(uname -n): release 7"
  run -0 "$REDLOCK" release --force -y L
  run -124 --separate-stderr fails 1h --max-runtime 0.2 --record-command none L -- sleep 600
  run "$REDLOCK" status L
  has " message exit 143 (--max-runtime) by $(id -un)@$(uname -n)"
  refute_contains "$output" sleep
}

@test "hold-on-failure: a dead worker makes no hold, and the supervisor says so" {
  servers 1
  background "$REDLOCK" run -vv --ttl 3s --hold-on-failure 1h L -- sleep 600
  wait_for_line "$SCRATCH/background.$BACKGROUND_PID.err" renewed # the supervisor knows that the job runs
  kill -KILL "$(child_of "$BACKGROUND_PID")"
  await -80 "$BACKGROUND_PID"
  assert_contains "$(<"$SCRATCH/background.$BACKGROUND_PID.err")" \
    'no maintenance hold of lock "L" follows (--hold-on-failure), so the next run may go on: the process that would make it'
  run -0 "$REDLOCK" run -w 20 L -- true
}

@test "hold-on-failure: a run inside that goes on longer renews the hold, and does not end it" {
  servers 1
  run --separate-stderr fails 1h L -- sh -c '"$0" run L -- sh -c "echo x >\"$1\"; until [ -e \"$2\" ]; do sleep 0.05; done
    echo x >\"$3\"" </dev/null >/dev/null 2>&1 & until [ -e "$1" ]; do sleep 0.05; done; exit 5' \
    "$REDLOCK" "$SCRATCH/inner" "$SCRATCH/go" "$SCRATCH/over"
  assert_status 5
  run "$REDLOCK" status L
  has 'L: held for maintenance'
  : >"$SCRATCH/go"
  wait_for "$SCRATCH/over"
  wait_until "$BOUND" one_hold
  assert_between 3500000 "$(cli A pttl L)" 3600000
}
one_hold() {
  output=$("$REDLOCK" status --json L)
  [[ $(json 'l["holds"]') == 1 ]]
}

@test "hold-on-failure: a run that the failed command left behind cannot join the hold, and waits for its end" {
  servers 3
  run --separate-stderr fails 1h L -- sh -c '(until [ -e "$1/go" ]; do sleep 0.05; done
      "$0" run -n L -- echo joined; echo "$?" >"$1/status"
      exec "$0" run -v L -- sh -c "echo >\"\$1/ran\"" job "$1") </dev/null >"$1/out" 2>&1 & exit 5' "$REDLOCK" "$SCRATCH"
  assert_status 5
  : >"$SCRATCH/go"
  wait_for_line "$SCRATCH/out" 'lock "L" is held for maintenance by '
  [[ $(<"$SCRATCH/status") == 1 && ! -e $SCRATCH/ran ]] || fail "$(<"$SCRATCH/out")"
  run -0 "$REDLOCK" release --force -y L
  wait_for "$SCRATCH/ran"
  refute_contains "$(<"$SCRATCH/out")" joined
}

@test "hold-on-failure: a late request shortens no hold and takes no other lock" {
  start_server A
  cli A set L "$TOKEN" px 60000 >/dev/null
  cli A hset "$HOLDER" "$TOKEN" '{}' "holds:$TOKEN" "$TOKEN 1" "keep:$TOKEN" 5 "lease:$TOKEN" 5 >/dev/null
  local hold=(2 L "$HOLDER" "$TOKEN" "$TOKEN")
  answers held leave_held "${hold[@]}" 3600000 '{"maintenance":1}'
  assert_between 3590000 "$(cli A pttl L)" 3600000
  assert_between 3600000 "$(cli A pttl "$HOLDER")" 3610000
  [[ $(cli A hget "$HOLDER" "$TOKEN") == '{"maintenance":1}' && $(cli A hexists "$HOLDER" "keep:$TOKEN") == 0 ]]
  answers held leave_held "${hold[@]}" 1000 '{"maintenance":1}'
  assert_between 3590000 "$(cli A pttl L)" 3600000
  cli A set L "revoked:$TOKEN {}" px 60000 >/dev/null
  answers released leave_held "${hold[@]}" 3600000 '{}'
  answers missing leave_held "${hold[@]}" 3600000 '{}'
  cli A set L "$OTHER" >/dev/null
  answers "not_mine $OTHER" leave_held "${hold[@]}" 3600000 '{}'
}

@test "hold-on-failure: a hold that is shorter than the ttl lasts as long as redlock says" {
  servers 1
  run -1 --separate-stderr fails 20s --ttl 60s L -- false
  assert_contains "$stderr" 'lock "L" is held for maintenance for 20 s (--hold-on-failure)'
  assert_between 1 "$(cli A pttl L)" 20000
}

@test "hold-on-failure: a short hold cuts neither what a run inside still holds, nor its minimum hold" {
  start_server A
  local hold=(2 L "$HOLDER" "$TOKEN" "$TOKEN") soon
  soon=$((($(date +%s) + 40) * 1000))
  cli A set L "$TOKEN" px 60000 >/dev/null
  cli A hset "$HOLDER" "$TOKEN" '{}' "holds:$TOKEN" "$TOKEN 1 $OTHER $soon" >/dev/null
  answers held leave_held "${hold[@]}" 1000 '{"maintenance":1}'
  assert_between 30000 "$(cli A pttl L)" 60000
  cli A hset "$HOLDER" "$TOKEN" '{}' "holds:$TOKEN" "$TOKEN 1" "keep:$TOKEN" "$soon" >/dev/null
  answers held leave_held "${hold[@]}" 1000 '{"maintenance":1}'
  assert_between 20000 "$(cli A pttl L)" 40000
  # The clock was set back by an hour: the next renewal of the run inside cuts the rest.
  cli A set L "$TOKEN" px 3600000 >/dev/null
  cli A hset "$HOLDER" "$TOKEN" '{}' "holds:$TOKEN" "$TOKEN 1 $OTHER $((soon + 3600000))" >/dev/null
  answers held leave_held "${hold[@]}" 1000 '{"maintenance":1}'
  answers 1 cut 2 L "$HOLDER" "$TOKEN" "$OTHER" 2000
  assert_between 1 "$(cli A pttl L)" 2000
}

@test "hold-on-failure: a run inside with a longer ttl does not make the hold longer" {
  start_server A
  local leave=(leave 2 L "$HOLDER" "$TOKEN" "$OTHER") soon
  soon=$((($(date +%s) + 40) * 1000))
  cli A set L "$TOKEN" px 600000 >/dev/null
  cli A hset "$HOLDER" "$TOKEN" '{"maintenance":1}' "holds:$TOKEN" "$TOKEN $soon $OTHER $soon" >/dev/null
  answers kept "${leave[@]}" 0
  assert_between 20000 "$(cli A pttl L)" 40000
  # Without a minimum hold, a clock that is set back finds no end of one that lies ahead.
  [[ $(cli A hget "$HOLDER" "keep:$TOKEN") == 0 ]]
  # But a longer minimum hold of the run inside counts.
  cli A hset "$HOLDER" "holds:$TOKEN" "$TOKEN $soon $OTHER $soon" >/dev/null
  answers kept "${leave[@]}" 90000
  assert_between 50000 "$(cli A pttl L)" 90000
  # Another run inside leaves later.
  cli A hset "$HOLDER" "holds:$TOKEN" "$TOKEN 1 $OTHER $soon ${OTHER}2 $soon" >/dev/null
  answers kept "${leave[@]}" 0
  assert_between 50000 "$(cli A pttl L)" 90000
  # The hold is over, and so is the lock.
  cli A hset "$HOLDER" "holds:$TOKEN" "$TOKEN 1 $OTHER $soon" "keep:$TOKEN" 1 >/dev/null
  answers kept "${leave[@]}" 0
  assert_no_key A L
  # A run that died is not a hold: the lock keeps its time to live.
  cli A set L "$TOKEN" px 600000 >/dev/null
  cli A hset "$HOLDER" "$TOKEN" '{}' "holds:$TOKEN" "$TOKEN 1 $OTHER $soon" >/dev/null
  answers kept "${leave[@]}" 0
  assert_between 500000 "$(cli A pttl L)" 600000
}

@test "hold-on-failure: a lock that was revoked before the run failed stays for a run inside, until that has ended" {
  servers 3
  local server token
  background "$REDLOCK" run --hold-on-failure 1h --ttl 60s L -- sh -c '"$0" run --ttl 60s L -- sh -c "
      until [ -e \"$1/go\" ]; do sleep 0.05; done" </dev/null >/dev/null 2>&1 &
    echo "$REDLOCK_TOKEN" >"$1/token.part"; mv "$1/token.part" "$1/token"
    until [ -e "$1/fail" ]; do sleep 0.05; done; exit 5' "$REDLOCK" "$SCRATCH"
  wait_for "$SCRATCH/token"
  token=$(<"$SCRATCH/token")
  # Both would hear of a forced release; they do not hear of this one before their next renewal, in 20 s.
  for server in A B C; do wait_until "$BOUND" both_listen "$server" "$token"; done
  wait_until_settled A B C
  for server in A B C; do cli "$server" set L "revoked:$token {}" px 60000 >/dev/null; done
  : >"$SCRATCH/fail"
  await -5 "$BACKGROUND_PID"
  assert_contains "$stderr" 'no maintenance hold of lock "L" follows'
  run -1 "$REDLOCK" run -n L -- true
  for server in A B C; do [[ $(cli "$server" get L) == revoked:* ]] || fail "$server: '$(cli "$server" get L)'"; done
  : >"$SCRATCH/go"
  for server in A B C; do wait_until "$BOUND" lacks_key "$server" L; done
}
both_listen() { [[ $(cli "$1" pubsub numsub "redlock:{L}:told:$2") == *$'\n'2 ]]; }

@test "hold-on-failure: an end by force first stops the job of a run inside" {
  servers 3
  cat >"$SCRATCH/inner" <<'END'
trap 'sleep 1; echo x >"$2"; exit 3' TERM
echo x >"$1"
while :; do sleep 0.05; done
END
  run --separate-stderr fails 1h L -- sh -c '"$0" run L -- sh "$1/inner" "$1/begun" "$1/over" </dev/null >/dev/null 2>&1 &
    until [ -e "$1/begun" ]; do sleep 0.05; done; exit 5' "$REDLOCK" "$SCRATCH"
  assert_status 5
  run -0 --separate-stderr "$REDLOCK" release --force -y L
  assert_contains "$stderr" 'lock "L" is revoked: a run inside the one that failed still holds it, and stops its job first'
  assert_contains "$stderr" 'lock "L" is free: the maintenance hold of '
  [[ -e $SCRATCH/over ]] || fail "the job of the run inside had not ended"
  run -0 "$REDLOCK" run -n L -- true
}
