#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole,slow
#
# First come, first served: the queue decides who gets a lock that is free. Waiters that are far away, that a
# server forgot, or whose wake-up was lost keep their places; one that cannot take its turn holds the others up
# for a moment only.

load ../lib/common
load ../lib/acl
load ../lib/looking
load ../lib/queue

teardown() { stop_all; }

LATE=4000 # ms, what a loaded machine may make of half a second. A waiter that nobody called asks after some 5 s.

# join NAME: a run waits for the lock, and then writes "start NAME TIME" and "end NAME TIME" to $LOG; sets
# the variable NAME to its PID. Returns when it stands in every queue.
join() {
  local before
  before=$(waiters A)
  background "$REDLOCK" run "$LOCK" -- bash -c 'echo "start $1 $((${EPOCHREALTIME/[.,]/} / 1000))" >>"$0"
    echo "end $1 $((${EPOCHREALTIME/[.,]/} / 1000))" >>"$0"' "$LOG" "$1"
  declare -g "$1=$BACKGROUND_PID"
  wait_until "$BOUND" queued $((before + 1))
}

# join_far NAME: starts the same over a line that takes 60 ms each way, and returns immediately.
join_far() {
  delay_proxy "$A_SOCKET" 60
  background env REDLOCK_SERVERS="$PROXY_URI" "$REDLOCK" run "$LOCK" -- bash -c \
    'echo "start $1 $((${EPOCHREALTIME/[.,]/} / 1000))" >>"$0"; echo "end $1" >>"$0"' "$LOG" "$1"
  declare -g "$1=$BACKGROUND_PID"
}

# ran: prints who ran, in their order. runs NAME: that one has begun.
ran() { awk '$1 == "start" { print $2 }' "$LOG" | paste -sd ' '; }
runs() { grep -qs "^start $1 " "$LOG"; }

# assert_ran NAME…: these ran, in this order, one at a time.
assert_ran() {
  assert_no_overlap "$LOG"
  [[ $(ran) == "$*" ]] || fail "they ran as: $(ran)"
}

# missed_turns: prints how often the lock was free for so long that a waiter missed its turn: the machine stopped it.
missed_turns() {
  awk -v ended="$released" '$1 == "start" && $3 && $3 - ended >= 450 { ++missed } $1 == "end" && $3 { ended = $3 }
    END { print missed + 0 }' "$LOG"
}

# overtaken: prints those of the waiters w1, w2, … that ran after a later one.
overtaken() {
  ran | awk -v RS=' ' '/^w/ { number = substr($1, 2) + 0; if (number < last) print $1; else last = number }'
}

# released: lets the holder go and waits for its end; sets $released, the time before that.
released() {
  released=$(now_ms)
  end_hold
}

# ends_well NAME…: each ends with 0.
ends_well() {
  local name
  for name in "$@"; do await -0 "${!name}" 60; done
}

# in_time NAME: it began in time after `released`.
in_time() { assert_between 0 $(($(began_at "$1") - released)) "$LATE"; }

# ---- order -------------------------------------------------------------------------------------

@test "order: ten waiters run in the order in which they came, on five servers, one of which is stopped" {
  servers 5
  pause_server E
  SERVERS=(A B C D)
  local number names=()
  hold
  for number in {1..10}; do
    names+=("w$number")
    join "w$number"
  done
  released
  ends_well "${names[@]}"
  assert_no_overlap "$LOG"
  [[ $(ran | tr ' ' '\n' | sort -V | paste -sd ' ') == "holder ${names[*]}" ]] || fail "they ran as: $(ran)"
  # Only one that missed its turn may run later.
  (($(overtaken | wc -l) <= $(missed_turns))) || fail "they ran as: $(ran)"
}

@test "order: an acquire waits in the same queue" {
  servers 1
  hold
  join one
  background "$REDLOCK" acquire L
  local second=$BACKGROUND_PID
  wait_until "$BOUND" queued 2
  join three
  released
  await -0 "$second"
  assert_ran holder one
  "$REDLOCK" release L "$output"
  ends_well three
  assert_ran holder one three
}

@test "order: a loop beside the server does not starve a waiter that is far away" {
  servers 1
  # It ends when the waiter has run, or after 40 jobs.
  background bash -c 'for job in {1..40}; do
      ! grep -qs "^start far" "$1" || exit 0
      "$0" run L -- sh -c "echo start loop >>\"\$0\"; sleep 0.05; echo end loop >>\"\$0\"" "$1"
    done' "$REDLOCK" "$LOG"
  local loop=$BACKGROUND_PID before
  wait_for "$LOG"
  join_far far
  stands_or_runs() { [[ $(waiters A) == 1 ]] || runs far; }
  wait_until "$BOUND" stands_or_runs
  before=$(grep -c '^start loop' "$LOG")
  ends_well far
  await "$loop"
  assert_no_overlap "$LOG"
  local jobs
  jobs=$(sed '/^start far/,$d' "$LOG" | grep -c '^start loop')
  ((jobs - before <= 2)) || fail "$((jobs - before)) jobs of the loop ran first"
}

@test "order: an expiry is first come, first served, too" {
  servers 1
  hold --ttl 1s
  join one
  join two
  # Somebody asks all the time from now on.
  background bash -c 'for try in {1..500}; do
      ! grep -qs "^start two" "$1" || exit 0
      "$0" run -n L -- sh -c "echo start thief >>\"\$0\"; echo end thief >>\"\$0\"" "$1"
    done' "$REDLOCK" "$LOG"
  local thief=$BACKGROUND_PID worker job
  worker=$(child_of "$HOLDER")
  job=$(child_of "$worker")
  released=$(now_ms)
  kill -KILL "$HOLDER" "$worker" "$job"
  sed -i '/^start holder/d' "$LOG" # it does not end
  ends_well one two
  await "$thief"
  [[ $(ran) == 'one two' || $(ran) == 'one two thief' ]] || fail "they ran as: $(ran)"
  assert_between 0 $(($(began_at one) - released)) $((1000 + LATE))
}

# ---- waiters that cannot take their turn -----------------------------------------------------------

@test "order: a run that does not wait gets the lock if only a stopped waiter stands in the queue" {
  servers 1
  line_up one
  freeze "$one"
  released
  run -0 --separate-stderr "$REDLOCK" run -n L -- true
  # When it goes on, it asks again, and has its place again.
  hold
  kill -CONT "$one"
  wait_until "$BOUND" queued 1
  waiter two
  released
  ends_well one two
  [[ $(ran) == 'holder holder one two' ]] || fail "they ran as: $(ran)"
}

@test "order: the first waiter is cut off from the server: the next one is served soon" {
  servers 1
  hold
  join_far one
  local line=$PROXY_PID
  wait_until "$BOUND" queued 1
  wait_until "$BOUND" listening 1
  waiter two
  freeze "$line"
  released
  ends_well two
  in_time two
  kill -CONT "$line"
  ends_well one
  assert_ran holder two one
}

# ---- what the keys say ---------------------------------------------------------------------------------

# ask [WAITER TICKET]: asks A for the lock as this waiter; prints the first words of the answer.
TOKEN=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
ask() {
  local answer
  mapfile -t answer < <(cli A eval "${ACQUIRE:=$(script_of acquire)}" 4 L 'redlock:{L}:holder' 'redlock:{L}:fence' \
    'redlock:{L}:dead' $TOKEN 60000 '{}' 0 60000 $TOKEN "${1-}" "${2-}" 'redlock:{L}:')
  cli A del L >/dev/null
  [[ ${answer[0]} == turn ]] && answer[0]+=" ${answer[1]}"
  ANSWER=${answer[0]}
}

# answers EXPECTED [WAITER TICKET]
answers() {
  ask "${@:2}"
  [[ $ANSWER == "$1" ]] || fail "$ANSWER, not $1"
}

# answers_in_turn EXPECTED [WAITER TICKET]: the same, while planted2 has the turn, which that does not use up. On a
# machine so slow that the turn may have ended before, once more: whoever asks then may have given planted2 another, or
# found that nobody listens. $PLANT puts the queue back.
answers_in_turn() {
  local began owner took
  for _ in {1..20}; do
    ${PLANT-}
    began=$(now_ms)
    cli A set "$TURN" planted2 px 500 >/dev/null
    ask "${@:2}"
    owner=$(cli A get "$TURN")
    took=$(($(now_ms) - began))
    ((took >= 450)) || break
  done
  ((took < 450)) || fail "the turn is not planted2's any more"
  [[ $owner == planted2 ]] || fail "the answer has used the turn up"
  [[ $ANSWER == "$1" ]] || fail "$ANSWER, not $1"
}

@test "order: a turn refuses everybody but its owner and those who stand before it" {
  servers 1
  local PLANT='plant A 3 1000 20000 {}'
  answers_in_turn 'turn planted2'
  answers_in_turn 'turn planted2' late 2000
  answers_in_turn 'turn planted2' planted3 1002
  answers_in_turn granted planted2 1001
  answers_in_turn granted planted1 1000
  # Of two with the same ticket the smaller name stands before.
  answers_in_turn granted planted1 1001
  answers_in_turn 'turn planted2' planted3 1001
}

@test "order: a turn that lasts too long, of nobody in the queue, or that is no text is none" {
  servers 1
  local made
  for made in "set $TURN planted1" "set $TURN planted1 px 60000" "set $TURN nobody px 500" "lpush $TURN planted1"; do
    plant A 1 1000 10000 '{}'
    # shellcheck disable=SC2086 # words
    cli A $made >/dev/null
    answers granted # the planted one neither listens nor has just asked
    cli A del "$TURN" >/dev/null
  done
  # And where the queue cannot be read.
  plant A 1 1000 20000 '{}'
  cli A set "$TURN" planted1 px 500 >/dev/null
  cli A del "$QUEUE" >/dev/null
  cli A hset "$QUEUE" planted1 1 >/dev/null
  answers granted
}

# miss NAME…: as if half a second had passed since they were called.
miss() {
  local name gone words=()
  gone=$(($(now_ms) - 1))
  for name in "$@"; do words+=("$gone" "$name"); done
  cli A zadd "$ALIVE" "${words[@]}" >/dev/null
  cli A del "$TURN" >/dev/null
}

# ears COUNT: planted1, planted2 and so on hear what the server says to them, and say nothing.
ears() {
  local number channels=()
  for ((number = 1; number <= $1; ++number)); do channels+=("redlock:{$LOCK}:wake:planted$number"); done
  start_tool redis-cli -s "$A_SOCKET" subscribe "${channels[@]}" >"$SCRATCH/ears"
  wait_until "$BOUND" listening "$1"
}

# heard WORD: prints who has heard it.
heard() { grep -xB1 "$1" "$SCRATCH/ears" | sed -n 's/.*:wake://p' | paste -sd ' '; }
have_heard() { [[ $(heard "$1") == "$2" ]]; }

# soon_over: prints those that count for 500 ms at most.
soon_over() { cli A zrangebyscore "$ALIVE" -inf "$(($(now_ms) + 500))" | sort -V | paste -sd ' '; }
are_soon_over() { [[ $(soon_over) == "$*" ]] || fail "for 500 ms at most: $(soon_over)"; }
stand_in_queue() { [[ $(in_queue A | paste -sd ' ') == "$*" ]] || fail "in the queue: $(in_queue A | paste -sd ' ')"; }

@test "order: after a turn that was missed, the next ones are called together, and those that do not ask lose their places" {
  servers 1
  plant A 6 1000 19000 '{}'
  ears 4
  answers 'turn planted1'
  wait_until "$BOUND" have_heard free planted1
  wait_until "$BOUND" have_heard next planted2
  are_soon_over planted1
  miss planted1
  answers 'turn planted2'
  wait_until "$BOUND" have_heard free 'planted1 planted2 planted3 planted4'
  have_heard next planted2 || fail "$(heard next)"
  # The fifth and the sixth one cannot hear it, and come back when they ask.
  are_soon_over planted{2..4}
  stand_in_queue planted{2..4}
  # The third one asks, the fourth one does not. Half a second may pass before that on a busy machine.
  local soon=$(($(now_ms) + 9000))
  cli A zadd "$ALIVE" "$soon" planted2 "$soon" planted4 >/dev/null
  answers_in_turn 'turn planted2' planted3 1002
  [[ $(cli A zrangebyscore "$ALIVE" -inf "$soon" | sort -V | paste -sd ' ') == 'planted2 planted4' ]]
  miss planted2 planted4
  answers 'turn planted3'
  stand_in_queue planted3
  # Its turn ends after half a second; that is not the question here.
  cli A zadd "$ALIVE" $(($(now_ms) + 9000)) planted3 >/dev/null
  # When they ask again, they stand where they stood before.
  cli A set L somebody px 60000 >/dev/null
  answers refused planted4 1003
  cli A set L somebody px 60000 >/dev/null
  answers refused planted2 1001
  stand_in_queue planted{2..4}
  # And have their turns again.
  cli A del "$TURN" >/dev/null
  answers 'turn planted2'
  assert_between 1 "$(cli A pttl "$TURN")" 500
}

@test "order: who may not remove the dead gives the turn to the next one alive all the same" {
  needs_users
  servers 1
  plant A 12 1000 19000 '{}'
  cli A acl setuser keeps on '>x' '~*' '&*' +@all -zrem >/dev/null
  local number
  for number in {1..9}; do cli A zadd "$ALIVE" 1 "planted$number" >/dev/null; done
  ears 12
  run env REDISCLI_AUTH=x redis-cli -s "$A_SOCKET" --user keeps eval "$(script_of hand_on)" 1 L 'redlock:{L}:' ''
  [[ $(paste -sd ' ' <<<"$output") == 'free planted10' ]] || fail "$output"
  wait_until "$BOUND" have_heard free planted10
}

@test "order: after one missed turn 32 are called together, after those up to 128, and one by a release" {
  servers 1
  plant A 170 1000 19000 '{}'
  ears 170
  miss planted1
  [[ $(cli A eval "$(script_of hand_on)" 1 L 'redlock:{L}:' '' | paste -sd ' ') == 'free planted2' ]]
  wait_until "$BOUND" have_heard next planted3
  are_soon_over planted2
  miss planted2
  answers 'turn planted3'
  are_soon_over planted{3..34}
  miss planted{3..34}
  answers 'turn planted35'
  are_soon_over planted{35..162}
  miss planted{35..162}
  answers 'turn planted163'
}
