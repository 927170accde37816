#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=memory,slow
#
# redlock sandbox: private servers for as long as a command runs, and nothing left afterwards.

load ../lib/common

setup() {
  TMPDIR=$(mktemp -d "$SCRATCH/tmp.XXXXXX")
  export TMPDIR
  # A job that says where it is and then stays until it is told to go.
  STAY=$SCRATCH/stay
  cat >"$STAY" <<'END'
#!/bin/bash
trap 'echo TERM >>"$1.signals"; exit 9' TERM
trap 'echo HUP >>"$1.signals"; exit 8' HUP
for socket in "$TMPDIR"/redlock-sandbox.*/*/sock; do
  redis-cli -s "$socket" info server | tr -d '\r' | sed -n 's/^process_id://p'
done >"$1.servers"
echo $$ >"$1.new" && mv "$1.new" "$1"
while :; do sleep 0.05; done
END
  chmod +x "$STAY"
}

teardown() { stop_all; }

# start_sandbox N [OPTION…]: one of N processes in the background with STAY, by default that many plain servers; sets
# SANDBOX (pid), JOB (pid), SERVERS (pids).
start_sandbox() {
  local options=("${@:2}")
  (($# > 1)) || options=(-N "$1")
  background "$REDLOCK" sandbox "${options[@]}" -- "$STAY" "$SCRATCH/job"
  SANDBOX=$BACKGROUND_PID
  wait_for "$SCRATCH/job"
  JOB=$(<"$SCRATCH/job")
  mapfile -t SERVERS <"$SCRATCH/job.servers"
  [[ ${#SERVERS[@]} == "$1" ]]
}

directory_empty() { [[ -z $(ls -A "$TMPDIR") ]]; }

# assert_nothing_left: no server is alive and no directory is there, within the bound.
assert_nothing_left() {
  local pid
  for pid in "${SERVERS[@]}"; do wait_gone "$pid"; done
  wait_until "$BOUND" directory_empty
}

@test "three servers by default, in REDLOCK_SERVERS, all answering" {
  run -0 --separate-stderr "$REDLOCK" sandbox -- bash -c '
    for uri in $REDLOCK_SERVERS; do socket=${uri#unix://}; redis-cli -s "${socket//%20/ }" ping; done'
  [[ $output == $'PONG\nPONG\nPONG' ]]
  [[ -z $stderr ]]
  directory_empty
}

@test "servers keep nothing, listen on no port, and nobody else can reach them" {
  run -0 "$REDLOCK" sandbox -N 1 -- bash -c '
    socket=${REDLOCK_SERVERS#unix://} socket=${socket//%20/ }
    stat -c %a "${socket%/*}"
    redis-cli -s "$socket" config get port
    redis-cli -s "$socket" config get save
    redis-cli -s "$socket" config get appendonly'
  [[ $output == $'700\nport\n0\nsave\n\nappendonly\nno' ]]
}

@test "redlock run works inside, without any setting; passwords meant for other servers do not get in" {
  export REDLOCK_PASSWORD=secret REDLOCK_PASSWORD_FILE=/nowhere REDISCLI_AUTH=secret
  export REDLOCK_SERVERS=redis://nowhere REDLOCK_CONFIG=/nowhere REDLOCK_RESTART_GRACE=1h
  local kind
  for kind in --servers=1 --cluster --sentinel; do
    run -0 --separate-stderr "$REDLOCK" sandbox "$kind" -- "$REDLOCK" run name -- sh -c '
      echo locked
      "$REDLOCK" run -n --no-reentrant name -- echo twice 2>/dev/null || echo $?'
    [[ $output == $'locked\n1' && -z $stderr ]] || fail "$kind: $output" "$stderr"
  done
}

@test "the command's words and its standard streams are passed on untouched" {
  run -0 "$REDLOCK" sandbox -N 1 -- sh -c 'cat; printf "<%s>" "$@"' sh '' '[a,b]' -- -N 'x  y' <<<in
  [[ $output == $'in\n<><[a,b]><--><-N><x  y>' ]]
}

@test "without /proc the sandbox ends with its command" {
  cc -x c -shared -fPIC -o "$SCRATCH/shim.so" - <<'SHIM'
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
DIR* opendir(const char* path) {
  if (strcmp(path, "/proc/self/fd") != 0) return ((DIR * (*)(const char*)) dlsym(RTLD_NEXT, "opendir"))(path);
  errno = ENOENT;
  return NULL;
}
SHIM
  background env LD_LIBRARY_PATH="$SCRATCH" LD_PRELOAD=shim.so ASAN_OPTIONS=verify_asan_link_order=0 \
    "$REDLOCK" sandbox -N 1 -- sh -c 'exit 7'
  await -7 "$BACKGROUND_PID"
  directory_empty
}

@test "the command's exit status is the sandbox's; 127 for one that is not there, 126 for one that cannot be executed" {
  LC_ALL=xx_XX.UTF-8 run -0 "$REDLOCK" sandbox -N 1 -- true # a locale that is not installed does not matter
  run -7 "$REDLOCK" sandbox -N 1 -- sh -c 'exit 7'
  run -137 "$REDLOCK" sandbox -N 1 -- sh -c 'kill -KILL $$'
  run -127 "$REDLOCK" sandbox -N 1 -- no-such-command
  [[ $output == 'redlock: cannot run no-such-command: No such file or directory' ]]
  run -126 "$REDLOCK" sandbox -N 1 -- /dev/null
  [[ $output == 'redlock: cannot run /dev/null: Permission denied' ]]
  directory_empty
}

@test "without a command: the user's shell" {
  local shell
  for shell in /bin/bash ''; do
    SHELL=$shell run -3 "$REDLOCK" sandbox -N 1 <<<'echo "${REDLOCK_SERVERS%%:*}"; exit 3'
    [[ $output == unix ]] || fail "$output"
  done
}

@test "TERM and HUP go to the command, and its status comes back; another signal ends the sandbox" {
  local signal status heard
  while read -r signal status heard; do
    echo "$signal:"
    rm -f "$SCRATCH"/job*
    start_sandbox 1
    kill -"$signal" "$SANDBOX"
    await -"$status" "$SANDBOX"
    wait_gone "$JOB"
    [[ $(cat "$SCRATCH/job.signals") == "$heard" ]] || fail "$signal: the job got $(cat "$SCRATCH/job.signals")"
    assert_nothing_left
  done <<<'TERM 9 TERM
HUP 8 HUP
USR1 138 TERM'
}

@test "INT to the sandbox is the command's business" {
  start_sandbox 1
  kill -INT "$SANDBOX"
  kill -TERM "$JOB"
  await -9 "$SANDBOX"
}

@test "under nohup a hang-up does nothing" {
  # The job says HUP was ignored when it began, and listens for it all the same: none may come.
  background env --ignore-signal=HUP "$REDLOCK" sandbox -N 1 -- "$PYTHON" -c '
import signal, sys, time
def note(number, _):
    print(signal.Signals(number).name, flush=True)
    if number == signal.SIGTERM:
        sys.exit(9)
print(signal.signal(signal.SIGHUP, note).name, flush=True)
signal.signal(signal.SIGTERM, note)
open(sys.argv[1], "w").write("ready")
while True:
    time.sleep(10)' "$SCRATCH/ready"
  wait_for "$SCRATCH/ready"
  kill -HUP "$BACKGROUND_PID"
  kill -TERM "$BACKGROUND_PID"
  await -9 "$BACKGROUND_PID"
  [[ $output == $'SIG_IGN\nSIGTERM' ]]
}

@test "killed by SIGKILL: no server and no directory is left, and the command is told" {
  local kind
  for kind in --servers=6 --cluster --sentinel; do
    echo "$kind:"
    rm -f "$SCRATCH"/job*
    start_sandbox 6 "$kind"
    kill -KILL "$SANDBOX"
    await -137 "$SANDBOX"
    assert_nothing_left
    wait_gone "$JOB"
    [[ $(<"$SCRATCH/job.signals") == TERM ]]
  done
}

@test "the keeper killed by SIGKILL: servers go immediately, the directory at the end" {
  start_sandbox 2
  keeper=$(ps -o ppid= -p "${SERVERS[0]}")
  [[ $keeper -ne $SANDBOX ]]
  kill -KILL "${keeper// /}"
  for pid in "${SERVERS[@]}"; do wait_gone "$pid"; done
  kill -TERM "$SANDBOX"
  await -9 "$SANDBOX"
  directory_empty
}

@test "killed while the servers start: nothing is left" {
  # A server that never answers, and says that it was started.
  mkdir "$SCRATCH/bin"
  printf '#!/bin/sh\necho $$ >%q\nexec sleep 60\n' "$SCRATCH/started" >"$SCRATCH/bin/redis-server"
  chmod +x "$SCRATCH/bin/redis-server"
  PATH=$SCRATCH/bin:$PATH background "$REDLOCK" sandbox -N 1 -- true
  wait_for "$SCRATCH/started"
  kill -INT "$BACKGROUND_PID"
  await -130 "$BACKGROUND_PID"
  # At once: not only when the 10 s are over in which servers must answer.
  wait_gone "$(<"$SCRATCH/started")" 8
  wait_until "$BOUND" directory_empty
  rm "$SCRATCH/started"
  PATH=$SCRATCH/bin:$PATH background "$REDLOCK" sandbox -N 1 -- true
  wait_for "$SCRATCH/started"
  keeper=$(ps -o ppid= -p "$(<"$SCRATCH/started")")
  kill -KILL "${keeper// /}"
  await -71 "$BACKGROUND_PID"
  assert_one_line "$stderr" 'its keeper process was killed'
}

@test "servers have a session of their own, out of Ctrl-C's reach" {
  start_sandbox 1
  session=$(ps -o sid= -p "${SERVERS[0]}")
  [[ $session -ne $(ps -o sid= -p "$SANDBOX") ]]
  # The command, however, is in the sandbox's process group, and so has the terminal if it has.
  [[ $(ps -o pgid= -p "$JOB") -eq $(ps -o pgid= -p "$SANDBOX") ]]
}

@test "whoever reads our output to its end does not wait for the servers" {
  run -0 timeout 20 bash -c '"$REDLOCK" sandbox -N 1 -- sh -c "echo out; kill -KILL \$PPID" | cat'
  assert_contains "$output" out
}

@test "no server program: 69, and what to install" {
  mkdir "$SCRATCH/bin"
  PATH=$SCRATCH/bin run -69 "$REDLOCK" sandbox -N 1 -- true
  assert_contains "$output" 'redis-server' 'apt-get install redis-tools'
  [[ ${#lines[@]} == 1 ]]
  directory_empty
}

@test "a server that does not start: 69, with the end of its log" {
  mkdir "$SCRATCH/bin"
  cat >"$SCRATCH/bin/redis-server" <<'END'
#!/bin/sh
[ "${PWD##*/}" = 2 ] || exec sleep 60
seq 3
echo 'cannot, because of this'
seq 4
exit 1
END
  chmod +x "$SCRATCH/bin/redis-server"
  PATH=$SCRATCH/bin:$PATH run -69 "$REDLOCK" sandbox -N 3 -- true
  [[ $output == "redlock: sandbox: $SCRATCH/bin/redis-server did not start; the end of its log:
  cannot, because of this
  1
  2
  3
  4" ]] || fail "$output"
  directory_empty
}

@test "TMPDIR with odd characters, relative, too long for a socket, or not there" {
  cd "$TMPDIR"
  mkdir '% #é'
  TMPDIR=$PWD/'% #é' run -0 "$REDLOCK" sandbox -N 1 -- "$REDLOCK" run name -- echo locked
  [[ $output == locked ]]
  TMPDIR='% #é' run -0 "$REDLOCK" sandbox -N 1 -- sh -c 'echo $REDLOCK_SERVERS'
  assert_contains "$output" 'unix:///' '%25%20%23%C3%A9/redlock-sandbox.'
  local length place
  for length in 76 77 200; do # the path of a socket has 107 bytes at most, also that of server 99
    ((length > ${#PWD} + 1)) || continue # the user's TMPDIR is longer
    TMPDIR=$PWD/$(head -c $((length - ${#PWD} - 1)) /dev/zero | tr '\0' x)
    place=$( ((length > 76)) && echo /tmp || echo "$TMPDIR")
    mkdir "$TMPDIR"
    run -0 "$REDLOCK" sandbox -N 1 -- sh -c 'echo $REDLOCK_SERVERS'
    assert_contains "$output" "unix://$place/redlock-sandbox."
  done
  TMPDIR=$PWD/none run -71 "$REDLOCK" sandbox -N 1 -- true
  assert_contains "$output" "$PWD/none" 'set TMPDIR'
}

@test "without standard input and output, too" {
  run -5 "$REDLOCK" sandbox -N 1 -- sh -c 'exit 5' <&-
  bash -c '"$REDLOCK" sandbox -N 1 -- sh -c "exit 5" <&- >&- 2>&-' || status=$?
  [[ $status == 5 ]]
  directory_empty
}

@test "on a terminal it says what was started and how to leave" {
  local kind what
  while read -r kind what; do
    run -0 script -qec "'$REDLOCK' sandbox $kind -- true" /dev/null </dev/null
    assert_contains "$output" "redlock: $what in $TMPDIR/redlock-sandbox." 'gone when true ends'
    refute_contains "$output" 'try: '
  done <<<'--servers=2 2 private servers
--cluster a private Redis Cluster (3 primaries, 3 replicas)
--sentinel a private primary with 2 replicas and 3 Sentinels'
}

@test "the shell has a prompt that names the sandbox, and two things to try" {
  local shell
  for shell in 'bash --norc' dash; do
    printf '#!/bin/sh\nexec %s -i "$@"\n' "$shell" >"$SCRATCH/shell"
    chmod +x "$SCRATCH/shell"
    output=$(printf 'exit\n' |
      HOME=$SCRATCH SHELL=$SCRATCH/shell script -qec "'$REDLOCK' sandbox -N 1" /dev/null)
    assert_contains "$output" 'redlock: try: redlock run demo -- sleep 60 &   then: redlock status demo'
    assert_contains "$output" 'redlock: 1 private server in ' ' gone when you leave this shell (exit or Ctrl-D)'
    assert_contains "$output" '(redlock sandbox) '
  done
  # A command of the user's keeps its environment.
  PS1=mine run "$REDLOCK" sandbox -N 1 -- sh -c 'echo "$PS1,$PROMPT_COMMAND"'
  [[ $output == mine, ]] || fail "$output"
}

@test "--cluster: three primaries with all the slots, a replica for each, and a password" {
  run -0 --separate-stderr "$REDLOCK" sandbox --cluster -- bash -c '
    uri=$REDLOCK_SERVERS
    [[ $uri == redis+cluster://:"$REDISCLI_AUTH"@127.0.0.1:* && ${#REDISCLI_AUTH} == 40 ]] || exit 9
    IFS=, read -ra nodes <<<"${uri#*@}"
    for node in "${nodes[@]}"; do # whom the replicas follow, as this node knows it
      redis-cli -p "${node#*:}" cluster nodes | awk "\$3 ~ /slave/ { print \$4 }" | sort -u | grep -cE "[0-9a-f]{40}"
    done | tr "\n" " "
    for node in "${nodes[@]}"; do
      port=${node#*:}
      redis-cli -p "$port" cluster info | tr -d "\r" | grep -E "state|known|slots_ok|my_epoch" | tr "\n" " "
      redis-cli -p "$port" info replication | tr -d "\r" | grep -E "^role|^master_link_status|connected_slaves" | tr "\n" " "
      redis-cli -p "$port" cluster slots | grep -cx -- "${node%:*}" | tr "\n" " "
      env -u REDISCLI_AUTH redis-cli -p "$port" ping | grep -o NOAUTH
    done
    redis-cli -c -p "${nodes[0]#*:}" set some-key there
    redis-cli -c -p "${nodes[2]#*:}" get some-key'
  local i cluster='cluster_state:ok cluster_slots_ok:16384 cluster_known_nodes:6 cluster_my_epoch:1'
  [[ ${#lines[@]} == 8 ]] || fail "$output" "$stderr"
  [[ ${lines[0]} == '3 3 3 3 3 3 '* ]] || fail "$output"
  lines[0]=${lines[0]#3 3 3 3 3 3 }
  for i in 0 1 2; do # each primary has an epoch of its own: with the same one, a slot that moves may have two owners
    [[ ${lines[i]} == "$cluster$((i + 1)) role:master connected_slaves:1 "*' NOAUTH' ]] || fail "$output"
    [[ ${lines[i + 3]} == "$cluster"*' role:slave master_link_status:up connected_slaves:0 '*' NOAUTH' ]] ||
      fail "$output"
  done
  [[ ${lines[6]} == OK && ${lines[7]} == there ]]
  [[ -z $stderr ]]
  directory_empty
}

@test "--cluster: a replica takes over, and keeps what its primary had" {
  run "$REDLOCK" sandbox --cluster -- bash -c '
    IFS=, read -ra nodes <<<"${REDLOCK_SERVERS#*@}"
    primary=${nodes[2]#*:} replica=${nodes[5]#*:} # of slot 12182, the key foo
    redis-cli -p "$primary" set foo kept
    redis-cli -p "$primary" wait 1 10000
    redis-cli -p "$replica" cluster failover
    for i in {1..1000}; do [[ $(redis-cli -p "$replica" role) != master* ]] || break; sleep 0.02; done
    redis-cli -p "$replica" get foo'
  [[ $status == 0 && $output == $'OK\n1\nOK\nkept' ]] || fail "$status" "$output"
}

@test "--sentinel: Sentinels that know a primary, its replicas and each other, and a password" {
  run -0 --separate-stderr "$REDLOCK" sandbox --sentinel -- bash -c '
    uri=$REDLOCK_SERVERS
    [[ $uri == redis+sentinel://:"$REDISCLI_AUTH"@127.0.0.1:*/mymaster?sentinel_password="$REDISCLI_AUTH" ]] || exit 9
    uri=${uri#*@}
    IFS=, read -ra sentinels <<<"${uri%%/*}"
    for sentinel in "${sentinels[@]}"; do
      port=${sentinel#*:}
      redis-cli -p "$port" info sentinel | tr -d "\r" | sed -n "s/address=[^,]*,//; s/^master0://p"
      env -u REDISCLI_AUTH redis-cli -p "$port" ping | grep -o NOAUTH
      redis-cli -p "$port" sentinel get-master-addr-by-name mymaster | tail -n 1 >>"$TMPDIR"/../primary
    done
    [[ $(sort -u "$TMPDIR"/../primary | wc -l) == 1 ]] || exit 8
    port=$(head -n 1 "$TMPDIR"/../primary)
    redis-cli -p "$port" info replication | tr -d "\r" | grep -E "^role|connected_slaves"
    env -u REDISCLI_AUTH redis-cli -p "$port" ping | grep -o NOAUTH
    redis-cli -p "$port" set some-key there
    redis-cli -p "$port" wait 2 10000'
  [[ $output == "$(
    for i in 1 2 3; do printf '%s\n' 'name=mymaster,status=ok,slaves=2,sentinels=3' NOAUTH; done
    printf '%s\n' role:master connected_slaves:2 NOAUTH OK 2
  )" ]] || fail "$output" "$stderr"
  [[ -z $stderr ]]
  directory_empty
}

@test "--sentinel: they make a replica the primary" {
  run "$REDLOCK" sandbox --sentinel -- bash -c '
    sentinel=${REDLOCK_SERVERS#*@127.0.0.1:}
    ask() { redis-cli -p "${sentinel%%,*}" sentinel "$@" mymaster; }
    old=$(ask get-master-addr-by-name)
    for i in {1..200}; do [[ $(ask failover) != OK ]] || break; sleep 0.1; done # first they look at the replicas
    for i in {1..1000}; do now=$(ask get-master-addr-by-name) && [[ $now == "$old" ]] || break; sleep 0.02; done
    redis-cli -p "${now##*$'"'\n'"'}" role | head -n 1'
  [[ $status == 0 && $output == master ]] || fail "$status" "$output"
}

@test "--cluster, --sentinel: nobody else sees the password, and nothing is left after the end" {
  local kind password
  mkdir "$SCRATCH/bin"
  printf '#!/bin/bash\necho "$*" >>%q\nexec -a redis-server %q "$@"\n' \
    "$SCRATCH/arguments" "$(server_program)" >"$SCRATCH/bin/redis-server"
  chmod +x "$SCRATCH/bin/redis-server"
  for kind in --cluster --sentinel; do
    rm -f "$SCRATCH"/job* "$SCRATCH/arguments"
    PATH=$SCRATCH/bin:$PATH start_sandbox 6 "$kind"
    password=$(tr '\0' '\n' <"/proc/$JOB/environ" | sed -n 's/^REDISCLI_AUTH=//p')
    [[ ${#password} == 40 ]]
    [[ $(wc -l <"$SCRATCH/arguments") == 6 ]]
    refute_contains "$(<"$SCRATCH/arguments")" "$password"
    [[ -z $(find "$TMPDIR" -type f -perm /077 -exec grep -l "$password" {} +) ]]
    kill -TERM "$JOB"
    await -9 "$SANDBOX"
    directory_empty
    for pid in "${SERVERS[@]}"; do gone "$pid"; done
  done
}

@test "--cluster, --sentinel: several at the same time" {
  local pids=() pid
  for kind in --cluster --sentinel --cluster --sentinel; do
    background "$REDLOCK" sandbox "$kind" -- sh -c 'echo "$REDLOCK_SERVERS"'
    pids+=("$BACKGROUND_PID")
  done
  for pid in "${pids[@]}"; do
    await -0 "$pid"
    grep -oE '127.0.0.1:[0-9]+' <<<"$output" >>"$SCRATCH/addresses"
  done
  [[ $(wc -l <"$SCRATCH/addresses") == 18 && -z $(sort "$SCRATCH/addresses" | uniq -d) ]]
}

# taken_ports TIMES: the first TIMES servers find their port taken, by this test's server A.
taken_ports() {
  mkdir "$SCRATCH/bin"
  start_server A --tcp
  cat >"$SCRATCH/bin/redis-server" <<'END'
#!/bin/bash
for ((i = 1; i <= TIMES; ++i)); do
  mkdir "$SCRATCH/taken.$i" 2>/dev/null || continue
  mapfile -t lines <redis.conf # no sed: it would go on beside a shell that is killed
  printf '%s\n' "${lines[@]/#port */port $A_PORT}" >redis.conf
  break
done
exec -a redis-server "$SERVER" "$@"
END
  chmod +x "$SCRATCH/bin/redis-server"
  TIMES=$1 SERVER=$(server_program)
  export SCRATCH TIMES SERVER A_PORT
  PATH=$SCRATCH/bin:$PATH
}

@test "--cluster, --sentinel: another program takes a port: it takes other ports" {
  local kind
  taken_ports 2
  for kind in --cluster --sentinel; do
    run --separate-stderr "$REDLOCK" sandbox "$kind" -- sh -c 'echo "$REDLOCK_SERVERS"'
    [[ $status == 0 && $output == redis+*:* && -z $stderr ]] || fail "$status" "$output" "$stderr"
    refute_contains "$output" ":$A_PORT"
    [[ -d $SCRATCH/taken.2 ]] && rmdir "$SCRATCH"/taken.*
    directory_empty
  done
}

@test "--cluster, --sentinel: no port is free: 69, with the end of the log" {
  local kind
  taken_ports 1000
  for kind in --cluster --sentinel; do
    run -69 "$REDLOCK" sandbox "$kind" -- true
    assert_contains "$output" "$SCRATCH/bin/redis-server did not start" 'Address already in use'
    directory_empty
  done
}
