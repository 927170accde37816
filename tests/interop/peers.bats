#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole,long
#
# Other programs' locks by their own libraries, side by side with redlock: never two sections at the same time, nothing left,
# neither side starves. Libraries come from their registries; where a runtime or a registry is missing, tests are
# skipped. INTEROP_SECTIONS: how many sections each side runs.

load ../lib/common
load ../lib/topology
load ../lib/cluster

HERE=$SOURCE/tests/interop
SECTIONS=${INTEROP_SECTIONS:-200}

setup() {
  LOG=$SCRATCH/sections
  : >"$LOG"
  PEERS=()
}
teardown() { stop_all; }

needs() {
  local program
  for program; do command -v "$program" >/dev/null || skip "needs $program"; done
}

# get_redisson VERSION: sets CLASSES to a class path with that Redisson and Peer.
get_redisson() {
  needs java javac mvn
  local folder=$BATS_FILE_TMPDIR/redisson-$1
  if [[ ! -e $folder/classpath ]]; then
    mkdir -p "$folder"
    mvn -q -B -f "$HERE/pom.xml" dependency:build-classpath "-Dredisson.version=$1" -Dmdep.outputFile="$folder/found" \
      >"$folder/mvn.log" 2>&1 || skip "Maven cannot get Redisson $1: $(tail -n 1 "$folder/mvn.log")"
    javac -nowarn -d "$folder" -cp "$(<"$folder/found")" "$HERE/Peer.java" 2>/dev/null
    mv "$folder/found" "$folder/classpath"
  fi
  CLASSES=$folder:$(<"$folder/classpath")
}

# start_redisson VERSION KIND URI…: Peer.java with that Redisson.
start_redisson() {
  get_redisson "$1"
  background java -cp "$CLASSES" Peer "$2" L "$SECTIONS" 5 5 "$LOG" "redisson-$1" "${@:3}"
  PEERS+=("redisson-$1:$BACKGROUND_PID")
}

start_python() {
  local folder=$BATS_FILE_TMPDIR/python
  if [[ ! -e $folder/ready ]]; then
    "$PYTHON" -m venv "$folder" >/dev/null 2>&1 || skip "needs python3-venv"
    "$folder/bin/pip" -q install redis redlock-py==1.0.8 >"$folder/log" 2>&1 || skip "pip cannot get redis, redlock-py"
    : >"$folder/ready"
  fi
  background "$folder/bin/python" "$HERE/peer.py" "$1" L "$SECTIONS" 5 5 "$LOG" "$1" "${@:2}"
  PEERS+=("$1:$BACKGROUND_PID")
}

start_redsync() {
  needs go
  local folder=$BATS_FILE_TMPDIR/go
  if [[ ! -e $folder/peer ]]; then
    mkdir -p "$folder"
    cp "$HERE/peer.go" "$folder"
    (cd "$folder" && go mod init peer && go mod edit -require github.com/go-redsync/redsync/v4@v4.13.0 && go mod tidy &&
      go build -o peer .) >"$BATS_FILE_TMPDIR/go.log" 2>&1 || skip "go cannot get redsync: $(tail -n 1 "$BATS_FILE_TMPDIR/go.log")"
  fi
  background "$folder/peer" L "$SECTIONS" 5 5 "$LOG" redsync "$@"
  PEERS+=("redsync:$BACKGROUND_PID")
}

start_node_redlock() {
  needs node npm
  local folder=$BATS_FILE_TMPDIR/node
  if [[ ! -d $folder/node_modules/redlock ]]; then
    mkdir -p "$folder"
    (cd "$folder" && npm install --silent --no-audit --no-fund redlock@4.2.0 ioredis@5) >"$folder/log" 2>&1 ||
      skip "npm cannot get redlock and ioredis"
  fi
  NODE_PATH=$folder/node_modules background node "$HERE/peer.js" L "$SECTIONS" 5 5 "$LOG" node-redlock "$@"
  PEERS+=("node-redlock:$BACKGROUND_PID")
}

# all_ready: or one has ended, which contend() reports.
all_ready() {
  local peer
  for peer in "${PEERS[@]}"; do ! gone "${peer#*:}" || return 0; done
  has_texts "$LOG" ready ${#PEERS[@]}
}

# contend MEDIAN: redlock beside PEERS, on $REDLOCK_SERVERS; nothing is left.
contend() {
  local i peer sides=()
  wait_until 60 all_ready
  : >"$LOG.go"
  has_texts "$LOG" ready ${#PEERS[@]} || fail "a peer has ended" "$(cat "$SCRATCH"/background.*.err)"
  for ((i = 0; i < SECTIONS; ++i)); do
    "$REDLOCK" run -q L -- bash -c 'echo "start redlock ${EPOCHREALTIME/[.,]/}" >>"$0"
      read -rt 0.005 <>"$1"; echo "end redlock ${EPOCHREALTIME/[.,]/}" >>"$0"' "$LOG" "$NAP"
    nap 0.005
  done
  for peer in "${PEERS[@]}"; do
    await -0 "${peer#*:}" 120
    sides+=("${peer%:*}=$SECTIONS")
  done
  run "$PYTHON" "$HERE/tally.py" <(grep -v ready "$LOG") "$1" 2000 "redlock=$SECTIONS" "${sides[@]}"
  printf '%s\n' "$output" | tee "$SCRATCH/tally" | sed "s/^/# /" >&3
  assert_status 0
  for i in A B C C1 C2 C3; do [[ ! -v ${i}_SOCKET ]] || wait_until_clean "$i"; done
}

# tcp NAME…: servers on TCP; sets REDLOCK_SERVERS, URIS and PORTS.
tcp() {
  local name uri
  URIS=()
  for name; do
    start_server "$name" --tcp
    local -n uri=${name}_TCP_URI
    URIS+=("$uri")
  done
  PORTS=("${URIS[@]##*:}")
  export REDLOCK_SERVERS="${URIS[*]}"
}

# ---- Redisson ------------------------------------------------------------------------------------

# beside_redisson MEDIAN SERVERS KIND VERSION…: redlock beside locks of that kind, of these versions at the same time.
beside_redisson() {
  local version
  # shellcheck disable=SC2086 # names
  tcp $2
  export REDLOCK_AS=redisson
  for version in "${@:4}"; do start_redisson "$version" "$3" "${URIS[@]}"; done
  contend "$1"
}

@test "peers: Redisson 4 and 3, RLock, both at the same time" { beside_redisson 50 A lock 4.7.0 3.17.7; }
@test "peers: Redisson 4 and 3, fair lock, both at the same time" { beside_redisson 200 A fair 4.7.0 3.17.7; }
@test "peers: Redisson 4, spin lock" { beside_redisson 200 A spin 4.7.0; }
@test "peers: RedissonRedLock on three servers, Redisson 4" { beside_redisson 200 'A B C' red 4.7.0; }
@test "peers: RedissonRedLock on three servers, Redisson 3" { beside_redisson 200 'A B C' red 3.17.7; }
@test "peers: RedissonMultiLock on three servers" { beside_redisson 200 'A B C' multi 4.7.0; }

@test "peers: Redisson 4 and 3 in a Cluster" {
  quiet_cluster 3 0
  export REDLOCK_AS=redisson
  local ports=("redis://127.0.0.1:$C1_PORT" "redis://127.0.0.1:$C2_PORT" "redis://127.0.0.1:$C3_PORT")
  start_redisson 4.7.0 cluster-lock "${ports[@]}"
  start_redisson 3.17.7 cluster-lock "${ports[@]}"
  contend 50
}

@test "peers: packaging/examples/java, the service and the script" {
  tcp A
  get_redisson 4.7.0
  local example=$SOURCE/packaging/examples/java
  [[ $(grep -A1 'artifactId>redisson<' "$example/pom.xml") == *4.7.0* ]] || fail "the example has another Redisson"
  javac -d "$SCRATCH" -cp "$CLASSES" "$example/src/main/java/StockService.java"
  cd "$SCRATCH" || return
  printf '#!/bin/sh\necho >importing; until [ -e go ]; do sleep 0.02; done; echo imported\n' >import.sh
  chmod +x import.sh
  PATH=${REDLOCK%/*}:$PATH background "$example/import-stock.sh"
  local script=$BACKGROUND_PID
  wait_for importing
  background java -cp "$SCRATCH:$CLASSES" StockService "${URIS[0]}"
  wait_until 30 has_redisson_waiter
  [[ ! -s $BACKGROUND_OUT ]] || fail "both at the same time"
  : >go
  await -0 "$script"
  await "$BACKGROUND_PID" 30
  [[ $status == 0 && $output == 'the stock is ours' ]] || fail "$status $output"
}
has_redisson_waiter() { [[ $(cli A pubsub numsub 'redisson_lock__channel:{stock}' | tail -n 1) == 1 ]]; }

# ---- locks with SET NX ---------------------------------------------------------------------------

@test "peers: redis-py" {
  tcp A
  start_python redis-py "${PORTS[@]}"
  contend 200
}

@test "peers: redlock-py on three servers" {
  tcp A B C
  start_python redlock-py "${PORTS[@]}"
  contend 200
}

@test "peers: redsync on three servers" {
  tcp A B C
  start_redsync "${PORTS[@]}"
  contend 200
}

@test "peers: node-redlock on three servers" {
  tcp A B C
  start_node_redlock "${PORTS[@]}"
  contend 200
}
