# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# For the benchmarks: sourced with the repository as the working directory. Gives each a folder $dir
# of its own, and servers; both are gone when it ends. REDLOCK is the binary (default: the release
# build).
bench=tests/bench/${0##*/}
REDLOCK=$(realpath "${REDLOCK:-build/release/redlock}")
python=/usr/bin/python3 # Debian's, which has python3-redis
export PYTHONPATH=$PWD/tests/bench PYTHONDONTWRITEBYTECODE=1

server=$(command -v redis-server || command -v valkey-server || command -v redis-check-rdb ||
  command -v valkey-check-rdb) || {
  echo "$bench: no Redis server: apt-get install redis-tools" >&2
  exit 69
}
for needed in "$REDLOCK" "$python" redis-cli flock; do
  command -v "$needed" >/dev/null || {
    echo "$bench: $needed is missing" >&2
    exit 69
  }
done
while read -r variable; do unset "$variable"; done < <(compgen -e | grep -E '^(REDLOCK|REDISCLI)_')
# These servers are made a moment ago, and nobody else uses them.
export REDLOCK_RESTART_GRACE=0

dir=$(mktemp -d)
pids=()
clean_up() {
  for pid in "${pids[@]}"; do kill -KILL "$pid" 2>/dev/null || true; done
  wait
  rm -rf "$dir"
}
trap 'clean_up 2>/dev/null' EXIT # bash reports each killed process
trap 'exit 130' INT
trap 'exit 143' TERM

# start_etcd: three nodes, if etcd and etcdctl are installed. $etcd is their endpoints, or empty.
etcd=
start_etcd() {
  local ports cluster i
  if ! command -v etcd >/dev/null || ! command -v etcdctl >/dev/null; then
    echo "$bench: without etcd: apt-get install etcd-server etcd-client" >&2
    return 0
  fi
  read -ra ports < <("$python" -c 'import socket
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(6)]
print(*(each.getsockname()[1] for each in sockets))')
  for i in 0 1 2; do
    etcd+=${etcd:+,}http://127.0.0.1:${ports[i]}
    cluster+=${cluster:+,}node$i=http://127.0.0.1:${ports[i + 3]}
  done
  for i in 0 1 2; do
    setpriv --pdeathsig KILL etcd --name "node$i" --data-dir "$dir/etcd.$i" \
      --listen-client-urls "http://127.0.0.1:${ports[i]}" --advertise-client-urls "http://127.0.0.1:${ports[i]}" \
      --listen-peer-urls "http://127.0.0.1:${ports[i + 3]}" --initial-cluster "$cluster" \
      --initial-advertise-peer-urls "http://127.0.0.1:${ports[i + 3]}" >"$dir/etcd.$i.log" 2>&1 &
    pids+=("$!")
  done
  export ETCDCTL_API=3
  for _ in {1..100}; do
    ! etcdctl --endpoints "$etcd" endpoint health >/dev/null 2>&1 || return 0
    sleep 0.1
  done
  echo "$bench: etcd does not start: $(tail -n 1 "$dir/etcd.0.log")" >&2
  exit 69
}

# start_server NUMBER: on $dir/NUMBER.sock, and on a free port whose number goes to $port. The server
# program looks at the name it was started by: redis-check-rdb is one, too.
ln -s "$server" "$dir/redis-server"
start_server() {
  for _ in 1 2 3 4 5; do
    port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    setpriv --pdeathsig KILL "$dir/redis-server" --port "$port" --bind 127.0.0.1 \
      --unixsocket "$dir/$1.sock" --dir "$dir" --save '' --appendonly no >"$dir/$1.log" 2>&1 &
    pids[$1]=$!
    for _ in {1..500}; do
      [[ $(redis-cli -s "$dir/$1.sock" ping 2>/dev/null) != PONG ]] || return 0
      kill -0 "${pids[$1]}" 2>/dev/null || break
      sleep 0.02
    done
  done
  echo "$bench: server $1 does not start: $(tail -n 1 "$dir/$1.log")" >&2
  exit 69
}

# other_tools: writes two programs that run a command under a lock without redlock, to compare with. Both take SOCKET
# NAME COMMAND…: $dir/by-redis-cli is a shell script as a careful user writes it (a random token, a time to live,
# compare-and-delete), $dir/by-redis-py is for Python. Sets $with_redis_py to "yes" if the second one can run.
with_redis_py=no
other_tools() {
  cat >"$dir/by-redis-cli" <<'SCRIPT'
#!/bin/sh
socket=$1 name=$2
shift 2
token=$(od -An -N20 -tx1 /dev/urandom | tr -d ' \n')
release() {
  redis-cli -s "$socket" EVAL 'if redis.call("GET", KEYS[1]) == ARGV[1] then
    return redis.call("DEL", KEYS[1]) end return 0' 1 "$name" "$token" >/dev/null
}
until [ "$(redis-cli -s "$socket" SET "$name" "$token" NX PX 30000)" = OK ]; do sleep 0.1; done
trap release EXIT
"$@"
SCRIPT
  chmod +x "$dir/by-redis-cli"
  cat >"$dir/by-redis-py" <<'SCRIPT'
import subprocess, sys, redis
with redis.Redis(unix_socket_path=sys.argv[1]).lock(sys.argv[2], timeout=30):
    sys.exit(subprocess.run(sys.argv[3:]).returncode)
SCRIPT
  ! "$python" -c 'import redis.lock' 2>/dev/null || with_redis_py=yes
}
