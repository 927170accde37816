#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole,slow
#
# Keys and fields that somebody else has made long: a server must not stand still because a script reads them. What a
# script or a command of redlock costs the server is the processor time of the server's main thread: other load on the
# machine does not add to it.

load ../lib/common

setup() {
  servers 1
  TOKEN=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
  OTHER=bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
  HOLDER='redlock:{L}:holder'
  FENCE='redlock:{L}:fence'
  LINE='redlock:{L}:'
  KEYS=("$LINE"{queue,alive,waiters,turn})
}
teardown() { stop_all; }

# For one script, in ms: it reads nothing of the 1 MB or more that somebody has written.
MOST=20

# server_time: the processor time of the server's main thread, in µs.
server_time() {
  local ns rest
  read -r ns rest <"/proc/$A_PID/schedstat"
  echo $((ns / 1000))
}

declare -gA TEXT
# script WORD NAME KEYS KEY… ARG…: the server runs that script, and it does not take long; the first word of its answer
# matches the pattern WORD. Sets $answer.
script() {
  local before took
  [[ -v TEXT[$2] ]] || TEXT[$2]=$(script_of "$2")
  before=$(server_time)
  answer=$(ask_server "$A_SOCKET" eval "${TEXT[$2]}" "${@:3}" 2>&1 | tr -d '\0')
  took=$((($(server_time) - before) / 1000))
  ((took < MOST)) || fail "$2 took the server $took ms: ${answer:0:200}"
  # shellcheck disable=SC2053 # a pattern
  [[ ${answer%%$'\n'*} == $1 ]] || fail "$2: not $1: ${answer:0:200}"
}

# acquire WORD TOKEN [HOLD [PERIOD]]: that script, without a restart grace, in the queue as $WAITER with the ticket 5.
WAITER=
acquire() {
  local keys=(4 L "$HOLDER" "$FENCE" 'redlock:{L}:dead')
  [[ -z ${4-} ]] || keys=(5 "${keys[@]:1}" 'redlock:{L}:done')
  script "$1" acquire "${keys[@]}" "$2" 60000 '{"pid":1}' 0 60000 "${3:-$2}" "$WAITER" "${WAITER:+5}" "$LINE" 0123abcd \
    ${4+"$4"}
}

# plant KEY FIELD PATTERN [MB]: 1 MB of that in the field, or this many.
plant() {
  cli A eval 'return redis.call("HSET", KEYS[1], ARGV[1], string.rep(ARGV[2], ARGV[3] * 1000000 / #ARGV[2]))' 1 \
    "$1" "$2" "$3" "${4:-1}" >/dev/null
}

# What is bad for a pattern, for what is put together from pieces, and for what is searched for a token.
HOSTILE=(x 'x 9999999999999 ' "~$TOKEN " "$TOKEN 1 ")

# What somebody may write to the keys of a lock: far more than redlock does, in each of them.
declare -gA PLANTED=(
  [value]='redis.call("SETRANGE", "L", 20000000, "x")'
  [type]='redis.call("DEL", "L") for at = 1, 16 do redis.call("HSET", "L", "a" .. at .. ":1", long(9)) end'
  [holder]='for _, field in ipairs(redis.call("HKEYS", line .. "holder")) do
      redis.call("HSET", line .. "holder", field, long(9))
    end'
  [holders]='for at = 1, 30000 do redis.call("HSET", line .. "holder", at, at) end'
  [fence]='for _, field in ipairs({"value", "run_id", "list", "released", ""}) do
      redis.call("HSET", line .. "fence", field, long(9))
    end'
  [strings]='for _, key in ipairs({"dead", "done", "build", "turn", "newest"}) do redis.call("SETRANGE", line .. key, 20000000, "x") end'
  [readers]='for at = 1, 50 do redis.call("ZADD", line .. "readers", now + 9000, big .. at) end'
  [dead readers]='for at = 1, 50 do redis.call("ZADD", line .. "readers", at, big .. at) end'
  [many readers]='for at = 1, 30000 do redis.call("ZADD", line .. "readers", now + 9000, at) end'
  [queue]='for at = 1, 50 do
      redis.call("ZADD", line .. "queue", at, big .. at)
      redis.call("ZADD", line .. "alive", now + 9000, big .. at)
    end'
  [dead queue]='for at = 1, 50 do
      redis.call("ZADD", line .. "queue", at, big .. at)
      redis.call("ZADD", line .. "alive", at, big .. at)
    end'
  [long readers after expired ones]='for at = 1, 1024 do redis.call("ZADD", line .. "readers", at, at) end
    for at = 1, 50 do redis.call("ZADD", line .. "readers", now + 9000, big .. at) end'
  [a long reader]='redis.call("ZADD", line .. "readers", now + 9000, long(50))'
  [eight long names]='for at = 1, 8 do
      redis.call("ZADD", line .. "queue", at, long(6) .. at)
      redis.call("ZADD", line .. "alive", now + 9000, long(2) .. at)
    end'
  [a long last name]='for at = 1, 8 do
      redis.call("ZADD", line .. "queue", now - at, at)
      redis.call("ZADD", line .. "alive", now + 9000, at)
    end
    redis.call("ZADD", line .. "queue", 9e15, long(50))'
  [a long last name of many]='for at = 1, 1500 do
      redis.call("ZADD", line .. "queue", now - at, at)
      redis.call("ZADD", line .. "alive", now + 9000, at)
    end
    redis.call("ZADD", line .. "queue", 9e15, long(50))
    redis.call("ZADD", line .. "alive", 9e15, long(50))'
  [waiters]='redis.call("ZADD", line .. "queue", now, "me") redis.call("ZADD", line .. "alive", now + 9000, "me")
    redis.call("HSET", line .. "waiters", "me", long(50))'
  [mode]='redis.call("DEL", "L") redis.call("HSET", "L", "mode", long(50))
    for at = 1, 80 do redis.call("HSET", "L", at, at) end'
  [one field]='redis.call("DEL", "L") redis.call("HSET", "L", long(50), 1)'
  [fair queue]='redis.call("RPUSH", "redisson_lock_queue:{L}", long(50), "x")'
  [a long line of many]='local function add(data)
      redis.call("XADD", line .. "log", "*", "event", "skipped", "run", "x", "data", data, "count", 1)
    end
    for at = 1, 3000 do if at == 1500 then add(long(50)) end add("{}") end'
  [a long last line of many]='local function add(data)
      redis.call("XADD", line .. "log", "*", "event", "skipped", "run", "x", "data", data, "count", 1)
    end
    for at = 1, 3000 do add("{}") end
    add(long(50))'
  [log]='redis.call("XADD", line .. "log", "*", "event", "skipped", "run", "x", "data", long(50), "count", 1)'
)
COMMANDS=('status L' 'list' 'history L' 'check L' 'run -n L -- true' 'run -w 0.1 L -- true' 'run -s -n L -- true'
  'run --slots 2 -n L -- true' 'run --once 1h -n L -- true' 'run --newest --build 5 -n L -- true' 'history --refused L'
  'release --force --yes L' 'release --force --now --yes L')

# plants KIND: writes that, unless it is there: an earlier command may have removed it, or the key beside which it stands.
plants() {
  answer=$(ask_server "$A_SOCKET" eval "local line, size = 'redlock:{L}:', 0
    for _, key in ipairs(redis.call('KEYS', '*')) do size = size + redis.call('MEMORY', 'USAGE', key, 'SAMPLES', 0) end
    if size < 1e6 then
      local now = redis.call('TIME')[1] * 1000
      local function long(times) -- string.rep() takes half a second
        redis.call('SETRANGE', 'long', times * 300000 - 1, 'x')
        local text = redis.call('GET', 'long')
        redis.call('DEL', 'long')
        return text
      end
      local big = long(1)
      ${PLANTED[$1]}
      big = nil
      collectgarbage() -- of this script; otherwise the next one does that
    end
    return 'planted'" 0)
  [[ $answer == planted ]] || fail "$answer"
}

# bears KIND [OPTION…]: with that beside a lock, which a run with these options holds, no command of redlock costs the
# server $MOST_OF_COMMAND µs, for some 15 MB. OPTION free: nobody holds it. The best of three counts.
MOST_OF_COMMAND=8000
bears() {
  local command took try
  cli A flushall >/dev/null
  if [[ ${2-} != free ]]; then
    background "$REDLOCK" run "${@:2}" L -- sleep 600
    wait_until "$BOUND" lock_is_held
  fi
  # The run's own line of the log comes half a second later, and cuts the log.
  wait_until "$BOUND" stands "$1" || fail "$1 was not written"
  for command in "${COMMANDS[@]}"; do
    for try in 1 2 3; do
      took=$(server_time)
      # shellcheck disable=SC2086 # several words
      "$REDLOCK" $command >"$SCRATCH/out" 2>&1 </dev/null || true
      took=$(($(server_time) - took))
      plants "$1"
      [[ -z ${TABLE-} ]] || echo "$* | $command | $took µs" >>"$TABLE"
      ((took >= MOST_OF_COMMAND)) || break
      [[ $try != 3 || -n ${TABLE-} ]] || fail "beside $*, redlock $command took the server $took µs:" "$(<"$SCRATCH/out")"
    done
  done
  [[ ${2-} == free ]] || { kill "$BACKGROUND_PID" 2>/dev/null || true; await "$BACKGROUND_PID"; }
}
stands() {
  plants "$1"
  [[ $(answer A info memory) =~ used_memory:([0-9]+) ]]
  ((BASH_REMATCH[1] > 3000000))
}
lock_is_held() { [[ $(answer A exists L) == 1 ]]; }

@test "sizes: no command reads what somebody has written beside a lock" {
  local kind
  for kind in value type holder fence strings log 'a long line of many' 'a long last line of many'; do bears "$kind"; done
  bears holders free
  bears log free
}

@test "sizes: no command reads what somebody has written beside a lock of Redisson" {
  export REDLOCK_AS=redisson
  bears mode free
  bears 'one field' free
  bears 'fair queue' free
  bears 'fair queue'
}

@test "sizes: no command reads what somebody has added to the readers" {
  local kind
  for kind in readers 'dead readers' 'many readers' 'long readers after expired ones'; do
    bears "$kind" -s
    bears "$kind" --slots 2
  done
  bears 'a long reader' -s
}

@test "sizes: no command reads what somebody has added to the queue" {
  bears queue
  bears queue --slots 2
  bears 'dead queue' -s
  bears 'dead queue' free
  bears 'eight long names' free
  bears 'eight long names'
  bears 'a long last name' free
  bears 'a long last name'
  bears 'a long last name of many' -s
  bears waiters
}

@test "sizes: a foreign value of 20 MB costs no script time" {
  cli A setrange L 20000000 x >/dev/null
  acquire refused "$TOKEN"
  ((${#answer} < 2000)) || fail "it is answered whole: ${#answer} bytes"
  script not_committed commit 3 L "$HOLDER" "$FENCE" "$TOKEN" 5
  script not_mine renew 1 L "$TOKEN" 60000
  script not_mine release 1 L "$TOKEN"
  script refused repair 3 L "$HOLDER" "$FENCE" "$TOKEN" 60000 '{"pid":1}'
  script not_mine leave 2 L "$HOLDER" "$TOKEN" "$TOKEN" 0
  script not_mine leave 3 L "$HOLDER" "$FENCE" "$TOKEN" "$TOKEN" 0 owner 60000
  script not_mine revoke 1 L "$TOKEN" "revoked:$TOKEN {}" channel
  script seen look 2 L "$HOLDER"
  script not_mine remove 1 L string other '' ''
  [[ $(cli A strlen L) == 20000001 ]] || fail "it was changed"
  run -0 "$REDLOCK" release --force --now --yes L
  assert_no_key A L
}

@test "sizes: a mark of 20 MB costs no script time" {
  cli A setrange 'redlock:{L}:done' 20000000 x >/dev/null
  script missing 'done' 1 'redlock:{L}:done'
  script marked mark 1 'redlock:{L}:done' 1 60000 '{"pid":1}' 0
  script missing unmark 1 'redlock:{L}:done' '{"pid":1}'
  acquire granted "$TOKEN" "$TOKEN" 60000
}

@test "sizes: an unmark of a mark that is longer than any value of a lock" {
  local mark
  printf -v mark '1 {"pid":%01500d}' 1
  cli A set 'redlock:{L}:done' "$mark" >/dev/null
  script released unmark 1 'redlock:{L}:done' "${mark#* }"
}

@test "sizes: fields of 1 MB in the holder hash cost no script time" {
  local text field
  for text in "${HOSTILE[@]}"; do
    cli A flushall >/dev/null
    acquire granted "$TOKEN"
    for field in "$TOKEN" "fence:$TOKEN" "holds:$TOKEN" "keep:$TOKEN"; do plant "$HOLDER" "$field" "$text"; done
    acquire granted "$TOKEN"
    plant "$HOLDER" "holds:$TOKEN" "$text"
    acquire 'HOLDS*' "$TOKEN" "$OTHER"
    acquire refused "$OTHER"
    script seen look 2 L "$HOLDER"
    plant "$HOLDER" "$TOKEN" "$text"
    script '*' hold 1 "$HOLDER" "$TOKEN" "$OTHER" 60000 70000
    script not_committed commit 3 L "$HOLDER" "$FENCE" "$TOKEN" 5
    for field in "holds:$TOKEN" "keep:$TOKEN"; do plant "$HOLDER" "$field" "$text"; done
    # Whoever has the lock gives it back.
    script released leave 2 L "$HOLDER" "$TOKEN" "$TOKEN" 0
    assert_no_key A L
  done
}

@test "sizes: fields of 1 MB in the fence hash cost no script time" {
  local text
  for text in "${HOSTILE[@]}"; do
    cli A flushall >/dev/null
    acquire granted "$TOKEN"
    plant "$FENCE" released "$text"
    plant "$FENCE" run_id "$text"
    script missing inquire 1 "$FENCE" "$TOKEN"
    script granted repair 3 L "$HOLDER" "$FENCE" "$TOKEN" 60000 '{"pid":1}'
    script not_committed commit 3 L "$HOLDER" "$FENCE" "$TOKEN" 9000000000000
    script released leave 3 L "$HOLDER" "$FENCE" "$TOKEN" "$TOKEN" 0 owner 60000
    # What could not be read has made room for what is so.
    [[ $(cli A hget "$FENCE" released) == "$TOKEN "* ]] || fail "the release is not noted"
    script released inquire 1 "$FENCE" "$TOKEN"
    acquire granted "$OTHER"
    plant "$FENCE" value "$text"
    script not_committed commit 3 L "$HOLDER" "$FENCE" "$OTHER" 9000000000000
  done
}

@test "sizes: records of 4 MB in the queue cost no script time" {
  cli A zadd "${KEYS[0]}" 1 one 2 two 3 three >/dev/null
  cli A zadd "${KEYS[1]}" 1 one inf two inf three >/dev/null
  plant "${KEYS[2]}" one 9 4
  plant "${KEYS[2]}" two '1 ' 4
  plant "${KEYS[2]}" mark:three x 4
  cli A setrange "${KEYS[3]}" 20000000 x >/dev/null
  script waiting waiting 3 "${KEYS[@]:0:3}"
  script joined join_queue 1 L "$LINE" four '{"pid":1}' 4
  [[ $(cli A zrange "${KEYS[0]}" 0 -1) == $'two\nthree\nfour' ]] || fail "$(cli A zrange "${KEYS[0]}" 0 -1)"
  cli A set L somebody >/dev/null
  WAITER=four acquire refused "$TOKEN"
  cli A del L >/dev/null
  WAITER=four acquire turn "$TOKEN"
}

@test "sizes: thousands in the queue cost no script time" {
  cli A eval 'for at = 1, 100000 do
      redis.call("ZADD", KEYS[1], at, at)
      redis.call("ZADD", KEYS[2], at < 50000 and 1 or 9e15, at)
      redis.call("HSET", KEYS[3], at, "{}")
    end' 3 "${KEYS[@]:0:3}" >/dev/null
  local MOST=10
  script waiting waiting 3 "${KEYS[@]:0:3}"
  script joined join_queue 1 L "$LINE" me '{"pid":1}' 100001
  script free hand_on 1 L "$LINE" ''
  script free hand_on 1 L "$LINE" me
  cli A set L somebody >/dev/null
  WAITER=me acquire refused "$TOKEN"
  acquire refused "$OTHER"
}

@test "sizes: more holds than would be read are not taken" {
  acquire granted "$TOKEN"
  cli A eval 'local holds = {}
    for i = 1, 1180 do holds[i] = string.format(" f%039d 9999999999999", i) end
    redis.call("HSET", KEYS[1], ARGV[1], table.concat(holds) .. redis.call("HGET", KEYS[1], ARGV[1]))' 1 \
    "$HOLDER" "holds:$TOKEN" >/dev/null
  local joined
  for joined in {1..20}; do
    acquire '@(granted|HOLDS*)' "$TOKEN" "$(printf %040x "$joined")"
    [[ $answer == granted* ]] || break
  done
  [[ $answer == HOLDS* ]] || fail "$answer"
  ((joined > 1)) || fail "none was taken"
  (($(cli A hstrlen "$HOLDER" "holds:$TOKEN") <= 65536)) || fail "it has grown too long"
  # All are counted, and the one that took the lock does not end it for them.
  script seen look 2 L "$HOLDER"
  [[ $answer == *$'\n'$((1180 + joined))$'\n'* ]] || fail "$answer"
  script kept leave 2 L "$HOLDER" "$TOKEN" "$TOKEN" 0
}

# plant_members KEY SCORE: 12 members of 1 MB.
plant_members() {
  cli A eval 'for at = 1, 12 do redis.call("ZADD", KEYS[1], ARGV[1], string.rep("x", 1000000) .. at) end' 1 "$@" \
    >/dev/null
}

@test "sizes: waiters with names of 1 MB cost little script time, and are gone after the next request" {
  plant_members "${KEYS[0]}" 1
  script '*' hand_on 1 L "$LINE" ''
  [[ $(cli A exists "${KEYS[0]}") == 0 ]] || fail "$(cli A zcard "${KEYS[0]}") are left"
  local score
  for score in 1 inf; do
    plant_members "${KEYS[1]}" "$score"
    script '*' join_queue 1 L "$LINE" four '{"pid":1}' 5
    script '*' join_queue 1 L "$LINE" four '{"pid":1}' 5
    [[ $(cli A zrange "${KEYS[1]}" 0 -1) == four ]] || fail "$(cli A zcard "${KEYS[1]}") are left"
  done
  plant_members "${KEYS[0]}" 1
  WAITER=five acquire granted "$TOKEN"
}

@test "sizes: without the permission to ask for sizes all goes on" {
  server_at_least 6 || skip 'this server knows no users (Redis 6)'
  cli A acl setuser default -strlen -hstrlen -getrange >/dev/null
  run -0 "$REDLOCK" run L -- "$REDLOCK" run L -- true
  acquire granted "$TOKEN"
  run -1 "$REDLOCK" run -n L -- true
  script released leave 3 L "$HOLDER" "$FENCE" "$TOKEN" "$TOKEN" 0 owner 60000
  cli A setrange L 2000 x >/dev/null
  run -1 "$REDLOCK" run -n L -- true
  # A waiter in the queue has its turn, once.
  cli A del L >/dev/null
  cli A zadd "${KEYS[0]}" 1 one >/dev/null
  local answer
  for _ in {1..20}; do
    # It has just asked, or within the next 500 ms.
    cli A zadd "${KEYS[1]}" "$(($(now_ms) + 20400))" one >/dev/null
    acquire '*' "$TOKEN"
    [[ $answer == granted* ]] || break
    cli A del L >/dev/null
    cli A zadd "${KEYS[0]}" 1 one >/dev/null
  done
  [[ $answer == turn* ]] || fail "$answer"
  cli A del "${KEYS[3]}" >/dev/null
  acquire granted "$TOKEN"
  cli A zadd "${KEYS[0]}" 1 one >/dev/null
  # And a turn is read. On a machine so slow that it ends before, once more.
  for _ in {1..20}; do
    cli A del L >/dev/null
    cli A set "${KEYS[3]}" one px 500 >/dev/null
    acquire '*' "$TOKEN"
    [[ $answer != turn$'\n'one* ]] || break
  done
  [[ $answer == turn$'\n'one* ]] || fail "$answer"
}
