#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole,slowest
# shellcheck disable=SC2001,SC2030,SC2031,SC2016,SC2153,SC2154
#
# `redlock check` finds what is wrong: each test plants one fault, and sees it named with what to do.

load ../lib/common
load ../lib/acl
load ../lib/looking

setup() {
  # Persistent, and so nothing to complain of even where it is the only one.
  start_server A --appendonly yes
  export REDLOCK_SERVERS=$A_URI
}
teardown() { stop_all; }

# check [-STATUS] ARG…: `redlock check ARG… -v`, which ends with that status.
check() { run_redlock check "$@" -v; }

# findings: prints one line for each, with its server in front.
findings() { awk '/^[^ ]/ { server = $1; next } { print server $0 }' <<<"$output"; }

# found LEVEL CHECK TEXT…: one line is a finding of this level and check, with every TEXT.
found() {
  local lines text
  lines=$(grep -E "^[^ ]+ +$1 +$2 " < <(findings)) || fail "no $1 of $2:" "$output" "$stderr"
  for text in "${@:3}"; do
    grep -qF -- "$text" <<<"$lines" || fail "no $1 of $2 says '$text':" "$lines"
  done
}

# flawless: nothing was found.
flawless() {
  [[ $output == *' usable, 0 failures, 0 warnings' ]] || fail "$output" "$stderr"
  ! grep -vE '^[^ ]+ +ok  ' < <(findings) || fail "$output"
  assert_status 0
}

# nothing_left SERVER…: not even a fence. A quorum of answers is enough for check to end.
nothing_left() {
  local server
  for server in "$@"; do
    wait_until "$BOUND" is_empty "$server" || fail "$server has keys: $(cli "$server" keys '*')"
  done
}
is_empty() { [[ $(cli "$1" dbsize) == 0 ]]; }

# three: B and C beside A; exports REDLOCK_SERVERS.
three() {
  start_server B
  start_server C
  export REDLOCK_SERVERS="$A_URI $B_URI $C_URI"
}

@test "check: one good server: 0, and nothing is left there" {
  check
  flawless
  found ok trial '1 of 1 votes' 'a lock was taken, renewed and released'
  found ok fingerprint
  found ok persistence 'appendfsync everysec'
  [[ -z $stderr ]] || fail "$stderr"
  nothing_left A
}

@test "check: without -v only the problems, by server, and one line that sums up; -q: only the status" {
  three
  kill_server B
  cli C config set maxmemory 100mb
  cli C config set maxmemory-policy allkeys-lru
  run_redlock check -78
  [[ -z $stderr && $output != *'  ok '* ]] || fail "$output" "$stderr"
  [[ $(sed 's/^  *\([a-z]*\) *\([a-z-]*\) .*/- \1 \2/' <<<"$output") == "$B_URI
- failure reachable
$C_URI
- warning persistence
- failure memory
all servers
- warning restart-grace
2 of 3 servers usable, 2 failures, 2 warnings" ]] || fail "$output"
  kill_server C
  run_redlock check -69
  [[ ${lines[-1]} == '1 of 3 servers usable, 3 failures, '*'; redlock cannot take a lock' ]] || fail "$output"
  run_redlock check -69 -q
  [[ -z $output$stderr ]] || fail "$output" "$stderr"
  export REDLOCK_SERVERS=$A_URI
  run_redlock check -0
  [[ $output == '1 of 1 server usable, 0 failures, 0 warnings' ]] || fail "$output"
}

# wrapped_to WIDTH MARK DOTS FULL: $output is the report FULL, each fact and below it each remedy wrapped at the width,
# and complete.
wrapped_to() {
  "$PYTHON" - "$@" "$output" <<'CHECK' || fail "at $1 columns:" "$output"
import re, sys
width, mark, dots, full, shown = int(sys.argv[1]), *sys.argv[2:4], *(text.splitlines() for text in sys.argv[4:])
for line in shown:
    assert len(line) <= width or " " not in line.strip(), line
at = -1
wrapped = 0
for line in full[:-1]:
    at += 1
    if not line.startswith(" "):
        assert shown[at] == (line if len(line) <= width else line[:width - len(dots)] + dots), shown[at]
        continue
    level, check, text = line.split(None, 2)
    fact, _, remedy = text.partition("; ")
    assert shown[at].split()[:2] == [level, check], shown[at]
    left = line.index(text)
    if left + 30 > width:  # too little room beside the names
        assert shown[at].split() == [level, check], shown[at]
        at, left = at + 1, 4
    words = shown[at][left:].split()
    while words != fact.split():
        at += 1
        wrapped += 1
        assert shown[at].startswith(" " * left), shown[at]
        words += shown[at][left:].split()
    words = []
    while words != remedy.split():
        at += 1
        assert shown[at].startswith(" " * (left - 2) + (mark if not words else " ") + " "), shown[at]
        words += shown[at][left:].split()
assert (wrapped > 0) == (width <= 80), wrapped
CHECK
}

@test "check: on a screen each fact and what to do are wrapped, and complete; in colours if the user wants them" {
  local width full
  three
  cli C config set maxmemory 100mb
  cli C config set maxmemory-policy allkeys-lru
  LC_ALL=C run "$REDLOCK" check
  full=$output
  refute_contains "$full" ...
  for width in 160 80 60 40; do
    COLUMNS=$width LC_ALL=C.UTF-8 run "$REDLOCK" check
    wrapped_to $width → … "$full"
    COLUMNS=$width LC_ALL=C run "$REDLOCK" check
    wrapped_to $width '>' ... "$full"
  done
  run "$REDLOCK" check -v --color always
  assert_contains "$output" $'  \e[33mwarning\e[m  restart-grace '
  assert_contains "$output" $'  \e[32mok\e[m '
  assert_contains "$output" $'\e[31m3 of 3 servers usable, '
}

@test "check: what all servers have in common is said once" {
  three
  everywhere config set maxmemory-policy allkeys-lru
  everywhere config set maxmemory 100mb
  run_redlock check -78
  [[ $(grep -c 'failure  *memory' <<<"$output") == 1 ]] || fail "$output"
  [[ ${lines[0]} == 'all servers' && ${lines[-1]} == '3 of 3 servers usable, 1 failure, '* ]] || fail "$output"
  run_redlock check --json
  [[ $(grep -c '"check": "memory"' <<<"$output") == 3 ]] || fail "$output"
}

# good: nothing is found, on servers where no earlier check has come too late.
good() {
  everywhere flushall
  check
  flawless 2>/dev/null
}

@test "check: three good servers: 0, once they are old enough" {
  three
  export REDLOCK_TTL=3s REDLOCK_RESTART_GRACE=3s
  wait_until "$BOUND" good
  found ok trial '3 of 3 votes'
  found ok servers '3 servers, 1 of which may fail'
  nothing_left A B C
}

@test "check: the lock is tried with the settings' ttl, and yet nobody waits for a renewal" {
  check --ttl 24h
  flawless
  assert_between 0 "$elapsed" 20000
}

@test "check: a server that is down: 1 while a quorum is left, then 69" {
  three
  kill_server B
  check -69 --restart-grace 60s # new servers are trusted only if all of them are there
  check -1
  found failure reachable "$B_URI" 'no server listens on this socket; start the server'
  found ok trial '2 of 3 votes'
  kill_server C
  check -69
  found failure trial 'a lock could not be acquired; solve the problems above'
  nothing_left A
}

@test "check: a stopped server, and a black hole" {
  three
  pause_server B
  black_hole
  check -69 -S "$A_URI" -S "$B_URI" -S "$BLACK_HOLE_URI"
  found failure reachable "$B_URI" 'did not answer within 1000 ms; it is stopped'
  found failure reachable "$BLACK_HOLE_URI" 'is the host up'
  check -1
  found ok trial '2 of 3 votes'
}

# of_minutes SERVER: it has carried out what was asked for the lock that was tried, and each key it has goes
# within minutes.
of_minutes() {
  local key
  (($(evals "$1") > 0)) || return 1
  for key in $(cli "$1" keys '*'); do
    assert_between 1 "$(cli "$1" pttl "$key")" 300000 2>/dev/null || return 1
  done
}

@test "check: a server that answers too late keeps nothing for long" {
  three
  pause_server B
  check -1
  resume_server B
  wait_until "$BOUND" of_minutes B
}

@test "check: no password, a wrong one, one too many" {
  start_server P --appendonly yes --requirepass s3cret
  check -69 -S "$P_URI"
  found failure reachable 'wants a password and none is configured'
  check -69 -S "unix://:wrong@${P_URI#unix://}"
  found failure reachable 'wrong ' password # before Redis 6: no user
  refute_contains "$output" wrong@
  check -S "unix://:s3cret@${P_URI#unix://}"
  flawless
  refute_contains "$output" s3cret
  check -69 -S "unix://:s3cret@${A_URI#unix://}"
  found failure reachable 'the server has none'
}

@test "check: a wrong password on one server of three: locks are had, and yet 78" {
  three
  start_server P --requirepass s3cret
  check -78 -S "$A_URI" -S "$B_URI" -S "$P_URI"
  found failure reachable "$P_URI" 'wants a password'
  found ok trial '2 of 3 votes'
}

@test "check: a server in protected mode" {
  local address port
  address=$(hostname -I 2>/dev/null | tr ' ' '\n' | grep -m 1 -F . || true)
  [[ -n $address ]] || skip 'this machine has no address but the loopback'
  server_at_least 6.2 || skip 'this server protects itself only where it listens on all addresses'
  for _ in 1 2 3; do
    port=$(free_port)
    ! start_server P --bind "$address" --protected-mode yes --port "$port" || break
  done
  check -69 -S "redis://$address:$port"
  found failure reachable 'is in protected mode' 'set a password'
}

@test "check: something that is no Redis" {
  garbage_server 'HTTP/1.1 400 Bad Request\r\n\r\n'
  check -69 -S "$GARBAGE_URI"
  found failure reachable 'does not speak the Redis protocol; is this the right port?'
}

@test "check: a replica" {
  start_server B --tcp
  start_server R --replicaof 127.0.0.1 "$B_PORT"
  check -69 -S "$R_URI"
  found failure role "is a replica and can give no vote; use the address of its primary, 127.0.0.1:$B_PORT"
  start_server C
  check -78 -S "$A_URI" -S "$C_URI" -S "$R_URI"
  found failure role "$R_URI"
  wait_until "$BOUND" eval '[[ $(cli B info replication) == *connected_slaves:1* ]]'
  check -S "$B_URI"
  found ok role 'a primary with 1 replica'
}

@test "check: the URI of a node in place of its Cluster, and that of a plain server as one" {
  start_server N --tcp --cluster-enabled yes
  check -69 -S "$N_URI"
  found warning role 'write redis+cluster://HOST:PORT'
  found failure permissions 'is part of a Redis Cluster that is down'
  # A Cluster of one node serves every lock under either URI.
  local slots=({0..16383})
  [ "$(cli N cluster addslots "${slots[@]}")" = OK ]
  wait_until "$BOUND" eval '[[ $(cli N cluster info) == *cluster_state:ok* ]]'
  "$REDLOCK" run -S "$N_URI" L -- true
  check -S "$N_URI"
  found warning role 'write redis+cluster://HOST:PORT'
  found ok trial 'a lock was taken'
  check -S "${N_TCP_URI/redis:/redis+cluster:}"
  found ok role 'is a primary without replicas'
  start_server P --tcp
  check -S "${P_TCP_URI/redis:/redis+cluster:}"
  found warning role 'is not a Redis Cluster; write redis://'
}

@test "check: a provider has renamed commands: locks work, and what cannot be known is said" {
  start_server P --rename-command INFO '' --rename-command CONFIG '' --rename-command PUBLISH '' \
    --rename-command CLIENT '' --rename-command ROLE ''
  "$REDLOCK" run -S "$P_URI" L -- true
  check -1 -S "$P_URI"
  found warning info 'restarts, replicas, eviction'
  found warning permissions 'the server has renamed commands; give it' +info +publish
}

@test "check: a Sentinel" {
  local dir=$SCRATCH/sentinel
  mkdir -p "$dir"
  printf 'port 0\nunixsocket "%s/sock"\ndir "%s"\n' "$dir" "$dir" >"$dir/sentinel.conf"
  start_tool "$(server_program)" "$dir/sentinel.conf" --sentinel >"$dir/log" 2>&1
  wait_until "$BOUND" eval '[[ -n $(redis-cli -s "$SCRATCH/sentinel/sock" ping 2>/dev/null) ]]' ||
    fail "$(cat "$dir/log")"
  check -69 -S "unix://${dir// /%20}/sock"
  found failure role 'is a Sentinel' 'usually port 6379'
}

@test "check: one server by two addresses" {
  start_server B --tcp
  local uris
  for uris in "$B_URI $A_URI $B_TCP_URI" "$A_URI $B_URI $B_TCP_URI"; do
    # One that is late to release would keep the key for minutes: see "answers too late".
    REDLOCK_SERVERS=$uris check -78 --ttl 100s --server-timeout 10s
    found failure distinct "$B_TCP_URI" "is the same server as $B_URI" 'leave one out'
    nothing_left A B
  done
}

@test "check: one address of two servers" {
  start_server B
  delay_proxy "$A_SOCKET,$B_SOCKET" 0
  check -78 -S "$PROXY_URI"
  found failure distinct "$PROXY_URI" 'leads to several servers' 'that leads to a single server'
}

@test "check: two addresses of one name, with a server of its own each" {
  start_server B --tcp
  [[ $(getent ahosts localhost) == *::1*127.0.0.1* && -e /proc/net/if_inet6 ]] ||
    skip 'localhost has one address here'
  start_server D --port "$B_PORT" --bind ::1
  check -78 -S "redis://localhost:$B_PORT"
  found failure distinct "redis://localhost:$B_PORT" 'leads to several servers'
}

@test "check: eviction that may hit a lock that is held" {
  cli A config set maxmemory-policy volatile-lru
  check
  flawless # never reached
  cli A config set maxmemory 100mb
  check -78
  found failure memory 'maxmemory-policy volatile-lru' 'may be evicted' 'set maxmemory-policy noeviction'
  cli A config set maxmemory-policy noeviction
  check
  flawless
}

@test "check: memory that is used up" {
  cli A config set maxmemory-policy noeviction
  cli A setrange big 50000000 x
  cli A config set maxmemory 25mb
  check -69
  found failure memory 'raise maxmemory'
  found failure trial 'memory is used up'
  found ok roll-out 'the next step must wait: not all servers are usable'
  assert_contains "$output" '0 of 1 server usable'
}

# up_for SERVER SECONDS
up_for() { [[ $(answer "$1" info server) =~ uptime_in_seconds:([0-9]+) ]] && ((BASH_REMATCH[1] >= $2)); }

@test "check: servers that were restarted: a lock that was used before cannot be taken, and check says so" {
  three
  export REDLOCK_RESTART_GRACE=3s REDLOCK_TTL=3s
  wait_until "$BOUND" good
  # For two graces from its start, A may be part of a new installation.
  wait_until "$BOUND" up_for A 7
  "$REDLOCK" run used -- true
  restart_server B C # which keep nothing
  run -69 "$REDLOCK" run --server-wait 500ms used -- true
  assert_contains "$output" 'was started recently'
  restart_server B C # the grace begins again: the run above takes long on a slow machine
  check -69
  found ok trial '3 of 3 votes'
  found failure trial 'a lock that was used before cannot be taken for another ' 'wait, or see --restart-grace'
  assert_contains "$output" 'redlock can take new locks only'
  found ok roll-out 'the next step must wait: too many servers were restarted lately'
  # The only server, which keeps its data. A host that still had three would be a warning.
  export REDLOCK_SERVERS=$A_URI
  check -1
  found warning roll-out 'uses other servers'
  cli A del 'redlock:{used}:log'
  check -0
  restart_server A
  run -69 "$REDLOCK" run --server-wait 500ms used -- true
  assert_contains "$output" 'restarted'
  restart_server A
  check -69
  # No server has an earlier life: an installation that is being set up.
  start_server N
  export REDLOCK_SERVERS=$N_URI
  run -0 "$REDLOCK" run used -- true
  run -0 "$REDLOCK" run used -- true
  check -1
  found ok trial '1 of 1 votes'
}

@test "check: messages that nobody can hear: a SUBSCRIBE that is unknown, or not answered" {
  start_server R --rename-command SUBSCRIBE ''
  check -1 -S "$R_URI"
  found warning permissions 'renamed commands; give it +subscribe ('
  without SUBSCRIBE
  check -1
  found warning messages 'SUBSCRIBE is not answered (' 'ask again after up to 5 s'
}

@test "check: a server that takes no further client does not lack a permission" {
  start_server R --maxclients 1
  check -69 -S "$R_URI" --server-wait 0
  found warning messages 'has reached its maximum number of clients'
  refute_contains "$output" 'give it +subscribe'
}

@test "check: permissions that only --newest and --build need are named" {
  acl_of_page
  cli A acl setuser "${ACL[@]}"
  check -0 -S "unix://cron:password@${A_URI#unix://}" nightly-backup
  found ok permissions '; --newest needs ~redlock:{nightly-backup}:newest; --build needs ~redlock:{nightly-backup}:build'
  # The whole key, as the server knows it.
  check -S "unix://cron:password@${A_URI#unix://}" --prefix nightly- backup
  found ok permissions '; --newest needs ~redlock:{nightly-backup}:newest; --build needs ~redlock:{nightly-backup}:build'
}

@test "check: a server that takes long" {
  # A round trip takes 300 ms, and what the machine adds.
  unset REDLOCK_SERVER_TIMEOUT
  delay_proxy "$A_SOCKET" 150
  check -69 -S "$PROXY_URI"
  found failure reachable 'did not answer within 200 ms' 'raise --server-timeout'
  # A machine that makes twice as much of it gets another chance.
  check_slow() { for _ in 1 2 3 4 5; do check -S "$PROXY_URI" "$@" && [[ $status != 1 ]] || return 0; done; }
  check_slow --server-timeout 590ms
  assert_status 1
  found warning reachable 'more than half of the time-out of 590ms; raise --server-timeout'
  check -S "$PROXY_URI" --server-timeout 3s
  flawless
}

@test "check: each permission of redlock-protocol(7) that is missing" {
  acl_of_page
  local command acl=()
  for command in "${ACL[@]}"; do [[ $command != +* ]] || acl+=("$command"); done
  ((${#acl[@]} >= 10)) || fail "no ACL on the page: ${acl[*]}"
  for command in "${acl[@]}"; do
    cli A acl setuser cron reset on '>password' '~*' "${CHANNELS[@]}" "${acl[@]}" "-${command#+}"
    check -S "unix://cron:password@${A_URI#unix://}"
    case $command in
      +xadd)
        assert_status 1
        found warning permissions "may not write the lock's log"
        ;;
      +z*)
        assert_status 1
        found warning permissions "may not use the lock's queue" '+zadd +zrem +zrange +zrangebyscore +zrank +zcard +zscore'
        ;;
      +evalsha) flawless ;; # each script goes as a whole, after a refused attempt
      +eval)
        assert_status 69
        found failure permissions 'lacks a permission' 'redlock check --acl USER'
        ;;
      +hget | +hmget | +hdel | +strlen | +hstrlen | +getrange | +memory | +unlink | +time | +subscribe | +publish)
        assert_status 1
        found warning permissions "give it $command ("
        ;;
      +info)
        assert_status 1
        found warning info 'INFO is not permitted' 'give the user +info'
        ;;
      *)
        [[ $status == 69 || $status == 78 ]] || fail "$command: $status" "$output"
        found failure permissions "give it $command"
        ;;
    esac
    cli A flushall
  done
  cli A acl setuser cron reset on '>password' '~*' "${acl[@]}"
  if ((${#CHANNELS[@]})); then
    cli A acl setuser cron resetchannels
    check -1 -S "unix://cron:password@${A_URI#unix://}"
    found warning permissions 'give it &redlock*:told:* ('
    cli A acl setuser cron "${CHANNELS[@]}"
  fi
  check -S "unix://cron:password@${A_URI#unix://}"
  flawless
  nothing_left A
}

# without COMMAND: A behind a proxy that closes a connection when COMMAND comes over it.
without() {
  start_listener CLOSING listener.py hang_up "$A_SOCKET" "\$${#1}"$'\r\n'"$1"$'\r\n' always
  export REDLOCK_SERVERS=$CLOSING_URI
}

@test "check: a proxy that closes the connection at a command that locks do not need" {
  local command
  for command in INFO TIME CONFIG SUBSCRIBE; do
    without "$command"
    run -0 "$REDLOCK" run -n L -- true
    check
    found ok trial '1 of 1 votes'
    assert_contains "$output" '1 of 1 server usable, 0 failures'
    if [[ $command == @(INFO|TIME) ]]; then
      assert_status 1
      found warning "${command,,}" "$command is not answered"
    fi
  done
  cli A script flush >/dev/null
  without EVAL
  check -69
  assert_contains "$output" '0 of 1 server usable'
}

@test "check: a user who may lock one name only" {
  acl_of_page
  cli A acl setuser "${ACL[@]}"
  export REDLOCK_SERVERS="unix://cron:password@${A_URI#unix://}"
  check -69
  found failure permissions 'redlock check NAME'
  check nightly-backup
  flawless
  assert_no_key A nightly-backup
  [[ $(cli A exists 'redlock:{nightly-backup}:fence') == 1 ]] || fail 'the fence of a real lock is gone'
}

@test "check: a lock that another program holds is not touched" {
  cli A set L other px 60000
  check -0 L
  found ok trial 'lock "L" is held by another program (its key says nothing about itself)' 'the test was skipped'
  [[ $(cli A get L) == other ]]
  check
  flawless
}

@test "check: a lock that somebody else has on one server of three" {
  three
  cli B set L other px 60000
  check -1 L
  found ok trial '2 of 3 votes' 'lock "L" was taken'
  found warning trial "$B_URI" 'gave no vote: the lock is held by another program'
  [[ $(cli B get L) == other ]]
}

@test "check: a server that is slower than the others is usable, even if they decide without it" {
  three
  delay_proxy "$A_SOCKET" 20
  export REDLOCK_SERVERS="$PROXY_URI $B_URI $C_URI"
  cli B set L other px 60000
  cli C set L other px 60000
  check --ttl 100s --server-timeout 10s L
  assert_contains "$output" '3 of 3 servers usable, 0 failures'
}

@test "check: the name has the prefix" {
  needs_users
  cli A acl setuser default resetkeys '~app:*' '~redlock:{app:*'
  check -69
  check --prefix app:
  flawless
}

@test "check: a configuration file with a password that others may read" {
  echo 'password = "s3cret"' >"$SCRATCH/redlock.toml"
  chmod 604 "$SCRATCH/redlock.toml"
  start_server P --appendonly yes --requirepass s3cret
  check -1 -S "$P_URI" --config "$SCRATCH/redlock.toml"
  found warning settings "$SCRATCH/redlock.toml" 'others may read ' '; chmod'
}

@test "check: settings that are wrong: 78, as for a run" {
  REDLOCK_SERVERS='' check -78
  assert_contains "$stderr" 'no servers are configured'
  REDLOCK_TTL=x check -78
  check -64 --ttl x
}

@test "check: interrupted while it tries: nothing is left" {
  # Each round trip takes 400 ms, so a slow machine sees the key, too: the signal comes in the middle of something.
  delay_proxy "$A_SOCKET" 200
  background "$REDLOCK" check -S "$PROXY_URI" --server-timeout 4s
  wait_until "$BOUND" eval '[[ $(cli A keys "redlock-check-*") ]]'
  terminate "$BACKGROUND_PID"
  nothing_left A
}

@test "check: --json" {
  three
  kill_server B
  run_redlock check -1 --json
  is 'j["status"], j["failures"], j["quorum"], len(j["fingerprint"])' '(1, 1, 2, 16)'
  is 'j["warnings"] == sum(f["level"] == "warning" for f in j["findings"])' True
  is '[s["usable"] for s in j["servers"]]' '[True, False, True]'
  is 'len(j["servers"][0]["run_id"]), 0 < j["servers"][0]["round_trip_ms"] < 1000, j["servers"][0]["uptime_s"] >= 0' \
    '(40, True, True)'
  is '[j["servers"][1][name] for name in ("run_id", "round_trip_ms", "uptime_s")]' '[None, None, None]'
  is '[(f["check"], f["server"]) for f in j["findings"] if f["level"] == "failure"]' "[('reachable', '$B_URI')]"
  is 'any(f["check"] == "trial" and f["server"] is None for f in j["findings"])' True
}

# logged_on HOST AGO_MS LIST SERVER…: a run on that host ended then, with that list; empty: by redlock 1.0.
logged_on() {
  local host=$1 time=$(($(now_ms) - $2)) list=${3:+,\"list\":\"$3\"} server
  for server in "${@:4}"; do
    cli "$server" xadd 'redlock:{job}:log' '*' event released run "$(printf %016x "$SRANDOM")" count 1 time "$time" \
      data "{\"held\":1,\"host\":\"$host\"$list,\"pid\":1,\"user\":\"root\"}" >/dev/null
  done
}

# list_of URI…: prints that list of servers, as records have it.
list_of() {
  REDLOCK_SERVERS=$* "$REDLOCK" check --json "list-of-$SRANDOM" |
    "$PYTHON" -SEIc 'import json, sys; print("".join(sorted(s["hash"] for s in json.load(sys.stdin)["servers"])))'
}

@test "check: a roll-out: which list each host has, and whether the next step may begin" {
  three
  local three pair
  three=$(list_of "$A_URI" "$B_URI" "$C_URI")
  pair=$(list_of "$A_URI" "$B_URI")
  logged_on old 100000 '' A B C
  logged_on web1 90000 "$three" A B C
  run_redlock check
  [[ $output != *roll-out* && $output != *HOST* ]] || fail "$output" # of redlock 1.0 nothing is known
  check
  found ok roll-out 'the next step must wait: the list of old is another one, or not known'
  logged_on old 95000 "$three" A B C
  check
  found ok roll-out 'the next step may begin'
  # A weekly job, whose line is not among the last ones.
  logged_on web2 80000 "$pair" A B
  run_redlock check
  has_row 'web1 present 1m 3'
  has_row "web2 without $C_URI 1m 2"
  found ok roll-out 'the next step must wait: the list of web2 is another one, or not known'
  # A host that is two steps behind.
  logged_on web3 40000 "$(list_of "$A_URI")" A
  run_redlock check -1
  found warning roll-out "web3 uses other servers ($A_URI), so that two jobs may run at the same time"
  has_row "web3 other: $A_URI"
  run_redlock check --json
  is 'j["roll_out"]["may_begin"], len(j["roll_out"]["waits_for"])' '(False, 1)'
  is '[(host["host"], host["relation"]) for host in j["roll_out"]["hosts"]]' \
    "[('old', 'same'), ('web1', 'same'), ('web2', 'overlapping'), ('web3', 'apart')]"
}

# has_row WORDS: a line of the table begins with them, blank for blank (but for their number).
has_row() { tr -s ' ' <<<"$output" | grep -qF -- " $1" || fail "no row '$1':" "$output"; }

@test "check: holders, waiters and marks of --once with another list keep the next step from beginning" {
  three
  local name
  LOCK=held
  start_job --log-entries 0 -S "$A_URI" -S "$B_URI"
  for name in held ''; do
    check "$name"
    found ok roll-out 'the next step must wait: the list of '
    has_row "$(hostname) without $C_URI now"
  done
  end_job 0
  "$REDLOCK" run -S "$A_URI" -S "$B_URI" --once 1h marked -- true
  "$REDLOCK" run other -- true # now this host has the present list
  check
  found ok roll-out 'the next step must wait: 59m ' 's more after the last run with another list'
}
