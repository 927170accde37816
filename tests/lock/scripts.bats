#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# The scripts called one by one, as redlock calls them: what they answer and leave behind in cases that a usual
# run does not bring about.

load ../lib/common
load ../lib/acl
load ../lib/scripts

setup() { start_server A; }
teardown() { stop_all; }

# held [MS]: the lock has $TOKEN for MS ms (60000), held once, and the records of it.
held() {
  cli A set L "$TOKEN" px "${1-60000}" >/dev/null
  cli A hset "$HOLDER" "$TOKEN" '{"pid":1}' "fence:$TOKEN" 5 "holds:$TOKEN" "$TOKEN $(($(now_ms) + 60000))" >/dev/null
  cli A pexpire "$HOLDER" 70000 >/dev/null
}

# leave HOLD REST [WHO TTL]: our hold of the lock is given up.
leave() {
  if [[ -n ${3-} ]]; then
    answer_of leave 3 L "$HOLDER" "$FENCE" "$TOKEN" "$@"
  else
    answer_of leave 2 L "$HOLDER" "$TOKEN" "$@"
  fi
}

notes() { cli A hget "$FENCE" released; }

# ---- release --------------------------------------------------------------------------------------

@test "scripts: a late release does not prolong the minimum hold" {
  held 5000
  leave "$TOKEN" 20000
  [[ $output == cooling ]]
  assert_between 1 "$(cli A pttl L)" 5000
  # While it cools, the hash outlives it.
  assert_between 5000 "$(cli A pttl "$HOLDER")" 15000
  leave "$TOKEN" 20000
  [[ $output == cooling ]]
  assert_between 1 "$(cli A pttl L)" 5000
  # Also if the hash had less time to live than the lock.
  held 40000
  cli A pexpire "$HOLDER" 1000
  leave "$TOKEN" 30000
  [[ $output == cooling ]]
  assert_between 30000 "$(cli A pttl "$HOLDER")" 40000
}

@test "scripts: a hold that is not there gives nothing back" {
  held
  leave "$OTHER" 0
  [[ $output == kept && $(cli A get L) == "$TOKEN" && $(cli A hexists "$HOLDER" "holds:$TOKEN") == 1 ]]
  # Nor one that was given up already.
  cli A hset "$HOLDER" "holds:$TOKEN" "$TOKEN 1 $OTHER $(($(now_ms) + 60000))"
  leave "$OTHER" 0
  leave "$OTHER" 0
  [[ $output == kept && $(cli A get L) == "$TOKEN" ]]
}

@test "scripts: joiners that are dead do not keep the lock, the one that took it does" {
  held
  cli A hset "$HOLDER" "holds:$TOKEN" "$TOKEN 1 $OTHER 1"
  leave "$TOKEN" 0
  [[ $output == released ]] || fail "$output"
  held
  cli A hset "$HOLDER" "holds:$TOKEN" "$TOKEN 1 $OTHER $(($(now_ms) + 60000))"
  leave "$OTHER" 0
  [[ $output == kept && $(cli A get L) == "$TOKEN" ]] || fail "$output"
}

@test "scripts: the longest minimum hold of all that had the lock is kept" {
  held
  local now
  now=$(now_ms)
  cli A hset "$HOLDER" "holds:$TOKEN" "$TOKEN $((now + 60000)) c $((now + 60000)) $OTHER $((now + 60000))"
  leave "$TOKEN" 30000
  leave "$OTHER" 5000
  [[ $output == kept ]] || fail "$output"
  leave c 0
  [[ $output == cooling ]] || fail "$output"
  assert_between 20000 "$(cli A pttl L)" 30000
}

@test "scripts: who releases a lock that a keeper renews leaves a note, among those of others" {
  local now
  now=$(now_ms)
  held
  cli A hset "$FENCE" value 5 released "$OTHER $((now + 60000)) dead 1"
  leave "$TOKEN" 0 owner 7000
  [[ $output == released ]]
  [[ $(notes) =~ ^$TOKEN\ [0-9]+\ $OTHER\ [0-9]+$ ]] || fail "$(notes)"
  answers released inquire 1 "$FENCE" "$TOKEN"
  answers released inquire 1 "$FENCE" "$OTHER"
  answers missing inquire 1 "$FENCE" dead
}

@test "scripts: a note of a release stays when others follow, and of many the latest" {
  local first=$TOKEN TOKEN=$OTHER
  held
  leave "$OTHER" 0 owner 7000
  TOKEN=$first
  held
  leave "$TOKEN" 0 owner 7000
  [[ $(notes) =~ ^$TOKEN\ [0-9]+\ $OTHER\ [0-9]+$ ]] || fail "$(notes)"
  cli A hset "$FENCE" released "$(for i in {1..140}; do printf '%s ' "$OTHER $(($(now_ms) + 60000))"; done)"
  held
  leave "$TOKEN" 0 owner 7000
  [[ $(notes) == "$TOKEN "* ]] || fail "$(notes)"
  assert_between 3000 "$(cli A hstrlen "$FENCE" released)" 4100
}

@test "scripts: inquire knows the note of an owner, which stays when the keeper releases, too, and of a keeper" {
  held
  leave "$TOKEN" 0 owner 7000
  held # the keeper has put it back
  leave "$TOKEN" 0 keeper 7000
  [[ $output == released && $(notes) == "$TOKEN "* ]] || fail "$output $(notes)"
  # The other way round the owner's request finds its work done. inquire knows either note.
  cli A hdel "$FENCE" released
  held
  leave "$TOKEN" 0 keeper 7000
  answers released inquire 1 "$FENCE" "$TOKEN"
  answers missing inquire 1 "$FENCE" "$OTHER"
  leave "$TOKEN" 0 owner 7000
  [[ $output == released && $(notes) == "$TOKEN "* ]] || fail "$output $(notes)"
  # Without the keeper's note the lock was gone.
  cli A del "$FENCE"
  answers missing inquire 1 "$FENCE" "$TOKEN"
  leave "$TOKEN" 0 owner 7000
  [[ $output == missing ]] || fail "$output"
}

@test "scripts: release deletes what is ours, even if it cools or was revoked, and nothing else" {
  local value
  for value in "$TOKEN" "cooling:$TOKEN" "revoked:$TOKEN {}" "revoked:$TOKEN"; do
    cli A set L "$value"
    answers released release 1 L "$TOKEN"
    assert_no_key A L
  done
  answers missing release 1 L "$TOKEN"
  for value in "$OTHER" "cooling:$OTHER" "revoked:$OTHER $TOKEN" "$TOKEN$TOKEN" "retired:$TOKEN"; do
    cli A set L "$value"
    answers "not_mine $value" release 1 L "$TOKEN"
    answers "not_mine $value" renew 1 L "$TOKEN" 60000
    [[ $(cli A get L) == "$value" && $(cli A pttl L) == -1 ]] || fail "$value: $(cli A get L)"
  done
  cli A del L
  cli A hset L field value
  for value in release renew revoke; do answers 'not_mine type:hash' "$value" 1 L "$TOKEN"; done
}

# ---- holding ---------------------------------------------------------------------------------------

@test "scripts: a renewal notes its hold once, with the others, and longer life" {
  held
  local end
  end=$(($(now_ms) + 60000))
  cli A hset "$HOLDER" "holds:$TOKEN" "$TOKEN 1 $OTHER $end"
  answers held hold 1 "$HOLDER" "$TOKEN" "$TOKEN" 60000 90000
  answers held hold 1 "$HOLDER" "$TOKEN" "$TOKEN" 60000 80000
  [[ $(cli A hget "$HOLDER" "holds:$TOKEN") =~ ^\ $OTHER\ $end\ $TOKEN\ [0-9]{13}$ ]] ||
    fail "hold keeps one entry: $(cli A hget "$HOLDER" "holds:$TOKEN")"
  assert_between 80001 "$(cli A pttl "$HOLDER")" 90000
}

@test "scripts: while a minimum hold keeps the lock, a renewal notes when its ttl ends, and afterwards no more" {
  held
  answers held hold 1 "$HOLDER" "$TOKEN" "$TOKEN" 60000 90000 3000
  assert_between "$(($(now_ms) + 1000))" "$(cli A hget "$HOLDER" "lease:$TOKEN")" "$(($(now_ms) + 3000))"
  answers held hold 1 "$HOLDER" "$TOKEN" "$TOKEN" 3000 13000
  [[ -z $(cli A hget "$HOLDER" "lease:$TOKEN") ]]
}

@test "scripts: where a record has expired, hold makes no record out of a hold alone" {
  answers missing hold 1 "$HOLDER" "$TOKEN" "$TOKEN" 60000 90000
  assert_no_key A "$HOLDER"
}

@test "scripts: a repair may come twice, and does not take a lock from another" {
  local repair=(repair 4 L "$HOLDER" "$FENCE" "$DEAD" "$TOKEN" 60000 '{"pid":7}')
  answers granted "${repair[@]}"
  answers granted "${repair[@]}"
  cli A set L "$OTHER" px 60000
  answer_of "${repair[@]}"
  [[ $output == "refused $OTHER "* && $(cli A get L) == "$OTHER" ]] || fail "$output"
}

@test "scripts: a late request does not take a buried lock, and a lock of others is not buried" {
  local token reader=s${TOKEN:1} slot=p0103${TOKEN:5} keys
  cli A set "$DEAD" "$OTHER" px 90000 >/dev/null
  for token in "$TOKEN" "$reader" "$slot"; do
    keys=(2 L "$DEAD")
    [[ $token == "$TOKEN" ]] || keys=(3 L "$DEAD" "$READERS")
    takes "$token"
    answers held bury "${keys[@]}" "$token" 40000
    cli A del L "$READERS" >/dev/null
    answers buried bury "${keys[@]}" "$token" 40000
    take "$token"
    told "refused revoked:$token -2"
    assert_no_key A L
  done
  answers "refused revoked:$TOKEN -2 0" repair 4 L "$HOLDER" "$FENCE" "$DEAD" "$TOKEN" 60000 '{}'
  # The earlier ones stay, and for as long as they would have.
  [[ $(cli A get "$DEAD") == "$slot $reader $TOKEN $OTHER" ]]
  assert_between 60000 "$(cli A pttl "$DEAD")" 90000
}

@test "scripts: remove leaves the lock of others alone, and a large key to the server" {
  cli A set L "$OTHER" px 5000
  answers "not_mine $OTHER" remove 2 L 'redlock:{L}:dead' string "$TOKEN" "$TOKEN" ''
  # Other clients need not wait until a large key has been freed.
  cli A del L
  cli A hset L field value
  cli A config resetstat
  answers released remove 2 L 'redlock:{L}:dead' hash '' '' ''
  assert_contains "$(cli A info commandstats)" cmdstat_unlink:calls=1
}

# ---- a life that is too long ------------------------------------------------------------------------

@test "scripts: a renewal tells a much longer life; it is cut to what the holders can have asked for" {
  local ends other=jjjjjjjj
  held 3600000
  answer_of renew 1 L "$TOKEN" 30000
  [[ $output == 'renewed 3'* ]] || fail "$output"
  answers renewed renew 1 L "$TOKEN" 3600000
  # A hold of another lock, and one that is not ours.
  answers 0 cut 2 L "$HOLDER" "$OTHER" "$OTHER" 30000
  ends=$(($(now_ms) + 60000))
  cli A hset "$HOLDER" "holds:$TOKEN" "$other $ends"
  answers 0 cut 2 L "$HOLDER" "$TOKEN" "$TOKEN" 30000
  assert_between 3500000 "$(cli A pttl L)" 3600000
  # Another process holds the lock for longer, too; or has left a minimum hold.
  for holds in "$TOKEN $((ends + 60000)) $other $ends" "$other $ends $TOKEN $ends"; do
    held 3600000
    cli A hset "$HOLDER" "holds:$TOKEN" "$holds"
    answers 1 cut 2 L "$HOLDER" "$TOKEN" "$TOKEN" 30000
    assert_between 40000 "$(cli A pttl L)" 60000
  done
  held 3600000
  cli A hset "$HOLDER" "keep:$TOKEN" "$ends"
  answers 1 cut 2 L "$HOLDER" "$TOKEN" "$TOKEN" 30000
  assert_between 40000 "$(cli A pttl L)" 60000
  cli A hdel "$HOLDER" "keep:$TOKEN"
  answers 1 cut 2 L "$HOLDER" "$TOKEN" "$TOKEN" 30000
  assert_between 20000 "$(cli A pttl L)" 30000
  answers 0 cut 2 L "$HOLDER" "$TOKEN" "$TOKEN" 40000
}

# ---- the mark of --once ----------------------------------------------------------------------------

@test "scripts: a mark is of the latest run, and stays for the longest time that a run asked for" {
  local mark='redlock:{L}:done' now
  now=$(now_ms)
  answers marked mark 1 "$mark" $((now - 10000)) 3600000 first 0
  answers marked mark 1 "$mark" $((now - 5000)) 60000 second 0
  [[ $(cli A get "$mark") == "$((now - 5000)) second" ]]
  assert_between 3000000 "$(cli A pttl "$mark")" 3600000
  # A late request.
  answers marked mark 1 "$mark" $((now - 9000)) 7200000 late 0
  [[ $(cli A get "$mark") == "$((now - 5000)) second" ]]
  assert_between 3000000 "$(cli A pttl "$mark")" 3600000
  # One whose time is over.
  cli A del "$mark"
  answers marked mark 1 "$mark" $((now - 10000)) 5000 over 0
  assert_no_key A "$mark"
}

@test "scripts: a mark that lies ahead of the clock gives way; how old a run is counts if its time is unknown or ahead" {
  local mark='redlock:{L}:done' now
  now=$(now_ms)
  cli A set "$mark" "$((now + 86400000)) ahead" px 176400000
  answers marked mark 1 "$mark" $((now + 80000000)) 3600000 one 5000
  assert_between $((now - 5000)) "$(cli A get "$mark" | cut -d' ' -f1)" $(($(now_ms) - 5000))
  assert_between 3000000 "$(cli A pttl "$mark")" 3600000
  cli A del "$mark"
  answers marked mark 1 "$mark" '' 3600000 another 7000
  assert_between $((now - 7000)) "$(cli A get "$mark" | cut -d' ' -f1)" $(($(now_ms) - 7000))
}

@test "scripts: unmark removes the mark of that run only" {
  local mark='redlock:{L}:done'
  cli A set "$mark" '5 {"run": 1}'
  answers missing unmark 1 "$mark" '{"run": 2}'
  answers released unmark 1 "$mark" '{"run": 1}'
  assert_no_key A "$mark"
  answers missing unmark 1 "$mark" '{"run": 1}'
}

# ---- the queue --------------------------------------------------------------------------------------

@test "scripts: a waiter that joins the queue cuts an end far ahead, and waiting shows only the living" {
  local now
  now=$(now_ms)
  cli A zadd "${LINE}queue" 1 far 2 dead
  cli A zadd "${LINE}alive" $((now + 3600000)) far $((now - 1)) dead
  answer_of waiting 3 "${LINE}queue" "${LINE}alive" "${LINE}waiters"
  answer_of waiting 3 "${LINE}queue" "${LINE}alive" "${LINE}waiters"
  refute_contains "$output" dead
  answers joined join_queue 1 L "$LINE" me '{}' 3
  assert_between "$now" "$(cli A zscore "${LINE}alive" far)" $(($(now_ms) + 20000))
  [[ $(cli A zrange "${LINE}queue" 0 -1 | paste -sd' ') == 'far me' ]]
  local key
  for key in queue alive waiters; do assert_between 10000 "$(cli A pttl "$LINE$key")" 20000; done
  # A ticket stays as it was.
  answers joined join_queue 1 L "$LINE" me '{}' 9
  [[ $(cli A zscore "${LINE}queue" me) == 3 ]]
  # An end that nobody has cut yet does not say that the waiter has just asked, and nobody hears the call.
  cli A zadd "${LINE}alive" $((now + 3600000)) far
  answer_of acquire 4 L "$HOLDER" "$FENCE" 'redlock:{L}:dead' "$TOKEN" 60000 '{}' 0 60000 "$TOKEN" me 3 "$LINE" "$LIST"
  told granted
  [[ $(cli A zrange "${LINE}queue" 0 -1) == me ]]
}

@test "scripts: a queue with more waiters than there can be does not get a life, but is dropped" {
  # As long as a real waiter's name: Valkey 8.1 takes 29 bytes for a short one.
  cli A eval 'for at = 1, 50000 do
    local name = string.format("%040d", at)
    redis.call("HSET", KEYS[1], name, at) redis.call("ZADD", KEYS[2], 9e15, name)
  end' 2 "${LINE}waiters" "${LINE}alive"
  answers joined join_queue 1 L "$LINE" me '{}' 3
  assert_no_key A "${LINE}waiters"
  assert_no_key A "${LINE}alive"
  answers joined join_queue 1 L "$LINE" me '{}' 3
  assert_between 10000 "$(cli A pttl "${LINE}waiters")" 20000
}

@test "scripts: a hand-over looks at 64 waiters, whatever the number of those after them" {
  local number entries=()
  for number in {1..100}; do entries+=("$number" "waiter$number"); done
  cli A zadd "${LINE}queue" "${entries[@]}" >/dev/null
  # None of them is alive: what it looked at is forgotten.
  answers free hand_on 1 L "$LINE" ''
  [[ $(cli A zcard "${LINE}queue") == 36 ]] || fail "$(cli A zcard "${LINE}queue")"
}

@test "scripts: a waiter that joins the queue forgets 32 of the dead, and no more" {
  local now
  now=$(now_ms)
  # shellcheck disable=SC2046 # words
  cli A zadd "${LINE}alive" $(for i in {1..40}; do echo "$((now - 1)) dead$i"; done)
  answers joined join_queue 1 L "$LINE" me '{}' 3
  [[ $(cli A zcard "${LINE}alive") == 9 ]] || fail "$(cli A zcard "${LINE}alive")"
  # A run that does not join forgets nobody. The waiter has just asked, and has its turn although nobody hears the call.
  take "$OTHER"
  told 'turn me'
  [[ $(cli A zcard "${LINE}alive") == 9 ]] || fail "$(cli A zcard "${LINE}alive")"
}

@test "scripts: a waiter that leaves the queue leaves nothing of it" {
  in_queue me
  cli A hset "${LINE}waiters" me '{}'
  cli A set "${LINE}turn" me px 20000
  answers free hand_on 1 L "$LINE" me
  assert_nothing_left A
}

@test "scripts: a list of waiters has the first 20, and nobody has waited for less than nothing" {
  # shellcheck disable=SC2046 # words
  in_queue $(for i in {10..34}; do echo "w$i"; done)
  answer_of waiting 3 "${LINE}queue" "${LINE}alive" "${LINE}waiters"
  told 'waiting 25 w10 '
  [[ $(printf '%s\n' "${lines[@]}" | grep -c '^w[0-9]') == 20 ]] || fail "$output"
  no_line
  in_queue w1
  cli A zadd "${LINE}queue" $(($(now_ms) + 60000)) w1
  answers 'waiting 1 w1 0' waiting 3 "${LINE}queue" "${LINE}alive" "${LINE}waiters"
}

@test "scripts: a refusal tells the place in the queue, and a newcomer a ticket after all others" {
  local ahead=$(($(now_ms) + 60000))
  held
  in_queue a b
  take "$OTHER" "$OTHER" me 3
  told "refused $TOKEN"
  [[ ${lines[*]: -3} == '3 3 3' ]] || fail "$output"
  cli A zadd "${LINE}queue" "$ahead" b
  take "$OTHER"
  [[ ${lines[*]: -3} == "$((ahead + 1)) 0 3" ]] || fail "$output"
}

# as_user LIMIT…: what follows is sent by a user who may do all but this.
as_user() {
  needs_users
  cli A acl setuser limited on nopass '~*' "${CHANNELS[@]}" +@all "$@" >/dev/null
  eval "$(declare -f cli | sed '1s/cli/cli_of_all/')"
  # shellcheck disable=SC2317 # the tests call it
  cli() { cli_of_all "$1" --user limited --pass x --no-auth-warning "${@:2}"; }
}

# ---- asking again ----------------------------------------------------------------------------------

@test "scripts: a request that is sent again prolongs the lock, and gets its number again" {
  takes "$TOKEN"
  local first=${lines[-2]}
  ((first > 1000)) || fail "$output"
  cli A pexpire L 10000
  for stored in "$first" odd; do
    cli A hset "$FENCE" value "$stored"
    takes "$TOKEN"
    [[ ${lines[-2]} == "$first" && $(cli A hget "$FENCE" value) == "$stored" ]] || fail "$stored: $output"
  done
  assert_between 10001 "$(cli A pttl L)" 60000
  # None where that is gone and no other number can follow.
  cli A hdel "$HOLDER" "fence:$TOKEN"
  takes "$TOKEN"
  [[ ${lines[-2]} == 0 ]] || fail "$output"
}

# ---- the number, and runs that join ----------------------------------------------------------------------

@test "scripts: after a restart a number goes on from the last one, even if the clock was set back" {
  local ahead=$(($(now_ms) + 3600000))
  cli A hset "$FENCE" value "$ahead" run_id 0000
  takes "$TOKEN"
  [[ ${lines[-2]} == $((ahead + 1)) ]] || fail "$output"
  # A request that is sent twice, before and after a restart, is granted both times.
  cli A hset "$FENCE" run_id 0000
  GRACE=100000 takes "$TOKEN"
  GRACE=100000 take "$OTHER"
  told refused
  cli A del L
  GRACE=100000 take "$OTHER"
  told fresh
}

@test "scripts: a run that joins a lock is noted in its list of holds, or does not join" {
  held
  cli A pexpire "$HOLDER" 1000
  takes "$TOKEN" "$OTHER"
  assert_between 60001 "$(cli A pttl "$HOLDER")" 70000
  # No script reads a longer list.
  held
  cli A hset "$HOLDER" "holds:$TOKEN" "$TOKEN $(($(now_ms) + 60000)) $(printf 'x%.0s' {1..65450}) 1"
  take "$TOKEN" "$OTHER"
  told HOLDS
  # Nor is there one. Of a lock that is gone there need not be any.
  cli A hdel "$HOLDER" "holds:$TOKEN"
  take "$TOKEN" "$OTHER"
  told HOLDS
  [[ $(cli A hexists "$HOLDER" "holds:$TOKEN") == 0 ]]
  cli A del L
  take "$TOKEN" "$OTHER"
  told 'refused -2'
}

@test "scripts: a user who may not note himself in the list of holds, or not read it, learns why he does not join" {
  held
  local lacks
  for lacks in hset hget; do
    (as_user "-$lacks" && take "$TOKEN" "$OTHER" && [[ $output == *permission* || $output == *"can't run"* ]]) ||
      fail "without $lacks"
  done
}

# ---- the number that is agreed on --------------------------------------------------------------------

# counted: the lock is ours, and its number is 5.
counted() {
  held
  cli A hset "$FENCE" value 5 run_id "$(cli A info server | sed -n 's/^run_id:\([0-9a-f]*\).*/\1/p')" >/dev/null
}

# commits ANSWER NUMBER: the script that stores the number of a grant answers so.
commits() { answers "$1" commit 3 L "$HOLDER" "$FENCE" "$TOKEN" "$2"; }

# numbered N: that is the server's number, and that of the token.
numbered() {
  [[ $(cli A hget "$FENCE" value) == "$1" && $(cli A hget "$HOLDER" "fence:$TOKEN") == "$1" ]] ||
    fail "$(cli A hgetall "$FENCE") $(cli A hgetall "$HOLDER")"
}

@test "scripts: commit stores a larger number and no other; it compares numbers, not texts" {
  counted
  local pair before number
  for pair in '0 1' '5 5' '6 5' '9 10' '10 9' '99 1000' '1000 999' '1800000000000 9' '999 1800000000000'; do
    read -r before number <<<"$pair"
    cli A hset "$FENCE" value "$before" >/dev/null
    if ((number <= before)); then
      commits "not_committed $before" "$number"
    else
      commits committed "$number"
      numbered "$number"
    fi
  done
  cli A pexpire "$HOLDER" 200000
  cli A hset "$FENCE" value 6 >/dev/null
  commits committed 7
  assert_between 150000 "$(cli A pttl "$HOLDER")" 200000 # the hash keeps the end that it has
  # If it had expired, it comes back with an end.
  cli A del "$HOLDER"
  commits committed 8
  numbered 8
  assert_between 60000 "$(cli A pttl "$HOLDER")" 70000
}

@test "scripts: commit refuses a counter of an earlier life, one that is none or far ahead, and a lock of another" {
  counted
  local number
  for number in 9007199254740991 20000000000000; do commits 'not_committed 5' "$number"; done
  numbered 5
  cli A hset "$FENCE" value abc
  commits 'not_committed 0' 6
  [[ $(cli A hget "$FENCE" value) == abc ]]
  counted
  cli A hset "$FENCE" run_id 0000000000000000000000000000000000000000
  commits 'not_committed 5' 6
  numbered 5
  cli A del "$FENCE"
  commits 'not_committed 0' 6
  assert_no_key A "$FENCE"
  counted
  cli A set L another px 60000
  commits 'not_committed 0' 6
  numbered 5
}

# ---- no memory left --------------------------------------------------------------------------------

# full: the server has no memory left for what needs more.
full() { cli A config set maxmemory 1 >/dev/null; }

@test "scripts: at maxmemory a hold is renewed and given up, the lock cools, and a run is marked as done" {
  held
  cli A hset "$HOLDER" "holds:$TOKEN" "$TOKEN $(($(now_ms) + 60000)) $OTHER 1"
  full
  answers held hold 1 "$HOLDER" "$TOKEN" "$OTHER" 60000 60000
  [[ $(cli A hget "$HOLDER" "holds:$TOKEN") =~ $OTHER\ [0-9]{13}$ ]] || fail "it is not renewed"
  leave "$OTHER" 0
  [[ $output == kept && $(cli A hget "$HOLDER" "holds:$TOKEN") != *"$OTHER"* ]] || fail "$output"
  leave "$TOKEN" 30000
  [[ $output == cooling && $(cli A get L) == "cooling:$TOKEN" ]] || fail "$output"
  answers marked mark 1 'redlock:{L}:done' "$(now_ms)" 60000 '{}' 0
  # A lock that nobody has is still refused.
  cli A config set maxmemory 0 >/dev/null
  cli A del L "$HOLDER"
  full
  take "$TOKEN"
  [[ $output == OOM\ * || $output == 'ERR Error running script '*': -OOM '* ]] || fail "$output" # Redis 6 has more words
}

@test "scripts: at maxmemory a lock is revoked, and ends when it would have" {
  held 50000
  full
  answer_of revoke 1 L "$TOKEN" "revoked:$TOKEN {}" told
  told revoked
  [[ $(cli A get L) == "revoked:$TOKEN {}" ]]
  assert_between 30000 "$(cli A pttl L)" 50000
  answers released remove 2 L "$DEAD" string "$TOKEN" "$TOKEN" '' ''
  [[ $(cli A get "$DEAD") == "$TOKEN" ]]
}
