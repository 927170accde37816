#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=memory,slowest
#
# `redlock acquire --keep-for PID`: the process that stays behind.

load ../lib/common
load ../lib/acl

setup() { servers 1; }
teardown() {
  local keeper
  for keeper in "${KEEPERS[@]}"; do signal_to KILL "$keeper"; done
  stop_all
}

KEEPERS=()

# ward: a process to keep a lock for; sets $WARD. Each USR1 it gets leaves a line in $SCRATCH/told.
ward() {
  background bash -c 'trap "date +%s.%N >>\"\$0\"" USR1; echo ready >"$1"
    while :; do read -rt 100 <>"$NAP" || :; done' "$SCRATCH/told" "$SCRATCH/ward"
  WARD=$BACKGROUND_PID
  wait_for "$SCRATCH/ward"
}

# alive PID: fails if the process has ended.
alive() { ! gone "$1" || fail "process $1 has ended"; }

# keep ARG…: acquires a lock with a keeper; sets $token, $KEEPER.
keep() {
  local json
  json=$("$REDLOCK" acquire --json --keep-for "$WARD" "$@") || fail "status $?"
  read -r token KEEPER < <("$PYTHON" -SEIc 'import json, sys
o = json.load(sys.stdin); print(o["token"], o["keeper"])' <<<"$json")
  KEEPERS+=("$(identity_of "$KEEPER")")
  alive "$KEEPER"
}

# keep_settled ARG…: as keep, and the keeper has nothing to ask A any more until a third of the ttl is over. It renews
# once when it begins to listen, which is two requests; the acquire and the log are the others.
keep_settled() {
  local before
  before=$(evals A)
  keep "$@"
  settled() { (($(evals A) >= before + 4)); }
  wait_until "$BOUND" settled
}

# told: the ward has had its signal.
told() { [[ -s $SCRATCH/told ]]; }

not_told() { ! told || fail "the ward was told"; }

# end_ward: the ward ends by itself, as it were.
end_ward() { kill -KILL "$WARD"; }

# ends_with_ward: the keeper ends with the ward. ends_untold: it ends, and has told the ward nothing.
ends_with_ward() { end_ward && wait_gone "$KEEPER"; }
ends_untold() { wait_gone "$KEEPER" && not_told; }

@test "keeper: the lock outlives its ttl for as long as the process lives, and is released with it" {
  servers 3
  kill_server B
  ward
  keep --ttl 2s L
  run "$REDLOCK" status L
  assert_contains "$output" "pid $WARD" "redlock acquire --keep-for $WARD L"
  outlast A L
  outlast C L
  [[ $(cli A get L) == "$token" && $(cli C get L) == "$token" ]]
  ends_with_ward
  for server in A C; do assert_nothing_left "$server"; done
  not_told
  wait_for_lines L 'acquired released '
}

@test "keeper: it leaves its caller: descriptors, session, directory, and is no zombie of it" {
  ward
  mkdir "$SCRATCH/directory"
  exec 8>"$SCRATCH/eight"
  (cd "$SCRATCH/directory" && "$REDLOCK" acquire --json --keep-for "$WARD" L >"$SCRATCH/json" 9>&1)
  exec 8>&-
  KEEPER=$("$PYTHON" -SEIc 'import json, sys; print(json.load(sys.stdin)["keeper"])' <"$SCRATCH/json")
  KEEPERS+=("$(identity_of "$KEEPER")")
  [[ $(readlink "/proc/$KEEPER/cwd") == / ]]
  local fd where
  for fd in 0 1 2; do
    [[ $(readlink "/proc/$KEEPER/fd/$fd") == /dev/null ]]
    [[ $(awk '/^flags/ { print $2 }' "/proc/$KEEPER/fdinfo/$fd") == *2 ]] || fail "$fd: it cannot be read and written"
  done
  for fd in "/proc/$KEEPER/fd/"*; do
    where=$(readlink "$fd")
    [[ $where == /dev/null || $where == anon_inode:* || $where == socket:* ]] || fail "$fd: $where"
  done
  local stat
  read -r stat <"/proc/$KEEPER/stat"
  # state, parent, group, session, terminal
  read -r _ parent group session terminal _ <<<"${stat##*) }"
  [[ $group == "$KEEPER" && $session == "$KEEPER" && $terminal == 0 && $parent != "$$" ]] || fail "$stat"
  assert_contains "$(tr '\0' ' ' <"/proc/$KEEPER/cmdline")" "acquire --json --keep-for $WARD L"
  refute_contains "$(tr '\0' ' ' <"/proc/$KEEPER/cmdline")" "$(cli A get L)"
}

@test "keeper: a process that it could not signal has no lock with --on-lost-signal" {
  ward
  local refused=("$PYTHON" "$TESTS/lib/refuse.py" pidfd_send_signal EPERM)
  run -71 --separate-stderr "${refused[@]}" "$REDLOCK" acquire --keep-for "$WARD" --on-lost-signal USR1 L
  assert_one_line "$stderr" "--on-lost-signal: redlock cannot signal process $WARD: Operation not permitted"
  assert_nothing_left A
  run -0 "${refused[@]}" "$REDLOCK" acquire --keep-for "$WARD" L
  has_key A L
  "$REDLOCK" release L "$output"
}

@test "keeper: \$(…) ends immediately, with standard error and other descriptors in the pipe, too" {
  ward
  timed -0 bash -c 'all=$(exec 7>&1; "$REDLOCK" acquire -vv --keep-for "$0" L 2>&1); echo "$all"' "$WARD"
  assert_between 0 "$elapsed" 15000
  assert_contains "$output" 'acquired after'
  has_key A L
  end_ward
  wait_until "$BOUND" has_no_keys A
}

@test "keeper: a process that is not there, or is dead and not reaped: 64, before anything is asked" {
  local dead zombie
  true &
  dead=$!
  wait "$dead"
  background "$PYTHON" -SEIc 'import os, sys, time
pid = os.fork() or os._exit(0)
print(pid, file=open(sys.argv[1], "w"))
time.sleep(60)' "$SCRATCH/zombie"
  wait_for "$SCRATCH/zombie"
  zombie=$(<"$SCRATCH/zombie")
  wait_gone "$zombie"
  for dead in "$dead" "$zombie"; do
    run -64 --separate-stderr "$REDLOCK" acquire --keep-for "$dead" L
    assert_one_line "$stderr" "there is no process $dead"
    assert_nothing_left A
  done
}

@test "keeper: redlock itself, which is \$BASHPID in \$(...): 64, and what to write instead" {
  run -64 --separate-stderr bash -c 'token=$("$REDLOCK" acquire --keep-for $BASHPID L)'
  assert_one_line "$stderr" 'use $$, or me=$BASHPID before $(...)'
  assert_nothing_left A
  # As the message says.
  run -0 --separate-stderr bash -c '( me=$BASHPID; token=$("$REDLOCK" acquire --keep-for $me L) &&
    "$REDLOCK" release L "$token" )'
}

@test "keeper: a process that ends while its lock is waited for ends the wait" {
  "$REDLOCK" acquire L >"$SCRATCH/token"
  ward
  background "$REDLOCK" acquire -vv --keep-for "$WARD" L
  wait_for_line "$BACKGROUND_ERR" 'waiting'
  end_ward
  await -64 "$BACKGROUND_PID"
  assert_contains "$stderr" "process $WARD, for which lock \"L\" was to be kept, has ended"
  [[ -z $output && $(cli A get L) == "$(<"$SCRATCH/token")" ]]
}

@test "keeper: a token that cannot be printed leaves neither lock nor keeper" {
  ward
  run -71 --separate-stderr bash -c '"$REDLOCK" acquire --keep-for "$0" L >/dev/full' "$WARD"
  assert_one_line "$stderr"
  assert_nothing_left A
  no_keeper() { [[ -z $(pgrep -f -- "acquire --keep-for $WARD L") ]]; }
  wait_until "$BOUND" no_keeper || fail "a keeper is left"
}

# keep_unread ARG…: as keep, but nobody reads the token, so that the keeper waits for its parent; sets $parent, $KEEPER.
keep_unread() {
  full_pipe
  background bash -c 'exec "$REDLOCK" acquire --keep-for "$@" >"$0"' "$SCRATCH/pipe" "$WARD" "$@"
  parent=$BACKGROUND_PID
  has_child() { KEEPER=$(tr -d ' ' <"/proc/$parent/task/$parent/children") && [[ -n $KEEPER ]]; }
  wait_until "$BOUND" has_child
  KEEPERS+=("$(identity_of "$KEEPER")")
  # It has got a session of its own, and waits for the word: an epoll, at first, then a poll.
  waits() { [[ $(cut -d' ' -f1 "/proc/$KEEPER/syscall") == 7 ]]; }
  wait_until "$BOUND" waits
}

@test "keeper: its parent is killed before its word: the keeper releases a lock whose token nobody knows" {
  ward
  keep_unread --ttl 60s L
  has_key A L
  kill -KILL "$parent"
  wait_gone "$KEEPER"
  assert_nothing_left A
}

@test "keeper: TERM to the keeper before the token is read counts from the moment at which it is" {
  ward
  keep_unread --ttl 60s --on-lost-signal USR1 L
  kill -TERM "$KEEPER"
  nap 0.2
  not_told # the token may never be read
  touch "$SCRATCH/read"
  await -0 "$parent"
  wait_until "$BOUND" told
  [[ $(cli A get L) == "$(tail -c 41 "$SCRATCH/read")" ]]
  ends_with_ward
  assert_nothing_left A
}

@test "keeper: a token that is released ends it immediately, and the process is told nothing" {
  ward
  # Its next renewal is minutes away: it ends because it is told.
  keep_settled --ttl 10m --on-lost-signal USR1 L
  "$REDLOCK" release L "$token"
  ends_untold
  assert_nothing_left A
}

@test "keeper: released just after, on three servers: that is never taken for a loss" {
  servers 3
  ward
  local i
  for i in {1..20}; do
    # Renewals are frequent. A machine that forgets the keeper for a second would make it a loss.
    keep --ttl 3s --on-lost-signal USR1 "L$i"
    ((i % 4)) || wait_for_renewal A
    "$REDLOCK" release "L$i" "$token"
    ends_untold
  done
}

# deafen SERVER…: sets $REDLOCK_SERVERS, with a user who may do everything there but use channels.
deafen() {
  local name uri servers=()
  needs_users
  for name in "$@"; do
    cli "$name" acl setuser deaf on '>x' '~*' '+@all' -subscribe -publish
    uri=${name}_URI
    servers+=("unix://deaf:x@${!uri#unix://}")
  done
  export REDLOCK_SERVERS=${servers[*]}
}

# lines_of NAME: prints the events in the log of the lock.
lines_of() { cli A xrange "redlock:{$1}:log" - + | grep -xE 'acquired|released|lost|revoked' | tr '\n' ' '; }

# wait_for_lines NAME EVENTS: until the log has just these: who ends does not wait for its last line there.
wait_for_lines() { wait_until "$BOUND" has_lines "$@" || fail "$(lines_of "$1")"; }
has_lines() { [[ $(lines_of "$1") == "$2" ]]; }

@test "keeper: where it may not listen, it finds out that the token was released, and tells nothing" {
  deafen A
  ward
  keep --ttl 2s --on-lost-signal USR1 L
  "$REDLOCK" release L "$token"
  ends_untold
  wait_for_lines L 'acquired released '
  # Also without a log, or where somebody else is faster than its next renewal.
  REDLOCK_LOG_ENTRIES=0 keep --ttl 9s --on-lost-signal USR1 M # three commands take seconds on a busy machine
  kill -STOP "$KEEPER"
  "$REDLOCK" release M "$token"
  "$REDLOCK" acquire --ttl 60s M >"$SCRATCH/next"
  kill -CONT "$KEEPER"
  ends_untold
  [[ $(cli A get M) == "$(<"$SCRATCH/next")" ]]
}

@test "keeper: its process ends while a release of it is on its way: that has done what it was to do" {
  ward
  # The next request that A counts is the release's own.
  keep_settled --ttl 60s L
  # The release looks at the lock, and will delete its key a second later.
  delay_proxy "$A_SOCKET" 700
  local before
  before=$(evals A)
  background "$REDLOCK" release -S "$PROXY_URI" --server-timeout 5s L "$token"
  looked() { (($(evals A) > before)); }
  wait_until "$BOUND" looked
  end_ward
  wait_until "$BOUND" lacks_key A L
  await -0 "$BACKGROUND_PID"
  [[ -z $stderr ]] || fail "$stderr"
  wait_gone "$KEEPER"
  assert_nothing_left A
  # Later commands say that it is gone.
  ward
  keep --ttl 60s M
  ends_with_ward
  run -80 "$REDLOCK" release M "$token"
}

@test "keeper: a lock that its owner has released on a server is not put back there" {
  servers 3
  ward
  keep --ttl 60s --on-lost-signal USR1 L
  kill -STOP "$KEEPER"
  cli C del L
  # By hand what a renewal would do after the release has been there.
  "$REDLOCK" release L "$token"
  "$REDLOCK" acquire L >"$SCRATCH/next"
  for name in A B C; do wait_for_key "$name" L; done
  for name in A B C; do cli "$name" set L "$token" px 60000; done
  cli C del L
  run -0 "$REDLOCK" renew L "$token"
  assert_no_key C L
  kill -CONT "$KEEPER"
  ends_untold
}

@test "keeper: the lock is lost: the process is told, once, if it asked for it, and the keeper is gone" {
  ward
  keep --ttl 1s M
  cli A set M theirs px 60000
  ends_untold
  wait_for_lines M 'acquired lost '
  keep --ttl 2s --on-lost-signal USR1 L
  cli A set L theirs px 60000
  wait_until "$BOUND" told
  wait_gone "$KEEPER"
  (($(wc -l <"$SCRATCH/told") == 1))
  [[ $(cli A get L) == theirs ]]
  alive "$WARD"
}

@test "keeper: a forced release is told immediately, and the lock is free when the process has ended" {
  ward
  keep --ttl 60s --on-lost-signal USR1 L
  run --separate-stderr "$REDLOCK" release --force --yes L
  assert_contains "$stderr" 'the holder was notified and stops its job; the lock is free when the job has ended, in '
  wait_until "$BOUND" told
  [[ $(cli A get L) == "revoked:$token"* ]]
  ends_with_ward
  assert_nothing_left A
}

@test "keeper: a forced release, and a process that ends whenever it likes: then the lock is free" {
  ward
  keep --ttl 60s L
  run --separate-stderr "$REDLOCK" release --force --yes L
  assert_contains "$stderr" 'the holder was notified, and stops no process; the lock is free when its process has ended, in '
  run "$REDLOCK" run -nv L -- true
  assert_contains "$output" '; redlock stops no process; free at the latest in '
  is_revoked() { [[ $(cli A get L) == "revoked:$token"* ]]; }
  is_revoked
  heard() { [[ $(cli A xrange 'redlock:{L}:log' - +) == *lost* ]]; }
  wait_until "$BOUND" heard
  alive "$KEEPER"
  ends_with_ward
  assert_nothing_left A
  # Who revoked it may be later with his line than who heard of it.
  [[ $(lines_of L) =~ ^'acquired '('revoked lost'|'lost revoked')' '$ ]] || fail "$(lines_of L)"
}

@test "keeper: servers that are gone: the process is told before the lock can have expired" {
  ward
  keep --ttl 6s --kill-after 2s --on-lost-signal USR1 L
  pause_server A
  wait_until "$BOUND" told
  alive "$KEEPER" # for the grace, in case the process ends
  resume_server A
  # Nobody takes again what has expired.
  [[ $(cli A get L) == "$token" ]]
  wait_gone "$KEEPER"
}

@test "keeper: servers that are gone, and the process ends in time: nothing is waited for" {
  ward
  keep --ttl 2s --on-lost-signal KILL L
  kill_server A
  wait_gone "$WARD"
  wait_gone "$KEEPER"
}

@test "keeper: TERM to the keeper: it tells the process, and the lock expires and is not freed under it" {
  ward
  keep --ttl 3s --on-lost-signal USR1 L
  kill -TERM "$KEEPER"
  wait_until "$BOUND" told
  [[ $(cli A get L) == "$token" ]]
  wait_gone "$KEEPER" # it renews no more
  wait_until "$BOUND" lacks_key A L
  keep --ttl 60s --on-lost-signal USR1 L
  kill -TERM "$KEEPER"
  wait_until "$BOUND" has_texts "$SCRATCH/told" . 2
  kill -HUP "$KEEPER" # as a logout does: this is the same order
  nap 1.1
  alive "$KEEPER"
  kill -TERM "$KEEPER"
  wait_gone "$KEEPER" # at the second one, not when the lease ends
  has_key A L
  [[ $(wc -l <"$SCRATCH/told") == 2 ]] # one from each keeper
}
