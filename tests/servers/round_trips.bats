#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# What a run costs on a slow line, counted in round trips: one to connect, one to acquire, one to
# release; one more if a password or a database must be sent first. Several servers are asked at
# the same time, so that they cost the same.
#
# A proxy on loopback cannot delay the handshake of TCP: each connection counts as one round trip.

load ../lib/common
load ../lib/acl
load ../lib/quorum

EACH_WAY=50 # ms
ROUND_TRIP=$((2 * EACH_WAY))

teardown() { stop_all; }

# slow_server NAME [REDIS OPTIONS…]: a server with a slow line; sets NAME_PROXY_PORT,
# NAME_PROXY_STATS.
slow_server() {
  start_server "$@"
  local -n upstream=${1}_SOCKET
  delay_proxy "$upstream" "$EACH_WAY"
  declare -g "${1}_PROXY_PORT=$PROXY_PORT" "${1}_PROXY_STATS=$PROXY_STATS"
}

# seen NAME connections|round_trips: what the line to that server has seen.
seen() {
  local -n PROXY_STATS=${1}_PROXY_STATS
  proxy_count "$2"
}

# hung_up NAME: the server has no client but the one who asks, so that its line has seen all there was to see.
hung_up() {
  local clients
  clients=$(cli "$1" client list) && [[ $(grep -c '^id=' <<<"$clients") == 1 ]]
}

# round_trips_of NAME: sets $round_trips, connecting included.
round_trips_of() {
  wait_until "$BOUND" hung_up "$1" || return 1
  round_trips=$(($(seen "$1" connections) + $(seen "$1" round_trips)))
}

# best_below MS CMD…: sets $best, the shortest wall time in ms of three runs, and of more, up to thirty,
# as long as it is not below MS. What else the machine does can only add to it.
best_below() {
  local try began took limit=$1
  shift
  best=
  for ((try = 1; try <= 3 || (try <= 30 && best >= limit); try++)); do
    began=${EPOCHREALTIME/./}
    "$@" || fail "attempt $try failed with status $?: $*" || return 1
    took=$(((${EPOCHREALTIME/./} - began) / 1000))
    [[ -n $best ]] && ((best <= took)) || best=$took
  done
}

# takes COUNT CREDENTIALS PATH [REDIS OPTIONS…]: a run with such a server takes this many round trips, if the server
# knows the scripts from an earlier run.
takes() {
  local before
  slow_server A "${@:4}"
  run -0 "$REDLOCK" run "${PATIENTLY[@]}" -S "redis://${2}127.0.0.1:$A_PROXY_PORT$3" L -- true
  round_trips_of A
  before=$round_trips
  run -0 "$REDLOCK" run "${PATIENTLY[@]}" -S "redis://${2}127.0.0.1:$A_PROXY_PORT$3" L -- true
  round_trips_of A
  [[ $((round_trips - before)) == "$1" ]] || fail "$*: $before and $round_trips: $(cat "$A_PROXY_STATS")"
  # The first request went twice.
  ((before == $1 + 1)) || fail "$*: $before round trips of the first run"
  stop_servers
}

@test "a run takes three round trips: connect, acquire, release; four with password, database, or both and a user" {
  takes 3 '' ''
  takes 4 '' /3
  REDISCLI_AUTH=secret takes 4 :secret@ '' --requirepass secret
  needs_users
  takes 4 cron:secret@ /3 --user cron on '>secret' '~*' +@all
}

@test "learning that the lock is held takes two round trips, and nothing needs a release" {
  slow_server A
  run -0 "$REDLOCK" run -S "$A_URI" other -- true # A knows the scripts now
  cli A set L theirs px 60000
  # With a log, the server is also told of the refusal. redlock does not wait for that answer, but it may come in time.
  run -1 "$REDLOCK" run -n --log-entries 0 "${PATIENTLY[@]}" -S "redis://127.0.0.1:$A_PROXY_PORT" L -- true
  round_trips_of A
  [[ $round_trips == 2 ]] || fail "$round_trips round trips: $(cat "$A_PROXY_STATS")"
  run_in_vain() { "$REDLOCK" run -q -n "${PATIENTLY[@]}" -S "redis://127.0.0.1:$A_PROXY_PORT" L -- true || (($? == 1)); }
  best_below $((3 * ROUND_TRIP)) run_in_vain
  ((best < 3 * ROUND_TRIP)) || fail "$best ms"
}

@test "five servers take three round trips each, once their fences agree" {
  local name servers=()
  for name in A B C D E; do
    slow_server "$name"
    servers+=(-S "redis://127.0.0.1:$PROXY_PORT")
  done
  # The first grant of a name begins at each server's own clock, and until they count alike a grant may take a round
  # trip more. Every server gets to answer among the first, as only those that do are heard.
  for _ in {1..30}; do
    run -0 "$REDLOCK" run "${PATIENTLY[@]}" "${servers[@]}" L -- true
    [[ $(for name in A B C D E; do cli "$name" hget 'redlock:{L}:fence' value; done | sort -u | wc -l) != 1 ]] || break
    servers=("${servers[@]:2}" "${servers[@]:0:2}")
  done
  local -A before
  for name in A B C D E; do
    round_trips_of "$name"
    before[$name]=$round_trips
  done
  run -0 "$REDLOCK" run "${PATIENTLY[@]}" "${servers[@]}" L -- true
  local counted=() spent
  for name in A B C D E; do
    round_trips_of "$name"
    spent=$((round_trips - before[$name]))
    counted+=("$spent")
    # It may leave as soon as a quorum has confirmed the release: the others' answers are not seen.
    ((spent <= 3)) || fail "server $name: $spent round trips: ${counted[*]}"
    assert_no_key "$name" L
  done
  [[ $(printf '%s\n' "${counted[@]}" | grep -cx 3) -ge 3 ]] || fail "round trips: ${counted[*]}"
}

@test "a run takes the time of its round trips, and on five servers no longer than on one" {
  # A line so slow that nothing else takes as long.
  local name servers=() one EACH_WAY=150 ROUND_TRIP=300
  for name in A B C D E; do
    slow_server "$name"
    servers+=(-S "redis://127.0.0.1:$PROXY_PORT")
  done
  best_below $((3 * ROUND_TRIP)) "$REDLOCK" run "${PATIENTLY[@]}" -S "redis://127.0.0.1:$A_PROXY_PORT" L -- true
  one=$best
  ((one >= 2 * ROUND_TRIP)) || fail "the proxy is too fast: $one ms"
  ((one < 3 * ROUND_TRIP)) || fail "one server: $one ms"

  best_below $((one + ROUND_TRIP)) "$REDLOCK" run "${PATIENTLY[@]}" "${servers[@]}" L -- true
  ((best < one + ROUND_TRIP)) || fail "one server: $one ms, five servers: $best ms"
}

@test "forty locks are looked at in a few round trips: many are asked about at a time" {
  slow_server A
  cli A eval 'for i = 1, 40 do
      redis.call("SET", "L" .. i, string.rep("0123456789", 4), "PX", 600000)
      redis.call("HSET", "redlock:{L" .. i .. "}:holder", "none", "{}")
    end' 0 >/dev/null
  run -0 "$REDLOCK" list --server-timeout 6s -S "redis://127.0.0.1:$A_PROXY_PORT"
  [[ $(wc -l <<<"$output") == 41 ]] || fail "$output"
  round_trips_of A
  # One by one it is eighty.
  ((round_trips <= 40)) || fail "$round_trips round trips: $(cat "$A_PROXY_STATS")"
}
