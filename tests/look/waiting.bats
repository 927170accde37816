#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole,slow
#
# What `redlock status` and `redlock list` tell of those who wait, in the order in which they came, and
# on terminals of all widths; with servers that go and come back.

load ../lib/common
load ../lib/looking
load ../lib/queue

setup() { servers 3; }
teardown() { stop_all; }

# column HEAD: prints what the last `list` has below that head.
column() {
  awk -v head="$1" 'NR == 1 { at = index($0, head) } NR > 1 { split(substr($0, at), word, " "); print word[1] }' <<<"$output"
}

me() { echo "$(id -un)@$(uname -n)"; }

# pids_of LOCK: prints who waits for it by the last --json, in their order.
pids_of() { json "[w['pid'] for w in next(l for l in j['locks'] if l['name'] == '$1')['waiters']]"; }

# pretend FIRST LAST COMMAND [MS]: in the queue of all servers stand processes whose PIDs begin with FIRST
# and end with LAST; the first one has been there for that time, each next one for a second less.
pretend() {
  everywhere eval 'local now = redis.call("TIME")[1] * 1000
    for pid = ARGV[1], ARGV[2] do
      local who = {user = "somebody", host = "host.example.org", pid = pid, command = ARGV[3]}
      redis.call("ZADD", KEYS[1], now - ARGV[4] + 1000 * (pid - ARGV[1]), "pretended" .. pid)
      redis.call("HSET", KEYS[2], "pretended" .. pid, cjson.encode(who))
      redis.call("ZADD", KEYS[3], now + 19000, "pretended" .. pid)
    end' 3 "$QUEUE" "$WAITERS" "$ALIVE" "$1" "$2" "$3" "${4:-0}"
}

# ---- one lock ------------------------------------------------------------------------------------

@test "waiting: who, what and how long, in the order in which they came" {
  hold
  list
  [[ $(column WAITING) == 0 ]] || fail "$output"
  waiter one -m 'schema migration'
  waiter two
  status -0 L
  silent
  has " waiting $(me) (pid $one, bash -c 'echo " " $(me) (pid $two, bash -c 'echo " ', "schema migration") for '
  [[ $(grep -n "pid $one" <<<"$output" | cut -d : -f 1) -lt $(grep -n "pid $two" <<<"$output" | cut -d : -f 1) ]] || fail "$output"
  [[ $(grep -c ' waiting ' <<<"$output") == 1 ]] || fail "$output"
  [[ $(grep -cE 'two\) for [0-9.]+ m?s$' <<<"$output") == 1 ]] || fail "$output"
  status --json L
  is 'l["waiting"], [w["pid"] for w in l["waiters"]]' "(2, [$one, $two])"
  is 'sorted(l["waiters"][0])' "['command', 'host', 'message', 'pid', 'user', 'waited_s']"
  is 'l["waiters"][0]["waited_s"] > l["waiters"][1]["waited_s"] >= 0' True
  is 'l["waiters"][0]["waited_s"] < 60, l["waiters"][0]["user"]' "(True, '$(id -un)')"
  list
  [[ $(column WAITING) == 2 ]] || fail "$output"
  list --json
  is 'l["waiting"], len(l["waiters"])' '(2, 2)'
}

@test "waiting: the server where one stood longest says how long it has waited" {
  everywhere set L x px 60000
  pretend 100 102 backup 60000
  cli B zadd "$QUEUE" $(($(now_ms) - 1000)) pretended100
  cli C zadd "$QUEUE" $(($(now_ms) - 1000)) pretended100
  status --json L
  [[ $(pids_of L) == '[100, 101, 102]' ]] || fail "$(pids_of L)"
}

@test "waiting: the first five of many, with -v twenty, and how many more" {
  hold
  pretend 1 25 command 100000
  status L
  has ' waiting somebody@host.example.org (pid 1, command) for 1m ' ' (pid 5, command) for ' ' and 20 more'
  refute_contains "$output" 'pid 6,'
  status -v L
  has ' (pid 20, command) for ' ' and 5 more'
  refute_contains "$output" 'pid 21,'
  status --json L
  is 'l["waiting"], [w["pid"] for w in l["waiters"]] == list(range(1, 21))' '(25, True)'
  list
  [[ $(column WAITING) == 25 ]] || fail "$output"
}

@test "waiting: of a lock that is free, cooling down, revoked or undecided it is told as well" {
  pretend 1 1 soon
  status -1 L
  has 'L: free (3 of 3 servers)' ' waiting somebody@host.example.org (pid 1, soon) for '
  "$REDLOCK" run --min-hold 60s L -- true # passes it, as it is not there
  pretend 1 1 soon
  status -0 L
  has 'L: cooling down' ' waiting somebody@'
  everywhere set L "revoked:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" px 600000
  status L
  has 'L: held, and revoked from its holder' ' waiting somebody@'
  cli A set L somebody px 600000 >/dev/null
  cli B del L >/dev/null
  status -69 L
  has 'L: undecided' ' waiting somebody@'
}

@test "waiting: a lock that waits for another one is seen twice" {
  of_lock inner
  hold
  of_lock outer
  background "$REDLOCK" run outer -- "$REDLOCK" run inner -- true
  of_lock inner
  wait_until "$BOUND" queued 1
  status -0 outer inner
  has 'outer: held (3 of 3 servers)' 'inner: held (3 of 3 servers)' " waiting $(me) (pid "
  status --json outer inner
  is '[l["waiting"] for l in j["locks"]], j["locks"][1]["waiters"][0]["command"]' "([0, 1], 'true')"
}

# ---- on a terminal --------------------------------------------------------------------------------

@test "waiting: each in a line of the terminal with what there is room for of the command, with -v in as many as it takes" {
  "$REDLOCK" acquire --ttl 50s L >/dev/null
  local width text
  pretend 1234567 1234567 "/usr/local/sbin/nightly-backup --repository /srv/backup --exclude '*.tmp' /home" 7300000
  pretend 2 2 true 2000
  pretend 3 3 'größe 界界 of this and of that and of so much more' 1000
  for width in 200 80 40; do
    output=$(on_terminal "$width" "$REDLOCK" status L)
    (($(longest_line) <= width)) || fail "$(longest_line) columns of $width:" "$output"
    [[ $(grep -c '^  waiting   somebody@' <<<"$output") == 1 ]] || fail "$output"
    [[ $(grep -c '^ \{12\}somebody@' <<<"$output") == 2 ]] || fail "$output"
    ((width == 40)) || [[ $(wc -l <<<"$output") == 10 ]] || fail "$output"
    # Every other line of theirs is set in.
    [[ $(sed -n '/^  waiting/,$p' <<<"$output" | grep -vcE '^(  waiting   | {12})somebody@|^ {14}[^ ]') == 0 ]] || fail "$output"
    text=$(tr -s ' \n' '  ' <<<"$output")
    assert_contains "$text" '(pid 1234567, /usr/local/'
    ((width == 200)) || assert_contains "$text" '…) for 2h 1m'
    assert_contains "$text" '(pid 2, true) for '
    output=$(on_terminal "$width" "$REDLOCK" status -v L | sed '/^  servers/,$d')
    ((width < 80 || $(longest_line) <= width)) || fail "$(longest_line) columns of $width:" "$output"
    assert_contains "$(tr -s ' \n' '  ' <<<"$output")" "--repository /srv/backup --exclude '*.tmp' /home) for 2h 1m"
    [[ $(grep -c '^ \{12\}somebody@' <<<"$output") == 2 ]] || fail "$output"
    output=$(on_terminal "$width" "$REDLOCK" list)
    (($(longest_line) <= width)) || fail "$(longest_line) columns of $width:" "$output"
    ((width < 80)) || [[ $(column WAITING) == 3 ]] || fail "$output"
  done
  # Off a terminal nothing is cut.
  status L
  has "--repository /srv/backup --exclude '*.tmp' /home) for 2h 1m"
}

# ---- several locks, and a server that goes --------------------------------------------------------

# start_all NUMBER: another waiter for each of the locks, whose number that is.
start_all() {
  for lock in red green blue; do
    of_lock "$lock"
    waiter "$lock$1"
  done
}

# shown: status and list show the three locks as held, and who waits for each, in their order: NUMBER….
shown() {
  local lock number pids pid
  for lock in red green blue; do
    pids=
    for number in "$@"; do
      pid=$lock$number
      pids+=", ${!pid}"
    done
    [[ $(pids_of "$lock") == "[${pids#, }]" ]] || fail "$lock: $(pids_of "$lock"), not $pids" "$output"
  done
}

# all_in_queue: three on each server; they ask, as they do every 1.7 s.
all_in_queue() {
  local waiter
  for waiter in $(in_queue A); do word A free "$waiter"; done
  nap 0.1
  queued 3
}

# patiently COMMAND ARG…: on a machine under load, each server that runs has time to answer; for where none is stopped.
patiently() { REDLOCK_SERVER_TIMEOUT=5s "$@"; }

@test "waiting: a server dies while they wait, others come, and it comes back empty" {
  local lock
  for lock in red green blue; do
    of_lock "$lock"
    hold
  done
  start_all 1
  start_all 2
  kill_server C
  SERVERS=(A B)
  start_all 3
  patiently status -0 --json red green blue
  shown 1 2 3
  patiently status -0 red green blue
  assert_one_line "$stderr" "$C_URI could not be asked: connection refused"
  has 'red: held (2 of 3 servers)' 'green: held (2 of 3 servers)' 'blue: held (2 of 3 servers)' \
    " waiting $(me) (pid $red1, " " $(me) (pid $blue3, " "$C_URI: could not be asked"
  patiently list -0 --json
  shown 1 2 3
  patiently list -0
  [[ $(column NAME) == $'blue\ngreen\nred' && $(column SERVERS) == $'2/3\n2/3\n2/3' ]] || fail "$output"
  [[ $(column WAITING) == $'3\n3\n3' ]] || fail "$output"
  # What only one server of three says decides nothing about the locks; the waiters are shown nevertheless, until they
  # find out by themselves, within 5 s, that they reach too few servers.
  local waiters
  of_lock red
  for _ in 1 2 3; do
    pause_server B
    status -69 --json red
    is 'l["state"], l["holder"]' "('undecided', None)"
    waiters=$(json 'len(j["locks"][0]["waiters"])')
    status -69 red
    resume_server B
    [[ $waiters != 3 || $output != *" waiting $(me) (pid $red1, "* ]] || break
    wait_until "$BOUND" all_in_queue
  done
  [[ $waiters == 3 ]] || fail "$waiters waiters"
  has 'red: not known, 1 of 3 servers could be asked' " waiting $(me) (pid $red1, "
  restart_server C
  renew_soon A
  # There they are again: the server knows nobody, but each has its ticket.
  SERVERS=(A B C)
  for lock in red green blue; do
    of_lock "$lock"
    wait_until 20 all_in_queue
  done
  patiently status -0 --json red green blue
  silent
  shown 1 2 3
  # The holders end, and then all who wait run, one after another.
  local number pid
  for lock in red green blue; do
    of_lock "$lock"
    let_go
  done
  for lock in red green blue; do
    for number in 1 2 3; do
      pid=$lock$number
      await -0 "${!pid}" 30
    done
    assert_no_overlap "$SCRATCH/log.$lock"
    [[ $(grep -c '^start' "$SCRATCH/log.$lock") == 4 ]] || fail "$(<"$SCRATCH/log.$lock")"
  done
  local server
  for server in A B C; do wait_until "$BOUND" has_no_keys "$server"; done
}
