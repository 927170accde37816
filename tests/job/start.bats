#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# The moments around the start of a job: a worker that is stopped or killed there, or whose supervisor is. A preloaded
# library stops the worker exactly there.

load ../lib/common

setup_file() { "${CC:-cc}" -O2 -shared -fPIC -o "$BATS_FILE_TMPDIR/stop_at.so" "$TESTS/lib/stop_at.c" -ldl; }

setup() {
  servers 1
  # A sanitizer wants to be first.
  export ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS-}
}
teardown() {
  # A stopped process would not notice that its test has failed.
  [[ -z ${WORKER_IDENTITY-} ]] || signal_to CONT "$WORKER_IDENTITY"
  [[ -z ${TOP-} ]] || not_ours "$TOP" || kill -CONT "$TOP" 2>/dev/null || true
  stop_all
}

JOB=(sh -c 'echo $$ >"$0"; exec sleep 60' "$SCRATCH/job") # it writes its PID, and stays

# run_until PLACE OPTION…: runs JOB under L; its worker is stopped at that place. Sets TOP and WORKER.
run_until() {
  rm -f "$SCRATCH/once"
  background env LD_LIBRARY_PATH="$BATS_FILE_TMPDIR" LD_PRELOAD=stop_at.so STOP_AT="$1" STOP_ONCE="$SCRATCH/once" \
    "$REDLOCK" run "${@:2}" L -- "${JOB[@]}"
  TOP=$BACKGROUND_PID
  wait_until "$BOUND" test -e "$SCRATCH/once"
  WORKER=$(child_of "$TOP")
  WORKER_IDENTITY=$(identity_of "$WORKER")
  wait_until "$BOUND" stopped "$WORKER"
}

@test "start: a worker stopped after the fork starts no job when its lease is over" {
  run_until subreaper -n --ttl 1s
  freeze "$TOP"
  wait_until "$BOUND" lacks_key A L
  cli A set L another
  kill -CONT "$WORKER"
  wait_gone "$WORKER"
  kill -CONT "$TOP"
  await -1 "$TOP"
  [[ ! -e $SCRATCH/job ]] || fail 'the job ran'
  [[ $(cli A get L) == another ]]
}

@test "start: a worker stopped after the fork is given up while the lease lasts" {
  run_until subreaper --ttl 1s
  wait_gone "$WORKER"
  wait_for "$SCRATCH/job" # another worker's
  has_key A L
  kill -TERM "$TOP"
  await "$TOP"
  assert_nothing_left A
}

@test "start: the worker is killed just after it has started the job, and the job dies before the lock is free" {
  run_until session
  wait_for "$SCRATCH/job"
  kill -KILL "$WORKER"
  await -71 "$TOP"
  assert_contains "$stderr" "redlock: lock \"L\": the process that starts the job (pid $WORKER) was killed before it \
reported the start; if the job had begun, redlock killed it"
  gone "$(<"$SCRATCH/job")" || fail 'the job lives on'
  assert_nothing_left A
}

@test "start: a worker stopped just after it has started the job, and continued in time: the job goes on" {
  run_until session --ttl 15s --kill-after 5s
  wait_for "$SCRATCH/job"
  nap 7 # after 4.5 s it is too late to start a job, after 9.5 s to go on with one
  kill -CONT "$WORKER"
  nap 0.5
  ! gone "$(<"$SCRATCH/job")" || fail 'the job was killed'
  [[ $(child_of "$TOP") == "$WORKER" ]] || fail 'another worker'
  terminate "$TOP"
  assert_nothing_left A
}

@test "start: a worker stopped just after it has started the job, and not continued: the job dies, and does not start again" {
  run_until session --ttl 1s --kill-after 0 # no grace, and yet time for a KILL
  wait_for "$SCRATCH/job"
  local job
  job=$(<"$SCRATCH/job")
  await -71 "$TOP"
  [[ $stderr == "redlock: lock \"L\": the process that starts the job (pid $WORKER) was stopped or stuck before it \
reported the start; if the job had begun, redlock killed it" ]] || fail "$stderr"
  gone "$job" || fail 'the job lives on'
  [[ $(<"$SCRATCH/job") == "$job" ]] || fail 'it was started again'
  assert_nothing_left A
}

# kill_supervisor: kills it while the worker is stopped, continues the worker, and returns when that has ended.
kill_supervisor() {
  kill -KILL "$TOP"
  wait_gone "$TOP"
  kill -CONT "$WORKER"
  wait_gone "$WORKER"
}

@test "start: the supervisor is killed just after the worker has started the job: the job dies, the lock is free" {
  run_until session --kill-after 0
  wait_for "$SCRATCH/job"
  kill_supervisor
  gone "$(<"$SCRATCH/job")" || fail 'the job lives on'
  assert_nothing_left A
}

@test "start: the supervisor is killed before the worker starts the job: there is no job, the lock is free" {
  run_until subreaper
  kill_supervisor
  [[ ! -e $SCRATCH/job ]] || fail 'the job ran'
  assert_nothing_left A
}

@test "start: what the start took does not count for the release of a job that could not be started" {
  JOB=("$SCRATCH/no such program")
  run_until subreaper
  nap 2.2 # the patience of a release is 2 s
  kill -CONT "$WORKER"
  await -127 "$TOP"
  assert_one_line "$stderr" 'cannot run'
  assert_nothing_left A
}

@test "start: nor for --max-runtime" {
  JOB=(sleep 0.1)
  run_until subreaper --max-runtime 1s
  nap 1.1
  kill -CONT "$WORKER"
  await -0 "$TOP"
}

@test "start: the lock is lost before the job could not be started: nobody hears of a job" {
  JOB=("$SCRATCH/no such program")
  run_until subreaper --on-lost "echo lost >'$SCRATCH/lost'"
  cli A del L
  kill -CONT "$WORKER"
  await -127 "$TOP"
  assert_one_line "$stderr" 'cannot run'
  [[ ! -e $SCRATCH/lost ]] || fail 'the command of --on-lost ran'
}
