#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=memory,slow
#
# Several locks at the same time (--also): all or nothing, in one order everywhere, and the end of one of them is the
# end of the job.

load ../lib/common

teardown() { stop_all; }

# job_with_both [OPTION…]: a job holds a, m and z until its end; sets $TOP.
job_with_both() {
  background "$REDLOCK" run "$@" m --also z --also a -- sh -c 'echo $$ >"$0"; exec sleep 60' "$SCRATCH/job"
  TOP=$BACKGROUND_PID
  wait_for "$SCRATCH/job"
}

# all_free: none of the locks is left on any server; the job is gone.
all_free() {
  local server name
  wait_gone "$(cat "$SCRATCH/job")"
  for server in "${SERVERS[@]}"; do
    for name in a m z; do wait_until "$BOUND" lacks_key "$server" "$name"; done
  done
}

@test "also: the job holds all locks; the variables are those of the first one named" {
  local n
  for n in 1 3; do
    servers "$n"
    run -7 --separate-stderr "$REDLOCK" run m --also z --also a -- sh -c '
      for lock in a m z; do "$0" run -n --no-reentrant "$lock" -- true; echo "$lock $?"; done
      "$0" run -n z --also a -- echo joined
      echo "name $REDLOCK_NAME"; test "$(redis-cli -s "$1" get m)" = "$REDLOCK_TOKEN" && echo token
      echo "$REDLOCK_FENCES"; echo "$REDLOCK_FENCE"; echo "stage ${REDLOCK_STAGE-unset}"; exit 7' "$REDLOCK" "$A_SOCKET"
    [[ -z $stderr ]] || fail "$stderr"
    [[ ${lines[*]:0:6} == 'a 1 m 1 z 1 joined name m token' ]] || fail "$output"
    [[ ${lines[6]} =~ ^[0-9]+\ a$ && ${lines[7]} == "${lines[9]} m" && ${lines[8]} =~ ^[0-9]+\ z$ ]] || fail "$output"
    [[ ${lines[10]} == 'stage unset' ]] || fail "$output"
    wait_until_clean A
    stop_servers
  done
}

@test "also: a warning about the settings comes once" {
  servers 1
  REDLOCK_URL=x run -0 --separate-stderr "$REDLOCK" run m --also z --also a -- true
  assert_one_line "$stderr" "unknown variable 'REDLOCK_URL'"
}

@test "also: a redlock that the system does not let start again for the next lock: 71, and no lock stays" {
  servers 3
  LOCK=a start_job
  cp "$REDLOCK" "$SCRATCH/redlock"
  background "$SCRATCH/redlock" run b --also a -- touch "$SCRATCH/ran"
  wait_for_key A 'redlock:{a}:queue'
  chmod 0 "$SCRATCH/redlock"
  LOCK=a end_job
  await -71 "$BACKGROUND_PID"
  assert_one_line "$(cat "$BACKGROUND_ERR")"
  assert_contains "$(cat "$BACKGROUND_ERR")" 'cannot start itself again to take the next lock: Permission denied'
  [[ ! -e $SCRATCH/ran ]]
  local server
  for server in A B C; do
    wait_until "$BOUND" lacks_key "$server" a
    lacks_key "$server" b
  done
}

@test "also: all or nothing: if one of them is held, the others are released" {
  servers 3
  local lock
  for lock in a m z; do
    LOCK=$lock start_job
    run -9 --separate-stderr "$REDLOCK" run -n -E 9 m --also z --also a -- touch "$SCRATCH/ran"
    local began=$EPOCHREALTIME other
    run -1 --separate-stderr "$REDLOCK" run -w 2 m --also z --also a -- touch "$SCRATCH/ran"
    assert_contains "$stderr" "lock \"$lock\" is still held"
    assert_between 1950 $(((${EPOCHREALTIME/[.,]/} - ${began/[.,]/}) / 1000)) 15000
    for other in a m z; do [[ $other == "$lock" ]] || wait_until "$BOUND" lacks_key A "$other"; done
    LOCK=$lock end_job
  done
  [[ ! -e $SCRATCH/ran ]]
}

@test "also: the job ends when one of the locks is lost, whichever, with status 80" {
  servers 3
  local lock server named token fence
  # Redlock can be used in it, too.
  local hook='exec >>"$SCRATCH/lost"
    echo "$REDLOCK_NAME $REDLOCK_TOKEN $REDLOCK_FENCE ${REDLOCK_STAGE-unset} ${NOTIFY_SOCKET-unset}"
    "$REDLOCK" run -n inside -- echo ran; echo "$REDLOCK_FENCES"'
  export SCRATCH NOTIFY_SOCKET=$SCRATCH/nobody
  for lock in a m z; do
    rm -f "$SCRATCH/job" "$SCRATCH/lost"
    job_with_both --ttl 3s --on-lost "$hook"
    # The variables of the lock named first, or of the lost one, if that comes before it.
    named=m
    [[ $lock != a ]] || named=a
    token=$(cli A get "$named")
    for server in A B; do cli "$server" set "$lock" thief >/dev/null; done
    await -80 "$TOP"
    assert_contains "$stderr" "lock \"$lock\""
    for server in A B; do cli "$server" del "$lock" >/dev/null; done
    all_free
    mapfile -t lines <"$SCRATCH/lost"
    fence=$(sed -n "s/^\([0-9]*\) $named\$/\1/p" "$SCRATCH/lost")
    [[ ${lines[0]} == "$named $token $fence unset unset" && ${lines[1]} == ran ]] || fail "$lock, $token:" "${lines[@]}"
    [[ ${lines[-1]} == *" $lock" && $(grep -c unset "$SCRATCH/lost") == 1 ]] || fail "$lock:" "${lines[@]}"
  done
}

@test "also: a signal ends the job and gives everything back; so does the end of redlock by KILL" {
  servers 3
  job_with_both
  terminate "$TOP"
  all_free
  rm "$SCRATCH/job"
  job_with_both
  kill -KILL "$TOP"
  all_free
}

@test "also: each signal reaches the job once, also the one that ends it when a lock is lost" {
  servers 1
  local counter='trap "echo \$1 >>\"\$0.log\"" EXIT
    for s in INT TERM HUP USR1; do trap "echo $s >>\"\$0.log\"" "$s"; done
    echo $$ >"$0"; until [[ -e $0.go ]]; do sleep 0.02; done'
  got() { [[ $(grep -cx "$1" "$SCRATCH/job.log") == "$2" ]]; }
  background "$REDLOCK" run m --also z --also a -- bash -c "$counter" "$SCRATCH/job" end
  TOP=$BACKGROUND_PID
  wait_for "$SCRATCH/job"
  : >"$SCRATCH/job.log"
  local signal
  for signal in INT TERM HUP USR1; do
    kill "-$signal" "$TOP"
    wait_until "$BOUND" got "$signal" 1
  done
  # A signal that comes twice has come twice: the second one would come before the last signal.
  nap 0.3
  : >"$SCRATCH/job.go"
  await -0 "$TOP"
  [[ $(paste -sd ' ' "$SCRATCH/job.log") == 'INT TERM HUP USR1 end' ]] || fail "$(cat "$SCRATCH/job.log")"
  rm "$SCRATCH"/job*
  background "$REDLOCK" run --ttl 30s --kill-after 10s m --also z --also a -- bash -c "$counter" "$SCRATCH/job" end
  wait_for "$SCRATCH/job"
  : >"$SCRATCH/job.log"
  told() { channel=$(cli A pubsub channels 'redlock:{a}:told:*') && [[ -n $channel ]]; }
  local channel
  wait_until "$BOUND" told
  cli A set a thief >/dev/null
  cli A publish "$channel" x >/dev/null # it renews immediately
  wait_until "$BOUND" got TERM 1
  nap 0.3
  : >"$SCRATCH/job.go"
  await -80 "$BACKGROUND_PID"
  [[ $(paste -sd ' ' "$SCRATCH/job.log") == 'TERM end' ]] || fail "$(cat "$SCRATCH/job.log")"
  cli A del a >/dev/null
  all_free
}

@test "also: what cannot be is refused" {
  servers 1
  assert_rejected() {
    run -64 --separate-stderr "$REDLOCK" run m --also "$@" -- touch "$SCRATCH/ran"
    assert_contains "$stderr" "$expected"
  }
  local expected="the lock 'm' is named twice"
  assert_rejected m
  expected='lock name' assert_rejected 'redlock:{a}'
  expected='lock name' assert_rejected ''
  REDLOCK_STAGE='1 9 0' expected=REDLOCK_STAGE assert_rejected a
  # Nobody makes it write to a descriptor, or read its configuration from another place.
  exec 7>"$SCRATCH/seven"
  REDLOCK_STAGE='0 9000000000000000000 7' expected=REDLOCK_STAGE assert_rejected a --metrics-file "$SCRATCH/metrics"
  exec 7>&-
  [[ ! -s $SCRATCH/seven ]]
  REDLOCK_STAGE_PIPES="0 $SCRATCH/config" expected=REDLOCK_STAGE_PIPES assert_rejected a --config "$SCRATCH/config" <<<'ttl = "9s"'
  run -127 "$REDLOCK" run m --also a -- "$SCRATCH/nothing"
  [[ ! -e $SCRATCH/ran ]]
  wait_until_clean A
}

@test "also: inside a run that holds a later one of its locks: 64, and what to write instead" {
  servers 1
  run -64 --separate-stderr "$REDLOCK" run stock -- "$REDLOCK" run --also stock orders -- touch "$SCRATCH/ran"
  assert_contains "$stderr" 'an outer redlock run holds lock "stock", and --also takes lock "orders" before it'
  assert_contains "$stderr" 'redlock run --also orders stock ...'
  [[ ! -e $SCRATCH/ran ]]
  # In the order, they wait for each other in no circle.
  "$REDLOCK" run orders -- "$REDLOCK" run --also stock orders -- true
  "$REDLOCK" run --also stock orders -- "$REDLOCK" run --also stock orders --also zebra -- true
}

@test "also: what a run of a later lock has left behind takes both once that run has ended" {
  servers 3
  "$REDLOCK" run stock -- sh -c '(until [ -e "$1/go" ]; do sleep 0.05; done
    exec "$0" run --also stock orders -- sh -c "echo >\"\$0\"" "$1/ran") </dev/null >/dev/null 2>"$1/err" &' "$REDLOCK" "$SCRATCH"
  wait_until_clean A B C
  : >"$SCRATCH/go"
  wait_for "$SCRATCH/ran" || fail "$(<"$SCRATCH/err")"
}

@test "also: every stage gets the password and the settings that redlock read from a pipe, the command does not" {
  start_server A --requirepass geheim
  run -0 --separate-stderr bash -c '"$REDLOCK" run m --also z --also a --password-file <(echo geheim) \
    --config <(echo "servers = [\"$0\"]") -- sh -c "env; ls -l /proc/self/fd; echo \$REDLOCK_FENCES"' "$A_URI"
  [[ -z $stderr ]] || fail "$stderr"
  assert_contains "$output" ' z'
  refute_contains "$output" geheim memfd REDLOCK_STAGE
  run -0 --separate-stderr "$REDLOCK" run m --also z -S "$A_URI" --password-file /dev/stdin -- true <<<geheim
}

# stubborn_job_with_both: a job that ignores TERM and forks all the time holds a, m and z; sets $TOP and $job.
stubborn_job_with_both() {
  rm -f "$SCRATCH/job"
  background "$REDLOCK" run --ttl 30s --kill-after 300ms m --also z --also a -- bash -c \
    'trap "" TERM; echo $$ >"$0"; while :; do (read -rt 0.01 <>"$NAP"); done' "$SCRATCH/job"
  TOP=$BACKGROUND_PID
  wait_for "$SCRATCH/job"
  job=$(<"$SCRATCH/job")
}

@test "also: if the job must be killed, the other locks are released all the same" {
  servers 1
  local lock job began
  for lock in a m; do
    stubborn_job_with_both
    began=$(now_ms)
    "$REDLOCK" release --force --yes --quiet "$lock"
    await -80 "$TOP"
    gone "$job" || fail 'the job lives'
    all_free
    # Long before they would expire.
    (($(now_ms) - began < 15000)) || fail "it took $(($(now_ms) - began)) ms"
    [[ $stderr != *'was killed'* ]] || fail "$stderr"
  done
}

@test "also: somebody kills the redlock of a later lock: the job dies immediately, and a message says why" {
  servers 1
  job_with_both
  kill -KILL "$(child_of "$(child_of "$TOP")")" # below the worker of a
  await -137 "$TOP"
  assert_contains "$stderr" 'redlock: lock "m": redlock was killed, stopping the job'
  all_free
}

@test "also: a next redlock that is stopped does not keep the job alive when the first lock is lost" {
  servers 1
  local job pid began
  stubborn_job_with_both
  pid=$(child_of "$(child_of "$TOP")") # the redlock of m, below the worker of a
  kill -STOP "$(child_of "$pid")" "$pid"
  began=$(now_ms)
  "$REDLOCK" release --force --yes --quiet a
  wait_gone "$job"
  await -80 "$TOP"
  # Long before the lease of a would end.
  (($(now_ms) - began < 15000)) || fail "it took $(($(now_ms) - began)) ms"
  wait_until "$BOUND" lacks_key A a
}
