#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=memory,slow
#
# Shared locks: many readers or one writer, on one server and on a quorum. Readers keep their peers out
# of nothing, a writer keeps everybody out, and a writer that waits comes before the readers that come
# after it.

load ../lib/common
load ../lib/looking
load ../lib/queue
load ../lib/forcing

teardown() { stop_all; }

READERS='redlock:{L}:readers'

# job KIND NAME [COMMAND…]: a job under the lock of "COMMAND… L", which is that of redlock or of flock. It writes
# "start KIND NAME" and "end NAME" to $LOG, and ends with 0 once finish NAME was called. Sets the variable NAME to its
# PID, and returns immediately.
job() {
  background "${@:3}" L bash -c 'echo "start $1 $2" >>"$0"; until [[ -e $3 ]]; do read -rt 0.02 <>"$NAP"; done
    echo "end $1 $2" >>"$0"' "$LOG" "$1" "$2" "$SCRATCH/go.$2"
  declare -g "$2=$BACKGROUND_PID"
}
reader() { job reader "$1" "$REDLOCK" run -s "${@:2}"; }
writer() { job writer "$1" "$REDLOCK" run "${@:2}"; }
finish() { for each in "$@"; do : >"$SCRATCH/go.$each"; done; }

# runs NAME…: these have begun.
runs() {
  local name
  for name in "$@"; do grep -qsE "^start [a-z]+ $name\$" "$LOG" || return 1; done
}
wait_for_runs() { wait_until "$BOUND" runs "$@"; }

# ended NAME…: waits for these; each has ended with 0.
ended() {
  local name
  for name in "$@"; do await -0 "${!name}" 60; done
}

# assert_exclusive: no writer ran at the same time as anybody else.
assert_exclusive() {
  awk '$1 == "start" { if (writers || ($2 == "writer" && now)) bad = 1; now++; writers += $2 == "writer" }
    $1 == "end" { now--; writers -= $2 == "writer" } END { exit bad }' "$LOG" || fail "a writer had company:" "$(cat "$LOG")"
}

# readers_on SERVER: prints the number of readers there.
readers_on() { echo $(($(cli "$1" zcard "$READERS") - 1)); }
reads() { [[ $(readers_on "$1") == "$2" ]]; }

# one_is_over: a reader on A counts no more, by its clock.
one_is_over() { [[ $(cli A zcount "$READERS" -inf "$(now_ms)") == 1 ]]; }

# shared_token: prints the token of a new reader.
shared_token() { "$REDLOCK" acquire -s "$@" L; }

# ---- who gets it -------------------------------------------------------------------------------

# as_flock WAY…: the words that WAY, "flock" or "redlock run", needs before the name L; prints what happened.
as_flock() {
  local LOG=$SCRATCH/log.flock code
  rm -f "$LOG" "$SCRATCH"/go.*
  : >"$LOG"
  tries() {
    code=0
    "$@" L true 2>/dev/null || code=$?
    echo "$* $code" >>"$LOG.codes"
  }
  : >"$LOG.codes"
  job reader R1 "$@" -s
  job reader R2 "$@" --shared
  wait_for_runs R1 R2
  tries "$@" -sn
  tries "$@" -xn
  tries "$@" -n -E 7
  tries "$@" -x -s -n
  job writer W "$@" -x
  local pid=$BACKGROUND_PID
  wait_until "$BOUND" asleep "$pid"
  finish R1
  ended R1
  ! runs W || fail "the writer runs beside a reader"
  finish R2
  ended R2
  wait_for_runs W
  tries "$@" -sn
  tries "$@" -en
  tries "$@" -s -w 1.5
  finish W
  ended W
  tries "$@" -n
  assert_exclusive
  sed "s|$*||" "$LOG.codes"
  sort "$LOG"
}

@test "shared: flock(1) on a file and redlock do the same, on 1 and on 5 servers, also with one down" {
  local flock count got
  cd "$SCRATCH"
  flock=$(as_flock flock)
  for count in 1 5; do
    servers "$count"
    got=$(as_flock "$REDLOCK" run)
    [[ $got == "$flock" ]] || fail "flock: $flock" "redlock: $got"
    ((count == 1)) || {
      kill_server C
      got=$(as_flock "$REDLOCK" run)
      [[ $got == "$flock" ]] || fail "flock: $flock" "redlock: $got"
    }
    stop_servers
  done
}

@test "shared: a writer waits for all readers, and a reader for the writer; nothing is left behind" {
  servers 5
  reader R1
  reader R2
  wait_for_runs R1 R2
  wait_for_value L 'shared:s*' A
  has_key A "$READERS"
  run -1 --separate-stderr "$REDLOCK" run -n -vv L -- true
  assert_contains "$stderr" 'lock "L" is held shared by ' "(pid "
  writer W
  wait_until "$BOUND" queued 1
  # A reader that comes after the writer waits for it, although readers have the lock.
  run -1 --separate-stderr "$REDLOCK" run -s -n -vv L -- true
  [[ $stderr == *"lock \"L\" is kept for $(id -un)@"*' (pid '*'), which needs it exclusively; it is held shared by '* ]] ||
    fail "$stderr"
  reader R3
  wait_until "$BOUND" queued 2
  finish R1 R3
  ended R1
  ! runs W || fail "the writer runs beside a reader"
  finish R2
  wait_for_runs W
  ! runs R3 || fail "a reader runs beside the writer"
  finish W
  ended R2 W R3
  assert_exclusive
  wait_until_clean A B C D E
}

@test "shared: readers that stand next to each other enter together" {
  servers 3
  writer W
  wait_for_runs W
  local at
  for at in {1..12}; do reader "R$at"; done
  wait_until "$BOUND" queued 12
  finish W
  # Each of them stays until all of them are there.
  wait_for_runs R{1..12}
  finish R{1..12}
  ended W R{1..12}
  assert_exclusive
  wait_until_clean A B C
}

@test "shared: a foreign SET NX client keeps readers out, and readers keep it out" {
  servers 3
  reader R
  wait_for_runs R
  local server
  for server in A B C; do
    wait_for_key "$server" L
    [[ -z $(cli "$server" set L mine nx px 5000) ]] || fail "$server let it in"
  done
  finish R
  ended R
  wait_until_clean A B C
  for server in A B; do cli "$server" set L mine nx px 60000; done
  run -1 --separate-stderr "$REDLOCK" run -s -n L -- true
  [[ $(cli A get L) == mine ]] || fail "$(cli A get L)"
  # So does a value that only looks like a shared lock.
  for server in A B; do cli "$server" set L shared:mine px 60000; done
  run -1 --separate-stderr "$REDLOCK" run -s -n L -- true
  for server in A B; do cli "$server" del L; cli "$server" rpush L x; done
  run -1 --separate-stderr "$REDLOCK" run -s -n L -- true
}

# ---- readers that go ---------------------------------------------------------------------------

@test "shared: a reader that was killed goes when its time is over, and the others stay" {
  local count
  for count in 1 5; do
    servers "$count"
    ((count == 1)) || kill_server E
    rm -f "$LOG" "$SCRATCH"/go.*
    # On one server the lock that this one leaves would last for long.
    reader R2 --ttl "$((count == 1 ? 60 : 1))s"
    wait_for_runs R2
    reader R1 --ttl 1s
    wait_for_runs R1
    local job
    job=$(child_of "$(child_of "$R1")")
    kill -KILL "$(child_of "$R1")" "$R1" "$job"
    wait_gone "$R1"
    writer W
    # The lock outlives the dead one: the other one renews it.
    wait_until "$BOUND" one_is_over
    if ((count > 1)); then
      outlast A L
      # The other one is named, although it came first.
      run -1 "$REDLOCK" run -n -v L -- true
      assert_contains "$output" "held shared by $(id -un)@$(uname -n) (pid $R2, "
    fi
    ! runs W || fail "the writer runs beside a reader"
    finish R2 W
    ended R2 W
    # And one that is alone.
    rm -f "$SCRATCH/go.R3"
    reader R3 --ttl 1s
    wait_for_runs R3
    job=$(child_of "$(child_of "$R3")")
    kill -KILL "$(child_of "$R3")" "$R3" "$job"
    run -0 "$REDLOCK" run -w 30s L -- true
    assert_no_key A L
    stop_servers
  done
}

@test "shared: a release takes one's own token and no other; the last one frees the lock" {
  servers 5
  local one two
  one=$(shared_token)
  two=$(shared_token)
  [[ $one =~ ^s[0-9a-f]{39}$ && $two =~ ^s[0-9a-f]{39}$ && $one != "$two" ]] || fail "$one $two"
  run -80 "$REDLOCK" release L "s${one:2}0"
  wait_until "$BOUND" reads A 2 || fail "another's token was released"
  "$REDLOCK" renew L "$one"
  "$REDLOCK" release L "$one"
  wait_until "$BOUND" reads A 1
  run -80 --separate-stderr "$REDLOCK" release L "$one"
  run -80 --separate-stderr "$REDLOCK" renew L "$one"
  assert_contains "$stderr" 'not held with this token any more'
  run -1 "$REDLOCK" run -n L -- true
  "$REDLOCK" renew L "$two"
  "$REDLOCK" release L "$two"
  wait_until_clean A B C D E
  run -0 "$REDLOCK" run -n L -- true
}

# ---- what a server forgets ---------------------------------------------------------------------

@test "shared: a reader comes back to a server that forgot it, and joins those that read there" {
  servers 3
  reader R1 --ttl 3s
  wait_for_runs R1
  wait_until_listening B
  cli B del L
  renew_soon B
  wait_for_key B L
  reader R2 --ttl 3s
  wait_for_runs R2
  wait_until "$BOUND" reads B 2
  wait_until_listening B
  [[ $(cli B zrem "$READERS" "$(cli B zrange "$READERS" 0 0)") == 1 ]]
  renew_soon B
  wait_until "$BOUND" reads B 2
  finish R1 R2
  ended R1 R2
  wait_until_clean A B C
}

@test "shared: a list of readers from an earlier lock counts for nobody" {
  servers 1
  local token
  token=$(shared_token --ttl 60s)
  # Only the key of the lock is gone: another one takes it, reads, and the earlier reader is none of its readers.
  cli A rename "$READERS" stale >/dev/null
  cli A del L >/dev/null
  cli A rename stale "$READERS" >/dev/null
  run -0 "$REDLOCK" run -n L -- true
  reader R
  wait_for_runs R
  reads A 1 || fail "$(cli A zrange "$READERS" 0 -1)"
  run -80 "$REDLOCK" renew --ttl 60s L "$token"
  run -80 "$REDLOCK" release L "$token"
  [[ $(cli A get L) == shared:* ]] || fail "a stale token freed the lock"
  finish R
  ended R
}

@test "shared: a reader whose lock is another's, or has lost its list, is lost, and leaves the lock alone" {
  servers 1
  local made before
  for made in 'set L another px 60000' "del $READERS"; do
    rm -f "$LOG"
    reader R --ttl 2s
    wait_for_runs R
    wait_until_listening A
    cli A pexpire L 60000 >/dev/null
    # shellcheck disable=SC2086 # words
    cli A $made >/dev/null
    before=$(cli A get L)
    renew_soon A
    await -80 "$R" || fail "after $made"
    run -1 "$REDLOCK" run -s -n L -- true
    run -1 "$REDLOCK" run -n L -- true
    [[ -n $before && $(cli A get L) == "$before" ]] || fail "after $made: $(cli A get L)"
    cli A del L >/dev/null
  done
}

# ---- what is seen of it, and force -------------------------------------------------------------

@test "shared: status shows each reader with its number, and numbers rise" {
  servers 3
  local last number at
  last=$("$REDLOCK" run L -- sh -c 'echo "$REDLOCK_FENCE"')
  for at in 1 2 3; do
    number=$("$REDLOCK" run -s L -- sh -c 'echo "$REDLOCK_FENCE"')
    ((number > last)) || fail "$number after $last"
    last=$("$REDLOCK" run L -- sh -c 'echo "$REDLOCK_FENCE"')
    ((last > number)) || fail "$last after $number"
  done
  reader R1
  wait_for_runs R1
  reader R2
  wait_for_runs R2
  wait_until "$BOUND" reads C 2
  wait_until "$BOUND" reads B 2
  run --separate-stderr "$REDLOCK" status --json L
  is 'l["state"], l["mode"], [r["holder"]["pid"] for r in l["holders"]]' "('held', 'shared', [$R1, $R2])"
  is "$last < l['holders'][0]['fence'] < l['holders'][1]['fence']" True
  run --separate-stderr "$REDLOCK" history L
  refute_contains "$output" 'never ended'
  [[ $(grep running <<<"$output" | grep -cE " ($R1|$R2) .* bash ") == 2 && $(grep -c running <<<"$output") == 2 ]] ||
    fail "$output"
  finish R1 R2
  ended R1 R2
  wait_until_clean A B C
  [[ $("$REDLOCK" history L | grep -c 'exit 0') == 9 ]] || fail "$("$REDLOCK" history L)"
}

# two_listen SERVER: both readers hear there what they are told.
two_listen() { [[ $(cli "$1" pubsub channels '*:told:*' | grep -c told) == 2 ]]; }

@test "shared: force stops the jobs of all readers, and then the lock is free" {
  local way server
  for way in '' --now; do
    servers 3
    rm -f "$LOG"
    reader R1
    reader R2
    wait_for_runs R1 R2
    for server in A B C; do wait_until "$BOUND" two_listen "$server"; done
    # shellcheck disable=SC2086
    run -0 --separate-stderr "$REDLOCK" release --force --yes $way L
    assert_contains "$stderr" 'L: held'
    await -80 "$R1"
    assert_contains "$stderr" 'lock "L" was revoked by'
    await -80 "$R2"
    wait_until_clean A B C
    run -0 "$REDLOCK" run -n L -- true
    stop_servers
  done
}

@test "shared: force --now deletes nothing if it cannot name every reader, and the readers stop" {
  servers 1
  reader R1 --ttl 60s
  wait_for_runs R1
  cli A eval 'for at = 1, 1200 do redis.call("ZADD", KEYS[1], at, "planted" .. at) end' 1 'redlock:{L}:readers' >/dev/null
  run -69 --separate-stderr timeout 30 "$REDLOCK" release --force --now --yes L
  assert_contains "$stderr" 'too many readers for --now'
  await -80 "$R1"
}

@test "shared: while its readers are being stopped, nobody enters a revoked lock" {
  servers 3
  reader R1 --ttl 30s --kill-after 10s
  wait_for_runs R1
  local inner
  inner=$(shared_token)
  wait_until_listening A B C
  "$REDLOCK" release -q --force --yes L
  await -80 "$R1"
  # The other one is a token without a process, and keeps the lock until somebody releases it.
  run -1 "$REDLOCK" run -s -n L -- true
  run -1 "$REDLOCK" run -n L -- true
  run -80 --separate-stderr "$REDLOCK" renew L "$inner"
  run -80 --separate-stderr "$REDLOCK" release L "$inner"
  assert_contains "$stderr" revoked
  wait_until_clean A B C
}

# ---- what combines with it ---------------------------------------------------------------------

@test "shared: a job inside joins: a reader its reader or its writer, a writer is refused in a reader" {
  servers 3
  run -0 --separate-stderr "$REDLOCK" run L -- "$REDLOCK" run -s -n L -- echo in
  [[ $output == in ]]
  # It enters although a writer waits: otherwise neither would ever end.
  background "$REDLOCK" run -s L -- bash -c 'echo start reader R >>"$0"; until [[ -e $1 ]]; do sleep 0.02; done
    exec "$2" run -s -n L -- echo "end reader R" >>"$0"' "$LOG" "$SCRATCH/go.R" "$REDLOCK"
  R=$BACKGROUND_PID
  wait_for_runs R
  writer W
  wait_until "$BOUND" queued 1
  finish R W
  ended R W
  assert_exclusive
  run -64 --separate-stderr "$REDLOCK" run -s L -- "$REDLOCK" run L -- true
  assert_contains "$stderr" 'an outer redlock run holds lock "L" shared (-s), and this run would wait for it without end: use -s,'
  wait_until_clean A B C
}

@test "shared: what a reader, or a holder of a slot, has left behind takes the lock alone once that run has ended" {
  servers 3
  local mode
  for mode in -s '--slots 2'; do
    rm -f "$SCRATCH"/{go,alone}
    # shellcheck disable=SC2086
    run -0 "$REDLOCK" run $mode L -- sh -c '(until [ -e "$1/go" ]; do sleep 0.05; done
      exec "$0" run L -- sh -c "echo \"\$REDLOCK_TOKEN\" >\"\$0\"" "$1/alone") </dev/null >/dev/null 2>"$1/err" &' \
      "$REDLOCK" "$SCRATCH"
    wait_until_clean A B C
    : >"$SCRATCH/go"
    wait_for "$SCRATCH/alone" || fail "$mode:" "$(<"$SCRATCH/err")"
    wait_until_clean A B C
  done
}
