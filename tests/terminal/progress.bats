#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# What somebody who waits for a lock gets to see: --progress, on terminals (by tests/lib/terminal.py)
# and off them; and what is said at the end of a wait.

load ../lib/common

TOKEN=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa

# Somebody has the lock "deploy-shop" for ten minutes.
setup() {
  servers 1
  cli A set deploy-shop "$TOKEN" px 600000 >/dev/null
  cli A hset 'redlock:{deploy-shop}:holder' "$TOKEN" "{\"user\":\"root\",\"host\":\"db7\",\"pid\":123,
    \"command\":\"./deploy.sh\",\"since\":$(($(now_ms) - 192000))}" >/dev/null
}
teardown() { stop_all; }

# in_vain COMMAND…: `run --separate-stderr` of one that waits and gives up; as often as five times while
# the machine is too slow for the server to say at the limit who holds the lock, which is 69.
in_vain() {
  local try
  for try in 1 2 3 4 5; do
    run --separate-stderr "$@"
    [[ $status == 69 ]] || break
  done
}

# shown COMMAND…: runs one that waits until it has shown who holds the lock, and ends it; sets $stderr.
shown() {
  background "$@"
  wait_for_line "$BACKGROUND_ERR" waited
  kill -TERM "$BACKGROUND_PID"
  await "$BACKGROUND_PID"
}

# What the scenarios below have in common.
PRELUDE='
import subprocess
REDLOCK = os.environ["REDLOCK"]
GONE = os.environ["SCRATCH"] + "/gone"
def waiter(columns, *words, **environment):
    return Terminal([REDLOCK, "run", *words], columns, **environment)
def free():
    """Deletes the lock, and wakes who is first, as a release does."""
    redis("del", "deploy-shop")
    subprocess.run(["redis-cli", "-s", os.environ["A_SOCKET"], "eval", os.environ["HAND_ON"], "1", "deploy-shop",
                    "redlock:{deploy-shop}:", ""], stdout=subprocess.DEVNULL, check=True)
def one_line(at):
    assert len(at.shows()) == 1, at.shows()
'
progress_scenario() { { echo "$PRELUDE" && cat; } | HAND_ON=$(script_of hand_on) scenario; }

# ---- on a terminal ---------------------------------------------------------------------------------

@test "progress: one live line, cut to the terminal, gone before the job says its first word" {
  progress_scenario <<'SCENARIO'
wide, usual, narrow = [waiter(columns, "-w", "10m", "deploy-shop", "--", "echo", "first word")
                       for columns in (120, 80, 43)]
place = r"(next|(you are )?\dst of \d|(you are )?\dnd of \d|(you are )?\drd of \d)"
wide.until_line(rf"deploy-shop: held by root@db7 \(\./deploy\.sh\) for 3m \d+s · you are {place} · waited 0:\d\d of 10:00")
usual.until_line(rf"deploy-shop: held by root@db7 for 3m \d+s · {place} · waited 0:\d\d of 10:00")
narrow.until_line(rf"deploy-shop: root@db7 · {place} · 0:\d\d")
for at in wide, usual, narrow:
    at.until_line(r".*0:(0[2-9]|1\d).*")
    one_line(at)
free()
for at in wide, usual, narrow:
    assert at.ended() == 0
    lines = at.shows()
    assert len(lines) == 3 and re.fullmatch(r'redlock: got lock "deploy-shop" after \d+ s', lines[0]), lines
    assert lines[1:] == ["first word", ""], lines
SCENARIO
}

@test "progress: it follows the width of the terminal, and needs no UTF-8" {
  progress_scenario <<'SCENARIO'
at = waiter(120, "deploy-shop", "--", "true", LC_ALL="C")
at.until_line(r"deploy-shop: held by root@db7 \(\./deploy\.sh\) for 3m \d+s, you are next, waited 0:\d\d")
at.resize(45)
at.all = ""
at.until_line(r"deploy-shop: held by root@db7, next, 0:\d\d")
one_line(at)
at.resize(12)
at.all = ""
at.until_line(r"deploy-s\.\.\.")
free()
assert at.ended() == 0
assert all(character < "\x80" for character in at.all), at.all
SCENARIO
}

@test "progress: that the lock is revoked is a line of its own, with the live line below it" {
  progress_scenario <<'SCENARIO'
at = waiter(200, "deploy-shop", "--", "true")
at.until_line(r"deploy-shop: held by root@db7 .*")
redis("set", "deploy-shop", '"revoked:' + "a" * 40 + ' {}"', "px", "600000")
at.until_line(r'redlock: lock "deploy-shop" is now revoked by .* from root@db7 \(pid 123, \./deploy\.sh\), .*; waiting', 0)
at.until_line(r"deploy-shop: revoked from root@db7 \(\./deploy\.sh\), whose job is being stopped · .*", 1)
assert len(at.shows()) == 2, at.shows()
free()
assert at.ended() == 0
lines = at.shows()
assert lines[1].startswith('redlock: got lock "deploy-shop" after ') and lines[2:] == [""], lines
SCENARIO
}

@test "progress: Ctrl-C while waiting leaves a clean line" {
  progress_scenario <<'SCENARIO'
at = waiter(100, "deploy-shop", "--", "true")
at.until_line(r"deploy-shop: held by .*")
at.type(CTRL_C)
assert at.ended() == 130
assert at.shows() == [""] or "^C" in at.shows()[-1], at.shows()
assert "waited" not in at.shows()[-1], at.shows()
SCENARIO
}

@test "progress: a terminal that Ctrl-S has stopped delays neither the job nor the end" {
  progress_scenario <<'SCENARIO'
at = waiter(100, "deploy-shop", "--", "sh", "-c", 'echo x >"$0"', GONE)
at.until_line(r"deploy-shop: held by .*")
at.type("\x13")
before = at.shows()
beyond = boot_ms() + 1500
until("more than a line was due", lambda: boot_ms() > beyond)
assert at.shows() == before, at.shows()
free()
until("the job has run", lambda: os.path.exists(GONE))
until("the lock is free", lambda: not held("deploy-shop"))
at.type("\x11")
assert at.ended() == 0
SCENARIO
}

@test "progress: in the background nothing is written over the shell's prompt" {
  progress_scenario <<'SCENARIO'
at = Terminal("bash", 100)
at.run('"$REDLOCK" run deploy-shop -- true 2>&1 &')
until("it waits", lambda: redis("zcard", "redlock:{deploy-shop}:queue") == ":1")
beyond = boot_ms() + 1500
until("more than a line was due", lambda: boot_ms() > beyond)
assert "waited" not in "\n".join(at.shows()), at.shows()
at.type("fg\n")
at.until_line(r"deploy-shop: held by .*")
free()
at.prompt()
assert at.status() == 0
SCENARIO
}

@test "progress: never, -q, and a lock that is free: a terminal shows nothing of it" {
  progress_scenario <<'SCENARIO'
at = waiter(100, "free", "--", "echo", "in")
assert at.ended() == 0
assert at.all == "in\r\n", at.all
for options in ["--progress=never"], ["-q"]:
    at = waiter(100, *options, "-w", "1s", "deploy-shop", "--", "true")
    assert at.ended() == 1
    assert "waited" not in at.all and ("giving up" in at.all) == (options != ["-q"]), at.all
SCENARIO
}

@test "progress: acquire shows it as well, and what it prints is the token alone" {
  progress_scenario <<'SCENARIO'
at = Terminal(["sh", "-c", 'exec "$REDLOCK" acquire -w 10m deploy-shop >"$0"', GONE], 100)
at.until_line(r"deploy-shop: held by root@db7 \(\./deploy\.sh\) for 3m \d+s · you are next · waited 0:\d\d of 10:00")
free()
assert at.ended() == 0
lines = at.shows()
assert lines == [""] or lines[0].startswith('redlock: got lock "deploy-shop" after '), lines
with open(GONE) as file:
    assert re.fullmatch(r"[0-9a-f]{40}\n", file.read())
SCENARIO
}

# ---- off a terminal --------------------------------------------------------------------------------

@test "progress: where CI is set, a line immediately, and one when the lock is got" {
  background env CI=true "$REDLOCK" run -w 10m deploy-shop -- echo in
  wait_for_line "$BACKGROUND_ERR" waited
  local line
  line=$(<"$BACKGROUND_ERR")
  assert_one_line "$line"
  [[ $line =~ ^'redlock: lock "deploy-shop" is held by root@db7 (./deploy.sh) for 3m '[0-9]+'s, you are next, waited 0:0'[0-9]' of 10:00'$ ]] || fail "$line"
  local beyond=$(($(now_ms) + 1500))
  wait_until "$BOUND" past "$beyond"
  cli A del deploy-shop
  await -0 "$BACKGROUND_PID"
  [[ $output == in ]] || fail "$output"
  [[ $stderr == "$line"$'\nredlock: got lock "deploy-shop" after '[0-9]*' s' ]] || fail "$stderr"
}

@test "progress: off a terminal only where CI is set, or with always" {
  local setting
  for setting in CI=true REDLOCK_PROGRESS=always; do
    shown env "$setting" "$REDLOCK" run -w 10m deploy-shop -- true
    assert_one_line "$stderr" 'lock "deploy-shop" is held by root@db7 (./deploy.sh) for 3m'
  done
  for setting in CI= CI=false CI=0 'CI=1 REDLOCK_PROGRESS=never'; do
    # shellcheck disable=SC2086
    in_vain env $setting "$REDLOCK" run -w 400ms deploy-shop -- true
    assert_status 1
    assert_one_line "$stderr" 'giving up'
  done
  in_vain env CI=1 "$REDLOCK" run -q -w 400ms deploy-shop -- true
  [[ $status == 1 && -z $stderr ]] || fail "$status: $stderr"
  run --separate-stderr env CI=1 "$REDLOCK" run -n deploy-shop -- true
  [[ $status == 1 && -z $stderr ]] || fail "$status: $stderr"
}

@test "progress: a setting like any other" {
  echo 'progress = "always"' >"$SCRATCH/redlock.toml"
  run "$REDLOCK" config --config "$SCRATCH/redlock.toml"
  assert_contains "$output" always
  run -64 --separate-stderr "$REDLOCK" run --progress=sometimes L -- true
  assert_contains "$stderr" '--progress: expected auto, always or never'
  REDLOCK_PROGRESS=sometimes run -78 --separate-stderr "$REDLOCK" run L -- true
}

@test "progress: the place is that on the server where most stand before us" {
  local server
  start_server B
  start_server C
  for server in A B C; do cli "$server" set deploy-shop "$TOKEN" px 600000 >/dev/null; done
  for server in A B; do # a quorum has one of them
    cli "$server" eval 'local now = redis.call("TIME")[1] * 1000
      for _, each in ipairs(ARGV) do
        redis.call("ZADD", KEYS[1], now - 9000, each)
        redis.call("ZADD", KEYS[2], now + 15000, each)
      end' 2 'redlock:{deploy-shop}:queue' 'redlock:{deploy-shop}:alive' one two three >/dev/null
  done
  shown env CI=1 REDLOCK_SERVERS="$A_URI $B_URI $C_URI" "$REDLOCK" run deploy-shop -- true
  assert_contains "$stderr" ', you are 4th of 4, '
}

# ---- servers that are missing ----------------------------------------------------------------------

@test "progress: a server that is down is named after a second, to somebody who looks on" {
  local began took
  kill_server A
  began=$(now_ms)
  background env CI=1 "$REDLOCK" run --server-wait 60s L -- echo in
  wait_for_line "$BACKGROUND_ERR" needed
  took=$(($(now_ms) - began))
  assert_between 1000 "$took" 9500
  local line
  line=$(grep needed "$BACKGROUND_ERR")
  [[ $line =~ ^"redlock: $A_URI: connection refused".*'; 0 of 1 servers answer, 1 needed, trying for another 5'[0-9]' s'$ ]] || fail "$line"
  wait_for_line "$BACKGROUND_ERR" 'lock "L": the server does not answer, waited 0:0'
  restart_server A
  await -0 "$BACKGROUND_PID"
  [[ $(grep -c needed <<<"$stderr") == 1 ]] || fail "$stderr"
}
