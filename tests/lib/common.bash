# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2178
#
# Helpers of all bats suites: real servers, fake ones, background jobs and bounded waits. A suite
# begins with
#
#   load ../lib/common
#   setup() { servers 1; }
#   teardown() { stop_all; }
#
# Helpers that start something set variables and must be called in the test's own shell: not under
# `run`, not in $(…) or a pipe. What they start is killed by stop_all, by its saved PID, and by the
# kernel if the test's shell is killed. Every wait has a bound and fails with a message.

bats_require_minimum_version 1.5.0

TESTS=$(cd "${BASH_SOURCE[0]%/*}/.." && pwd)
SOURCE=${TESTS%/*}
REDLOCK=${REDLOCK:-$SOURCE/build/release/redlock}
PYTHON=/usr/bin/python3 # Debian's, which has python3-redis
SCRATCH=${BATS_TEST_TMPDIR:-$BATS_FILE_TMPDIR}
SCRATCH_URI=unix://${SCRATCH// /%20}
BOUND=20 # seconds that a wait may take by default
BATS_PRINT_OUTPUT_ON_FAILURE=1 # of the last `run`
export REDLOCK SOURCE SCRATCH
# Servers of a test are always fresh, and redlock distrusts a fresh server; restart.bats tests
# that.
export REDLOCK_RESTART_GRACE=0
# The default of 200 ms is less than a loaded machine may take for an answer. A server that is stopped in a
# test delays a command by this time.
export REDLOCK_SERVER_TIMEOUT=1s
export REDLOCK_CONFIG=/dev/null # not this machine's
export LC_ALL=C.UTF-8            # whatever the user's locale is
export LOGNAME=${LOGNAME:-${USER:-$(id -un)}}
unset REDLOCK_SERVERS REDLOCK_PASSWORD REDISCLI_AUTH REDLOCK_PROGRESS
unset GITHUB_RUN_ID CI_JOB_URL BUILDKITE_BUILD_URL CIRCLE_BUILD_URL BUILD_URL TF_BUILD BUILD_BUILDID
unset CI COLUMNS  # tests behave alike in CI and elsewhere
export NO_COLOR=1 # and on each terminal

# Most of the time of a run goes into starting processes, so helpers do without them where they can.
export NAP=${BATS_RUN_TMPDIR:-/tmp}/nap # a pipe that is always empty; jobs use it instead of sleep, too
[[ -p $NAP ]] || mkfifo "$NAP" 2>/dev/null || [[ -p $NAP ]]

# bats asks for its own version at each `run -N`, and that changes the variable i of the test.
bats_warn_minimum_guaranteed_version() { :; }

# Other releases of bats have other functions inside.
# shellcheck source=tests/lib/bats-1.8.bash
[[ ${BATS_VERSION-} != 1.8.* ]] || . "${BASH_SOURCE%/*}/bats-1.8.bash"

# No process is needed for a file below $SCRATCH, which bats' run makes each time.
mktemp() {
  if [[ $# == 1 && $1 == "$SCRATCH"/*XXXXXX ]]; then
    local -
    set -C # fails if that file exists
    local name
    printf -v name '%s%08x' "${1%XXXXXX}" "$SRANDOM"
    : >"$name" && echo "$name"
  else
    command mktemp "$@"
  fi
}

STARTED=()    # PIDs of servers and tools
BACKGROUND=() # PIDs of `background`

# ---- asserting -------------------------------------------------------------------------------

# fail MESSAGE…: ends the test.
fail() {
  printf '%s\n' "$@" >&2
  return 1
}

# assert_status N: the last `run` or `await` ended with status N; shows its output otherwise. Right after one of them,
# write `run -N …`, `timed -N …` or `await -N …`.
assert_status() {
  [[ $status == "$1" ]] || fail "status $status, expected $1" "${output-}" "${stderr-}"
}

# assert_contains TEXT PART…: each PART stands in TEXT.
assert_contains() {
  local part
  for part in "${@:2}"; do [[ $1 == *"$part"* ]] || fail "'$part' not in: $1" || return 1; done
}

# refute_contains TEXT PART…: no PART stands in TEXT.
refute_contains() {
  local part
  for part in "${@:2}"; do [[ $1 != *"$part"* ]] || fail "'$part' in: $1" || return 1; done
}

# assert_no_key SERVER KEY: the server has no such key.
assert_no_key() {
  local found
  found=$(answer "$1" exists "$2") || found="no answer"
  [[ $found == 0 ]] || fail "$1, asked whether $2 exists: $found; it is $(cli "$1" get "$2")"
}

# assert_free NAME: NAME can be locked immediately on $REDLOCK_SERVERS.
assert_free() { "$REDLOCK" run -n "$1" -- true || fail "the lock $1 is not free (status $?)"; }

# assert_no_overlap LOG: in LOG, made of lines "start …" and "end …", never two jobs at the same time.
assert_no_overlap() {
  awk '$1 == "start" && ++n > 1 { exit 1 } $1 == "end" && --n < 0 { exit 1 } END { if (n) exit 1 }' \
    "$1" || fail "two jobs at the same time:" "$(cat "$1")"
}

# ---- waiting ---------------------------------------------------------------------------------

# wait_until SECONDS CMD…: runs CMD every 20 ms, and after half a second every 50 ms, until it succeeds; fails after
# SECONDS, but not without having looked once more: a machine that stood still has not decided anything.
wait_until() {
  local deadline=$((SECONDS + $1 + 1)) over naps=0
  shift
  while over=$((SECONDS >= deadline)) && ! "$@"; do
    ((!over)) || {
      fail "waited in vain for: $*" "$(situation)"
      return 1
    }
    if ((++naps < 25)); then nap; else nap 0.05; fi
  done
}

# nap [SECONDS]: 20 ms, without a process.
nap() { read -rt "${1:-0.02}" <>"$NAP" || true; }

# situation: prints context for a failure: the processes below this shell and what each waits for, and
# the last output of those of `background`.
situation() {
  "$PYTHON" -B "$TESTS/lib/processes.py" $$
  tail -n 5 "$SCRATCH"/background.*.{out,err} 2>/dev/null | sed 's/^/  /'
}

# wait_for FILE [SECONDS]: until FILE is there and not empty.
wait_for() { wait_until "${2:-$BOUND}" test -s "$1"; }

# wait_for_line FILE TEXT [SECONDS]: until TEXT stands in FILE.
wait_for_line() { wait_until "${3:-$BOUND}" has_text "$1" "$2"; }
# has_text FILE TEXT: TEXT stands in FILE.
has_text() {
  local text
  IFS= read -rd '' text 2>/dev/null <"$1" || true # to the end of the file
  [[ $text == *"$2"* ]]
}

# count_text FILE TEXT: sets COUNT to how often TEXT stands in FILE.
count_text() {
  local text without
  IFS= read -rd '' text 2>/dev/null <"$1" || true # to the end of the file
  without=${text//"$2"/}
  COUNT=$(((${#text} - ${#without}) / ${#2}))
}
# has_texts FILE TEXT N: TEXT stands there N times, or more often.
has_texts() { count_text "$1" "$2" && ((COUNT >= $3)); }

# wait_for_key SERVER KEY: until the server has KEY.
wait_for_key() { wait_until "$BOUND" has_key "$1" "$2"; }
has_key() { [[ $(answer "$1" exists "$2") == 1 ]]; }
lacks_key() { [[ $(answer "$1" exists "$2") == 0 ]]; }

# wait_for_value KEY PATTERN SERVER…: until KEY has a value there that matches the pattern. A command of redlock's
# ends when a quorum has answered; the other servers do what they were asked a moment later.
wait_for_value() {
  local server
  for server in "${@:3}"; do
    wait_until "$BOUND" has_value "$server" "$1" "$2" || fail "on $server: $(cli "$server" get "$1")" || return 1
  done
}
# shellcheck disable=SC2053 # a pattern
has_value() { [[ $(answer "$1" get "$2") == $3 ]]; }

# cools SERVER KEY: the minimum hold is not over.
cools() { has_value "$1" "$2" 'cooling:*'; }

# wait_for_life KEY LEAST MOST SERVER…: until KEY has LEAST to MOST milliseconds to live there.
wait_for_life() {
  local server
  for server in "${@:4}"; do
    wait_until "$BOUND" lives "$server" "$@" || fail "on $server: $(cli "$server" pttl "$1") ms" || return 1
  done
}
lives() {
  local left
  left=$(answer "$1" pttl "$2")
  (($3 <= left && left <= $4))
}

# find_state PID: sets STATE to what /proc/PID/stat has after the name: R, S, T and so on, the parent…
find_state() {
  IFS= read -r STATE 2>/dev/null <"/proc/$1/stat" || return 1
  STATE=${STATE##*) }
}

# gone PID: there is no such process, or it is a zombie.
gone() { ! find_state "$1" || [[ $STATE == [ZX]* ]]; }

# stopped PID: the process is stopped by a signal.
stopped() { find_state "$1" && [[ $STATE == T* ]]; }

# freeze PID…: stops them with SIGSTOP; nobody of them gets to notice that another one is stopped.
freeze() {
  local pid
  kill -STOP "$@"
  for pid in "$@"; do wait_until "$BOUND" stopped "$pid" || return 1; done
}

# ours PID: a child of this shell that still runs. Ask this before a signal to a PID that was saved a while ago: a whole
# run uses up all 32768 PIDs within a minute, so the PID of a child that has ended soon belongs to another test.
ours() { find_state "$1" && [[ $STATE == [^ZX]\ @($$|$BASHPID)\ * ]]; }
not_ours() { ! ours "$1"; }

# identity_of PID: prints PID and the time of its start: both together belong to one process only.
identity_of() {
  local fields
  find_state "$1" && read -ra fields <<<"$STATE" && echo "$1:${fields[19]}"
}

# signal_to SIGNAL IDENTITY: to the process with that identity, if it still runs.
signal_to() { [[ $(identity_of "${2%:*}") != "$2" ]] || kill -"$1" "${2%:*}" 2>/dev/null || true; }

# child_of PID: prints its first child: the worker of a redlock whose job runs, the job of a worker.
child_of() {
  local children
  children=$(<"/proc/$1/task/$1/children")
  echo "${children%% *}"
}

# reaped PID: its parent knows how it ended; not even a zombie is left.
reaped() { [[ ! -e /proc/$1 ]]; }

# asleep PID: the process waits for something to happen.
asleep() { find_state "$1" && [[ $STATE == S* ]]; }

# wait_gone PID [SECONDS]: until the process has ended; it need not be our child.
wait_gone() { wait_until "${2:-$BOUND}" gone "$1"; }

# await [-STATUS] PID [SECONDS]: waits for a job of `background` to end, with that status; sets $status, $output and
# $stderr.
await() {
  local expected=
  [[ $1 != -* ]] || { expected=${1#-} && shift; }
  wait_until "${2:-$BOUND}" not_ours "$1" || return 1
  status=0
  wait "$1" || status=$?
  output=$(<"$SCRATCH/background.$1.out")
  stderr=$(<"$SCRATCH/background.$1.err")
  [[ -z $expected ]] || assert_status "$expected"
}

# terminate PID: that job of `background` ends by a TERM.
terminate() { kill -TERM "$1" && await -143 "$1"; }

# ---- time-outs --------------------------------------------------------------------------------

# bats_start_timeout_countdown SECONDS: replaces bats' own, which starts two processes for it. When a test fails
# immediately, bats ends one of them and not the other, a sleep, and waits for that one.
# bats_abort_timeout_countdown PID: ends it.
bats_start_timeout_countdown() {
  trap bats_timeout_trap ABRT
  {
    nap "$1"
    kill -ABRT $$ && bats_kill_childprocesses_of $$
  } &>/dev/null &
}
bats_abort_timeout_countdown() {
  disown "$1" # so that bash does not report its death
  kill -KILL "$1" 2>/dev/null || true
}

# bats_kill_childprocesses_of PID: replaces bats' own, which it calls when BATS_TEST_TIMEOUT is over. That one
# sends a TERM to the children of the test's shell only, so a grandchild that hangs stays. This
# one kills, by their PIDs, all processes below that shell, and those that have left it but have its environment.
bats_kill_childprocesses_of() {
  local pid entry children next below=("$1") doomed=()
  while ((${#below[@]})); do
    next=()
    for pid in "${below[@]}"; do
      read -ra children 2>/dev/null <"/proc/$pid/task/$pid/children" || true
      for entry in "${children[@]}"; do [[ $entry == "$BASHPID" ]] || next+=("$entry"); done
    done
    doomed+=("${next[@]}")
    below=("${next[@]}")
  done
  for entry in /proc/[0-9]*/environ; do
    pid=${entry//[!0-9]/}
    # shellcheck disable=SC2094 # it is only read
    [[ $pid == "$1" || $pid == "$BASHPID" ]] ||
      ! grep -qzsxF "BATS_TEST_TMPDIR=$BATS_TEST_TMPDIR" "$entry" || doomed+=("$pid")
  done
  kill -KILL "${doomed[@]}" 2>/dev/null || true
}

# ---- jobs ------------------------------------------------------------------------------------

# background CMD…: starts CMD, sets $BACKGROUND_PID (of CMD itself), $BACKGROUND_OUT and
# $BACKGROUND_ERR (files). All signals have their default action: `&` alone takes it away from INT and
# QUIT, and nohup from HUP.
background() {
  {
    exec env --default-signal "$@" </dev/null >>"$SCRATCH/background.$BASHPID.out" \
      2>>"$SCRATCH/background.$BASHPID.err" 3>&-
  } &
  BACKGROUND_PID=$!
  BACKGROUND+=("$BACKGROUND_PID")
  BACKGROUND_OUT=$SCRATCH/background.$BACKGROUND_PID.out
  BACKGROUND_ERR=$SCRATCH/background.$BACKGROUND_PID.err
  : >>"$BACKGROUND_OUT" 2>>"$BACKGROUND_ERR" # they are there before the job is
}

# start_job [OPTION…]: redlock runs a job under $LOCK in the background, until let_go; returns when the job runs, and
# $READY has its fencing number. Sets JOB (PID) and JOB_ERR (file).
start_job() {
  READY=$SCRATCH/ready.$LOCK
  rm -f "$READY" "$SCRATCH/go.$LOCK"
  background "$REDLOCK" run "${JOB_OPTIONS[@]}" "$@" "$LOCK" -- bash -c 'echo "$REDLOCK_FENCE" >"$0"
    until [[ -s $1 ]]; do read -rt 0.02 <>"$NAP"; done; exit "$(<"$1")"' "$READY" "$SCRATCH/go.$LOCK"
  JOB=$BACKGROUND_PID
  JOB_ERR=$BACKGROUND_ERR
  wait_for "$READY"
}
LOCK=L
JOB_OPTIONS=()

# let_go [STATUS]: the job under $LOCK ends with that status, or 7. end_job [STATUS]: and so does redlock.
let_go() { echo "${1-7}" >"$SCRATCH/go.$LOCK"; }
end_job() { let_go "$@" && await "-${1-7}" "$JOB"; }

# start_tool CMD…: starts a helper that the kernel kills with this shell; sets $TOOL_PID. It has a session of its own:
# when the last process that ties our process group to its session ends (the shell of `nohup bats … &`, for example),
# the kernel sends a HUP and a CONT to all of the group if one is stopped. Redis ignores the HUP, so a server that a
# test had stopped went on, and gave its vote.
start_tool() {
  "${LAUNCH[@]}" "$@" </dev/null 3>&- &
  TOOL_PID=$!
  STARTED+=("$TOOL_PID")
}

LAUNCH=("${REDLOCK%/*}/tests/redlock_launch")
[[ -x ${LAUNCH[0]} ]] || LAUNCH=(setsid setpriv --pdeathsig KILL --) # not built with this redlock

# stop_all: for teardown; ends everything this test has started and waits for its death.
stop_all() {
  local pid
  for pid in "${BACKGROUND[@]}"; do ! ours "$pid" || kill -TERM "$pid" 2>/dev/null || true; done
  for pid in "${BACKGROUND[@]}"; do
    wait_until 5 not_ours "$pid" 2>/dev/null || kill -KILL "$pid" 2>/dev/null || true
  done
  stop_servers
  for pid in "${BACKGROUND[@]}"; do wait "$pid" 2>/dev/null || true; done
  BACKGROUND=()
}

# ---- servers ---------------------------------------------------------------------------------

# stop_servers: kills all servers and tools, and waits for their death.
stop_servers() {
  local pid
  for pid in "${STARTED[@]}"; do ! ours "$pid" || kill -KILL "$pid" 2>/dev/null || true; done
  for pid in "${STARTED[@]}"; do wait "$pid" 2>/dev/null || true; done
  STARTED=()
}

# server_program: prints the path of a server program under its own name (redis-check-rdb is the
# server too: it looks at the name it was started by).
server_program() { find_server_program && echo "$SERVER_PROGRAM"; }

# find_server_program: sets SERVER_PROGRAM to it.
find_server_program() {
  [[ -z $SERVER_PROGRAM ]] || return 0
  SERVER_PROGRAM=$(type -P redis-server || type -P valkey-server) && return
  local found link=$BATS_RUN_TMPDIR/redis-server
  if [[ ! -e $link ]]; then
    found=$(type -P redis-check-rdb || type -P valkey-check-rdb) || {
      fail "no Redis server: apt-get install redis-tools"
      return 1
    }
    ln -sf "$found" "$link"
  fi
  SERVER_PROGRAM=$link
}
SERVER_PROGRAM=

# server_at_least MAJOR[.MINOR]: the servers that tests start are of this version or a later one;
# Valkey's numbers go on where Redis' ended.
server_at_least() {
  local version major minor
  find_server_program || return 1
  [[ -s $BATS_RUN_TMPDIR/version ]] || "$SERVER_PROGRAM" --version >"$BATS_RUN_TMPDIR/version"
  read -r version <"$BATS_RUN_TMPDIR/version"
  IFS=. read -r major minor _ <<<"${version#*v=}"
  [[ $1 == *.* ]] || set -- "$1.0"
  ((major > ${1%.*} || (major == ${1%.*} && minor >= ${1#*.})))
}

# needs_tls: skips the test where the server does not speak TLS: before Redis 6, or built without it.
needs_tls() {
  local said
  server_at_least 6 || skip 'this server speaks no TLS (Redis 6)'
  said=$(timeout 20 "$(server_program)" --port 0 --tls-port 1 2>&1 || true) # no certificate: it ends immediately
  [[ $said != *'finding TLS support'* && $said != *'Bad directive'* ]] || skip 'this server was built without TLS'
}

# needs_localhost: skips the test where that name does not resolve, for want of /etc/hosts.
needs_localhost() { getent ahostsv4 localhost >/dev/null || skip 'localhost does not resolve here'; }

# free_port: prints a TCP port at random, outside of the kernel's own range: if it is taken, the caller tries again
# with another one.
free_port() { echo $((20000 + SRANDOM % 12000)); }

# open_port SERVER: has the running server listen on a free port, too; sets PORT. Since Redis 7.
open_port() {
  for _ in 1 2 3 4 5; do
    PORT=$(free_port)
    [[ $(cli "$1" config set port "$PORT") != OK ]] || return 0
  done
  fail "server $1 opens no port"
}

# start_server NAME [--tcp] [REDIS OPTIONS…]: starts an empty server on a Unix socket (and a free
# port of 127.0.0.1), waits until it answers; sets NAME_PID, NAME_URI (unix://), NAME_SOCKET,
# NAME_LOG, and with --tcp NAME_PORT and NAME_TCP_URI (redis://).
start_server() {
  local try port=0
  for try in 1 2 3 4 5; do
    [[ ${2-} != --tcp ]] || port=$(free_port)
    describe_server "$1" "$port" "${@:2}"
    launch_server "$1" "$SCRATCH/server.$1" && return
    ((port != 0)) || break
  done
  fail "server $1 does not answer:" "$(cat "$SCRATCH/server.$1/log")"
}

# describe_server NAME PORT [--tcp] [REDIS OPTIONS…]: sets NAME_ARGS and all that start_server sets but the PID.
describe_server() {
  local name=$1 port=$2 dir=$SCRATCH/server.$1
  shift 2
  [[ ${1-} != --tcp ]] || shift
  make_folders "$name"
  declare -ga "${name}_ARGS=()"
  local -n arguments=${name}_ARGS
  arguments=(--port "$port" --bind 127.0.0.1 --unixsocket "$dir/sock" --dir "$dir" --save '' --appendonly no "$@")
  declare -g "${name}_SOCKET=$dir/sock" "${name}_URI=unix://${dir// /%20}/sock" "${name}_LOG=$dir/log"
  declare -g "${name}_PORT=$port" "${name}_TCP_URI=redis://127.0.0.1:$port"
}

# make_folders NAME…: the folders of these servers, which takes one process for all of them.
make_folders() {
  local name missing=()
  for name in "$@"; do [[ -d $SCRATCH/server.$name ]] || missing+=("$SCRATCH/server.$name"); done
  ((!${#missing[@]})) || mkdir "${missing[@]}"
}

# servers N [OPTION…]: starts N servers, A, B and so on, each with the options of start_server; sets
# SERVERS, their names, and exports REDLOCK_SERVERS with all of them, and A_SOCKET.
servers() {
  local name names=(A B C D E)
  SERVERS=("${names[@]:0:$1}")
  shift
  REDLOCK_SERVERS=
  make_folders "${SERVERS[@]}"
  if [[ ${1-} == --tcp ]]; then
    for name in "${SERVERS[@]}"; do start_server "$name" "$@" || return 1; done
  else # all at the same time
    for name in "${SERVERS[@]}"; do
      describe_server "$name" 0 "$@"
      spawn_server "$name" "$SCRATCH/server.$name" || return 1
    done
    for name in "${SERVERS[@]}"; do
      await_server "$name" "$SCRATCH/server.$name" || fail "$(cat "$SCRATCH/server.$name/log")" || return 1
    done
  fi
  for name in "${SERVERS[@]}"; do
    local -n uri=${name}_URI
    REDLOCK_SERVERS+="${REDLOCK_SERVERS:+ }$uri"
  done
  export REDLOCK_SERVERS A_SOCKET
}

# launch_server NAME DIR: starts the server with ${NAME_ARGS[@]}; fails if it does not answer.
launch_server() { spawn_server "$@" && await_server "$@"; }

# spawn_server NAME DIR: starts the process. await_server NAME DIR: until it answers.
spawn_server() {
  local -n arguments=${1}_ARGS
  [[ ! -e $2/sock ]] || rm -f "$2/sock"
  find_server_program || return 1
  LC_ALL=C start_tool "$SERVER_PROGRAM" "${arguments[@]}" >>"$2/log" 2>&1
  declare -g "${1}_PID=$TOOL_PID"
}
await_server() {
  local deadline=$((SECONDS + BOUND))
  local -n server_pid=${1}_PID
  # Any answer will do: one that wants a password says so.
  until [[ -S $2/sock && -n $(answer "$1" ping 2>/dev/null) ]]; do
    ! gone "$server_pid" || return 1
    ((SECONDS < deadline)) || return 1
    nap 0.005
  done
}

pid_of() { local -n server_pid=${1}_PID && echo "$server_pid"; }

# pause_server NAME…: stops it with SIGSTOP; its socket still takes connections.
pause_server() {
  local name
  for name in "$@"; do freeze "$(pid_of "$name")" || return 1; done
}

# resume_server NAME…: SIGCONT.
resume_server() {
  local name
  for name in "$@"; do kill -CONT "$(pid_of "$name")"; done
}

# kill_server NAME…: SIGKILL; returns when it is dead and refuses connections.
kill_server() {
  local name pid
  for name in "$@"; do
    pid=$(pid_of "$name")
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null || true
  done
}

# restart_server NAME…: kills it if it runs and starts it again, empty, at the same addresses.
restart_server() {
  local name
  for name in "$@"; do
    not_ours "$(pid_of "$name")" || kill_server "$name"
    launch_server "$name" "$SCRATCH/server.$name" || fail "server $name does not come back" || return 1
  done
}

# cli NAME ARG…: redis-cli to that server, over its Unix socket. One that is stopped does not answer: the limit of
# the test is the bound of that.
cli() {
  local -n socket=${1}_SOCKET
  shift
  ask_server "$socket" "$@"
}

# answer NAME ARG…: the same, with one process less. Only for a $(…) in which it is alone: it replaces that shell.
answer() {
  local -n socket=${1}_SOCKET
  shift
  if [[ -n $ASK && -z ${REDISCLI_AUTH-} ]]; then exec "$ASK" "$socket" "$@"; else ask_server "$socket" "$@"; fi
}

# ask_server SOCKET ARG…: the same for the server on that socket.
ask_server() {
  if [[ -n $ASK && ${2--} == @([!-]*|-[an]) && -z ${REDISCLI_AUTH-} ]]; then "$ASK" "$@"; else redis-cli -s "$@"; fi
}
ASK=${REDLOCK%/*}/tests/redlock_ask
[[ -x $ASK ]] || ASK= # not built with this redlock

# ---- servers that misbehave, and the network in between --------------------------------------

# start_listener VARIABLE TOOL ARG…: a python tool that writes its port to a file; sets VARIABLE_PID,
# VARIABLE_PORT and VARIABLE_URI.
start_listener() {
  local variable=$1 tool=$2 file
  shift 2
  file=$SCRATCH/listener.$((++LISTENERS))
  start_tool "$PYTHON" -SEI "$TESTS/lib/$tool" "$file" "$@"
  declare -g "${variable}_PID=$TOOL_PID"
  wait_for "$file" || return 1
  declare -g "${variable}_PORT=$(<"$file")" "${variable}_URI=redis://127.0.0.1:$(<"$file")"
}

LISTENERS=0

# full_pipe: $SCRATCH/pipe takes no byte more, until $SCRATCH/read is there; then all later text is
# written to it.
full_pipe() {
  mkfifo "$SCRATCH/pipe"
  "$PYTHON" -SEIc 'import os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR)
os.set_blocking(fd, False)
try:
  while True: os.write(fd, b"x" * 4096)
except BlockingIOError: pass
open(sys.argv[2] + "/full", "w").write("full")
while not os.path.exists(sys.argv[2] + "/read"): time.sleep(0.01)
while True:
  try: text = os.read(fd, 65536).strip(b"x")
  except BlockingIOError: text = time.sleep(0.01)
  if text: open(sys.argv[2] + "/read", "ab").write(text)' "$SCRATCH/pipe" "$SCRATCH" 3>&- &
  STARTED+=($!)
  wait_for "$SCRATCH/full"
}

# closed_port: a port that stays ours and refuses connections; sets CLOSED_URI, CLOSED_PORT.
closed_port() { start_listener CLOSED listener.py closed; }

# black_hole [ADDRESS PORT]: an address where connecting hangs; sets BLACK_HOLE_URI, BLACK_HOLE_PORT.
black_hole() { start_listener BLACK_HOLE listener.py black_hole "$@"; }

# garbage_server TEXT: answers whatever it is sent with TEXT (escapes as in printf %b), then goes on
# reading; an empty TEXT: closes instead. Sets GARBAGE_URI, GARBAGE_PORT.
garbage_server() { start_listener GARBAGE listener.py garbage "$(printf '%b.' "$1")"; }

# delay_proxy UPSTREAM MS: UPSTREAM (a socket's path or HOST:PORT) over a line that takes MS
# milliseconds in each direction; sets PROXY_URI, PROXY_PORT. Of several upstreams (A,B), each
# connection gets the next one.
delay_proxy() {
  PROXY_STATS=$(mktemp "$SCRATCH/proxy.XXXXXX")
  start_listener PROXY delay_proxy.py "$PROXY_STATS" "$@"
}

# proxy_count connections|round_trips: prints how many the delay_proxy has seen; a round trip is a
# turn of the client's, however many packets, that the server answered. Connecting is not counted.
proxy_count() { awk -v key="$1" '$1 == key { print $2 }' "$PROXY_STATS"; }

# script_of NAME: prints that script of redlock's, as a server gets it.
script_of() {
  local folder=$SOURCE/src/redis/scripts text
  text=$(<"$folder/$1.lua")
  while [[ $text =~ --include\ ([a-z]+) ]]; do
    text=${text/"${BASH_REMATCH[0]}"/"$(<"$folder/parts/${BASH_REMATCH[1]}.lua")"}
  done
  sed '/^--/d' <<<"$text"
}

# ---- what several suites look at -------------------------------------------------------------

# now_ms: prints the time of day in milliseconds.
now_ms() { echo $((${EPOCHREALTIME//[.,]/} / 1000)); }

# timed [-STATUS] CMD…: `run [-STATUS] --separate-stderr CMD…`; sets $elapsed too, in milliseconds.
timed() {
  local began
  began=$(now_ms)
  run --separate-stderr "$@" || return 1
  elapsed=$(($(now_ms) - began))
}

# run_redlock COMMAND [-STATUS] ARG…: `timed [-STATUS] "$REDLOCK" COMMAND ARG…`.
run_redlock() {
  local expected=() command=$1
  shift
  [[ ${1-} != -[0-9]* ]] || { expected=("$1") && shift; }
  timed "${expected[@]}" "$REDLOCK" "$command" "$@"
}

# timed_below MS CMD…: timed, and as often as five times while it takes that long: what else the machine
# does can only add to the time.
timed_below() {
  local try limit=$1
  shift
  for try in 1 2 3 4 5; do
    timed "$@"
    ((elapsed >= limit)) || return 0
  done
  fail "it took $elapsed ms, in attempt $try: $*" "${output-}" "${stderr-}"
}

# assert_between LEAST NUMBER MOST
assert_between() {
  (($1 <= $2 && $2 <= $3)) || fail "$2 is not between $1 and $3" "${output-}" "${stderr-}"
}

# assert_one_line TEXT [PART…]: it is one line, of redlock's, and each PART stands in it.
assert_one_line() {
  [[ $1 == 'redlock: '* && $1 != *$'\n'* ]] || fail "not one line of redlock's: '$1'" || return 1
  assert_contains "$@"
}

# keys_left SERVER: prints the keys it has, in whatever database, but for the fences, the tombstones and
# the logs, which outlive their locks.
keys_left() {
  local keyspace line key
  mapfile -t keyspace < <(cli "$1" info keyspace)
  for line in "${keyspace[@]}"; do
    [[ $line =~ ^db([0-9]+): ]] || continue
    while IFS= read -r key; do
      [[ -z $key || $key == redlock*:@(fence|dead|log) ]] || printf '%s\n' "$key"
    done < <(cli "$1" -n "${BASH_REMATCH[1]}" keys '*')
  done
}

# assert_nothing_left SERVER: no lock is left there, and nothing that goes with one.
assert_nothing_left() {
  local left
  left=$(keys_left "$1")
  [[ -z $left ]] || fail "$1 still has keys:" "$left"
}

# has_no_keys SERVER: the same as a question, for wait_until.
has_no_keys() { [[ -z $(keys_left "$1") ]]; }

# wait_until_clean SERVER…: until the servers have no keys. redlock ends when a quorum has answered.
wait_until_clean() {
  local server
  for server in "$@"; do
    wait_until "$BOUND" has_no_keys "$server" || fail "$server still has keys:" "$(keys_left "$server")" || return 1
  done
}

# evals SERVER: prints how many scripts the server has run, of all clients.
evals() { echo $(($(calls_of "$1" eval) + $(calls_of "$1" evalsha) - $(failures_of "$1" evalsha))); }

# failures_of SERVER COMMAND: prints how often it has refused that.
failures_of() {
  local stats
  stats=$(answer "$1" info commandstats)
  [[ $stats =~ cmdstat_$2:[^$'\n']*failed_calls=([0-9]+) ]] && echo "${BASH_REMATCH[1]}" || echo 0
}

# calls_of SERVER COMMAND: prints how often it has carried that out.
calls_of() {
  local stats
  stats=$(answer "$1" info commandstats)
  [[ $stats =~ cmdstat_$2:calls=([0-9]+), ]] && echo "${BASH_REMATCH[1]}" || echo 0
}

# time_given SERVER: prints how often a key there was given more time.
time_given() { calls_of "$1" pexpire; }

# wait_for_renewal SERVER: until the lock has just been renewed there.
wait_for_renewal() { wait_until "$BOUND" given_more_time "$1" "$(time_given "$1")"; }
given_more_time() { (($(time_given "$1") > $2)); }

# outlast SERVER KEY: until the time that KEY has to live there now is over. A server that still has it has
# had a renewal.
outlast() {
  local end=$(($(cli "$1" pttl "$2") + $(now_ms)))
  wait_until 40 past "$end"
}
past() { (($(now_ms) > $1)); }

# kept_up: the worker never stood still for the 50 ms that a short lease leaves it. If it did, on a loaded machine, the
# supervisor acts in its place, and $stderr has other words.
kept_up() { [[ $stderr != *'is stopped or stuck, killed'* ]]; }

# watches TOP: the process on top of a run knows that the job runs, and has closed its connections.
watches() {
  local descriptors
  descriptors=$(readlink "/proc/$1/fd/"*)
  [[ -n $descriptors && $descriptors != *socket:* ]]
}

# wait_until_listening SERVER…: until a holder listens there for word on its lock, which it begins to do
# some time after its job.
wait_until_listening() {
  local server
  for server in "$@"; do wait_until "$BOUND" listens "$server"; done
}
listens() { [[ $(answer "$1" pubsub channels '*:told:*') == *:told:* ]]; }

# wait_until_settled SERVER…: and until the renewals that go with that are done: no other one is
# due before ttl/3. They are EVALs; waiters ask by EVALSHA.
wait_until_settled() {
  local before='' now=none try server
  wait_until_listening "$@"
  for try in {1..20}; do
    [[ $before != "$now" ]] || return 0
    before=$now
    sleep 0.25
    now=$(for server in "$@"; do calls_of "$server" eval; done)
  done
  fail "renewals without end"
}

# on_terminal COLUMNS COMMAND…: prints the command's output on a terminal that has COLUMNS columns.
on_terminal() {
  timeout 20 "$PYTHON" - "$@" <<'PY'
import fcntl, os, pty, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
    os.execv(sys.argv[2], sys.argv[2:])
data = b""
ends = 0
while ends < 2:  # output just before the end may come after the first EIO
    try:
        data += os.read(fd, 4096)
    except OSError:
        ends += 1
os.waitpid(pid, 0)
print(data.decode().replace("\r", ""), end="")
PY
}

# scenario: runs the script on standard input, in the words of tests/lib/terminal.py.
scenario() {
  { echo 'from terminal import *' && cat; } >"$SCRATCH/scenario.py"
  PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$TESTS/lib timeout -k 5 240 "$PYTHON" "$SCRATCH/scenario.py" 3>&-
}
