#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=memory,slow
#
# The permissions of redlock-protocol(7): a user who has them and no others can do all that redlock
# does, each of them is needed, and one who lacks any gets what that page says. The list is read
# from the page's text, so that the two cannot drift apart.

load ../lib/common
load ../lib/acl

LOCK=nightly-backup # as on the page

# Sets ACL, and what there is in it: COMMANDS and KEYS.
setup() {
  local word
  acl_of_page
  COMMANDS=()
  KEYS=()
  for word in "${ACL[@]}"; do
    [[ $word != +* ]] || COMMANDS+=("${word#+}")
    [[ $word != '~'* ]] || KEYS+=("${word#\~}")
  done
  ((${#COMMANDS[@]} >= 10 && ${#KEYS[@]} == 9)) || fail "is that all? ${ACL[*]}"
}
teardown() { stop_all; }

# start_limited NAME [WORD…]: a server with the page's user, less these words of his; sets NAME_CRON,
# its URI for him. The user is given on the command line, and so is still there after a restart.
start_limited() {
  local name=$1 word acl=" ${ACL[*]} "
  shift
  for word in "$@"; do
    [[ $acl == *" $word "* ]] || fail "$word is not on the page"
    acl=${acl/ "$word" / }
  done
  read -ra words <<<"$acl"
  start_server "$name" --user "${words[@]}" || return 1
  local -n uri=${name}_URI
  declare -g "${name}_CRON=unix://cron:password@${uri#unix://}"
}

# three_limited [WORD…]: A, B and C, each as start_limited; exports REDLOCK_SERVERS.
three_limited() {
  local name
  REDLOCK_SERVERS=
  for name in A B C; do
    start_limited "$name" "$@"
    local -n uri=${name}_CRON
    REDLOCK_SERVERS+="$uri "
  done
  export REDLOCK_SERVERS
}

# one_limited [WORD…]: A alone.
one_limited() {
  start_limited A "$@"
  export REDLOCK_SERVERS=$A_CRON
}

# run_lock [-STATUS] ARG…: `redlock run ARG…` on the lock, with a job that prints its fence and ends with 7.
run_lock() { run_redlock run "$@" "$LOCK" -- sh -c 'echo "$REDLOCK_FENCE"; exit 7'; }

# ---- all of it -------------------------------------------------------------------------------

@test "acl: with the page's permissions nothing redlock does is denied" {
  three_limited
  # Servers whose numbers differ: the fence has to be committed.
  local server number=5000000000000
  for server in A B C; do
    cli "$server" hset "redlock:{$LOCK}:fence" value $number run_id \
      "$(cli "$server" info server | sed -n 's/^run_id:\([0-9a-f]*\).*/\1/p')"
    number=$((number + 1000))
  done
  start_job -vv --ttl 3s
  wait_for_line "$BACKGROUND_ERR" 'commit fence: stored'
  # A contender is refused, and told by whom.
  run -1 --separate-stderr "$REDLOCK" run -vv -n "$LOCK" -- true
  assert_contains "$stderr" "(pid "
  # So is one that waits, and stands in the queue until then.
  "$REDLOCK" run -w 60s "$LOCK" -- true 3>&- &
  local waiter=$!
  STARTED+=("$waiter")
  wait_until "$BOUND" eval '[[ $(cli C hvals "redlock:{$LOCK}:waiters") == *"\"pid\":$waiter,"* ]]'
  kill "$waiter"
  wait_until "$BOUND" eval '[[ $(cli C exists "redlock:{$LOCK}:queue") == 0 ]]'
  # A key that is gone is put back, and renewed again.
  cli B del "$LOCK"
  wait_for_line "$BACKGROUND_ERR" "${B_URI#unix://}: repair: granted"
  wait_until "$BOUND" eval \
    'sed "1,\|${B_URI#unix://}: repair|d" "$BACKGROUND_ERR" | grep -qF "${B_URI#unix://}: renew: renewed"'
  end_job
  assert_contains "$stderr" "lock \"$LOCK\" was released after"
  for server in A B C; do
    wait_until "$BOUND" eval '[[ $(cli "$server" exists "$LOCK" "redlock:{$LOCK}:holder") == 0 ]]'
  done
  # It is taken from its holder, who listens.
  start_job
  for server in A B C; do
    wait_until "$BOUND" eval '[[ $(cli "$server" pubsub channels) == *told:* ]]'
  done
  run -0 --separate-stderr "$REDLOCK" release --force --now --yes "$LOCK"
  await -80 "$BACKGROUND_PID"
  assert_contains "$stderr" 'was revoked by'
  assert_nothing_denied A B C
}

@test "acl: so it is with acquire, renew and release, and a keeper" {
  three_limited
  background sleep 60
  local pid=$BACKGROUND_PID server token keeper
  read -r token keeper < <("$REDLOCK" acquire --json --ttl 3s --keep-for "$pid" --on-lost-signal KILL "$LOCK" |
    "$PYTHON" -SEIc 'import json, sys; o = json.load(sys.stdin); print(o["token"], o["keeper"])')
  for server in A B C; do wait_for_renewal "$server"; done
  "$REDLOCK" renew "$LOCK" "$token"
  "$REDLOCK" release "$LOCK" "$token"
  run -80 "$REDLOCK" renew "$LOCK" "$token"
  wait_gone "$keeper" # it has heard that the lock was released
  ! gone "$pid" || fail "the process was told of a loss"
  assert_nothing_denied A B C
}

@test "acl: a database of one's own needs select, and is waited for before anything is asked" {
  one_limited
  # The lock would be taken in the first database if it were sent along with SELECT.
  REDLOCK_SERVERS="$A_CRON?db=2" run_lock -69 --server-wait 30s
  assert_contains "$stderr" 'redlock check --acl USER'
  [[ $(denied A) == select && $(evals A) == 0 ]]
  cli A acl setuser cron +select
  REDLOCK_SERVERS="$A_CRON?db=2" run_lock -7
  [[ $(cli A -n 2 exists "redlock:{$LOCK}:fence") == 1 && $(cli A exists "redlock:{$LOCK}:fence") == 0 ]]
  assert_nothing_denied A
}

@test "acl: every command on the page is needed for something" {
  local command
  # Each server's user lacks one command; a renewed hold, which listens, one that joins it, one that waits
  # and who takes the lock away, while somebody waits, try them all. The job looks as a user who may do
  # everything.
  cat >"$SCRATCH/job" <<'JOB'
"$REDLOCK" run -S "$1" -n nightly-backup -- true
env -u REDLOCK_HELD "$REDLOCK" run -S "$1" -w 2s nightly-backup -- true
redis-cli -s "$2" zadd 'redlock:{nightly-backup}:queue' 1 somebody
redis-cli -s "$2" zadd 'redlock:{nightly-backup}:alive' inf somebody
ask() { redis-cli -s "$@"; }
for i in $(seq 250); do
  [ -z "$(ask "$2" acl log)" ] && [ -z "$(ask "$2" pubsub channels)" ] || break
  sleep 0.02
done
"$REDLOCK" release -S "$1" --force --yes nightly-backup
sleep 0.1
JOB
  for command in "${COMMANDS[@]}"; do
    start_limited "S_$command" "+$command"
    local -n uri=S_${command}_CRON socket=S_${command}_SOCKET
    background "$REDLOCK" run -S "$uri" --ttl 2s --server-wait 5s "$LOCK" -- sh "$SCRATCH/job" "$uri" "$socket"
  done
  local pid
  for pid in "${BACKGROUND[@]}"; do wait_gone "$pid"; done
  for command in "${COMMANDS[@]}"; do
    [[ $(denied "S_$command") == "$command"?('|'*) ]] || fail "$command was not missed: $(cli "S_$command" acl log)"
  done
}

@test "acl: without eval, type, set or any key on the page there is no vote: 69 immediately, and nothing is written" {
  local word
  for word in +eval +type +set "${KEYS[@]/#/'~'}"; do
    [[ $word != *:@(log|queue|alive|waiters|turn) ]] || continue # have tests of their own
    echo "without $word:"
    one_limited "$word"
    run_lock -69 --server-wait 30s
    [[ -z $output ]] || fail "the job ran without $word"
    assert_contains "$stderr" 'redlock check --acl USER'
    assert_between 0 "$elapsed" 20000
    assert_nothing_left A
    stop_servers
  done
}

@test "acl: a shared lock needs the key of its readers, and nothing else" {
  three_limited
  run_lock -69 -s --server-wait 30s
  assert_contains "$stderr" 'redlock check --acl USER'
  local server
  for server in A B C; do
    wait_until_clean "$server"
    denied "$server" >/dev/null
    cli "$server" acl setuser cron "~redlock:{$LOCK}:readers"
  done
  start_job -s -vv --ttl 2s
  run_lock -7 -s -n
  run_lock -1 -vv -n
  assert_contains "$stderr" "held shared by"
  # One waits, is passed by nobody, and takes the lock when the readers are gone.
  background "$REDLOCK" run "$LOCK" -- sh -c 'exit 5'
  local writer=$BACKGROUND_PID
  wait_until "$BOUND" has_key C "redlock:{$LOCK}:queue"
  local token
  cli B del "$LOCK" "redlock:{$LOCK}:readers" >/dev/null
  for server in A B C; do wait_for_renewal "$server"; done
  [[ $(cli B get "$LOCK") == shared:s* ]] || fail "it was not put back"
  end_job
  await -5 "$writer"
  token=$("$REDLOCK" acquire -s "$LOCK")
  "$REDLOCK" renew "$LOCK" "$token"
  "$REDLOCK" release "$LOCK" "$token"
  # So does a lock with slots: a waiter is woken when one of them is free.
  "$REDLOCK" acquire --slots 2 "$LOCK" >/dev/null
  token=$("$REDLOCK" acquire --slots 2 "$LOCK")
  background "$REDLOCK" run --slots 2 "$LOCK" -- sh -c 'exit 6'
  wait_until "$BOUND" has_key C "redlock:{$LOCK}:queue"
  "$REDLOCK" release "$LOCK" "$token"
  await -6 "$BACKGROUND_PID"
  run -0 "$REDLOCK" release --force --now --yes "$LOCK"
  "$REDLOCK" acquire -s "$LOCK" >/dev/null
  run -0 "$REDLOCK" release --force --yes "$LOCK"
  run -0 "$REDLOCK" release --force --now --yes "$LOCK"
  assert_nothing_denied A B C
}

# two_forget: a run on A, B and C; then another one, with A down and the others restarted empty.
two_forget() {
  export REDLOCK_RESTART_GRACE=60s
  run_lock -7
  kill_server A
  restart_server B C
  run_lock --server-wait 300ms
}

# ---- less of it ------------------------------------------------------------------------------

@test "acl: without get, pttl or pexpire a lock cannot be renewed: 80, before it is over" {
  local command
  for command in get pttl pexpire; do
    one_limited "+$command"
    for _ in 1 2 3; do
      start_job --ttl 1s
      await -80 "$BACKGROUND_PID"
      ! kept_up || break
    done
    assert_contains "$stderr" 'could not be renewed in time' 'redlock check --acl USER'
    stop_servers
  done
}

@test "acl: without get or pttl a lock that is held looks like a server in trouble: 69" {
  local command
  for command in get pttl; do
    one_limited "+$command"
    cli A set "$LOCK" other px 60000
    run_lock -69 --server-wait 30s
    [[ $(cli A get "$LOCK") == other ]] || fail "it was touched"
    stop_servers
  done
}

@test "acl: without pexpire the lock still has its time to live, the hashes have none" {
  one_limited +pexpire
  start_job --ttl 30s
  (($(cli A pttl "$LOCK") > 0)) || fail "a lock that never expires"
  [[ $(cli A pttl "redlock:{$LOCK}:fence") == -1 ]]
  end_job
}

@test "acl: without del a lock stays until its time is over, and a warning says so" {
  one_limited +del
  run_lock -7 --ttl 1s
  assert_contains "$stderr" 'could not be confirmed'
  wait_until "$BOUND" eval '[[ $(cli A exists "$LOCK") == 0 ]]'
}

@test "acl: without hget who holds the lock is not known" {
  one_limited +hget
  start_job
  run -1 --separate-stderr "$REDLOCK" run -vv -n "$LOCK" -- true
  refute_contains "$stderr" '(pid '
  end_job
}

@test "acl: without hget or hset a run in the job of a run does not wait for that one: 69 immediately" {
  local command
  for command in hget hset; do
    one_limited "+$command"
    timed -69 timeout "$BOUND" "$REDLOCK" run "$LOCK" -- "$REDLOCK" run --server-wait 60s "$LOCK" -- true
    assert_contains "$stderr" 'redlock check --acl USER'
    stop_servers
  done
}

@test "acl: without hdel the last holder's record stays until it expires" {
  one_limited +hdel
  run_lock -7 --ttl 2s
  assert_no_key A "$LOCK"
  assert_between 1 "$(cli A pttl "redlock:{$LOCK}:holder")" 12000
}

@test "acl: without xadd, or the log's key, all goes on as ever, and nothing is logged" {
  local lacking
  for lacking in +xadd "~redlock:{$LOCK}:log"; do
    one_limited "$lacking"
    run_lock -7 -vv
    refute_contains "$stderr" log permission
    [[ $(cli A exists "redlock:{$LOCK}:log") == 0 ]]
    assert_nothing_left A
    stop_servers
  done
  one_limited
  run_lock
  (($(cli A xlen "redlock:{$LOCK}:log") > 0))
  assert_nothing_denied A
}

@test "acl: without info restarted servers are witnesses like any other" {
  three_limited
  two_forget
  assert_status 69
  stop_servers
  three_limited +info
  two_forget
  assert_status 7
}

@test "acl: without info one server with two addresses is not known for one" {
  one_limited
  server_at_least 7 || skip 'this server cannot open a port while it runs (Redis 7)'
  open_port A
  REDLOCK_SERVERS+=" redis://cron:password@127.0.0.1:$PORT"
  run_lock -78
  cli A acl setuser cron -info
  run_lock -80 # released once, and so not there the second time
}

@test "acl: without info numbers still rise" {
  three_limited +info
  local last=0
  for _ in 1 2 3 4 5; do
    run_lock -7
    ((output > last)) || fail "$output after $last"
    last=$output
  done
}

@test "acl: without time numbers begin at 1, with it at the server's clock" {
  one_limited +time
  run_lock
  [[ $output == 1 ]] || fail "it began at $output"
  run_lock
  [[ $output == 2 ]] || fail "it went on with $output"
  stop_servers
  one_limited
  local before
  before=$(now_ms)
  run_lock
  assert_between "$before" "$output" "$(($(now_ms) + 1))"
}

@test "acl: without hmget or hset several servers cannot agree on a number" {
  local permissions
  for permissions in +hmget +hset; do
    start_limited A "$permissions"
    start_limited B "$permissions"
    # Two clocks that are read at different times.
    delay_proxy "$B_SOCKET" 20
    export REDLOCK_SERVERS="$A_CRON redis://cron:password@127.0.0.1:$PROXY_PORT"
    run_lock -69 --ttl 10s --server-wait 300ms --server-timeout 1s
    [[ -z $output ]] || fail "the job ran, with $output"
    stop_servers
  done
}
