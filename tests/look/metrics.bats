#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# --metrics-file: what became of the runs, for node_exporter's textfile collector.

load ../lib/common

AS=() # what run_warned puts before the command

setup() {
  servers 1
  DIR=$SCRATCH/node
  FILE=$DIR/redlock.prom
  mkdir "$DIR"
  export REDLOCK_METRICS_FILE=$FILE
}

teardown() {
  chmod -R u+rwx "$SCRATCH"
  stop_all
}

# sample METRIC [LOCK]: prints the value that the file has for redlock_METRIC of L, or of LOCK.
sample() {
  awk -v start="redlock_$1{lock=\"${2-L}\"} " \
    'index($0, start) == 1 { print substr($0, length(start) + 1) }' "$FILE"
}

# assert_sample METRIC VALUE [LOCK]
assert_sample() {
  local found
  found=$(sample "$1" "${3-L}")
  [[ $found == "$2" ]] || fail "redlock_$1 is '$found', not $2" "$(cat "$FILE")"
}

# ms METRIC [LOCK]: a value in seconds, in milliseconds.
ms() { sample "$@" | tr -d . | sed 's/^0*\(.\)/\1/'; }

# assert_nothing_else: the directory has the file, the one for its lock, and nothing besides.
assert_nothing_else() {
  local found
  found=$(ls -A "$DIR")
  [[ $found == $'.redlock.prom.lock\nredlock.prom' ]] || fail "in the directory: $found"
}

# run_warned TEXT: a run of true that keeps its status, and has one warning with TEXT.
run_warned() {
  run -3 --separate-stderr "${AS[@]}" "$REDLOCK" run -n L -- sh -c 'exit 3'
  assert_one_line "$stderr" "redlock: warning: no metrics in $REDLOCK_METRICS_FILE: $1"
}

@test "metrics: a run that goes well" {
  local began ended
  began=$(now_ms)
  run --separate-stderr "$REDLOCK" run L -- sh -c 'sleep 0.3; echo "$REDLOCK_FENCE" >"$0"' "$SCRATCH/fence"
  ended=$(now_ms)
  assert_status 0
  [[ -z $stderr ]] || fail "$stderr"
  assert_sample last_exit_status 0
  assert_sample runs_total 1
  assert_sample last_fence "$(<"$SCRATCH/fence")"
  assert_between "$began" "$(ms last_run_timestamp_seconds)" "$((ended - 300))"
  assert_between "$((began + 300))" "$(ms last_success_timestamp_seconds)" "$((ended + 1))"
  assert_between 300 "$(ms last_duration_seconds)" "$((ended - began))"
  assert_between 0 "$(ms last_wait_seconds)" "$((ended - began - 300))"
  assert_nothing_else
}

@test "metrics: written when all is over: neither while the job runs nor before the release" {
  run -0 "$REDLOCK" run L -- test ! -e "$FILE"
  assert_sample runs_total 1
}

@test "metrics: conflicts, with how long was waited" {
  start_job --metrics-file /dev/null
  run -0 "$REDLOCK" run -n -E 0 L -- true
  assert_sample conflicts_total 1
  assert_sample last_success_timestamp_seconds 0.000
  run -1 "$REDLOCK" run -w 1 L -- true
  assert_sample conflicts_total 2
  assert_sample runs_total 0
  assert_sample last_exit_status 1
  # By two readings of the clock, one after the other.
  assert_between 900 "$(ms last_wait_seconds)" 9000
}

@test "metrics: no servers, no such command, and a signal while waiting" {
  run -69 "$REDLOCK" run -S redis://127.0.0.1:1 -n L -- true
  assert_sample last_exit_status 69
  run -127 "$REDLOCK" run L -- /none/such
  assert_sample last_exit_status 127
  assert_sample runs_total 0
  assert_sample conflicts_total 0
  cli A set L somebody
  background "$REDLOCK" run -vv L -- true
  wait_for_line "$BACKGROUND_ERR" 'waiting'
  terminate "$BACKGROUND_PID"
  assert_sample last_exit_status 143
  assert_sample conflicts_total 0
}

@test "metrics: a lost lock counts, a job's own 80 does not" {
  run -80 "$REDLOCK" run L -- sh -c 'exit 80'
  assert_sample lost_total 0
  run -80 "$REDLOCK" run --ttl 1s L -- sh -c 'redis-cli -s "$0" del L; exec sleep 60' "$A_SOCKET"
  assert_sample lost_total 1
  assert_sample last_exit_status 80
  (($(ms last_duration_seconds) < 30000)) || fail "$(cat "$FILE")"
  # At the release only.
  run -80 "$REDLOCK" run L -- redis-cli -s "$A_SOCKET" set L somebody
  assert_sample lost_total 2
  assert_sample runs_total 3
}

@test "metrics: the worker was killed" {
  start_job --ttl 1s
  wait_until "$BOUND" watches "$JOB"
  kill -KILL "$(child_of "$JOB")"
  await -80 "$JOB"
  assert_sample lost_total 1
  assert_sample last_exit_status 80
  # A job that ends before it has to be stopped: no loss.
  local LOCK=M worker
  start_job --ttl 30s
  wait_until "$BOUND" watches "$JOB"
  worker=$(child_of "$JOB")
  kill -KILL "$worker"
  wait_gone "$worker"
  end_job 4
  assert_sample last_exit_status 4 M
  assert_sample lost_total 0 M
  [[ $(sample last_duration_seconds M) == [0-9].* && $(sample last_duration_seconds M) != 0.000 ]] || fail "$(cat "$FILE")"
  assert_nothing_else
}

@test "metrics: several locks in one file, at the same time, and none is forgotten" {
  local number pids=()
  "$REDLOCK" run 'a "quoted\ one' -- true
  for number in 1 2 3 4 5 6 7 8; do
    background sh -c 'for i in 1 2 3; do "$REDLOCK" run "lock$0" -- true; done' "$number"
    pids+=("$BACKGROUND_PID")
  done
  for number in "${pids[@]}"; do
    await -0 "$number" 60
    [[ -z $stderr ]] || fail "$stderr"
  done
  for number in 1 2 3 4 5 6 7 8; do assert_sample runs_total 3 "lock$number"; done
  grep -qF 'redlock_runs_total{lock="a \"quoted\\ one"} 1' "$FILE" || fail "$(cat "$FILE")"
  assert_nothing_else
}

@test "metrics: the prefix belongs to the lock, and what is no UTF-8 is replaced" {
  "$REDLOCK" run --prefix app: L -- true
  assert_sample runs_total 1 app:L
  "$REDLOCK" run $'caf\xe9' -- true
  assert_sample runs_total 1 'caf?'
}

@test "metrics: the umask decides the mode of a new file; its lock is for those who may write to it" {
  (umask 022 && "$REDLOCK" run L -- true)
  [[ $(stat -c %a "$FILE" "$DIR/.redlock.prom.lock") == $'644\n200' ]] || fail "$(ls -lA "$DIR")"
  assert_nothing_else
  rm "$FILE"
  (umask 077 && "$REDLOCK" run L -- true && "$REDLOCK" run L -- true)
  [[ $(stat -c %a "$FILE") == 600 ]] || fail "$(stat -c %a "$FILE")"
  assert_sample runs_total 2
  chmod 2775 "$DIR"
  rm "$DIR/.redlock.prom.lock" # only a new one gets the mode
  (umask 022 && "$REDLOCK" run L -- true)
  [[ $(stat -c %a "$DIR/.redlock.prom.lock") == 220 ]] || fail "$(ls -lA "$DIR")"
}

@test "metrics: a file that is not ours, or is no file, is left as it is" {
  echo 'node_load1 0.5' >"$FILE"
  run_warned 'this version of redlock cannot read it, and leaves it as it is'
  [[ $(<"$FILE") == 'node_load1 0.5' ]] || fail "$(cat "$FILE")"
  rm "$FILE"
  ln -s "$SCRATCH/elsewhere" "$FILE"
  run_warned 'it is no regular file'
  [[ -L $FILE && ! -e $SCRATCH/elsewhere ]] || fail 'the link is no more what it was'
}

@test "metrics: the file never gets longer than redlock would read it again" {
  # One sample of each lock, to which the others would be added.
  local padding
  padding=$(printf 'x%.0s' {1..200})
  for number in {1..800}; do echo "redlock_last_fence{lock=\"$padding$number\"} 5"; done >"$FILE"
  cp "$FILE" "$SCRATCH/before"
  run_warned 'it is longer than 1 MiB'
  cmp "$FILE" "$SCRATCH/before"
}

@test "metrics: a path that cannot be is told at the start, once, unless -q" {
  export REDLOCK_METRICS_FILE=$SCRATCH/none/redlock.prom
  run_warned 'No such file or directory'
  run -0 --separate-stderr "$REDLOCK" run -q L -- true
  [[ -z $stderr ]] || fail "$stderr"
  background "$REDLOCK" run M -- sleep 60
  wait_for_line "$BACKGROUND_ERR" 'no metrics in'
  export REDLOCK_METRICS_FILE=$FILE/
  run_warned 'No such file or directory'
  export REDLOCK_METRICS_FILE=$DIR/
  run_warned 'Is a directory'
}

@test "metrics: a directory without permission to write" {
  # Root may write everywhere, but for this.
  [[ $(id -u) != 0 ]] || AS=(setpriv '--bounding-set=-dac_override,-dac_read_search' --)
  chmod 500 "$DIR"
  run_warned 'Permission denied'
  background "${AS[@]}" "$REDLOCK" run M -- sleep 60 # which need not end before
  wait_for_line "$BACKGROUND_ERR" 'no metrics in'
}

@test "metrics: a filter that kills whoever gives a file away (systemd) does not kill redlock" {
  # The new file and its lock have the right owner and group already.
  chmod 2775 "$DIR"
  local run
  for run in 1 2; do
    run -3 "$PYTHON" "$TESTS/lib/refuse.py" fchown KILL "$REDLOCK" run L -- sh -c 'exit 3'
    [[ -z $output ]] || fail "$output"
    assert_sample runs_total "$run"
  done
  assert_nothing_else
}

@test "metrics: a limit of file size changes nothing" {
  "$REDLOCK" run L -- true
  cp "$FILE" "$SCRATCH/before"
  # Standard error goes through a pipe: bats has a file there.
  run -3 bash -c '(ulimit -f 0; exec "$REDLOCK" run L -- sh -c "exit 3") 2>&1 | cat; exit ${PIPESTATUS[0]}'
  assert_contains "$output" 'File too large'
  cmp "$FILE" "$SCRATCH/before"
  assert_nothing_else
}

# hold_lock PATH REDIRECTION: a process has the lock of that file, which it opened so.
hold_lock() {
  start_tool bash -c "exec 9$2\"\$0\" && flock 9 && touch \"\$1\" && exec sleep 60" "$1" "$SCRATCH/locked"
  wait_until "$BOUND" test -e "$SCRATCH/locked"
}

@test "metrics: who may only read keeps nobody from writing them" {
  "$REDLOCK" run L -- true
  hold_lock "$DIR" '<'
  "$REDLOCK" run L -- true
  assert_sample runs_total 2
}

@test "metrics: others that do not let go of the lock are not waited for" {
  "$REDLOCK" run L -- true
  hold_lock "$DIR/.redlock.prom.lock" '>>'
  timed -3 "$REDLOCK" run L -- sh -c 'exit 3'
  assert_contains "$stderr" 'other processes keep its lock file locked'
  assert_between 1000 "$elapsed" 20000
  assert_sample runs_total 1
}

@test "metrics: a relative path, and none" {
  cd "$DIR"
  REDLOCK_METRICS_FILE='' "$REDLOCK" run L -- true
  "$REDLOCK" run --metrics-file /dev/null L -- true
  [[ -c /dev/null && -z $(ls -A) ]] || fail "$(ls -lA)"
  "$REDLOCK" run --metrics-file redlock.prom L -- true
  assert_sample runs_total 1
  printf 'metrics-file = "%s"\nservers = ["%s"]' "$FILE" "$A_URI" >"$SCRATCH/redlock.toml"
  env -u REDLOCK_METRICS_FILE -u REDLOCK_SERVERS "$REDLOCK" run --config "$SCRATCH/redlock.toml" L -- true
  assert_sample runs_total 2
}

@test "metrics: --once that finds the work done is no run" {
  "$REDLOCK" run --once 1h L -- true
  "$REDLOCK" run --once 1h --once-exit-code 9 L -- true || true
  assert_sample runs_total 1
  assert_sample last_exit_status 9
  assert_sample conflicts_total 0
}

@test "metrics: with --also, a run counts for each of the locks, but only if the command ran" {
  local lock began ended
  cli A set N somebody >/dev/null
  run -0 "$REDLOCK" run L --also N --also M -n -E 0 -- touch "$SCRATCH/ran"
  [[ ! -e $SCRATCH/ran ]] || fail 'the command ran'
  for lock in L M N; do
    assert_sample runs_total 0 "$lock"
    assert_sample last_success_timestamp_seconds 0.000 "$lock"
    assert_sample last_exit_status 0 "$lock"
  done
  assert_sample conflicts_total 0 L
  assert_sample conflicts_total 1 N
  cli A del N >/dev/null
  began=$(now_ms)
  # Nothing that the stages share is left to the command: its descriptors are those of any command.
  run "$REDLOCK" run L --also N --also M -- sh -c 'sleep 0.3; ls -l /proc/self/fd'
  ended=$(now_ms)
  assert_status 0
  refute_contains "$output" memfd
  for lock in L M N; do
    assert_sample runs_total 1 "$lock"
    assert_between "$((began + 300))" "$(ms last_success_timestamp_seconds "$lock")" "$((ended + 1))"
    assert_between "$began" "$(ms last_run_timestamp_seconds "$lock")" "$((ended - 300))"
    assert_between 300 "$(ms last_duration_seconds "$lock")" "$((ended - began))"
  done
  run -127 "$REDLOCK" run L --also M -- /none/such
  assert_sample runs_total 1 L
  assert_sample last_exit_status 127 L
}

# promtool's rules, and those of the text format: each family once, HELP and TYPE before its samples, names and labels
# well formed, no sample twice, times end in _seconds.
obeys_the_format() {
  "$PYTHON" -c '
import re, sys
text = sys.stdin.read()
assert text.endswith("\n")
families, samples, family = [], set(), None
lines = text.splitlines()
for at, line in enumerate(lines):
    if line.startswith("# HELP "):
        name, help = line[7:].split(" ", 1)
        assert re.fullmatch("[a-z_]+", name) and name not in families and help, line
        assert lines[at + 1] == f"# TYPE {name} gauge", lines[at + 1]
        families.append(name)
        family = name
        assert not re.search("_(total|count|sum|bucket)$", name), name
        assert "timestamp" not in name or name.endswith("_timestamp_seconds"), name
    elif not line.startswith("# TYPE "):
        found = re.fullmatch(r"""([a-z_]+)(\{lock="((?:[^"\\\n]|\\["\\n])*)"\})? ([0-9]+(\.[0-9]+)?)""", line)
        assert found and found[1] == family, line
        assert found[0].rsplit(" ", 1)[0] not in samples, line
        samples.add(found[0].rsplit(" ", 1)[0])
' <<<"$output" || fail "$output"
}

@test "list --prometheus: each lock that is not free, and the servers" {
  unset REDLOCK_METRICS_FILE
  local now odd='q"u\o te' line first
  servers 3
  run -0 "$REDLOCK" list --prometheus
  obeys_the_format
  assert_contains "$output" $'\nredlock_servers 3\n'
  refute_contains "$output" 'lock='
  now=$(date +%s)
  "$REDLOCK" acquire --ttl 1000s --prefix p: "$odd" >/dev/null
  "$REDLOCK" acquire -s --ttl 100s shared >/dev/null
  first=$(now_ms)
  "$REDLOCK" acquire -s --ttl 100s shared >/dev/null
  "$REDLOCK" acquire --slots 2 --ttl 100s slots >/dev/null
  "$REDLOCK" run --min-hold 100s cools -- true
  background "$REDLOCK" run shared -- true
  waits() { "$REDLOCK" list --prometheus | grep -qF 'redlock_lock_waiters{lock="shared"} 1'; }
  wait_until "$BOUND" waits
  run -0 "$REDLOCK" list --prometheus
  obeys_the_format
  for line in 'held{lock="p:q\"u\\o te"} 1' 'waiters{lock="p:q\"u\\o te"} 0' 'holders{lock="shared"} 2' \
    'held{lock="cools"} 0'; do
    grep -qxF "redlock_lock_$line" <<<"$output" || fail "$line" "$output"
  done
  at() { sed -n "s/^redlock_lock_$1{lock=\"${2:-p:}.*} \([0-9]*\)\.[0-9]*$/\1/p" <<<"$output"; }
  assert_between "$((now - 2))" "$(at since_timestamp_seconds)" "$(date +%s)"
  # Of readers, the first.
  assert_between "$((now - 2))" "$(at since_timestamp_seconds shared)" "$((first / 1000))"
  assert_between "$((now - 2))" "$(at since_timestamp_seconds slots)" "$(date +%s)"
  assert_between "$((now + 990))" "$(at expiry_timestamp_seconds)" "$(($(date +%s) + 1001))"
  run "$REDLOCK" list --prometheus 'c*'
  refute_contains "$output" shared
  kill_server C
  run -0 --separate-stderr "$REDLOCK" list --prometheus
  assert_contains "$output" $'\nredlock_servers_usable 2\n'
  kill_server B
  run -69 --separate-stderr "$REDLOCK" list --prometheus
  obeys_the_format
  assert_contains "$output" $'\nredlock_servers_usable 1\n'
  for line in --json --watch; do
    run -64 --separate-stderr "$REDLOCK" list --prometheus $line
    assert_one_line "$stderr"
  done
}

@test "metrics: a link that somebody put in place of the lock file keeps its mode and group" {
  chmod 775 "$DIR"
  install -m 600 /dev/null "$SCRATCH/other"
  ln "$SCRATCH/other" "$DIR/.redlock.prom.lock"
  run -0 "$REDLOCK" run L -- true
  [[ $(stat -c %a "$SCRATCH/other") == 600 ]] || fail "$(ls -l "$SCRATCH/other")"
}
