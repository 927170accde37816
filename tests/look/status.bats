#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=memory,slow
#
# `redlock status` and `redlock list`: what each kind of lock looks like, on servers that agree, that do
# not, and that are down; and that looking changes nothing.

load ../lib/common
load ../lib/acl
load ../lib/looking

setup() { servers 3; }
teardown() { stop_all; }

TOKEN=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
OTHER=bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb

# keep_locked NAME [ARG…]: a run that holds NAME, on all its servers, until stop_all.
keep_locked() {
  local LOCK=$1 word uris=()
  start_job "${@:2}"
  # A quorum is enough for a job to begin.
  for word in "${@:2}"; do [[ $word != unix://* ]] || uris+=("$word"); done
  # shellcheck disable=SC2206 # one word for each
  ((${#uris[@]} > 0)) || uris=($REDLOCK_SERVERS)
  for word in "${uris[@]}"; do wait_until "$BOUND" is_locked "$word" "$LOCK"; done
}
# leave_cooling NAME: that lock cools down on all servers.
leave_cooling() {
  local server LOCK=$1
  start_job --min-hold 60s
  for server in A B C; do wait_for_key "$server" "$1"; done # a quorum is enough for the job to begin
  end_job 0
  wait_for_value "$1" 'cooling:*' A B C
}
is_locked() {
  local socket=${1#unix://}
  [[ $(timeout "$BOUND" redis-cli -s "${socket//%20/ }" exists "$2") == 1 ]]
}

@test "status: a lock that is held: who, since when, with what; and nothing changes by looking" {
  keep_locked work
  status -0 work
  silent
  has 'work: held (3 of 3 servers)' " holder $(id -un)@$(uname -n), pid " " command bash -c 'echo " \
    " since $(date +%Y-)" ', for ' ' mode exclusive' " fence $(agreed_fence work)" \
    ' expires in ' 's, unless renewed'
  refute_contains "$output" "$(cli A get work)" warning
  wait_for_key A 'redlock:{work}:log' # it comes a moment after the job
  local before after
  before=$(cli A dbsize; cli A get work; cli A hgetall 'redlock:{work}:holder')
  "$REDLOCK" status work never >/dev/null || true
  "$REDLOCK" list >/dev/null
  after=$(cli A dbsize; cli A get work; cli A hgetall 'redlock:{work}:holder')
  [[ ${before%% *} == "${after%% *}" && $(cli A exists never) == 0 ]] || fail "$before" "$after"
}

@test "status: since the lock was had, not since it was asked for" {
  local since before
  before=$(now_ms)
  cli A set L somebody px 1500 >/dev/null
  cli B set L somebody px 1500 >/dev/null
  start_job -w 30
  since=$("$REDLOCK" status --json L | sed -n 's/^ *"since_ms": \([0-9]*\),.*/\1/p' | head -n 1)
  # By when the request was sent that got it, which may be a little before the 1.5 s are over.
  assert_between "$((before + 700))" "$since" "$(now_ms)"
}

@test "status: the last successful build" {
  servers 3
  run -0 "$REDLOCK" run --build 6 L -- true
  run -1 "$REDLOCK" run --build 7 L -- false
  run "$REDLOCK" status L
  has 'L: free' ' build 6 succeeded ' ' ago'
  cli A del 'redlock:{L}:build' >/dev/null # has forgotten it
  cli B set 'redlock:{L}:build' 5 >/dev/null # nonsense
  run "$REDLOCK" status --json L
  is 'l["last_build"]["build"], l["last_build"]["by"]["command"], l["last_build"]["succeeded_s_ago"] < 60' "(6, 'true', True)"
  run "$REDLOCK" status --json M
  is 'l["last_build"]' None
}

@test "status: a run inside the holder that was killed is no hold any more" {
  everywhere set L $TOKEN px 600000
  everywhere hset 'redlock:{L}:holder' $TOKEN '{"pid":1}' "holds:$TOKEN" "$TOKEN 1 $OTHER 1"
  status --json L
  is 'l["holds"]' 1
  everywhere hset 'redlock:{L}:holder' "holds:$TOKEN" "$TOKEN 1 $OTHER $(($(now_ms) + 60000))"
  status --json L
  is 'l["holds"]' 2
  status L
  has ' holds 2: '
}

@test "status: the same servers in another order are the same, in another database they are not" {
  keep_locked L
  REDLOCK_SERVERS="$C_URI $A_URI $B_URI" status L
  refute_contains "$output$stderr" 'other servers'
  everywhere -n 1 set L $TOKEN px 600000
  everywhere -n 1 hset 'redlock:{L}:holder' $TOKEN "$(cli A hget 'redlock:{L}:holder' "$(cli A get L)")"
  REDLOCK_SERVERS="$A_URI?db=1 $B_URI?db=1 $C_URI?db=1" status L
  assert_contains "$output$stderr" 'other servers'
}

@test "list: a server that has failed is not asked a second time" {
  keep_locked L
  delay_proxy "$SCRATCH/nobody" 0
  REDLOCK_SERVERS="$A_URI $B_URI $PROXY_URI" list -0
  has 'L held 2/3'
  [[ $(proxy_count connections) == 1 ]] || fail "$(proxy_count connections) connections"
}

@test "status, list: a dead holder looks dead, although a minimum hold keeps its key" {
  keep_locked L --ttl 3s --min-hold 60s
  status --json L
  is 'l["overdue"]' False
  is '0 <= l["renewed_s_ago"] <= 3' True
  local worker job
  worker=$(child_of "$BACKGROUND_PID")
  job=$(child_of "$worker")
  kill -KILL "$worker" "$BACKGROUND_PID" "$job"
  looks_dead() { status L && [[ $output =~ 'last renewed '.*' (every 1 s): the holder may be dead' ]]; }
  wait_until "$BOUND" looks_dead
  [[ $output =~ expires\ +in\ [345][0-9.]*\ s ]] || fail "$output"
  status --json L
  is 'l["state"], l["overdue"], l["renewed_s_ago"] > 1' "('held', True, True)"
  list
  has 'L overdue 3/3'
}

@test "status: a string of another client, a key of another type, a Redisson lock" {
  everywhere set plain anybodys-secret px 600000
  everywhere lpush list x
  everywhere hset redisson 8a4ef9e2-91b5-4d4c-a2c9-6e5f07f1a7f9:63 2
  everywhere hset hash field value
  status -0 plain list redisson hash
  silent
  has 'plain: held by another program (3 of 3 servers)' 'the key says nothing about itself' \
    'list: held by another program' 'the key is a Redis list' \
    'holder 8a4ef9e2-91b5-4d4c-a2c9-6e5f07f1a7f9:63 of a Redisson lock, 2 times' \
    'the key is a Redis hash' 'expires never by itself' 'expires in '
  refute_contains "$output" anybodys-secret
  status --json redisson plain
  is 'l["state"], l["foreign"]["type"], l["foreign"]["count"]' "('foreign', 'hash', 2)"
  is 'l["foreign"]["redisson"]' 8a4ef9e2-91b5-4d4c-a2c9-6e5f07f1a7f9:63
  is 'l["holder"], l["mode"], l["least_left_s"]' '(None, None, None)'
  is 'j["locks"][1]["foreign"]' "{'type': 'string', 'redisson': None, 'count': None}"
}

@test "status: a value longer than any of redlock's is not looked at" {
  local value
  value=$(printf 'x%.0s' {1..2000})
  everywhere set long "$value"
  everywhere hset 'redlock:{long}:holder' "$value" '{"host":"h","user":"u"}'
  status -0 long
  has 'long: held by another program (3 of 3 servers)' 'the key says nothing about itself'
}

@test "status: a split: 69, and each server's word" {
  cli A set split $TOKEN px 600000 >/dev/null
  cli B set split $OTHER px 600000 >/dev/null
  status -69 split
  has 'split: undecided, no quorum (2 of 3) says the same' "servers $A_URI: held by " "$C_URI: free"
  assert_one_line "$stderr" "lock \"split\" is undecided: no quorum (2 of 3 servers) says the same"
  refute_contains "$output$stderr" $TOKEN
  status -69 -q split
  assert_one_line "$stderr"
}

@test "status: a vote that was left on one server frees nothing and holds nothing" {
  keep_locked work
  cli C del work >/dev/null
  cli A set alone $TOKEN px 600000 >/dev/null
  status -1 alone
  has 'alone: free (2 of 3 servers)' "$A_URI: held by "
}

@test "status: one of three servers down is said, and makes no difference; two down: 69" {
  keep_locked work
  kill_server C
  status -0 work
  has 'work: held (2 of 3 servers)' "$A_URI: held, " "$C_URI: could not be asked"
  assert_one_line "$stderr" "$C_URI could not be asked: connection refused"
  status -0 -q work
  silent
  status -1 --json work free-one
  is 'j["status"], j["quorum"], [s["error"] is None for s in j["servers"]]' '(1, 2, [True, True, False])'
  is 'l["agreeing"], l["answered"], l["servers"][2]["state"]' '(2, 2, None)'
  pause_server B
  timed -69 "$REDLOCK" status work
  assert_between 0 "$elapsed" 15000
  has 'work: not known, 1 of 3 servers could be asked' "$A_URI: held by "
  assert_contains "$stderr" "the state of lock \"work\" is not known: 1 of 3 servers could be asked, and a quorum is 2"
  status --json work
  is 'j["status"], l["state"], l["holder"], l["fence"]' "(69, 'undecided', None, None)"
  REDLOCK_SERVER_TIMEOUT=200ms status -q work # why it is 69 is said nevertheless
  assert_contains "$stderr" "$B_URI could not be asked: did not answer within 200 ms"
  resume_server B
}

@test "status: a replica has no say" {
  start_server D
  cli D replicaof 127.0.0.1 1 >/dev/null
  status -69 -S "$D_URI" x
  assert_contains "$stderr" 'is a replica and can give no vote'
}

@test "status: a holder whose servers need not share one with ours, or of another protocol, is pointed out" {
  local before
  keep_locked roll -S "$A_URI" -S "$B_URI"
  status roll
  has 'roll: held (2 of 3 servers)'
  refute_contains "$output" warning
  status --json roll
  is 'len(l["holder"]["list"]), l["holder"]["fingerprint"]' '(2, None)'
  keep_locked work
  REDLOCK_SERVERS="$A_URI" status -0 work
  has ' warning the holder uses other servers than this host (' "$A_URI"
  REDLOCK_SERVERS="$A_URI" status --json work
  is 'len(l["warnings"]), l["holder"]["fingerprint"] != j["fingerprint"]' '(1, True)'
  everywhere set future $TOKEN px 600000
  everywhere hset 'redlock:{future}:holder' $TOKEN '{"protocol":2,"user":"u","host":"h","pid":1}'
  status future
  has 'the holder speaks version 2 of the protocol, and this redlock version 1' 'u@h, pid 1'
}

@test "status: records of any length, and what is none" {
  everywhere set evil $TOKEN px 600000
  everywhere hset 'redlock:{evil}:holder' $TOKEN "$(head -c 20000 /dev/zero | tr '\0' x)"
  status -0 evil
  has 'its record beside the lock is missing, or may not be read'
  everywhere hset 'redlock:{evil}:holder' fence:$TOKEN 99999999999999999999 holds:$TOKEN 'x 9999999999999999999999 y'
  everywhere hset redisson 8a4ef9e2-91b5-4d4c-a2c9-6e5f07f1a7f9:63 99999999999999999999
  status -0 evil redisson
  has 'evil: held (3 of 3 servers)' 'the key is a Redis hash'
  refute_contains "$output" fence
  garbage_server '$-1\r\n*-1\r\nx'
  status -69 -S "$GARBAGE_URI" x
}

@test "status: odd names, with a prefix" {
  local name
  for name in 'a b' '*' '[x]' '{tag}y' "it's" 'größe' 'a:holder'; do
    "$REDLOCK" run --prefix 'app:' --min-hold 60s "$name" -- true
    status -0 --prefix app: --json "$name"
    [[ $(json 'l["name"]') == "$name" ]] || fail "$output"
    status -1 "$name"
  done
  list --prefix app: --json
  is '[l["name"] for l in j["locks"]]' "['*', '[x]', 'a b', 'a:holder', 'größe', \"it's\", '{tag}y']"
  list --prefix app:a --json
  is '[l["name"] for l in j["locks"]]' "[' b', ':holder']"
  list --json 'app:{*'
  is '[l["name"] for l in j["locks"]]' "['app:{tag}y']"
}

# start_limited NAME WORD…: a server with a user cron who may do what the words say; sets NAME_CRON.
start_limited() {
  start_server "$1" --user cron on '>password' "${@:2}"
  local -n uri=${1}_URI
  declare -g "${1}_CRON=unix://cron:password@${uri#unix://}"
}

@test "status: with few permissions it tells what may be seen" {
  needs_users
  local keys=('~work' '~redlock:{work}:holder' '~redlock:{work}:fence')
  start_limited D "${keys[@]}" +eval +type +get +pttl +hget +time +info
  REDLOCK_SERVERS=$D_URI keep_locked work
  status -0 -S "$D_CRON" work
  silent
  has 'work: held (1 of 1 server)' ' fence '
  refute_contains "$output" password
  start_limited E "${keys[@]}" +eval +type +get +pttl
  REDLOCK_SERVERS=$E_URI keep_locked work
  status -0 -S "$E_CRON" work
  has 'work: held (1 of 1 server)' 'its record beside the lock is missing, or may not be read'
  start_limited F "${keys[@]}" +eval +type
  cli F set work $TOKEN >/dev/null
  status -69 -S "$F_CRON" work
  assert_contains "$stderr" 'the user lacks a permission; redlock check --acl USER [NAME], with the job'"'s -s, --slots, --once or --build, prints"
  status -69 -S "$D_CRON" elsewhere
  list -69 -S "$D_CRON"
  assert_contains "$stderr" 'lacks a permission'
}

@test "status and others: output that cannot be written, or is closed: 71, and why" {
  keep_locked work
  local command
  for command in 'status work' list 'list --json' config check --help --version; do
    run -71 --separate-stderr bash -c '"$0" $1 >/dev/full' "$REDLOCK" "$command"
    assert_one_line "$stderr" 'standard output: No space left on device' || fail "$command"
    run -71 --separate-stderr bash -c '"$0" $1 >&-' "$REDLOCK" "$command"
    assert_one_line "$stderr" 'standard output: it is closed' || fail "$command"
  done
}

@test "list: nothing is held: 0" {
  everywhere set plain x
  "$REDLOCK" run over -- true
  # Expired, and its holder's record not yet.
  leave_cooling expired
  everywhere del expired
  has_key A 'redlock:{expired}:holder' || fail 'no record is left'
  list -0
  [[ -z $output ]] || fail "$output"
  silent
  list --json
  is 'j["status"], j["locks"]' '(0, [])'
}

@test "list: one line each, sorted, merged over the servers, and a pattern" {
  keep_locked work
  keep_locked apples -S "$A_URI" -S "$B_URI"
  leave_cooling cool
  cli B del cool >/dev/null
  everywhere set plain x
  list -0
  silent
  [[ $(awk '{ print $1, $2, $3 }' <<<"$output") == \
    $'NAME STATE SERVERS\napples held 2/3\ncool cooling 2/3\nwork held 3/3' ]] || fail "$output"
  has "$(id -un)@$(uname -n) " "$(agreed_fence work)" "cool cooling 2/3 $(id -un)@$(uname -n) "
  list 'w?r*'
  [[ $(wc -l <<<"$output") == 2 ]] || fail "$output"
  list '[ac]*' --json
  is '[l["name"] for l in j["locks"]]' "['apples', 'cool']"
  list -0 none
  [[ -z $output ]] || fail "$output"
}

@test "list: with one server down, and with two" {
  keep_locked work
  kill_server A
  list -0
  has 'work held 2/3'
  assert_one_line "$stderr" "$A_URI could not be asked: "
  kill_server B
  list -69
  has 'work undecided 0/3'
  assert_contains "$stderr" 'the list may be incomplete: 1 of 3 servers could be asked about everything, and a quorum is 2'
}

@test "list: hundreds of locks among thousands of other keys, in bounded steps and never KEYS" {
  local count
  cli A eval 'for i = 1, 30000 do redis.call("SET", "other:" .. i, i) end
    for i = 1, 700 do
      local token = string.format("%040x", i)
      redis.call("SET", "lock" .. i, token, "PX", 600000)
      redis.call("HSET", "redlock:{lock" .. i .. "}:holder", token, "{}")
    end' 0 >/dev/null
  cli A config resetstat >/dev/null
  export REDLOCK_SERVERS=$A_URI
  list -0 --json
  is 'len(j["locks"])' 700
  is 'sorted(l["name"] for l in j["locks"]) == [l["name"] for l in j["locks"]]' True
  count=$(cli A info commandstats | sed -n 's/^cmdstat_scan:calls=\([0-9]*\),.*/\1/p')
  ((count >= 20)) || fail "$count steps"
  [[ $(cli A info commandstats) != *cmdstat_keys:* ]] || fail 'KEYS was used'
}

@test "status: a run in CI says by default which job it is, and not with -m or without its command" {
  local github=(GITHUB_RUN_ID=12 GITHUB_SERVER_URL=https://github.test GITHUB_REPOSITORY=we/ours)
  local azure=(TF_BUILD=True BUILD_BUILDID=12 SYSTEM_TEAMFOUNDATIONCOLLECTIONURI=https://azure.test/we/ SYSTEM_TEAMPROJECT=ours)
  local link of
  # says LINK VARIABLE… -- [OPTION…]
  says() {
    local variables=()
    link=$1
    shift
    while [[ $1 != -- ]]; do variables+=("$1") && shift; done
    run -0 --separate-stderr env "${variables[@]}" "$REDLOCK" run "${@:2}" L -- "$REDLOCK" status L
    assert_contains "$output" "$link"
  }
  says https://github.test/we/ours/actions/runs/12 "${github[@]}" --
  says 'https://azure.test/we/ours/_build/results?buildId=12' "${azure[@]}" --
  for of in CI_JOB_URL BUILDKITE_BUILD_URL CIRCLE_BUILD_URL BUILD_URL; do says "https://$of.test/12" "$of=https://$of.test/12" --; done
  says 'by hand' "${github[@]}" -- -m 'by hand'
  refute_contains "$output" github.test
  says 'command   redlock' "${github[@]}" -- --record-command name
  refute_contains "$output" github.test
}
