#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=memory,slow
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2153,SC2154
#
# `redlock release --force`: the holder is told, stops its job and only then releases the lock; and
# nothing is taken away that was not shown.

load ../lib/common
load ../lib/acl
load ../lib/looking
load ../lib/forcing

setup() { setup_job; }
teardown() { stop_all; }

TOKEN=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
OTHER=bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb

# ---- the holder is told ------------------------------------------------------------------------

@test "force: the job is told immediately, the status is 80, and the message says who it was" {
  kill_server C
  start_job --on-lost 'echo "$REDLOCK_NAME" >"$SCRATCH/lost"'
  wait_until_listening A B
  local began
  began=$(now_ms)
  force -0 --yes L
  [[ -z $output ]]
  assert_contains "$stderr" 'L: held (2 of 3 servers)'
  assert_contains "$stderr" 'the holder was notified and stops its job'
  await -80 "$HOLDER"
  assert_one_line "$stderr"
  [[ $stderr =~ ^'redlock: lock "L" was revoked by ops@'[^\ ]+' (pid '[0-9]+'), stopping the job'$ ]] || fail "$stderr"
  assert_between 0 $(($(time_of TERM) - began)) "$TOLD"
  assert_no_key A L
  assert_no_key B L
  [[ $(<"$SCRATCH/lost") == L ]]
}

@test "force: the log says who did it, where it was done, and of which run" {
  everywhere set L $TOKEN px 60000
  cli C set L $OTHER px 60000
  force -0 --yes L
  local line
  wait_until "$BOUND" has_key A 'redlock:{L}:log'
  line=$(cli A xrange 'redlock:{L}:log' - +)
  [[ $line == *event?revoked?run?"$(printf %s $TOKEN | sha1sum | cut -c 1-16)"?data?*'"command":"redlock release --force L"'*'"user":"ops"'* ]] || fail "$line"
  assert_no_key C 'redlock:{L}:log'
  # Not again.
  force --yes L
  [[ $(cli A xlen 'redlock:{L}:log') == 1 ]]
}

@test "force: the next one starts when the job is gone, and is told what it waits for" {
  kill_server C
  start_job
  wait_until_listening A B
  background "$REDLOCK" run -vv L -- "$SCRATCH/job" "$LOG.next"
  local next=$BACKGROUND_PID messages=$BACKGROUND_ERR
  wait_for_line "$messages" 'lock "L" is held by ops@'
  touch "$LOG.stay"
  background "$REDLOCK" release --force --yes -q --wait L
  local force=$BACKGROUND_PID channel
  wait_for_line "$LOG" TERM
  # The waiter asks within 5 s, or when it is called.
  for channel in $(cli A pubsub channels '*:wake:*'); do cli A publish "$channel" free >/dev/null; done
  wait_for_line "$messages" ': refused, revoked by ops@'
  wait_for_line "$messages" 'whose job is being stopped; free at the latest in'
  ! gone "$force" || fail "it does not wait"
  rm "$LOG.stay"
  await -0 "$force"
  [[ -z $stderr ]] || fail "$stderr"
  [[ -n $(time_of end) ]] || fail "the job is not gone yet"
  wait_for "$LOG.next"
  awk '$1 == "start" { print $2 }' "$LOG.next" >"$SCRATCH/next"
  (($(time_of end) <= $(<"$SCRATCH/next"))) || fail "two jobs at the same time:" "$(cat "$LOG" "$LOG.next")"
  await -80 "$HOLDER"
  touch "$LOG.next.finish"
  await -7 "$next"
}

@test "force: of a lock that redlock acquire took without a keeper, redlock says that nobody renews it" {
  local token
  token=$("$REDLOCK" acquire --ttl 60s L)
  force -0 --yes L
  assert_contains "$stderr" 'redlock acquire took it without --keep-for, so no process renews it'
  run -80 "$REDLOCK" renew L "$token"
  assert_contains "$output" '; redlock stops no process; free at the latest in '
  force -0 --now --yes L
  assert_contains "$stderr" 'lock "L" is free now; redlock stopped no process: the script that took'
}

@test "force: a revoked lock keeps its time to live, and status says that it is revoked" {
  everywhere set L $TOKEN px 60000
  everywhere hset 'redlock:{L}:holder' $TOKEN '{"host":"web1","user":"root","pid":7,"command":"b"}'
  force -0 --yes L
  assert_contains "$stderr" 'is revoked from root@web1 (pid 7): the holder could not be notified'
  wait_for_value L "revoked:$TOKEN {*\"user\":\"ops\"}" A B C
  assert_between 30000 "$(cli A pttl L)" 60000
  run -0 --separate-stderr "$REDLOCK" status L
  assert_contains "$output" 'held, and revoked from its holder (3 of 3 servers)' 'revoked   by ops@'
  # Again: nothing to ask, nothing to change.
  local value
  value=$(cli A get L)
  force -0 --yes L
  assert_contains "$stderr" 'lock "L" had been revoked before'
  [[ $(cli A get L) == "$value" ]]
}

@test "force: a lock without a time to live is revoked, too" {
  everywhere set L $TOKEN
  force -0 --yes L
  wait_for_value L "revoked:$TOKEN {*" B
  [[ $(cli B pttl L) == -1 ]]
  # A lock whose holder is dead never expires then.
  assert_contains "$stderr" 'it has no time to live, and if its holder is dead, only --now frees it'
  force -0 --now --yes L
  assert_free L
}

@test "force: a job that had ended when it was told keeps its status" {
  local worker job
  start_job
  wait_until_listening A B C
  worker=$(child_of "$HOLDER")
  job=$(child_of "$worker")
  wait_until "$BOUND" asleep "$worker" # else it may be stopped after it has looked for the end of its job
  kill -STOP "$HOLDER" "$worker"
  touch "$LOG.finish"
  wait_gone "$job"
  force -0 --yes L
  kill -CONT "$HOLDER" "$worker"
  await -7 "$HOLDER"
  wait_until_clean A B C
}

# ---- immediately -------------------------------------------------------------------------------

@test "force --now: the lock is free immediately, and the job is told all the same" {
  kill_server C
  start_job
  wait_until_listening A B
  touch "$LOG.stay"
  force -0 --now --yes L
  assert_contains "$stderr" 'lock "L" is free now: its old job may still be running'
  [[ -z $(time_of end) ]] || fail "the job was waited for"
  assert_free L
  rm "$LOG.stay"
  await -80 "$HOLDER"
  assert_contains "$stderr" 'lock "L" was revoked by ops@'
  assert_nothing_left A
}

@test "force --now: what two servers of three have deleted is not put back" {
  # The forced release cannot reach the third server, and that one vouches for the holder. Its word is there
  # long before those of the two, which come one after the other.
  local near far value began
  delay_proxy "$A_SOCKET" 15
  near=redis://127.0.0.1:$PROXY_PORT
  delay_proxy "$B_SOCKET" 60
  far=redis://127.0.0.1:$PROXY_PORT
  REDLOCK_SERVERS="$near $far $C_URI" start_job --ttl 6s --server-timeout 5s
  wait_until_listening A B C
  began=$(now_ms)
  value=$(cli A get L)
  REDLOCK_SERVERS="$A_URI $B_URI unix:///nobody" force --now --yes L
  assert_status 0
  assert_contains "$stderr" 'lock "L" is free now'
  await -80 "$HOLDER"
  assert_between 0 $(($(time_of TERM) - began)) "$TOLD"
  assert_no_key A L
  assert_no_key B L
  [[ $(cli A get 'redlock:{L}:dead') == "$value" && $(cli B get 'redlock:{L}:dead') == "$value" ]]
  # For as long as the lock would have lived, and 10 s.
  assert_between 1 "$(cli A pttl 'redlock:{L}:dead')" 16000
}

@test "force --now: servers without the lock, too, keep in mind whom it was taken from" {
  everywhere set L $TOKEN px 60000
  cli C del L
  force -0 --now --yes L
  # By this key, a server refuses the lock to its old holder, whose renewal would put it back.
  wait_for_value 'redlock:{L}:dead' "$TOKEN" A B C
  # Others get the lock.
  assert_free L
}

@test "force --now: too few servers for it are told, and nothing is deleted" {
  needs_users
  start_server D
  export REDLOCK_SERVERS="$A_URI $B_URI $C_URI $D_URI"
  everywhere set L $TOKEN px 60000
  cli D acl setuser default -eval # answers, but is of no use
  cli C acl setuser default -set
  force -69 --now --yes L
  # Revoked on 2 of 4 it is lost to its holder, and yet not free.
  assert_contains "$stderr" 'lock "L" is revoked from its holder, which stops its job, but known to be deleted on 0 of 4 servers only'
  [[ $(cli A get L) == "revoked:$TOKEN "* ]] || fail "$(cli A get L)"
}

@test "force --now: servers that fail between the revocation and the deletion: the job is stopped all the same" {
  needs_users
  start_job
  wait_until_listening A B C
  cli B acl setuser default -del
  cli C acl setuser default -del
  force -69 --now --yes L
  refute_contains "$stderr" 'may go on'
  [[ $stderr =~ 'lock "L" is revoked from ops@'[^\ ]+' (pid '[0-9]+'), which stops its job, but known to be deleted on '[01]' of 3 servers only: it may not be free before that job has ended, in '[0-9.]+' s at the latest; try again: ' ]] || fail "$stderr"
  assert_contains "$stderr" "$C_URI: "
  await -80 "$HOLDER"
  [[ -n $(time_of TERM) ]]
}

@test "force --now: servers that fail when a key without a job is deleted: that is not free" {
  needs_users
  local server name
  # A quorum is enough for redlock to begin the job, and to end.
  start_job --min-hold 60s
  for server in A B C; do wait_for_key "$server" L; done
  : >"$LOG.finish"
  await "$HOLDER"
  wait_for_value L 'cooling:*' A B C
  everywhere set plain anybodys-secret px 60000
  cli B acl setuser default -del
  cli C acl setuser default -del
  for name in L plain; do
    force -69 --now --yes "$name"
    refute_contains "$stderr" 'may go on'
    # The third need not have answered yet: the two are enough to end it.
    [[ $stderr == *"lock \"$name\" is known to be deleted on "[01]" of 3 servers only, and may not be free; try again: $B_URI: "* ]] ||
      fail "$stderr"
  done
}

@test "force: what other programs have is deleted with --now only" {
  everywhere set plain anybodys-secret px 600000
  everywhere lpush list x
  everywhere hset redisson 8a4ef9e2-91b5-4d4c-a2c9-6e5f07f1a7f9:63 2
  local name
  for name in plain list redisson; do
    force -1 --yes "$name"
    assert_contains "$stderr" 'redlock cannot stop its job: --now only deletes the key'
    [[ $(cli A exists "$name") == 1 ]]
    force -0 --yes --now "$name"
    assert_contains "$stderr" 'does not notice that, and may still be running'
    refute_contains "$stderr" anybodys-secret
    wait_until "$BOUND" lacks_key A "$name"
    wait_until "$BOUND" lacks_key C "$name"
  done
}

@test "force: leftovers that block while a server is down" {
  kill_server C
  cli A set L $TOKEN px 600000
  force -69 --yes L
  assert_contains "$stderr" 'L: undecided'
  assert_contains "$stderr" "$A_URI: held by"
  assert_contains "$stderr" 'delete exactly the keys shown, with --now'
  [[ $(cli A get L) == "$TOKEN" ]]
  force -0 --yes --now L
  assert_no_key A L
  assert_free L
}

# ---- nothing is done ---------------------------------------------------------------------------

@test "force: a pattern releases nothing, and the message names what it matches" {
  "$REDLOCK" acquire night-a >/dev/null
  "$REDLOCK" acquire night-b >/dev/null
  force -64 --yes 'night*'
  assert_contains "$stderr" "release takes the exact name of one lock, and 'night*' looks like a pattern; it matches 'night-a', 'night-b'"
  # A name may look like one.
  force -0 --yes 'day*'
  assert_contains "$stderr" 'lock "day*" is free, there is nothing to release'
  force -0 --yes -q 'day*'
  [[ -z $stderr ]]
  "$REDLOCK" acquire 'L*' >/dev/null
  force -0 --yes --now 'L*'
}

@test "force: the servers answer and permit nothing: 69, and the holder may go on" {
  needs_users
  everywhere set L $TOKEN px 60000
  everywhere acl setuser default -set
  force -69 --yes L
  assert_contains "$stderr" 'on 0 of 3 servers only, its holder may go on'
  assert_contains "$stderr" "$C_URI: "
  # That helps no second time.
  [[ $(cli A acl log | paste -sd' ') == *'count 1 reason command context '*' object set '* ]] || fail "$(cli A acl log)"
}

@test "force: without a terminal --yes is needed, and the words are in order" {
  everywhere set L $TOKEN px 60000
  force -64 L
  assert_contains "$stderr" '--yes'
  [[ $(cli A get L) == "$TOKEN" ]]
  force -64 --yes
  force -64 --yes L $OTHER
  refute_contains "$stderr" $OTHER
}

@test "force: at a terminal it shows who it is and asks; anything but yes is no" {
  everywhere set L $TOKEN px 600000
  everywhere hset 'redlock:{L}:holder' $TOKEN '{"host":"web1","user":"root","pid":7,"command":"backup"}'
  scenario <<'SCENARIO'
at = Terminal("bash")
for answer, options in ("\n", ""), ("n\n", "-q"), ("yep\n", ""), ("\x04", "-q"):
    at.type(f'"$REDLOCK" release --force {options} L\n')
    at.expect(r"root@web1, pid 7[\s\S]*backup[\s\S]*Stop its job and release the lock\? \[y/N\] $")
    at.type(answer)
    at.expect("nothing was done")
    at.prompt()
    assert at.status() == 1
at.type('"$REDLOCK" release --force L\n')
at.expect(r"\[y/N\] $")
at.type(CTRL_C)
at.prompt()
assert at.status() == 130
at.type('"$REDLOCK" release --force --now L\n')
at.expect(r"Release the lock immediately, although its job may still be running\? \[y/N\] $")
at.type("\n")
at.prompt()
# Standard output may be elsewhere.
at.type('"$REDLOCK" release --force L >/dev/null\n')
at.expect(r"\[y/N\] $")
at.type("y\n")
at.expect('lock "L" is revoked from root@web1')
at.prompt()
assert at.status() == 0
# What was revoked already has been asked for.
at.type('"$REDLOCK" release --force L\n')
at.expect('lock "L" had been revoked before')
at.prompt()
at.hang_up()
SCENARIO
  wait_for_value L "revoked:$TOKEN *" A
}

@test "force: waiting can be interrupted" {
  everywhere set L $TOKEN px 600000
  background "$REDLOCK" release --force --yes --wait L
  wait_for_line "$BACKGROUND_ERR" 'lock "L" is revoked from its holder'
  kill -INT "$BACKGROUND_PID"
  await -130 "$BACKGROUND_PID"
}

@test "force: --wait ends when the time to live has passed, and when somebody else has the lock" {
  everywhere set L $TOKEN px 1500
  force -0 --yes --wait L
  assert_contains "$stderr" 'lock "L" is free'
  wait_until "$BOUND" lacks_key A L
  everywhere set L $TOKEN px 600000
  background "$REDLOCK" release --force --yes --wait L
  wait_for_line "$BACKGROUND_ERR" 'is revoked'
  everywhere set L $OTHER px 600000
  await -0 "$BACKGROUND_PID"
  assert_contains "$stderr" 'lock "L" is free of its old holder, and held'
}

@test "force: a lock that changes hands while it asks is left alone" {
  export OTHER B_SOCKET C_SOCKET
  scenario <<'SCENARIO'
ours = ("set", "L", "a" * 40, "px", "600000")
theirs = ("hset", "L", "8a4ef9e2-91b5-4d4c-a2c9-6e5f07f1a7f9:63", "1")
changed = 'lock "L" has changed hands since then; nothing was taken'
at = Terminal("bash")
for flags, before, after, told, status in (
    ("", ours, ("set", "L", os.environ["OTHER"]), changed, 1),
    ("--now", ours, ("set", "L", os.environ["OTHER"]), changed, 1),
    ("--now", ("set", "L", "foreign"), ("set", "L", "foreigner"), changed, 1),
    ("--now", theirs, ("hset", "L", theirs[2][:-1] + "4", "1"), changed, 1),
    ("", ours, ("del", "L"), 'lock "L" has been released since then', 0),
):
    everywhere("del", "L")
    everywhere(*before)
    at.type(f'"$REDLOCK" release --force {flags} L\n')
    at.expect(r"\[y/N\] $")
    everywhere("del", "L")
    everywhere(*after)
    at.type("y\n")
    at.expect(told)
    at.prompt()
    assert at.status() == status, (before, after)
at.hang_up()
SCENARIO
}
