#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole,slowest
#
# Several servers, some of which fail under a job or at its end: a minority of them costs nothing, a
# majority is told and acted on in time.

load ../lib/common
load ../lib/quorum
load ../lib/beating

teardown() { stop_all; }

# ---- during the job --------------------------------------------------------------------------

# a_slow_machine TEXT: it says that a server which runs did not answer in time.
a_slow_machine() {
  local name
  for name in "${SERVERS[@]}"; do
    local -n uri=${name}_URI
    if gone "$(pid_of "$name")" || stopped "$(pid_of "$name")"; then continue; fi
    [[ $1 != *"$uri: did not answer within "* ]] || return 0
  done
  return 1
}

# assert_unaffected SERVER: when the lease that it has now is over, the job runs on, and the lock is
# renewed on this server; the job ends with its own status and nobody says a word.
assert_unaffected() {
  outlast "$1" L
  wait_for_renewal "$1"
  end_job
  a_slow_machine "$stderr" || assert_silent
}

@test "a job goes on when two of five servers fail under it, one killed and one stopped" {
  servers 5
  start_job --ttl 2s
  kill_server D
  pause_server A
  assert_unaffected B
  assert_nothing_left B C E
  resume_server A
  wait_until_free A
}

@test "a server on which somebody else has the lock now is left alone, and costs nothing" {
  servers 3
  start_job --ttl 2s
  cli B set L theirs px 60000
  assert_unaffected A
  wait_until_free A C
  [[ $(cli B get L) == theirs ]] || fail "it holds: $(cli B get L)"
}

# assert_dies_in_time N OUTAGE SERVER…: a stubborn job with N servers, of which OUTAGE, the words of a command, lets a
# majority fail, is dead before its lease ends, and the lock is released on SERVER…. The job's own clock tells, so that
# it does not matter when we look. Three tries: a machine that stands still for the margin of 50 ms, just when the lease
# ends, makes both too late.
assert_dies_in_time() {
  local try end outage
  read -ra outage <<<"$2"
  for try in 1 2 3; do
    rm -f "$LOG"
    servers "$1"
    run_job --ttl 2s -- stubborn
    wait_for_renewal A
    "${outage[@]}"
    # Whatever they granted, they granted before now.
    end=$(($(now_ms) + 2000))
    await -80 "$TOP" || continue
    (($(last beat) < end)) || continue
    # redlock's words are those of the outage if the worker kept up.
    if kept_up; then ! released "${@:3}" || return 0; else ((try < 3)) || return 0; fi
  done
  fail "in attempt $try, the job lived $(($(last beat) - end)) ms too long" "$stderr"
}

# released SERVER…: redlock has deleted the key on each: it did not expire.
released() {
  local server
  wait_until_free "$@" || return 1
  for server in "$@"; do (($(calls_of "$server" del) > 0)) || return 1; done
}

@test "a job is dead before its lease ends when two of three servers are stopped under it" {
  assert_dies_in_time 3 'pause_server A B' C
  ! kept_up || assert_named_once "$(grep 'stopping the job' <<<"$stderr")" A B
}

@test "a job is dead before its lease ends when three of five servers are killed under it" {
  assert_dies_in_time 5 'kill_server A B C' D E
  ! kept_up || assert_named_once "$(grep 'stopping the job' <<<"$stderr")" A B C
}

@test "a job is warned about before it is stopped, and saved if the servers come back in time" {
  servers 3
  start_job --ttl 12s # renewed every 4 s, stopped 2.3 s before the end
  pause_server A B
  wait_for_line "$BACKGROUND_ERR" "cannot be renewed"
  resume_server A
  wait_for_line "$BACKGROUND_ERR" "renewed again"
  end_job
  assert_named_once "$(grep 'cannot be renewed' "$BACKGROUND_ERR")" A B
  assert_nothing_left A C
}

@test "a lock that is lost is not brought back where somebody else may take it" {
  servers 3
  start_job --ttl 6s
  wait_for_renewal A
  cli A del L
  cli B del L
  # Whoever comes now, gets it: the job is being stopped, or will be at the next renewal.
  cli A set L theirs px 60000
  cli B set L theirs px 60000
  await -80 "$BACKGROUND_PID"
  [[ $(cli A get L) == theirs && $(cli B get L) == theirs ]]
  wait_until_free C
}

# ---- at the end of the job ---------------------------------------------------------------------

# assert_release_prompt N CMD…: a job with N servers, where CMD lets some of them fail, ends with its own
# status, without waiting and without a word. The best of five tries counts: what else the machine does
# can only add to the time.
assert_release_prompt() {
  local try began elapsed count=$1
  shift
  for try in 1 2 3 4 5; do
    servers "$count"
    start_job "${PATIENTLY[@]}"
    "$@"
    began=$(now_ms)
    end_job
    elapsed=$(($(now_ms) - began))
    assert_silent
    ((elapsed >= 1500)) || return 0
  done
  fail "it took $elapsed ms, in attempt $try"
}

@test "the release does not wait for two of five servers, one that hangs and one that is dead" {
  two_fail() { pause_server E && kill_server A; }
  assert_release_prompt 5 two_fail
  assert_nothing_left B C D
  resume_server E
  wait_until_free E
}

@test "a server restarted empty at the end of a job is no reason for a word" {
  assert_release_prompt 3 restart_server B
  wait_until_free A B C
}

@test "a lock that two of three servers lost before the end of the job is told: 80" {
  servers 3
  start_job "${PATIENTLY[@]}"
  wait_until_settled A B C # a renewal between the two would give A its key back
  restart_server A B
  let_go
  await -80 "$JOB"
  assert_named_once "$stderr" A B
  wait_until_free A B C
}

# rests_with_nothing SERVER: it has read all that was sent by those who are gone, and L is not there.
rests_with_nothing() {
  wait_until "$BOUND" has_one_client "$1"
  assert_no_key "$1" L
}
has_one_client() { [[ $(answer "$1" info clients) == *connected_clients:1[!0-9]* ]]; }

@test "a server stands still while one waits for a lock, asks often and gives up: it has nothing when it wakes" {
  servers 3 --tcp
  local server word
  for word in unix tcp; do
    for server in A B; do cli "$server" set L somebody px 3600000 >/dev/null; done
    [[ $word == unix ]] || REDLOCK_SERVERS="$A_URI $B_URI $C_TCP_URI"
    pause_server C
    background "$REDLOCK" run -vv -w 60 L -- true
    wait_until "$BOUND" has_texts "$BACKGROUND_ERR" "$A_URI: acquire: refused" 5
    terminate "$BACKGROUND_PID"
    resume_server C
    rests_with_nothing C
  done
}

# renews_at_word: a word to the holder makes it renew; returns when A has that renewal.
renews_at_word() {
  local before
  before=$(time_given A)
  said() { given_more_time A "$before" || ! cli A publish "$CHANNEL" word >/dev/null; }
  wait_until "$BOUND" said
}

@test "a server stands still from the first request on, and is asked for far more than it reads in one go: it has nothing when it wakes" {
  servers 3
  local word
  for word in '' --once=1h; do
    pause_server C
    start_job --ttl 30s ${word:+"$word"} -vv
    wait_until_listening A B
    CHANNEL=$(cli A pubsub channels '*:told:*')
    for _ in {1..16}; do renews_at_word; done
    end_job
    resume_server C
    rests_with_nothing C
  done
}

@test "a server stands still while one waits for it alone, and wakes: it is asked again, and has the lock" {
  start_server D
  pause_server D
  background "$REDLOCK" run -vv --server-wait 60s -S "$D_URI" L -- true
  wait_until "$BOUND" has_texts "$BACKGROUND_ERR" 'acquire: did not answer' 3
  resume_server D
  await -0 "$BACKGROUND_PID"
  assert_no_key D L
}
