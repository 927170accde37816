#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=memory,slow
#
# `redlock acquire`, `renew` and `release`: a lock that is held between commands.

load ../lib/common
load ../lib/looking

teardown() { stop_all; }

# acquire ARG…: sets $token; fails unless it is printed alone and the lock is held.
acquire() {
  run -0 --separate-stderr "$REDLOCK" acquire "$@"
  [[ -z $stderr && $output =~ ^[0-9a-f]{40}$ ]] || fail "not a token alone: $output" "$stderr"
  token=$output
}

renew() { run_redlock renew "$@"; }
release() { run_redlock release "$@"; }

# assert_80: the lock is not held with that token any more; no token is told.
assert_80() {
  assert_status 80
  assert_one_line "$stderr"
  [[ ! $stderr =~ [0-9a-f]{40} ]] || fail "a token is told: $stderr"
}

OTHER=bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb

@test "acquire: the lock stays held, for its ttl, until it is released" {
  servers 1
  acquire --ttl 20s L
  [[ $(cli A get L) == "$token" ]]
  assert_between 15000 "$(cli A pttl L)" 20000
  run -1 "$REDLOCK" acquire -n L
  [[ -z $output ]] || fail "$output"
  run -1 "$REDLOCK" run -n L -- true
  release -0 L "$token"
  [[ -z $output$stderr ]] || fail "$output$stderr"
  assert_nothing_left A
  assert_free L
}

@test "acquire, renew, release: one server of three hangs, and holds nothing up for long" {
  servers 3
  pause_server C
  timed -0 "$REDLOCK" acquire L
  token=$output
  assert_between 0 "$elapsed" 9000
  timed -0 "$REDLOCK" renew L "$token"
  assert_between 0 "$elapsed" 9000
  timed -0 "$REDLOCK" release L "$token"
  assert_between 0 "$elapsed" 9000
  resume_server C
}

@test "acquire: it waits, as run does, and then has the lock" {
  servers 3
  acquire --ttl 1s L
  local first=$token
  acquire -w 20 L
  [[ $token != "$first" ]]
  release L "$first"
  assert_80
  # One of the three may have refused: there the first one's time was not over yet.
  (($(for server in A B C; do cli "$server" get L; done | grep -cx "$token") >= 2))
}

@test "acquire --json: an object with the token, the fence and how long it is valid" {
  servers 3
  run -0 --separate-stderr "$REDLOCK" acquire --json --ttl 20s L
  wait_for_key A L # two of three are enough
  is 'j["name"], j["keeper"], j["acquired"], 10 < j["valid_for_s"] <= 20' "('L', None, True, True)"
  is 'j["token"], j["fence"]' "('$(cli A get L)', $(agreed_fence L))"
}

@test "acquire --json: an object with the holder if the lock is held" {
  servers 3
  acquire --ttl 20s L
  run -1 --separate-stderr "$REDLOCK" acquire --json -n L
  silent
  is 'j["acquired"], j["name"], j["state"], 1 <= j["left_s"] <= 20' "(False, 'L', 'held', True)"
  is 'j["holder"]["user"], j["holder"]["command"]' "('$LOGNAME', 'redlock acquire L')"
  refute_contains "$output" "$token"
  run -0 --separate-stderr "$REDLOCK" acquire --json -w 1 -E 0 L
  is 'j["state"]' held
  assert_one_line "$stderr"
  run -69 --separate-stderr "$REDLOCK" acquire --json --server-wait 0 -S "$SCRATCH_URI/none" L
  [[ -z $output ]] || fail "$output"
  run -71 --separate-stderr bash -c '"$REDLOCK" acquire --json -n L >/dev/full'
}

@test "acquire: a token that cannot be printed leaves no lock" {
  servers 1
  local way
  # The last one is a pipe that nobody reads any more.
  for way in '>/dev/full' '>&-' '>&8'; do
    run -71 --separate-stderr bash -c 'exec 8> >(exec true); wait $!; "$REDLOCK" acquire L '"$way"
    assert_one_line "$stderr"
    assert_nothing_left A || fail "after acquire $way"
  done
}

@test "acquire: a reader that does not read gets no token, and nobody the lock from it" {
  servers 1
  full_pipe
  run -71 --separate-stderr bash -c '"$REDLOCK" acquire --ttl 1s L >"$1"' _ "$SCRATCH/pipe"
  assert_contains "$stderr" 'nobody reads it'
  assert_nothing_left A
}

@test "acquire: a reader that reads too late gets no token of a lock that has expired" {
  servers 1
  full_pipe
  background bash -c 'exec "$REDLOCK" acquire -vv -n --server-wait 60s --ttl 1s L >"$0"' "$SCRATCH/pipe"
  wait_for_line "$BACKGROUND_ERR" 'was acquired'
  kill -STOP "$BACKGROUND_PID"
  wait_until "$BOUND" lacks_key A L
  cli A set L another
  : >"$SCRATCH/read"
  empty() { "$PYTHON" -SEIc 'import array, fcntl, os, sys, termios
size = array.array("i", [0])
fcntl.ioctl(os.open(sys.argv[1], os.O_RDWR), termios.FIONREAD, size)
sys.exit(size[0])' "$SCRATCH/pipe"; }
  wait_until "$BOUND" empty
  kill -CONT "$BACKGROUND_PID"
  await -1 "$BACKGROUND_PID"
  wait_until "$BOUND" empty
  [[ ! -s $SCRATCH/read ]] || fail "$(<"$SCRATCH/read")"
}

@test "acquire: a signal while the token waits for its reader is the end of it, and nothing is left" {
  servers 1
  full_pipe
  # A shell makes one number of an exit with 143 and of a death by TERM.
  background "$PYTHON" -SEIc 'import subprocess, sys
process = subprocess.Popen([sys.argv[1], "acquire", "L"], stdout=open(sys.argv[2], "w"))
print(process.pid, flush=True)
sys.exit(0 if process.wait() == -15 else 1)' "$REDLOCK" "$SCRATCH/pipe"
  wait_for_key A L
  nap 2.2 # the patience of a release is 2 s, and does not begin before the release
  kill -TERM "$(<"$BACKGROUND_OUT")"
  await -0 "$BACKGROUND_PID"
  [[ -z $stderr ]] || fail "$stderr"
  assert_nothing_left A
}

@test "renew: gives up while a lock that it renewed first would still last" {
  servers 1
  acquire --ttl 60s L
  kill_server A
  timed -69 "$REDLOCK" renew --ttl 2s --server-wait 40s L "$token"
  assert_between 900 "$elapsed" 20000
}

@test "release: the servers remember it for as long as a keeper may live that does not know of it" {
  servers 1
  local note
  acquire --ttl 60s L
  cli A pexpire L 2000
  release -0 L "$token"
  note=$(cli A hget 'redlock:{L}:fence' released)
  assert_between $(($(now_ms) + 30000)) "${note#"$token "}" $(($(now_ms) + 60000))
}

@test "renew: for what it was taken with, or for --ttl; never less than it has" {
  servers 3
  acquire --ttl 15s L
  cli A pexpire L 6000
  cli B pexpire L 6000
  renew -0 L "$token"
  [[ -z $output$stderr ]] || fail "$output$stderr"
  wait_for_life L 12000 15000 A B C
  cli A pexpire L 6000
  cli B pexpire L 6000
  REDLOCK_TTL=40s renew L "$token"
  wait_for_life L 12000 15000 A B C
  renew -0 --json --ttl 50s L "$token"
  wait_for_life L 40000 50000 A B C
  is '45 < j["valid_for_s"] < 50' True
  local before
  before=$(evals A)
  renew -0 --ttl 10s L "$token"
  asked() { (($(evals A) > before)); }
  wait_until "$BOUND" asked
  assert_between 35000 "$(cli A pttl L)" 50000
}

@test "renew: a server that was restarted empty gets the lock back, with who holds it" {
  servers 3
  acquire L
  restart_server B
  renew -0 L "$token"
  wait_for_value L "$token" A B
  same_holder() { [[ $(cli B hget 'redlock:{L}:holder' "$token") == "$(cli A hget 'redlock:{L}:holder' "$token")" ]]; }
  wait_until "$BOUND" same_holder
}

@test "renew: a token that does not hold the lock: 80, with the name of the holder" {
  servers 3
  acquire L
  renew L "$OTHER"
  assert_80
  assert_contains "$stderr" "held by $(id -un)@"
  release L "$token"
  renew L "$token"
  assert_80
  assert_contains "$stderr" 'it was released, or has expired'
  wait_until_clean A B C
}

@test "renew, release: a key that is not of the token's kind stays: 80" {
  servers 1
  local head
  for head in s p0102 r; do # of a reader, of a slot, of a lock of Redisson's
    token=$head${OTHER:${#head}}
    cli A set L "$token" px 60000 >/dev/null
    for command in renew release; do
      "$command" L "$token"
      assert_80
      assert_contains "$stderr" 'another program has written the token into its key'
    done
    has_value A L "$token" || fail "the key of $head is gone"
  done
}

@test "renew, release: a restarted minority is not the end of the lock, a majority is" {
  servers 3
  acquire L
  restart_server A B
  renew L "$token"
  assert_80
  release L "$token"
  assert_80
  wait_until_clean A B C
}

@test "renew, release: too few servers: 69, said in one line" {
  servers 3
  acquire L
  kill_server A B
  renew -69 --server-wait 0.3 L "$token"
  assert_one_line "$stderr" 'cannot reach enough servers (2 of 3 needed)'
  release -69 -q --server-wait 0.3 L "$token"
  assert_one_line "$stderr" 'it may stay locked until it expires'
  wait_until_clean C
}

@test "renew, release: servers that come back in time" {
  servers 1
  acquire --ttl 60s L
  local command
  for command in renew release; do
    pause_server A
    background "$REDLOCK" "$command" --server-wait 20s -vv L "$token"
    wait_for_line "$BACKGROUND_ERR" 'did not answer'
    resume_server A
    await -0 "$BACKGROUND_PID" 20 || fail "$command"
  done
  assert_nothing_left A
}

@test "release: never somebody else's lock" {
  servers 3
  acquire L
  release L "$OTHER"
  assert_80
  wait_for_value L "$token" A B C
  # Nor is it logged.
  local server
  for server in A B C; do refute_contains "$(cli "$server" xrange 'redlock:{L}:log' - +)" released; done
  cli A set redis-py theirs >/dev/null
  cli B set redis-py theirs >/dev/null
  release redis-py "$OTHER"
  assert_80
  [[ $(cli A get redis-py) == theirs ]]
}

@test "renew, release: the token from standard input, where ps does not show it" {
  servers 1
  acquire --ttl 20s L
  cli A pexpire L 5000
  run -0 "$REDLOCK" renew L - < <(printf %s "${token:0:9}" && nap 0.2 && echo "${token:9}") # as it comes
  assert_between 15000 "$(cli A pttl L)" 20000
  run -0 "$REDLOCK" release L - < <(printf '%s\r\nmore\n' "$token")
  assert_nothing_left A
  run -64 "$REDLOCK" release L - </dev/null
  run -64 "$REDLOCK" release L - < <(head -c 100000 /dev/zero)
  assert_one_line "$output"
}

@test "acquire: the token of a run is one, too" {
  servers 1
  run -0 --separate-stderr "$REDLOCK" run L -- sh -c '"$REDLOCK" renew "$REDLOCK_NAME" "$REDLOCK_TOKEN"'
  # Released under a running job: it is stopped.
  run -80 --separate-stderr "$REDLOCK" run --ttl 3s L -- \
    sh -c '"$REDLOCK" release "$REDLOCK_NAME" "$REDLOCK_TOKEN" && exec sleep 60'
}

@test "renew, release: of a lock that is being revoked: 80, and by whom; a release ends that" {
  servers 3
  acquire L
  run -0 "$REDLOCK" release --force --yes L
  wait_for_value L "revoked:$token*" A B C
  renew L "$token"
  assert_80
  assert_contains "$stderr" 'free at the latest in'
  release L "$token"
  assert_80
  [[ $stderr =~ 'any more: revoked by '.*' from '.*'; now it is released'$ ]] || fail "$stderr"
  wait_until_clean A B C
}

@test "acquire, release: the log has both, with who, and no token" {
  servers 1
  acquire --ttl 20s L
  release L "$token"
  local log
  log=$(cli A xrange 'redlock:{L}:log' - +)
  [[ $(grep -cxE 'acquired|released' <<<"$log") == 2 ]] || fail "$log"
  [[ $(grep -c '"command":"redlock acquire L"' <<<"$log") == 2 ]] || fail "$log"
  [[ $(grep -c "\"fence\":$(cli A hget 'redlock:{L}:fence' value)" <<<"$log") == 2 ]] || fail "$log"
  [[ $(grep -c '"held":' <<<"$log") == 1 ]] || fail "$log"
  refute_contains "$log" "$token"
  acquire --log-entries 0 M
  release --log-entries 0 M "$token"
  [[ $(cli A exists 'redlock:{M}:log') == 0 ]]
}

@test "acquire: no lock inside itself" {
  servers 1
  run -1 "$REDLOCK" run L -- "$REDLOCK" acquire -n L
}
