#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
# shellcheck shell=bash disable=SC2016,SC2030,SC2031,SC2154
#
# What is meant for a job reaches every process of it, whatever that one has done to hide, and no other
# process; where it could not, redlock does not begin.

load ../lib/common

setup() {
  start_server A
  export REDLOCK_SERVERS=$A_URI A_SOCKET
  LOG=$SCRATCH/log
  cat >"$SCRATCH/process.py" <<'PROCESS'
"""process.py LOG NAME [HABIT...]: writes "NAME pid PID", "NAME beat TIME" (ms since 1970) every 10 ms until
LOG.end exists, and "NAME TERM TIME" and the like at a signal, which ends it unless it is stubborn.

below: in a grandchild, in a session of its own, while the main process waits for LOG.end; orphan: the
same, but the main process ends once LOG.orphan exists; renamed: under a name that looks like
/proc/PID/stat; headless: its main thread has ended, another one goes on."""
import ctypes, os, signal, sys, threading, time
name, habits = sys.argv[2], sys.argv[3:]
log = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
libc = ctypes.CDLL(None)
def say(word, number=None):
    os.write(log, f"{name} {word} {number or time.time_ns() // 1000000}\n".encode())
def told(number, frame):
    say(signal.Signals(number).name[3:])
    if "stubborn" not in habits:
        os._exit(3)
def wait_for(suffix):
    while not os.path.exists(sys.argv[1] + suffix):
        time.sleep(0.01)
def beat():
    say("pid", os.getpid())
    while not os.path.exists(sys.argv[1] + ".end"):
        say("beat")
        time.sleep(0.01)
    os._exit(0)
if "orphan" in habits and os.fork():
    wait_for(".orphan")
    os._exit(0)
if "below" in habits and os.fork():
    wait_for(".end")
    os._exit(0)
if "below" in habits:
    os.setsid()
    if os.fork():
        signal.pause()
if "renamed" in habits:
    libc.prctl(15, b"x) Z 1 1 1 (y", 0, 0, 0)
if "headless" in habits:
    threading.Thread(target=beat).start()
    libc.pthread_exit(None)
for one in "TERM", "USR1":
    signal.signal(getattr(signal, "SIG" + one), told)
beat()
PROCESS
  PROCESS=("$PYTHON" -SEI "$SCRATCH/process.py" "$LOG")
}
teardown() {
  touch "$LOG.end" "$LOG.orphan" # what redlock is to leave alone ends by itself
  stop_all
  local pid
  for pid in $(pids_of . 2>/dev/null); do wait_gone "$pid"; done
}

# pids_of NAME: prints the PIDs of the processes of that name.
pids_of() { sed -n "s/^$1.* pid //p" "$LOG"; }

# last NAME WORD: when NAME last wrote it, 0 for never.
last() { awk -v name="$1" -v what="$2" '$1 == name && $2 == what { time = $3 } END { print time ? time : 0 }' "$LOG"; }

# run_job [OPTIONS…] -- COMMAND…: under L; sets $TOP. Returns when $1 processes beat.
run_job() {
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

# preload NAME: sets $SHIM, made of the C on standard input. It acts once $SCRATCH/act exists.
preload() {
  SHIM=$SCRATCH/shim.so
  {
    echo '#define _GNU_SOURCE'
    printf '#include <%s>\n' dirent.h errno.h fcntl.h poll.h stdarg.h stdlib.h string.h sys/syscall.h unistd.h
    echo 'static int acts(void) { return access(getenv("ACT_FILE"), F_OK) == 0; }'
    cat
  } | cc -x c -shared -fPIC -o "$SHIM" -
  export ACT_FILE=$SCRATCH/act
  # A sanitizer wants to be first.
  export ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS-}
}

# preload_proc: with that, /proc is $SCRATCH/proc.
preload_proc() {
  preload <<'SHIM'
DIR* opendir(const char* path) {
  if (strcmp(path, "/proc") == 0) path = getenv("FAKE_PROC");
  const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return fd < 0 ? NULL : fdopendir(fd);
}
SHIM
  export FAKE_PROC=$SCRATCH/proc
  mkdir "$FAKE_PROC"
}

# refused TEXT: the last `run` ended with 71 and one line with that TEXT, and asked for no lock.
refused() {
  assert_status 71
  assert_one_line "$stderr"
  assert_contains "$stderr" "$1"
  [[ $(evals A) == 0 && ! -e $SCRATCH/ran ]] || fail "it has asked for the lock: $(evals A)"
}

@test "without /proc, or with that of another PID namespace: 71, before the lock is asked for" {
  preload_proc
  run --separate-stderr env LD_PRELOAD="$SHIM" "$REDLOCK" run L -- touch "$SCRATCH/ran"
  refused '/proc is not mounted; redlock needs it'
  ln -s 1 "$FAKE_PROC/self"
  run --separate-stderr env LD_PRELOAD="$SHIM" "$REDLOCK" run L -- touch "$SCRATCH/ran"
  refused '/proc belongs to another PID namespace (unshare: add --mount-proc)'
  rm -r "$FAKE_PROC"
  run --separate-stderr env LD_PRELOAD="$SHIM" "$REDLOCK" run L -- touch "$SCRATCH/ran"
  refused 'cannot open /proc: No such file or directory'
  if unshare --user --map-root-user --pid --fork true 2>/dev/null; then # the real one, where it is permitted
    run --separate-stderr unshare --user --map-root-user --pid --fork \
      sh -c '"$REDLOCK" run L -- touch "$0"; exit $?' "$SCRATCH/ran"
    refused '/proc belongs to another PID namespace'
  fi
}

@test "a system that refuses what finds and ends a job: 71, before the lock is asked for" {
  local call
  for call in waitid wait4 kill; do
    run --separate-stderr timeout 20 "$PYTHON" "$TESTS/lib/refuse.py" "$call" EPERM "$REDLOCK" run L -- touch "$SCRATCH/ran"
    refused "$call: Operation not permitted; redlock needs it"
  done
}

@test "few descriptors: 71 before the lock is asked for, or everything works" {
  local limit
  : >"$LOG"
  for limit in {8..80}; do
    run --separate-stderr bash -c 'ulimit -n "$1" && exec "${@:2}"' - "$limit" "$REDLOCK" run \
      --max-runtime 300ms --kill-after 100ms L -- "${PROCESS[@]}" job below stubborn
    [[ $status == 71 ]] || break
    assert_one_line "$stderr"
    assert_contains "$stderr" 'Too many open files'
    [[ $(evals A) == 0 ]] || fail "with $limit descriptors: $stderr"
  done
  # On a slow machine the job is not there yet after 300 ms.
  local runtime
  for runtime in 1s 4s 16s; do
    ((status == 124 && $(last job TERM) == 0)) || break
    run --separate-stderr bash -c 'ulimit -n "$1" && exec "${@:2}"' - "$limit" "$REDLOCK" run \
      --max-runtime "$runtime" --kill-after 100ms L -- "${PROCESS[@]}" job below stubborn
  done
  assert_status 124
  (($(last job TERM) > 0)) || fail "$(<"$LOG")"
  nobody_beats
}

@test "what /proc hides: the job itself and orphans get the signals that they are passed, and are killed" {
  preload <<'SHIM'
int openat(int directory, const char* path, int flags, ...) {
  size_t length = strlen(path);
  if (length > 5 && strcmp(path + length - 5, "/stat") == 0 && acts()) {
    errno = ENOENT;
    return -1;
  }
  return (int)syscall(SYS_openat, directory, path, flags, 0);
}
int openat64(int directory, const char* path, int flags, ...) __attribute__((alias("openat")));
int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  int mode = va_arg(rest, int);
  va_end(rest);
  if (strncmp(path, "/proc/", 6) == 0) return openat(AT_FDCWD, path, flags);
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) __attribute__((alias("open")));
SHIM
  touch "$ACT_FILE" "$LOG.orphan"
  LD_PRELOAD=$SHIM run_job 2 --ttl 3s --kill-after 200ms -- sh -c '"$@" tree orphan stubborn & exec "$@" job stubborn' - \
    "${PROCESS[@]}"
  kill -USR1 "$TOP"
  wait_for_line "$LOG" 'job USR1'
  cli A del L
  await "$TOP"
  assert_status 80
  (($(last job TERM) > 0 && $(last tree TERM) > 0)) || fail "$(tail -n 3 "$LOG")"
  nobody_beats
}

@test "a descendant whose main thread has ended, and one whose name looks like the rest of its line" {
  run_job 2 --ttl 3s --kill-after 200ms -- sh -c 'trap : USR1; "$@" headless headless &
    "$@" renamed below renamed stubborn & until test -e "$0.end"; do sleep 0.05; done' "$LOG" "${PROCESS[@]}"
  [[ $(<"/proc/$(pids_of renamed)/comm") == 'x) Z 1 1 1 (y' ]]
  wait_until "$BOUND" grep -q 'State:.*Z' "/proc/$(pids_of headless)/status"
  kill -USR1 "$TOP"
  wait_until "$BOUND" reaped "$(pids_of headless)"
  wait_for_line "$LOG" 'renamed USR1'
  cli A del L
  await "$TOP"
  assert_status 80
  (($(last renamed TERM) > 0)) || fail "$(tail -n 3 "$LOG")"
  nobody_beats
}

@test "a kernel or a seccomp filter that refuses pidfds: redlock does without" {
  local refusal
  for refusal in 'pidfd_open ENOSYS' 'pidfd_open,pidfd_send_signal EPERM'; do
    rm -f "$LOG"
    # shellcheck disable=SC2206 # words
    UNDER=("$PYTHON" "$TESTS/lib/refuse.py" $refusal)
    run_job 2 --ttl 30s --kill-after 200ms -- sh -c 'trap "" USR1; "$@" job & "$@" tree below stubborn' - \
      "${PROCESS[@]}"
    kill -USR1 "$TOP"
    wait_for_line "$LOG" 'job USR1'
    wait_for_line "$LOG" 'tree USR1'
    kill -KILL "$TOP" # seen by the worker
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
    run_job 1 --ttl 1s --kill-after 100ms -- "${PROCESS[@]}" job stubborn
    worker=$(worker_of "$TOP")
    [[ $without == worker ]] && kill -KILL "$worker" || kill -KILL "$TOP"
    cli A del L # or the worker would renew the lock for as long as the job lives
    wait_gone "$worker" 30
    wait_gone "$TOP" 30
    assert_contains "$(<"$BACKGROUND_ERR")" 'processes of the job are still running although the lock has expired'
    ! gone "$(pids_of job)" || fail 'the job has ended, too'
    touch "$LOG.end"
    wait_gone "$(pids_of job)"
    rm "$LOG.end"
  done
}

@test "what redlock may not kill: it says so once, and goes on waiting" {
  UNDER=("$PYTHON" "$TESTS/lib/refuse.py" "pidfd_send_signal,kill:9" EPERM)
  run_job 1 --ttl 3s --kill-after 100ms -- "${PROCESS[@]}" job stubborn
  cli A del L
  wait_for_line "$BACKGROUND_ERR" 'not permitted'
  sleep 0.3
  touch "$LOG.end"
  await "$TOP"
  assert_status 80
  [[ $(grep -c 'not permitted' <<<"$stderr") == 1 ]] || fail "$stderr"
  assert_contains "$stderr" "redlock: warning: lock \"L\": not permitted to kill PID $(pids_of job) (python3); still running"
}

@test "children from before redlock, and their orphans, get no signal of the job's" {
  local stranger parent
  background bash -c '"${@:3}" stranger orphan stubborn & "${@:3}" child stubborn &
    exec "$1" run --ttl 3s --kill-after 200ms L -- "${@:3}" "$2" stubborn' - "$REDLOCK" job "${PROCESS[@]}"
  TOP=$BACKGROUND_PID
  wait_until "$BOUND" beating 3
  watches "$TOP" || wait_until "$BOUND" watches "$TOP"
  stranger=$(pids_of stranger)
  parent=$(ps -o ppid= -p "$stranger")
  touch "$LOG.orphan"
  wait_until "$BOUND" reaped "${parent// /}"
  wait_until "$BOUND" asleep "$TOP" # it has seen the orphan
  kill -KILL "$(worker_of "$TOP")"
  wait_until "$BOUND" no_worker "$TOP"
  kill -USR1 "$TOP"
  wait_for_line "$LOG" 'job USR1'
  await "$TOP"
  assert_status 80
  (($(last job TERM) > 0)) || fail "$(tail -n 3 "$LOG")"
  gone "$(pids_of job)" || fail 'the job lives'
  [[ $(last stranger USR1)$(last stranger TERM)$(last child USR1)$(last child TERM) == 0000 ]] || fail "$(grep -v beat "$LOG")"
  ! gone "$stranger" && ! gone "$(pids_of child)" || fail 'killed with the job'
}
# worker_of TOP: the PID of its worker, which gets its name when the job runs.
worker_of() {
  wait_until "$BOUND" eval '! no_worker "$1"' >&2
  pgrep -P "$1" -x redlock-worker
}

@test "--on-lost: what it leaves in the background outlives the job's KILL, and redlock" {
  run_job 1 --ttl 3s --kill-after 300ms --on-lost "${PROCESS[*]} hook stubborn & echo run >>'$LOG'" -- \
    "${PROCESS[@]}" job stubborn
  cli A del L
  wait_for_line "$LOG" 'hook beat'
  await "$TOP"
  assert_status 80
  gone "$(pids_of job)" || fail 'the job lives'
  ! gone "$(pids_of hook)" || fail 'killed with the job'
  [[ $(last hook TERM) == 0 && $(grep -c '^run' "$LOG") == 1 ]] || fail "$(grep -v beat "$LOG")"
}

@test "the machine fails under a redlock whose worker is dead: the job is killed in time" {
  preload <<'SHIM'
int poll(struct pollfd* polled, nfds_t count, int timeout) {
  if (!acts()) return (int)syscall(SYS_ppoll, polled, count, timeout < 0 ? NULL : &(struct timespec){
      timeout / 1000, timeout % 1000 * 1000000L}, NULL, 0);
  errno = ENOMEM;
  return -1;
}
SHIM
  LD_PRELOAD=$SHIM run_job 2 --ttl 3s --kill-after 300ms -- sh -c 'trap "" USR1; "$@" job & "$@" tree below stubborn' - "${PROCESS[@]}"
  watches "$TOP" || wait_until "$BOUND" watches "$TOP"
  kill -KILL "$(worker_of "$TOP")"
  wait_until "$BOUND" no_worker "$TOP"
  touch "$ACT_FILE"
  kill -USR1 "$TOP"
  await "$TOP"
  assert_status 80
  assert_contains "$stderr" 'poll: Cannot allocate memory, trying again'
  nobody_beats
}
no_worker() { ! pgrep -P "$1" -x redlock-worker >/dev/null; }

@test "a stopped job whose worker was killed is not continued when its lease is over, and that is 80" {
  local worker pid stopped_at
  run_job 1 --ttl 1s -- "${PROCESS[@]}" job
  worker=$(child_of "$TOP")
  pid=$(pids_of job)
  kill -STOP "$pid" "$TOP"
  wait_until "$BOUND" stopped "$TOP"
  wait_until "$BOUND" stopped "$pid"
  stopped_at=$(now_ms)
  kill -KILL "$worker"
  wait_until "$BOUND" eval '[[ $(cli A exists L) == 0 ]]'
  kill -CONT "$TOP"
  await "$TOP"
  assert_status 80
  gone "$pid" || fail 'it lives'
  [[ $(last job TERM) == 0 ]] && (($(last job beat) <= stopped_at)) || fail "$(tail -n 3 "$LOG")"
}

@test "the worker has a name of its own: killall redlock hits only the process that the user knows" {
  local worker
  run_job 1 --ttl 30s -- "${PROCESS[@]}" job
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
