#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# A signal for a job reaches every process of it, whatever that one has done to hide, and no other
# process; where it could not, redlock does not begin.

load ../lib/common
load ../lib/beating

setup() { servers 1; }
teardown() {
  touch "$LOG.end" "$LOG.orphan" # what redlock is to leave alone ends by itself
  stop_all
  local pid
  for pid in $(pids_of_job 2>/dev/null); do wait_gone "$pid"; done
}

# run_tree COUNT [OPTION…] -- COMMAND…: starts the command under the lock L, and waits until COUNT processes of other names
# beat; sets $TOP.
run_tree() {
  local count=$1 options=()
  shift
  while [[ $1 != -- ]]; do options+=("$1") && shift; done
  shift
  background "${UNDER[@]}" "$REDLOCK" run "${options[@]}" L -- "$@"
  TOP=$BACKGROUND_PID
  wait_until "$BOUND" beating "$count"
}
beating() { (($(awk '$2 == "beat" { print $1 }' "$LOG" 2>/dev/null | sort -u | wc -l) >= $1)); }

# nobody_beats: since now.
nobody_beats() {
  local end
  end=$(now_ms)
  sleep 0.1
  ! awk -v end="$end" '$2 == "beat" && $3 > end + 20 { found = 1 } END { exit !found }' "$LOG" ||
    fail "$(tail -n 3 "$LOG")"
}

# does_not_begin TEXT WORD…: a redlock that these words start ends with 71 and one line with that TEXT, and asks for no
# lock.
does_not_begin() {
  run -71 --separate-stderr "${@:2}" "$REDLOCK" run L -- touch "$SCRATCH/ran"
  assert_one_line "$stderr" "$1"
  [[ $(evals A) == 0 && ! -e $SCRATCH/ran ]] || fail "it has asked for the lock: $(evals A)"
}

@test "without /proc, or with that of another PID namespace: 71, before the lock is asked for" {
  preload hidden_proc.c
  export FAKE_PROC=$SCRATCH/proc
  mkdir "$FAKE_PROC"
  does_not_begin '/proc is not mounted; redlock needs it' env LD_PRELOAD="$SHIM"
  ln -s 1 "$FAKE_PROC/self"
  does_not_begin '/proc belongs to another PID namespace (unshare: add --mount-proc)' env LD_PRELOAD="$SHIM"
  rm -r "$FAKE_PROC"
  does_not_begin 'cannot open /proc: No such file or directory' env LD_PRELOAD="$SHIM"
  local inside=(unshare --user --map-root-user --pid --fork)
  ! "${inside[@]}" true 2>/dev/null || # the real one, where it is permitted
    does_not_begin '/proc belongs to another PID namespace' "${inside[@]}" sh -c '"$0" "$@"; exit $?'
}

@test "a system that refuses what finds and ends a job: 71, before the lock is asked for" {
  local call
  for call in waitid wait4 kill; do
    does_not_begin "$call: Operation not permitted; redlock needs it" \
      timeout 20 "$PYTHON" "$TESTS/lib/refuse.py" "$call" EPERM
  done
}

@test "few descriptors: 71 before the lock is asked for, or everything works" {
  local limit
  : >"$LOG"
  for limit in {8..80}; do
    run --separate-stderr bash -c 'ulimit -n "$1" && exec "${@:2}"' - "$limit" "$REDLOCK" run \
      --max-runtime 300ms --kill-after 100ms L -- "${BEATING_JOB[@]}" name=job below stubborn
    [[ $status == 71 ]] || break
    assert_one_line "$stderr" 'Too many open files'
    [[ $(evals A) == 0 ]] || fail "with $limit descriptors: $stderr"
  done
  # On a slow machine the job is not there yet after 300 ms.
  local runtime
  for runtime in 1s 4s 16s; do
    ((status == 124 && $(last job TERM) == 0)) || break
    run --separate-stderr bash -c 'ulimit -n "$1" && exec "${@:2}"' - "$limit" "$REDLOCK" run \
      --max-runtime "$runtime" --kill-after 100ms L -- "${BEATING_JOB[@]}" name=job below stubborn
  done
  assert_status 124
  (($(last job TERM) > 0)) || fail "$(<"$LOG")"
  nobody_beats
}

@test "what /proc hides: the job itself and orphans get the signals that they are passed, and are killed" {
  preload hidden_stat.c
  export ACT_FILE=$SCRATCH/act
  touch "$ACT_FILE" "$LOG.orphan"
  LD_PRELOAD=$SHIM run_tree 2 --ttl 3s --kill-after 200ms -- sh -c '"$@" name=tree orphan stubborn & exec "$@" name=job stubborn' - \
    "${BEATING_JOB[@]}"
  kill -USR1 "$TOP"
  wait_for_line "$LOG" 'job USR1'
  cli A del L
  await -80 "$TOP"
  (($(last job TERM) > 0 && $(last tree TERM) > 0)) || fail "$(tail -n 3 "$LOG")"
  nobody_beats
}

@test "a descendant whose main thread has ended, and one whose name looks like the rest of its line" {
  run_tree 2 --ttl 3s --kill-after 200ms -- sh -c 'trap : USR1; "$@" name=headless headless &
    "$@" name=renamed below renamed stubborn & until test -e "$0.end"; do sleep 0.05; done' "$LOG" "${BEATING_JOB[@]}"
  [[ $(<"/proc/$(pids_of_job renamed)/comm") == 'x) Z 1 1 1 (y' ]]
  wait_until "$BOUND" grep -q 'State:.*Z' "/proc/$(pids_of_job headless)/status"
  kill -USR1 "$TOP"
  wait_until "$BOUND" reaped "$(pids_of_job headless)"
  wait_for_line "$LOG" 'renamed USR1'
  cli A del L
  await -80 "$TOP"
  (($(last renamed TERM) > 0)) || fail "$(tail -n 3 "$LOG")"
  nobody_beats
}

@test "a kernel or a seccomp filter that refuses pidfds: redlock does without" {
  local refusal
  for refusal in 'pidfd_open ENOSYS' 'pidfd_open,pidfd_send_signal EPERM'; do
    rm -f "$LOG"
    # shellcheck disable=SC2206 # words
    UNDER=("$PYTHON" "$TESTS/lib/refuse.py" $refusal)
    run_tree 2 --ttl 10m --kill-after 200ms -- sh -c 'trap "" USR1; "$@" name=job & "$@" name=tree below stubborn' - \
      "${BEATING_JOB[@]}"
    kill -USR1 "$TOP"
    wait_for_line "$LOG" 'job USR1'
    wait_for_line "$LOG" 'tree USR1'
    nap 1 # then nothing is due in the worker for minutes
    kill -KILL "$TOP"
    wait_until "$BOUND" has_no_keys A
    (($(last tree TERM) > 0)) || fail "$(tail -n 3 "$LOG")"
    nobody_beats
  done
}

@test "what redlock may not kill: it ends some time after the lease, whichever of its processes is left" {
  UNDER=("$PYTHON" "$TESTS/lib/refuse.py" "pidfd_send_signal,kill:9" EPERM)
  local without worker
  for without in worker top; do
    rm -f "$LOG"
    run_tree 1 --ttl 1s --kill-after 100ms -- "${BEATING_JOB[@]}" name=job stubborn
    worker=$(worker_of "$TOP")
    [[ $without == worker ]] && kill -KILL "$worker" || kill -KILL "$TOP"
    cli A del L # or the worker would renew the lock for as long as the job lives
    wait_gone "$worker" 30
    wait_gone "$TOP" 30
    assert_contains "$(<"$BACKGROUND_ERR")" 'processes of the job are still running although the lock has expired'
    ! gone "$(pids_of_job job)" || fail 'the job has ended, too'
    touch "$LOG.end"
    wait_gone "$(pids_of_job job)"
    rm "$LOG.end"
  done
}

@test "what redlock may not kill: it says so once, and goes on waiting" {
  UNDER=("$PYTHON" "$TESTS/lib/refuse.py" "pidfd_send_signal,kill:9" EPERM)
  run_tree 8 --ttl 3s --kill-after 100ms -- sh -c 'for i in 1 2 3 4 5 6 7; do "$@" "name=other$i" stubborn & done
    exec "$@" name=job stubborn' - "${BEATING_JOB[@]}"
  cli A del L
  wait_for_line "$BACKGROUND_ERR" 'not permitted'
  sleep 0.3
  touch "$LOG.end"
  await -80 "$TOP"
  [[ $(grep -c 'not permitted' <<<"$stderr") == 1 ]] || fail "$stderr"
  local first others='(, [0-9]+ \(python3\)){4}'
  first="not permitted to kill PID $(pids_of_job job) (python3)"
  [[ $stderr =~ 'redlock: warning: lock "L": '"$first"$others' and 3 more; still running: if that' ]] || fail "$stderr"
  assert_contains "$stderr" "still running: if that outlives the lock, the lock's next holder runs at the same time"
}

@test "children from before redlock, and their orphans, get no signal of the job's" {
  local stranger parent
  background bash -c '"${@:3}" name=stranger orphan stubborn & "${@:3}" name=child stubborn &
    exec "$1" run --ttl 3s --kill-after 200ms L -- "${@:3}" "$2" stubborn' - "$REDLOCK" name=job "${BEATING_JOB[@]}"
  TOP=$BACKGROUND_PID
  wait_until "$BOUND" beating 3
  wait_until "$BOUND" watches "$TOP"
  stranger=$(pids_of_job stranger)
  parent=$(ps -o ppid= -p "$stranger")
  touch "$LOG.orphan"
  wait_until "$BOUND" reaped "${parent// /}"
  wait_until "$BOUND" asleep "$TOP" # it has seen the orphan
  kill -KILL "$(worker_of "$TOP")"
  wait_until "$BOUND" no_worker "$TOP"
  kill -USR1 "$TOP"
  wait_for_line "$LOG" 'job USR1'
  await -80 "$TOP"
  (($(last job TERM) > 0)) || fail "$(tail -n 3 "$LOG")"
  gone "$(pids_of_job job)" || fail 'the job lives'
  [[ $(last stranger USR1)$(last stranger TERM)$(last child USR1)$(last child TERM) == 0000 ]] || fail "$(grep -v beat "$LOG")"
  ! gone "$stranger" && ! gone "$(pids_of_job child)" || fail 'killed with the job'
}
# worker_of TOP: the PID of its worker, which gets its name when the job runs.
worker_of() {
  wait_until "$BOUND" has_worker "$1" >&2
  pgrep -P "$1" -x redlock-worker
}

@test "--on-lost: what it leaves in the background outlives the job's KILL, and redlock" {
  run_tree 1 --ttl 3s --kill-after 300ms --on-lost "${BEATING_JOB[*]@Q} name=hook stubborn & echo run >>'$LOG'" -- \
    "${BEATING_JOB[@]}" name=job stubborn
  cli A del L
  wait_for_line "$LOG" 'hook beat'
  await -80 "$TOP"
  gone "$(pids_of_job job)" || fail 'the job lives'
  ! gone "$(pids_of_job hook)" || fail 'killed with the job'
  [[ $(last hook TERM) == 0 && $(grep -c '^run' "$LOG") == 1 ]] || fail "$(grep -v beat "$LOG")"
}

@test "the machine fails under a redlock whose worker is dead: the job is killed in time" {
  preload refused_poll.c
  export ACT_FILE=$SCRATCH/act
  LD_PRELOAD=$SHIM run_tree 2 --ttl 3s --kill-after 300ms -- sh -c 'trap "" USR1; "$@" name=job & "$@" name=tree below stubborn' - "${BEATING_JOB[@]}"
  wait_until "$BOUND" watches "$TOP"
  kill -KILL "$(worker_of "$TOP")"
  wait_until "$BOUND" no_worker "$TOP"
  touch "$ACT_FILE"
  kill -USR1 "$TOP"
  await -80 "$TOP"
  [[ $(grep -c 'poll: Cannot allocate memory, trying again' <<<"$stderr") == 1 ]] || fail "$stderr"
  nobody_beats
}
no_worker() { ! has_worker "$1"; }
has_worker() { pgrep -P "$1" -x redlock-worker >/dev/null; }

@test "a stopped job whose worker was killed is not continued when its lease is over, and that is 80" {
  local worker pid stopped_at
  run_tree 1 --ttl 1s -- "${BEATING_JOB[@]}" name=job
  worker=$(child_of "$TOP")
  pid=$(pids_of_job job)
  freeze "$pid" "$TOP"
  stopped_at=$(now_ms)
  kill -KILL "$worker"
  wait_until "$BOUND" eval '[[ $(cli A exists L) == 0 ]]'
  kill -CONT "$TOP"
  await -80 "$TOP"
  gone "$pid" || fail 'it lives'
  [[ $(last job TERM) == 0 ]] && (($(last job beat) <= stopped_at)) || fail "$(tail -n 3 "$LOG")"
}

@test "the worker has a name of its own: killall redlock hits only the process that the user knows" {
  local worker
  run_tree 1 --ttl 30s -- "${BEATING_JOB[@]}" name=job
  worker=$(child_of "$TOP")
  wait_until "$BOUND" eval '[[ $(<"/proc/$worker/comm") == redlock-worker ]]'
  [[ $(<"/proc/$TOP/comm") == redlock ]] || fail "$(ps -o pid,comm -p "$TOP,$worker")"
  [[ $(ps -o args= -p "$worker") == 'redlock-worker: L' ]] || fail "$(ps -o args= -p "$worker")"
  assert_contains "$(tr '\0' ' ' <"/proc/$TOP/cmdline")" 'run --ttl 30s L --'
  kill -KILL "$TOP" # as killall -9 does
  wait_until "$BOUND" has_no_keys A
  (($(last job TERM) > 0)) || fail "$(tail -n 3 "$LOG")"
  nobody_beats
}
