#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole,slowest
# shellcheck shell=bash disable=SC1003
#
# Two processes watch over a job: whichever of them is killed, stopped or stuck, the job does not
# outlive its lock.

load ../lib/common
load ../lib/beating

setup() { servers 1; }
teardown() {
  # A stopped process would not notice that its test has failed.
  [[ -z ${WORKER_IDENTITY-} ]] || signal_to CONT "$WORKER_IDENTITY"
  touch "$LOG.end" # processes that redlock has left end by themselves
  stop_all
}

# lease_end: when the lock's key expires at the latest, in ms since 1970, as the server has it now.
lease_end() { echo $(($(cli A pttl L) + $(now_ms))); }

@test "top killed: a job that ends at a TERM, and a whole tree that ignores it, are stopped, and the lock released" {
  local words
  for words in 5 '5 stubborn tree'; do
    rm -f "$LOG"
    # shellcheck disable=SC2086 # words
    run_job --ttl 30s --kill-after 200ms -- $words
    if [[ $words == *tree ]]; then # and after a signal that redlock has passed on, and that did not end the job
      wait_until "$BOUND" has_processes 2
      kill -USR1 "$TOP"
      wait_for_line "$LOG" USR1
    fi
    kill -KILL "$TOP"
    wait_until "$BOUND" job_is_gone || fail "$words: the job lives"
    wait_until "$BOUND" has_no_keys A || fail "$words: the lock is left"
    wait_gone "$WORKER"
    (($(last TERM) > 0)) || fail "$words:" "$(<"$LOG")"
    assert_contains "$(<"$BACKGROUND_ERR")" 'redlock: lock "L": redlock was killed, stopping the job'
  done
}

# killed_together PID…: KILL to all of them, while a stubborn descendant in another session lives: it is gone when the
# lock is free.
killed_together() {
  wait_until "$BOUND" has_processes 2
  kill -KILL "$@"
  wait_until "$BOUND" lacks_key A L
  job_is_gone || fail 'the lock is free, and a process of the job lives'
  wait_gone "$WORKER"
  rm -f "$LOG"*
}

@test "top and job killed: nothing of the job is left when the lock is free" {
  run_job --ttl 30s --kill-after 200ms -- 5 tree
  killed_together "$TOP" "$JOB"
  run_job --ttl 30s --kill-after 200ms -- 5 tree
  killed_together "$JOB" "$TOP"
  background setsid "$REDLOCK" run --ttl 30s --kill-after 200ms L -- "${BEATING_JOB[@]}" 5 tree
  wait_for_line "$LOG" beat
  WORKER=$(child_of "$BACKGROUND_PID")
  killed_together -- "-$BACKGROUND_PID" # as the last step of a CI's cancel
}

@test "worker and job killed: the rest of the job does not wait for the end of the lease" {
  local order
  for order in 'WORKER JOB' 'JOB WORKER'; do
    run_job --ttl 30s --kill-after 200ms -- 5 tree
    wait_until "$BOUND" has_processes 2
    # shellcheck disable=SC2086 # two names
    set -- $order
    kill -KILL "${!1}" "${!2}"
    wait_until 10 job_is_gone
    # Nobody is left who could release it.
    [[ $(cli A exists L) == 1 ]] || fail 'the lock is free'
    await "$TOP"
    assert_status 137 # the main process's
    [[ $1 == JOB ]] || assert_contains "$stderr" 'was killed; stopping what is left of the job before the lock expires'
    cli A del L >/dev/null
    rm -f "$LOG"*
  done
}

@test "a worker that takes its time to exit: the top sleeps until it is gone" {
  preload slow_exit.c
  BUSY=$SCRATCH/busy EXIT_MS=300 run -3 --separate-stderr env LD_PRELOAD="$SHIM" "$REDLOCK" run L -- sh -c "exit 3"
  [[ ! -e $SCRATCH/busy ]]
}

@test "a worker that has released the lock and does not exit: it is killed, and its word counts" {
  preload slow_exit.c
  BUSY=$SCRATCH/busy EXIT_MS=60000 run -3 --separate-stderr env LD_PRELOAD="$SHIM" "$REDLOCK" run --ttl 3s \
    --hold-on-failure 1m L -- env -u LD_PRELOAD sh -c "exit 3"
  [[ $stderr != *warning* ]] || fail "$stderr"
  assert_contains "$stderr" 'lock "L" is held for maintenance'
  has_key A L
}

@test "top stopped: job and renewals go on, and the job's end wakes it" {
  run_job --ttl 2s -- 5
  freeze "$TOP"
  local end
  end=$(lease_end)
  wait_until "$BOUND" eval '(($(last beat) > end + 500))'
  has_key A L
  touch "$LOG.end"
  await -5 "$TOP"
  assert_nothing_left A
}

# worker_killed STATUS OPTION…: the worker is killed, and then the job ends in time by a signal that is passed on all
# the same; redlock ends with the job's STATUS.
worker_killed() {
  run_job --ttl 30s "${@:2}" -- "$1"
  kill -KILL "$WORKER"
  kill -USR1 "$TOP"
  wait_for_line "$LOG" USR1
  await "-$1" "$TOP"
}

@test "worker killed: a job that ends in time keeps its status, with a warning" {
  worker_killed 5 --once 1h --hold-on-failure 1h
  assert_contains "$stderr" 'lock "L" could not be released' "(pid $WORKER) was killed; it stays locked for about" \
    'no maintenance hold of lock "L" follows'
  refute_contains "$stderr" --once
  has_key A L
}

@test "worker killed: a success of --once that nobody marks is said" {
  worker_killed 0 --once 1h --hold-on-failure 1h
  assert_one_line "$stderr" ', and after that --once may let the job run again'
  assert_no_key A 'redlock:{L}:done'
}

@test "worker killed: that nobody notes a success of --build, and for how long the lock stays, is said" {
  worker_killed 0 --build 6
  assert_contains "$stderr" ', and after that --build may let an older build run'
  cli A del L >/dev/null
  rm -f "$LOG"*
  worker_killed 0 --min-hold 60s
  [[ $stderr =~ 'it stays locked for about 5'[0-9]' s' || $stderr =~ 'about 1m' ]] || fail "$stderr"
}

@test "worker killed in the middle of --max-runtime: that stays the reason, 124" {
  run_job --ttl 30s --kill-after 2s --max-runtime 500ms -- 5 stubborn
  wait_for_line "$LOG" TERM
  kill -KILL "$WORKER"
  await -124 "$TOP"
  refute_contains "$stderr" 'was lost'
}

@test "worker killed: TERM a grace before the end, and dead before the lease is over" {
  local end
  run_job --ttl 6s --kill-after 2s -- 5
  kill -KILL "$WORKER"
  end=$(lease_end)
  await -80 "$TOP"
  assert_one_line "$stderr" 'was killed; stopping the job before the lock expires'
  # Of what is left: the grace, the margin of 120 ms, and the drift of 62. On a busy machine a KILL takes longer, so
  # redlock begins earlier.
  assert_between $((end - 4500)) "$(last TERM)" $((end - 400))
}

@test "worker killed: a stopped job whose worker was killed sees its TERM all the same" {
  run_job --ttl 3s --kill-after 1s -- 5
  freeze "$JOB"
  kill -KILL "$WORKER"
  await -80 "$TOP"
  (($(last TERM) > 0)) || fail "$(tail -n 3 "$LOG")"
}

@test "lost: a stopped descendant is continued, so that it sees its TERM" {
  local stopped
  background "$REDLOCK" run --ttl 3s --kill-after 1s L -- sh -c '"$@" & exec "$@"' sh \
    "${BEATING_JOB[@]}" 5 stubborn # or it would leave its child to redlock
  wait_until "$BOUND" has_processes 2
  stopped=$(pids_of_job | grep -vx "$(child_of "$(child_of "$BACKGROUND_PID")")")
  freeze "$stopped"
  cli A del L
  await -80 "$BACKGROUND_PID"
  [[ $(grep -c ^TERM "$LOG") == 2 ]] || fail "$(grep -v ^beat "$LOG")"
}

@test "worker killed: a stubborn tree is dead before the lease is over" {
  stubborn_until_the_end KILL
}

# stubborn_until_the_end SIGNAL: the worker of a stubborn tree gets that signal, and the tree is dead before the
# lease is over, though not long before. Three tries: a machine that stands still for the margin of 50 ms, just
# when it ends, makes it too late.
stubborn_until_the_end() {
  local end try
  for try in 1 2 3; do
    rm -f "$LOG"
    cli A del L
    run_job --ttl 2s --kill-after 300ms -- 5 stubborn tree
    wait_until "$BOUND" has_processes 2
    kill "-$1" "$WORKER"
    end=$(lease_end)
    await -80 "$TOP"
    job_is_gone
    (($(last beat) > end)) || break
  done
  assert_between $((end - 1500)) "$(last beat)" "$end"
}

@test "worker stopped: it is killed in time, and the job dead before the lease is over" {
  stubborn_until_the_end STOP
  gone "$WORKER"
  (($(last TERM) > 0))
  assert_one_line "$stderr" "(pid $WORKER) is stopped or stuck, killed"
}

@test "worker stopped: a job that ends by itself keeps its status" {
  run_job --ttl 3s --on-lost "echo lost >'$SCRATCH/lost'" -- 5
  freeze "$WORKER"
  touch "$LOG.end"
  await -5 "$TOP"
  assert_one_line "$stderr" 'lock "L" could not be released'
  [[ ! -e $SCRATCH/lost ]] || fail 'the command of --on-lost ran'
}

@test "worker stopped for a moment: nothing happens" {
  run_job --ttl 6s -- 5
  kill -STOP "$WORKER"
  wait_until "$BOUND" eval '(($(cli A pttl L) < 3800))' # a renewal was due at 4000
  kill -CONT "$WORKER"
  wait_until "$BOUND" eval '(($(cli A pttl L) > 4000))'
  touch "$LOG.end"
  await -5 "$TOP"
  [[ -z $stderr ]] || fail "$stderr"
  assert_nothing_left A
}

@test "worker killed, or stopped, while the job is being stopped: the KILL comes all the same" {
  local signal
  for signal in KILL STOP; do
    rm -f "$LOG"
    cli A del L
    run_job --ttl 30s --kill-after 2s -- 5 stubborn
    wait_until_listening A
    "$REDLOCK" release --force --yes -q L
    wait_for_line "$LOG" TERM
    kill "-$signal" "$WORKER"
    await -80 "$TOP" || fail "$signal"
    job_is_gone || fail "$signal: the job lives"
    gone "$WORKER" || fail "$signal: the worker lives"
    assert_between 0 $(($(last beat) - $(last TERM))) 10000 # after a STOP a second later than the worker's
  done
}

# waits_of PID: how often it has begun to wait
waits_of() { awk '/^voluntary/ { print $2 }' "/proc/$1/status"; }

@test "worker stopped in the release: redlock leaves, with the job's status" {
  local before
  run_job --ttl 5m --server-timeout 100ms -- 5
  pause_server A
  before=$(waits_of "$TOP")
  touch "$LOG.end"
  # It has fetched the job's status and told it, and waits for the server: too long, so it has woken its supervisor.
  wait_until "$BOUND" reaped "$JOB"
  wait_until "$BOUND" eval '(($(waits_of "$TOP") > before))'
  wait_until "$BOUND" asleep "$WORKER"
  kill -STOP "$WORKER"
  await -5 "$TOP"
  resume_server A
}

@test "everything stopped beyond the lease: the job never runs again, whichever process goes on" {
  local awake process stopped_at
  for awake in 'WORKER TOP' TOP WORKER; do
    rm -f "$LOG"
    run_job --ttl 2s -- 5 tree
    wait_until "$BOUND" has_processes 2
    # shellcheck disable=SC2046 # PIDs
    freeze "$TOP" "$WORKER" $(pids_of_job) # a redlock that runs would continue the job to end it
    stopped_at=$(now_ms)
    wait_until "$BOUND" lacks_key A L
    for process in $awake; do kill -CONT "${!process}"; done
    wait_until "$BOUND" job_is_gone || fail "$awake: the job lives"
    # Not needlessly: LeakSanitizer stops a process that ends, and waits without end for one that was continued.
    ! stopped "$TOP" || kill -CONT "$TOP"
    await -80 "$TOP"
    assert_between 0 "$(last beat)" "$stopped_at" || fail "$awake: the job ran"
    [[ $(last TERM) == 0 && $(last end) == 0 ]] || fail "$awake:" "$(tail -n 3 "$LOG")"
    [[ $awake != TOP ]] || assert_contains "$stderr" 'stopping the job although the lock has expired'
  done
}

@test "everything stopped beyond the lease: the top does not continue a job that the worker is about to kill" {
  preload late_kill.c
  local stopped_at
  # With this ttl the top waits for a late worker for 100 ms, longer than the 50 ms for which it holds a CONT.
  LD_PRELOAD=$SHIM run_job --ttl 10s -- 5
  freeze "$TOP" "$WORKER" "$JOB"
  stopped_at=$(now_ms)
  wait_until "$BOUND" eval '[[ $(cli A exists L) == 0 ]]'
  kill -CONT "$WORKER"
  wait_until "$BOUND" asleep "$WORKER" # it has said what it will do, and waits before it does so
  kill -CONT "$TOP"
  await -80 "$TOP"
  job_is_gone
  assert_between 0 "$(last beat)" "$stopped_at"
}

@test "top killed before there is a worker: nothing is left but what the server still grants" {
  cli A set L somebody
  background "$REDLOCK" run --ttl 2s L -- touch "$SCRATCH/ran"
  wait_until "$BOUND" eval '(($(evals A) > 0))'
  kill -KILL "$BACKGROUND_PID"
  wait_gone "$BACKGROUND_PID"
  cli A del L
  # An acquire of its may still be carried out: for 2 s.
  wait_until "$BOUND" lacks_key A L
  # It may stand in the queue already: a silent waiter is dropped there after 20 s.
  ! keys_left A | grep -qEv ':(queue|alive|waiters|turn)$' || fail "$(keys_left A)"
  [[ ! -e $SCRATCH/ran ]]
}

@test "lost: what forks and exits in a loop is caught" {
  local end
  "${CC:-cc}" -O2 -o "$SCRATCH/hop" "$BATS_TEST_DIRNAME/hop.c"
  background "$REDLOCK" run --ttl 3s --kill-after 200ms L -- "$SCRATCH/hop" "$LOG"
  wait_for_line "$LOG" beat
  cli A del L
  await -80 "$BACKGROUND_PID"
  end=$(now_ms)
  sleep 0.2 # it would beat a thousand times
  (($(last beat) <= end)) || fail 'it hops on'
}

@test "--wait-all holds the lock until the last descendant has ended" {
  background "$REDLOCK" run --ttl 2s --wait-all L -- sh -c \
    'setsid sh -c "until test -e \"\$0.end\"; do sleep 0.05; done" "$0" >/dev/null 2>&1 & echo ready >"$0"; exit 4' "$LOG"
  wait_for "$LOG"
  timed -1 "$REDLOCK" run -w 3 L -- true
  touch "$LOG.end"
  await -4 "$BACKGROUND_PID"
  assert_nothing_left A
}

@test "without it, a descendant of a job that ended lives on" {
  run -4 "$REDLOCK" run L -- sh -c \
    'setsid sh -c "until test -e \"\$0.end\"; do sleep 0.05; done; echo lived >\"\$0\"" "$0" >/dev/null 2>&1 & exit 4' "$LOG"
  assert_nothing_left A
  touch "$LOG.end"
  wait_for_line "$LOG" lived
}

@test "--wait-all: when the lock is lost, descendants are stopped" {
  background "$REDLOCK" run --ttl 1s --kill-after 200ms --wait-all L -- sh -c \
    'setsid sh -c "trap \"\" TERM; echo \$\$ >\"\$0\"; while :; do sleep 0.02; done" "$0" >/dev/null 2>&1 & exit 4' "$LOG"
  wait_for "$LOG"
  cli A del L
  await -80 "$BACKGROUND_PID"
  gone "$(<"$LOG")"
}

@test "--signal chooses the first signal" {
  run_job --ttl 3s --signal INT -- 7
  cli A del L
  await -80 "$TOP"
  [[ $(last INT) != 0 && $(last TERM) == 0 ]] || fail "$(tail -n 3 "$LOG")"
  run -64 "$REDLOCK" run --signal NONE L -- true
  assert_contains "$output" "--signal: expected a signal (TERM, SIGTERM, 15), not 'NONE'"
  run -124 "$REDLOCK" run --signal 10 --max-runtime 100ms L -- sleep 20
}

@test "--on-lost runs with the job's environment, is no part of the job, and delays no release" {
  run_job --ttl 3s --kill-after 200ms --on-lost \
    'trap "" TERM; echo "$REDLOCK_NAME $REDLOCK_FENCE ${#REDLOCK_TOKEN}" >"'"$SCRATCH"'/told"; until [ -e "'"$SCRATCH"'/go" ]; do sleep 0.05; done; echo done >>"'"$SCRATCH"'/told"' -- 5 stubborn
  cli A del L
  wait_for "$SCRATCH/told"
  wait_until "$BOUND" job_is_gone
  assert_free L
  touch "$SCRATCH/go"
  await -80 "$TOP"
  [[ $(paste -sd ' ' "$SCRATCH/told") =~ ^L\ [0-9]+\ 40\ done$ ]] || fail "$(<"$SCRATCH/told")"
}

# on_lost NAME STATUS TOLD ARG…: redlock runs with the lock NAME and these arguments; later it must end with STATUS, and
# have run the command of --on-lost TOLD times.
on_lost() {
  background "$REDLOCK" run --ttl 2s --kill-after 100ms --on-lost "echo \$\$ >>'$SCRATCH/told.$1'" "${@:4}"
  expected+=("$BACKGROUND_PID $2 $3 $1")
}

@test "--on-lost runs once for each way to lose a lock, and for nothing else" {
  local expected=() each pid wanted told name
  start_server B
  on_lost deleted 80 1 deleted -- sleep 20
  on_lost revoked 80 1 revoked -- sleep 20
  on_lost taken 80 1 taken -- sleep 20
  on_lost replaced 80 1 replaced -- sleep 20
  on_lost cut_off 80 1 -S "$B_URI" cut_off -- sleep 20
  # The lock was gone when the job ended.
  on_lost late 80 1 late -- sh -c 'redis-cli -s "$A_SOCKET" del late >/dev/null'
  on_lost well 0 0 well -- true
  on_lost badly 3 0 badly -- sh -c 'exit 3'
  on_lost long 124 0 --max-runtime 500ms long -- sleep 20
  on_lost told 143 0 told -- sh -c 'kill -TERM $$'
  on_lost absent 127 0 absent -- /none/such
  # The worker is killed: while the lock is valid, while it stops a job that runs too long, and while it stops one that
  # has lost the lock, once it has reaped the command.
  on_lost killed 80 1 killed -- sh -c 'echo >"$0/up"; until [ -e "$0/go" ]; do sleep 0.05; done; kill -KILL "$PPID"; exec sleep 20' "$SCRATCH"
  wait_for "$SCRATCH/up"
  wait_until "$BOUND" watches "$BACKGROUND_PID"
  touch "$SCRATCH/go"
  on_lost both 124 0 --max-runtime 500ms both -- sh -c 'trap "kill -KILL $PPID" TERM; while :; do sleep 0.1; done'
  on_lost half 80 1 --ttl 6s --kill-after 2s half -- sh -c 'trap "until read -r told <\"$0\" && [ ! -e /proc/\$told ]; do sleep 0.02; done
    kill -KILL $PPID" TERM; while :; do sleep 0.1; done' "$SCRATCH/told.half"
  for name in deleted revoked taken replaced half; do wait_for_key A "$name"; done
  cli A del deleted half >/dev/null
  cli A set taken somebody >/dev/null
  "$REDLOCK" release --force --yes -q revoked
  "$REDLOCK" run --replace replaced -- true
  wait_for_key B cut_off
  kill_server B
  for each in "${expected[@]}"; do
    read -r pid wanted told name <<<"$each"
    await "$pid" 30
    [[ $status == "$wanted" && $stderr != *'took longer'* ]] || fail "$name: status $status" "$stderr"
    touch "$SCRATCH/told.$name"
    [[ $(wc -l <"$SCRATCH/told.$name") == "$told" ]] || fail "$name: $(<"$SCRATCH/told.$name")"
  done
}

@test "--on-lost is bounded in time" {
  run_job --ttl 1s --on-lost "echo \$\$ >>'$SCRATCH/told'; sleep 60 & echo \$! >'$SCRATCH/below'; wait" -- 5
  cli A del L
  await -80 "$TOP" 30
  assert_contains "$stderr" '--on-lost took longer than 10 s'
  [[ $(wc -l <"$SCRATCH/told") == 1 ]] || fail 'it was run twice'
  wait_until "$BOUND" gone "$(<"$SCRATCH/told")"
  wait_until "$BOUND" gone "$(<"$SCRATCH/below")"
}

@test "redlock that is waited for by a pipe: it ends when the lock is free, not before" {
  run bash -c '"$REDLOCK" run L -- sh -c "echo out" | cat; redis-cli -s "$A_SOCKET" exists L'
  [[ $output == out$'\n'0 ]] || fail "$output"
}

@test "where nobody does job control, redlock's end does not hang up a group with a stopped process" {
  # The kernel does that to a group that becomes orphaned. Cron's and CI's always were.
  # A job kills the worker, once the top watches: before, it would be for nothing to have been started.
  cat >"$SCRATCH/script" <<'SCRIPT'
trap 'echo HUP' HUP
sleep 30 &
kill -STOP $!
"$REDLOCK" run L -- echo ran
"$REDLOCK" run L -- sh -c 'read -r _ _ _ top _ <"/proc/$PPID/stat"
  while case $(readlink "/proc/$top/fd/"*) in *socket:*) ;; *) false ;; esac; do sleep 0.02; done
  kill -KILL $PPID; sleep 0.1'
echo $?
kill -KILL $!
SCRIPT
  run --separate-stderr setsid sh "$SCRATCH/script"
  [[ $output == ran$'\n'0 ]] || fail "$output"
}

@test "the clock jumps over the lease: the job is killed before anything else" {
  preload jumping_clock.c
  export OFFSET_FILE=$SCRATCH/offset
  local jumps other
  for jumps in worker top; do # the process whose clock jumps
    rm -f "$LOG" "$OFFSET_FILE"
    LD_PRELOAD=$SHIM run_job --ttl 2s --kill-after 300ms -- 5 tree
    wait_until "$BOUND" has_processes 2
    [[ $jumps == top ]] && other=$WORKER || other=$TOP
    freeze "$other"
    echo 3600 >"$SCRATCH/offset.new" && mv "$SCRATCH/offset.new" "$OFFSET_FILE"
    # A signal that is for the job wakes the top; the worker continues it at its end.
    [[ $jumps == worker ]] || kill -USR1 "$TOP"
    await -80 "$TOP"
    job_is_gone
    gone "$WORKER"
    [[ $stderr != *'stops trying'* ]] || fail "$stderr"
    [[ $(last TERM) == 0 && $(last USR1) == 0 && $(last end) == 0 ]] || fail "$jumps" "$(tail -n 3 "$LOG")"
    cli A del L
  done
}
