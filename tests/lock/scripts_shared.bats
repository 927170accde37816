#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# The scripts of shared locks and of slots, called one by one, as in scripts.bats: what they answer and leave behind in
# cases that a usual run does not bring about.

load ../lib/common
load ../lib/scripts

setup() { start_server A; }
teardown() { stop_all; }

DIGITS=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa

# reader LETTER: prints the token of a reader. slot NUMBER OF LETTER: prints that of the holder of a slot.
reader() { echo "saaaa${DIGITS//a/$1}"; }
slot() { printf 'p%02x%02x%s\n' "$1" "$2" "${DIGITS//a/$3}"; }

# called: prints the waiters that were called, and have not asked since.
called() { cli A zrangebyscore "${LINE}alive" -inf $(($(now_ms) + 500)) | sort | paste -sd ' '; }

@test "scripts: a slot asked for twice: the same number, and no second place" {
  local token fence
  token=$(slot 2 3 b)
  takes "$token"
  fence=${lines[-2]}
  takes "$token"
  [[ ${lines[-2]} == "$fence" && $(cli A zcard "$READERS") == 2 ]] || fail "$output" "$(cli A zrange "$READERS" 0 -1)"
}

@test "scripts: a refusal says of the slots who has each, and when the first may be free" {
  take "$(slot 1 16 b)"
  TTL=5000 takes "$(slot 15 16 c)"
  take "$(slot 1 16 d)"
  told "refused $(slot 1 16 b)"
  assert_between 1 "${lines[2]}" 5000
  [[ ${lines[-1]} == 'bbbb,,,,,,,,,,,,,,cccc,' ]] || fail "$output"
}

@test "scripts: before a reader that asks comes a living writer, and no waiter that can read with it" {
  takes "$(reader b)"
  in_queue s1 s2
  takes "$(reader c)"
  # A writer that is dead, and one that neither listens nor has just asked.
  in_queue w1 w2
  cli A zadd "${LINE}alive" 1 w1 $(($(now_ms) + 15000)) w2
  takes "$(reader d)"
  refute_contains "$(cli A zrange "${LINE}queue" 0 -1)" w
  # One that has just asked, within half a second by either sign: on a busy machine, time passes until we ask.
  in_queue w1
  cli A zadd "${LINE}alive" $(($(now_ms) + 20400)) w1
  take "$(reader f)"
  told "refused shared:$(reader b)"
  # One that has not, and listens: it has half a second to ask, and no longer if others ask.
  listens w1
  cli A zadd "${LINE}alive" $(($(now_ms) + 15000)) w1
  local second
  second=$(reader f)
  take "$second"
  told 'turn w1'
  take "$second"
  told 'turn w1'
  assert_between 1 "${lines[2]}" 500
  [[ $(called) == w1 ]] || fail "$(called)"
  wait_until "$BOUND" expired w1
  takes "$(reader f)"
  # Nobody looks further than at 192.
  no_line
  in_queue s{1..193} w1
  take "$(reader g)"
  told turn
}

# listens WAITER: somebody hears what the server says to it.
listens() {
  start_tool redis-cli -s "$A_SOCKET" subscribe "${LINE}wake:$1" >"$SCRATCH/ears.$1"
  wait_for_line "$SCRATCH/ears.$1" subscribe
}
expired() { (($(cli A zscore "${LINE}alive" "$1") < $(now_ms))); }

@test "scripts: waiters of another kind that are stopped are called in batches, from a reader and from a slot" {
  local way token next name waiters=(w{1..150})
  start_tool redis-cli -s "$A_SOCKET" psubscribe "${LINE}wake:*" >"$SCRATCH/ears"
  wait_for_line "$SCRATCH/ears" psubscribe
  while read -r token next; do
    takes "$token"
    in_queue "${waiters[@]}"
    # shellcheck disable=SC2046 # words
    cli A zadd "${LINE}alive" $(for name in "${waiters[@]}"; do echo "$(($(now_ms) + 15000)) $name"; done) >/dev/null
    for way in 'w1' 'w2' 'w34'; do
      take "$next"
      [[ $output == "turn $way "* ]] || fail "$output, not $way"
      # As if half a second had passed.
      # shellcheck disable=SC2046 # words
      cli A zadd "${LINE}alive" $(for name in $(called); do echo "1 $name"; done) >/dev/null
    done
    takes "$next"
    [[ $(cli A zcard "${LINE}queue") == 0 ]] || fail "$(cli A zcard "${LINE}queue") are left"
    cli A del L "$READERS" >/dev/null
    no_line
  done <<<"$(reader b) $(reader c)
$(slot 1 3 b) $(slot 2 3 c)"
}

@test "scripts: a slot that is taken, or being taken by force: no late request and no repair gives it away" {
  take "$(slot 1 3 c)"
  answer_of repair_shared 5 L "$HOLDER" "$FENCE" "$DEAD" "$READERS" "$(slot 1 3 d)" 60000 '{}'
  told "refused $(slot 1 3 c)"
  [[ $(cli A zcard "$READERS") == 2 ]]
  # While the jobs of its holders are being stopped.
  cli A set L "revoked:shared:$(slot 1 3 c)" px 60000
  take "$(slot 2 3 e)"
  told "refused revoked:shared:$(slot 1 3 c)"
  answer_of repair_shared 5 L "$HOLDER" "$FENCE" "$DEAD" "$READERS" "$(slot 2 3 e)" 60000 '{}'
  told "refused revoked:shared:$(slot 1 3 c)"
  answers 'not_committed 0' commit_shared 4 L "$HOLDER" "$FENCE" "$READERS" "$(slot 1 3 c)" 9000000000000
}

@test "scripts: remove keeps a lock for a reader that nobody has named, also where it is revoked late" {
  local shared value
  shared=shared:$(reader b)
  for value in "$shared" "revoked:$shared"; do
    cli A del "$DEAD"
    take "$(reader b)"
    takes "$(reader c)"
    cli A set L "$value" px 60000
    answers "not_mine $value" remove 3 L "$DEAD" "$READERS" string "$shared" "$shared" '' "$(reader b)"
    [[ $(cli A get L) == "$value" && $(cli A zcard "$READERS") == 3 ]] || fail "$(cli A zrange "$READERS" 0 -1)"
    assert_no_key A "$DEAD"
    # Its time is over.
    cli A zadd "$READERS" 1 "$(reader c)"
    answers released remove 3 L "$DEAD" "$READERS" string "$shared" "$shared" '' "$(reader b)"
    assert_no_key A L
  done
}

@test "scripts: a list of readers ends a little after its lock, and not before a lock without an end" {
  take "$(reader b)"
  assert_between 60001 "$(cli A pttl "$READERS")" 70000
  TTL=90000 take "$(reader c)"
  assert_between 80001 "$(cli A pttl L)" 90000
  assert_between 90001 "$(cli A pttl "$READERS")" 100000
  cli A persist L
  takes "$(reader d)"
  [[ $(cli A pttl L) == -1 ]]
  assert_between 31000000000 "$(cli A pttl "$READERS")" 32000000000
}

@test "scripts: when readers stay, the lock is described as one of theirs, and lasts as long as the last of them" {
  TTL=90000 take "$(reader b)"
  take "$(reader c)"
  TTL=30000 take "$(reader f)"
  cli A hset "$HOLDER" "$(reader c)" '{"pid":7}' "$(reader f)" '{"pid":7}'
  answer_of leave_shared 4 L "$HOLDER" "$FENCE" "$READERS" "$(reader b)" "$(reader b)" 0
  told released
  assert_between 30001 "$(cli A pttl L)" 60000
  answer_of leave_shared 4 L "$HOLDER" "$FENCE" "$READERS" "$(reader f)" "$(reader f)" 0
  [[ $(cli A hget "$HOLDER" "shared:$(reader b)") == '{"pid":7}' ]]
  [[ $(cli A hkeys "$HOLDER" | grep -c "^[a-z]*:*$(reader b)") == 1 ]] || fail "$(cli A hkeys "$HOLDER")"
  # One that is dead does not count.
  take "$(reader d)"
  cli A zadd "$READERS" 1 "$(reader d)"
  cli A hdel "$HOLDER" "$(reader d)" "fence:$(reader d)" "holds:$(reader d)"
  answer_of leave_shared 4 L "$HOLDER" "$FENCE" "$READERS" "$(reader c)" "$(reader c)" 0
  assert_no_key A "$HOLDER"
  assert_no_key A L
}

@test "scripts: a reader's place is cut to what its holders asked for, and the lock to the last of its readers" {
  TTL=3600000 take "$(reader b)"
  TTL=90000 take "$(reader c)"
  answer_of renew_shared 2 L "$READERS" "$(reader b)" 3600000
  [[ $output == renewed ]]
  answer_of renew_shared 2 L "$READERS" "$(reader b)" 60000
  [[ $output == 'renewed 3'* ]] || fail "$output"
  # One that joined may have asked for more.
  cli A hset "$HOLDER" "holds:$(reader b)" "$(reader b) 1 $OTHER $(($(now_ms) + 1800000))"
  answers 1 cut 3 L "$HOLDER" "$READERS" "$(reader b)" "$(reader b)" 60000
  assert_between 1700000 "$(cli A pttl L)" 1800000
  cli A hset "$HOLDER" "holds:$(reader b)" "$(reader b) 1"
  answers 1 cut 3 L "$HOLDER" "$READERS" "$(reader b)" "$(reader b)" 60000
  assert_between 60001 "$(cli A pttl L)" 90000
  answers 0 cut 3 L "$HOLDER" "$READERS" "$(reader b)" "$(reader b)" 60000
  answers 0 cut 3 L "$HOLDER" "$READERS" "$(reader f)" "$(reader f)" 1
  assert_between 50000 $(($(cli A zscore "$READERS" "$(reader b)") - $(now_ms))) 60000
}

@test "scripts: a reader that enters wakes the readers at the head of the queue, and no writer" {
  take "$(reader b)"
  in_queue s1 s2 s3 w1 s5
  answers held hand_on 1 L "$LINE" ''
  [[ $(called) == 's1 s2 s3' ]] || fail "$(called)"
  assert_no_key A "${LINE}turn"
  no_line
  in_queue w1 s2
  answers held hand_on 1 L "$LINE" ''
  [[ -z $(called) ]] || fail "$(called)"
}

@test "scripts: a free slot is offered to a waiter for a slot, not to one that needs the whole lock" {
  take "$(slot 1 12 b)"
  in_queue p000c1 p000c2
  answers 'free p000c1' hand_on 1 L "$LINE" ''
  # A newcomer does not take it.
  take "$(slot 2 12 c)"
  told 'turn p000c1'
  no_line
  in_queue w1 p000c2
  answers 'free' hand_on 1 L "$LINE" ''
  assert_no_key A "${LINE}turn"
  no_line
  in_queue p00041 p000c2 # one of 4 slots
  answers 'free' hand_on 1 L "$LINE" ''
}

@test "scripts: a waiter that gets the lock of one server counts there for 20 s again, in each mode" {
  local waiter token
  for token in "$TOKEN" "$(reader b)" "$(slot 1 3 b)"; do
    waiter=${token:0:1}00031
    cli A del L
    no_line
    in_queue "$waiter" other
    cli A zadd "${LINE}alive" $(($(now_ms) + 400)) "$waiter"
    cli A set "${LINE}turn" "$waiter" px 400
    takes "$token" "$token" "$waiter" 1
    [[ -z $(called) ]] || fail "${waiter:0:1}: $(called)"
  done
}

@test "scripts: at maxmemory a reader or a slot is renewed, and a hold of it given up" {
  local token other until later
  later=$(($(now_ms) + 60000))
  while read -r token other; do
    cli A config set maxmemory 0 >/dev/null
    cli A del L "$READERS" "$HOLDER" >/dev/null
    take "$other"
    TTL=2000 takes "$token"
    cli A hset "$HOLDER" "holds:$token" "$token $later $OTHER $later" >/dev/null
    until=$(cli A zscore "$READERS" "$token")
    cli A config set maxmemory 1 >/dev/null
    answers renewed renew_shared 2 L "$READERS" "$token" 5000
    (($(cli A zscore "$READERS" "$token") > until)) || fail "not renewed"
    answers kept leave_shared 4 L "$HOLDER" "$FENCE" "$READERS" "$token" "$OTHER" 0
    [[ $(cli A hget "$HOLDER" "holds:$token") == *"$token $later" ]]
    answers released leave_shared 4 L "$HOLDER" "$FENCE" "$READERS" "$token" "$token" 0
  done <<<"$(reader b) $(reader c)
$(slot 1 3 b) $(slot 2 3 c)"
}
