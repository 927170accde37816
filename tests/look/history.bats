#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole,slow
#
# `redlock history`, which reads the log that the servers keep of a lock (log.bats).

load ../lib/common
load ../lib/acl
load ../lib/log
load ../lib/looking

setup() {
  export TZ=UTC
  servers 3
}
teardown() { stop_all; }

# outcomes WORDS: those of the runs, in their order.
outcomes() { is '" ".join(run["outcome"] for run in r)' "$1"; }

# write SERVER MS EVENT RUN JSON [COUNT]: a line of the log of L, of another host.
write() { cli "$1" xadd "$LOG" "$2" event "$3" run "$4" data "$5" count "${6-1}" >/dev/null; }

# 2026-11-20 02:30:00 UTC
NIGHT=1795141800000

# at HOURS RUN SERVER…: a run of RUN that began HOURS hours after NIGHT and took one, in these logs.
night_run() {
  local server
  for server in "${@:3}"; do
    write "$server" $((NIGHT + ($1 + 1) * 3600000)) released "$2" \
      "{\"host\":\"web1\",\"user\":\"cron\",\"pid\":7,\"command\":\"./backup\",\"fence\":$(($1 + 1)),\"waited\":250,\"held\":3600000,\"status\":$1}"
  done
}

@test "history: nothing is logged: 0" {
  history -0 never
  [[ -z $output ]] || fail "$output"
  [[ $stderr == "redlock: nothing is logged about lock \"never\"" ]] || fail "$stderr"
  history -q never
  silent
  history -0 --json never
  is 'r, l["log_begins_ms"], j["status"]' '([], None, 0)'
}

@test "history: runs of several kinds, the one that goes on, and nothing changes by looking" {
  run "$REDLOCK" run L -- sh -c 'exit 3'
  run -127 "$REDLOCK" run L -- /nonexistent
  run "$REDLOCK" run --max-runtime 0.1 L -- sleep 60
  run "$REDLOCK" run --once 1h L -- true
  run "$REDLOCK" run --once 1h L -- true
  # The logs are sorted by the times of their lines: the next run begins when the skipped one is in all of them.
  local server
  for server in A B C; do wait_until "$BOUND" eval '[[ $(events '$server') == *skipped ]]'; done
  start_job
  wait_until "$BOUND" eval '[[ $(events A) == *acquired ]]'
  local before after
  before=$(cli A dbsize; cli A dump "$LOG" | od -c; cli A pttl "$LOG")
  history -0 L
  silent
  [[ $(head -n 1 <<<"$output" | tr -s ' ') == 'WHEN HELD OUTCOME HOLDER PID WAITED FENCE COMMAND' ]] ||
    fail "$output"
  has " exit 3 $(id -un)@$(uname -n) " ' exit 127 ' ' exit 143 (--max-runtime) ' ' 1 run skipped (--once) ' \
    ' running ' " sh -c 'exit 3'" ' /nonexistent'
  [[ $output =~ [0-9]\ ?m?s\ +running ]] || fail "$output" # for how long it has had the lock
  [[ $(wc -l <<<"$output") == 7 ]] || fail "$output"
  after=$(cli A dbsize; cli A dump "$LOG" | od -c; cli A pttl "$LOG")
  [[ ${before%$'\n'*} == "${after%$'\n'*}" ]] || fail "$before" "$after"
  history --json L
  outcomes 'ended ended ended ended skipped running'
  is '[run["status"] for run in r]' '[3, 127, 143, 0, None, None]'
  is 'r[4]["skips"], r[5]["ended_ms"], r[5]["held_s"]' '(1, None, None)'
  is '[run["fence"] for run in r if run["fence"]] == sorted(run["fence"] for run in r if run["fence"])' True
  is 'r[5]["holder"]["host"], r[2]["reason"]' "('$(uname -n)', '--max-runtime')"
}

@test "history: a holder who was killed with all that was his never ended; then the lock is had again" {
  local worker job
  background "$REDLOCK" run --ttl 2s L -- sh -c 'echo $PPID $$ >"$0"; exec sleep 600' "$SCRATCH/pids"
  wait_for "$SCRATCH/pids"
  read -r worker job <"$SCRATCH/pids"
  wait_until "$BOUND" logged A acquired
  history --json L
  outcomes running
  # The top first: it would stop the job in time, and the worker would release the lock.
  kill -STOP "$worker"
  kill -KILL "$BACKGROUND_PID"
  kill -KILL "$worker" "$job"
  wait_until "$BOUND" eval '[[ $(cli A exists L)$(cli B exists L)$(cli C exists L) == 000 ]]'
  run -0 "$REDLOCK" run -w 10 L -- true
  history L
  has ' never ended (expired or killed) ' ' exit 0 '
  history --json L
  outcomes 'unknown ended'
  is 'r[0]["ended_ms"], r[0]["status"], r[0]["holder"]["pid"]' "(None, None, $BACKGROUND_PID)"
}

@test "history: a lock that was lost, and a run that had waited" {
  start_job --ttl 1s
  everywhere set L somebody
  await -80 "$BACKGROUND_PID"
  everywhere pexpire L 1500
  run -0 "$REDLOCK" run -w 30 L -- true
  history L
  has ' lost ' ' exit 0 '
  history --json L
  is 'sorted(run["outcome"] for run in r)' "['ended', 'lost']"
  is '[run["waited_s"] > 0.5 for run in r if run["outcome"] == "ended"]' '[True]'
}

@test "history: a forced release says by whom, while the job still stops and thereafter" {
  background "$REDLOCK" run --kill-after 9s L -- sh -c 'trap "echo x >\"$0\"" TERM
    for i in $(seq 1000); do test ! -e "$1" || exit 9; sleep 0.05; done' "$SCRATCH/told" "$SCRATCH/finish"
  wait_until "$BOUND" logged A acquired
  run -0 --separate-stderr "$REDLOCK" release --force --yes L
  wait_until "$BOUND" eval '[[ $(events A) == *revoked* ]]'
  history --json L
  outcomes forced
  is 'r[0]["has_lock"], r[0]["forced_by"]["host"]' "(True, '$(uname -n)')"
  wait_for "$SCRATCH/told"
  : >"$SCRATCH/finish"
  await -80 "$BACKGROUND_PID"
  history L
  has " forced by $(id -un)@$(uname -n) "
  history --json L
  outcomes forced
  is 'r[0]["has_lock"], r[0]["status"], r[0]["held_s"] > 0' '(False, 9, True)'
  is 'r[0]["fence"] is not None, r[0]["holder"]["pid"]' "(True, $BACKGROUND_PID)"
}

@test "history: a lock that was acquired, and released by its token" {
  local token
  token=$("$REDLOCK" acquire L)
  history --json L
  outcomes running
  run -0 "$REDLOCK" release L "$token"
  history --json L
  outcomes ended
  is 'r[0]["status"], r[0]["holder"]["host"]' "(None, '$(uname -n)')"
  refute_contains "$output" "$token"
}

@test "history: servers that saw different parts, one of three down, two down" {
  night_run 0 aaaa A B
  night_run 2 bbbb B C
  night_run 4 cccc A
  history -0 L
  silent
  [[ $(awk 'NR > 1 { print $1, $2, $3, $4, $5, $6 }' <<<"$output") == \
    $'2026-11-20 02:30:00 1h 0m exit 0\n2026-11-20 04:30:00 1h 0m exit 2\n2026-11-20 06:30:00 1h 0m exit 4' ]] ||
    fail "$output"
  has ' cron@web1 7 250 ms 1 ./backup'
  kill_server A
  history -0 --json L
  outcomes 'ended ended'
  is '[server["error"] is None for server in j["servers"]], j["quorum"]' '([False, True, True], 2)'
  assert_one_line "$stderr" "$A_URI could not be asked: "
  history -q L
  silent
  pause_server B
  timed -69 "$REDLOCK" history L
  assert_between 0 "$elapsed" 15000
  has ' exit 2 '
  assert_contains "$stderr" 'runs, or how they ended, may be missing: 1 of 3 servers could be asked, and a quorum is 2'
  resume_server B
}

@test "history: while nobody can tell who has the lock, a run that may go on has not ended" {
  start_job --ttl 60s
  wait_until "$BOUND" logged C acquired
  pause_server A B
  history -69 L
  has ' not known '
  refute_contains "$output" 'never ended'
  history --json L
  is 'r[0]["outcome"], r[0]["has_lock"]' '(None, None)'
  resume_server A B
  history --json L
  is 'r[0]["outcome"], r[0]["has_lock"]' "('running', True)"
}

# read_by_many: beside those that read L, another 119 do, for a shorter time than 10 minutes, and the time of one is over.
read_by_many() {
  everywhere eval '
    local clock = redis.call("TIME")[1] * 1000
    for at = 0, 119 do
      local token = string.format("s%039d", at)
      redis.call("ZADD", KEYS[1], clock + (at == 0 and -1000 or 300000 + at), token)
      redis.call("XADD", KEYS[2], "*", "event", "acquired", "run", string.sub(redis.sha1hex(token), 1, 16),
                 "data", "{\"host\":\"web1\",\"shared\":1}", "count", 1)
    end' 2 'redlock:{L}:readers' "$LOG"
}

@test "history: more readers than a server names" {
  "$REDLOCK" acquire -s --ttl 10m L >/dev/null
  read_by_many
  history -0 L
  refute_contains "$output" 'never ended'
  [[ $(grep -c ' running ' <<<"$output") == 100 && $(grep -c 'not known' <<<"$output") == 21 ]] || fail "$output"
  assert_contains "$stderr" 'lock "L" has 120 readers, and the servers name 100 of them'
  history --failed L
  [[ -z $output ]] || fail "$output"
  run "$REDLOCK" list
  assert_contains "$output" '120 readers'
  run "$REDLOCK" status L
  assert_contains "$output" 'and 20 more, 120 in all'
  run --separate-stderr "$REDLOCK" status --json L
  is 'len(l["holders"]), l["holder_count"]' '(100, 120)'
}

@test "history: one of more readers than a server names is renewed and released as any other" {
  local token
  token=$("$REDLOCK" acquire -s --ttl 10m L)
  read_by_many
  run --separate-stderr "$REDLOCK" renew --json L "$token"
  is '500 < j["valid_for_s"] <= 600' True # its own ttl
  run -0 "$REDLOCK" release L "$token"
  history --json L
  is '[run["outcome"] for run in r if run["holder"]["host"] != "web1"]' "['ended']"
}

@test "history --since, --until: what they leave out" {
  night_run 0 aaaa A B C
  night_run 2 bbbb A B C
  history --json --since '2026-11-20 05:00' L
  outcomes ended
  is 'r[0]["began_ms"], j["since_ms"]' "($((NIGHT + 2 * 3600000)), $((NIGHT + 9000000)))"
  history --json --since 2026-11-20 --until '2026-11-20 04:00' L
  outcomes ended
  is 'r[0]["began_ms"], j["until_ms"]' "($NIGHT, $((NIGHT + 5400000)))"
  local when
  for when in 2026-11-20 2026-11-19; do
    history -64 --since 2026-11-20 --until $when L
    [[ $stderr == 'redlock: --until is not later than --since' ]] || fail "$stderr"
  done
  run "$REDLOCK" run L -- true
  history --json --since 1h L
  outcomes ended
  is 'r[0]["holder"]["command"]' true
  history -q --since 2h elsewhere
  silent
  history -64 --since soon L
  assert_contains "$stderr" --since
}

@test "history --at: who held it then, or nobody and who did before and after" {
  night_run 0 aaaa A B C
  night_run 2 bbbb A B C
  history -0 --at 2026-11-20T03:00 L
  [[ $(head -n 1 <<<"$output") == 'lock "L" was held at 2026-11-20 03:00:00 +0000:' ]] || fail "$output"
  has ' exit 0 '
  refute_contains "$output" 'exit 2'
  history --at 2026-11-20T04:00 L
  [[ $(head -n 1 <<<"$output") == \
    'no record of a holder of lock "L" at 2026-11-20 04:00:00 +0000; before and after that:' ]] || fail "$output"
  has ' exit 0 ' ' exit 2 '
  history --json --at 2026-11-20T04:00 L
  is 'r, l["before"]["status"], l["after"]["status"], j["at_ms"]' "([], 0, 2, $((NIGHT + 5400000)))"
  history --at 2026-11-20T02:00 L
  [[ $(head -n 1 <<<"$output") == *'(the log begins at 2026-11-20 02:30:00 +0000); after that:' ]] || fail "$output"
  history --at 2026-11-20T12:00 L
  [[ $(head -n 1 <<<"$output") == *'+0000; before that:' ]] || fail "$output"
  history --at 2h never
  [[ $output == 'no record of a holder of lock "never" at '* ]] || fail "$output"
  history --json --at 2026-11-20T05:00 L
  is 'r[0]["status"], l["before"]["status"], l["after"]' '(2, 0, None)'
}

@test "history: a log with lines that are too long is not read" {
  cli A eval "redis.call('XADD', KEYS[1], '*', 'event', 'skipped', 'run', 'x', 'data', string.rep('x', 2000000), 'count', '1')" \
    1 'redlock:{backup}:log' >/dev/null
  run -69 --separate-stderr env REDLOCK_SERVERS="$A_URI" "$REDLOCK" history --json backup
  assert_contains "$stderr" 'its key "redlock:{backup}:log" has 2 MB in 1 lines, which are longer than any of redlock'
  is 'len(r)' 0
}

@test "history: a log of much more than 12 MB is not read" {
  cli A eval "for at = 1, 9000 do
      redis.call('XADD', KEYS[1], '*', 'event', 'skipped', 'run', 'x', 'data', string.rep('x', 1700), 'count', '1')
    end" 1 'redlock:{backup}:log' >/dev/null
  run -69 --separate-stderr env REDLOCK_SERVERS="$A_URI" "$REDLOCK" history --json backup
  assert_contains "$stderr" 'in 9000 lines, more than redlock reads; delete it, and keep fewer (--log-entries)'
  is 'len(r)' 0
}

@test "history --at: a time that the clock shows twice" {
  TZ=CET-1CEST,M3.5.0,M10.5.0/3 run -0 --separate-stderr "$REDLOCK" history --at '2025-10-26 02:30' backup
  assert_contains "$output" "at 2025-10-26 02:30:00 +0200"
  assert_contains "$stderr" "redlock: warning: the clock shows '2025-10-26 02:30' twice; redlock takes 2025-10-26 02:30:00 +0200"
}

@test "history: logs of many pages, read to their beginning" {
  cli A eval 'for i = 1, 1234 do
      redis.call("XADD", KEYS[1], i, "event", "released", "run", i, "data", "{\"held\":0}", "count", 1)
    end' 1 "$LOG" >/dev/null
  REDLOCK_SERVERS=$A_URI history -0 --json L
  is 'len(r), r[0]["began_ms"], r[-1]["began_ms"]' '(1234, 1, 1234)'
  # Lines of one millisecond, on both sides of a page's end.
  cli B eval 'for i = 1, 250 do
      redis.call("XADD", KEYS[1], "5-" .. i, "event", "released", "run", i, "data", "{}", "count", 1)
    end' 1 "$LOG" >/dev/null
  REDLOCK_SERVERS=$B_URI history --json L
  is 'len(r)' 250
  # No line is read twice where one page ends and the next begins.
  cli C eval 'for i = 1, 250 do
      redis.call("XADD", KEYS[1], i, "event", "skipped", "run", i, "data", "{}", "count", 2)
    end' 1 "$LOG" >/dev/null
  REDLOCK_SERVERS=$C_URI history --json L
  is 'len(r), r[0]["skips"]' '(1, 500)'
}

@test "history: lines of any length, and what is none" {
  write A 1000 released evil '{"host":"h","user":"u","command":"c","reason":"r","held":1}'
  write A 2000 released long "{\"host\":\"$(head -c 100000 /dev/zero | tr '\0' x)\"}"
  write A 3000 released odd '[[['
  write A 4000 $'\e[31m' odd '{}'
  cli A xadd "$LOG" 5000 some field >/dev/null
  cli A xadd "$LOG" 99999999999999999 event released run far data '{}' >/dev/null
  write B 1000 revoked evil '{"host":"h","user":"u"}'
  history L
  # A log that ends in an impossible time is no log of redlock's.
  assert_contains "$stderr" "$A_URI could not be asked: "
  has ' forced by '
  cli A xdel "$LOG" 99999999999999999-0 >/dev/null
  history --json L
  is 'len(r)' 1
  everywhere set "$LOG" x
  history -69 L
  assert_contains "$stderr" "its key \"$LOG\" is not a log; delete it"
  garbage_server '$-1\r\n*-1\r\nx'
  history -69 -S "$GARBAGE_URI" L
}

# shown COLUMNS LOCALE ARG…: sets $output to what `redlock history ARG…` prints on a terminal.
shown() { output=$(LC_ALL=$2 on_terminal "$1" "$REDLOCK" history "${@:3}"); }

@test "history: on a terminal a timeline beside the runs, in 80 columns, 40 and others" {
  local width
  night_run 0 aaaa A B C
  night_run 2 bbbb A B C
  write A $((NIGHT + 5 * 3600000)) acquired cccc '{"host":"a-host-with-a-long-name.example.org","user":"somebody"}'
  night_run 8 dddd A B C
  shown 80 C.UTF-8 L
  assert_contains "$output" '02:30' '11:30'
  [[ $(grep -o '[█▌▐]*' <<<"$output" | wc -l) == 3 ]] || fail "$output"
  [[ $output == *'never ended'*'?'* ]] || fail "$output"
  # Each further to the right than the one before.
  "$PYTHON" -SEIc 'import re, sys
at = [re.search("[█▌▐?]", line).start() for line in sys.argv[1].splitlines()[1:]]
sys.exit(at != sorted(at) or len(set(at)) != 4)' "$output" || fail "$output"
  for width in 200 100 80 60 40 25; do
    shown $width C.UTF-8 L
    (($(longest_line) <= width)) || fail "$(longest_line) columns of $width:" "$output"
    [[ $(wc -l <<<"$output") == 5 ]] || fail "$output"
    assert_contains "$output" 'exit 0'
  done
  # Where there is no room for the bars, they leave what there is room for alone.
  refute_contains "$output" …
  shown 40 POSIX L
  assert_contains "$output" '#'
  ! grep -q '[█▌▐]' <<<"$output" || fail "$output"
  shown 80 C.UTF-8 --at 2026-11-20T03:00 L
  ! grep -q '[█▌▐]' <<<"$output" || fail "$output"
  # Off a terminal there is none, and nothing is cut.
  history L
  ! grep -q '[█▌▐#]' <<<"$output" || fail "$output"
  has somebody@a-host-with-a-long-name.example.org
}

@test "history: with the permissions of redlock-protocol(7) and what it asks for besides" {
  acl_of_page
  cli A acl setuser "${ACL[@]}"
  export REDLOCK_SERVERS="unix://cron:password@${A_URI#unix://}"
  run -0 "$REDLOCK" run nightly-backup -- true
  history -69 nightly-backup
  assert_contains "$stderr" 'lacks a permission'
  cli A acl setuser cron +xrevrange
  history -0 nightly-backup
  silent
  has ' exit 0 '
}
