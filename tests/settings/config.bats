#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
# shellcheck disable=SC1003
#
# The configuration file, settings that override it, messages about a bad one, and `redlock config`.

load ../lib/common

# write LINE…: the configuration file.
write() {
  printf '%s\n' "$@" >"$REDLOCK_CONFIG"
  chmod 600 "$REDLOCK_CONFIG"
}

setup() {
  unset REDLOCK_RESTART_GRACE REDLOCK_SERVER_TIMEOUT
  export REDLOCK_CONFIG=$SCRATCH/redlock.toml
  export REDLOCK_SERVERS=redis://one
  write
}
teardown() { stop_all; }

# setting NAME [ARG…]: prints value and origin of a setting as `redlock config` tells them, with the
# path of the file cut short.
setting() {
  local name=$1
  shift
  "$REDLOCK" config "$@" | sed "s|$SCRATCH/||; s|  *| |g" | sed -n "s/^$name //p"
}

# is NAME TEXT [ARG…]
is() {
  local found
  found=$(setting "$1" "${@:3}")
  [[ $found == "$2" ]] || fail "$1: '$found', expected '$2'"
}

# assert_file_rejected TEXT LINE…: the file with these lines is an error of one line with TEXT.
assert_file_rejected() {
  write "${@:2}"
  run -78 --separate-stderr "$REDLOCK" run L -- true
  [[ -z $output ]] || fail "$output"
  assert_one_line "$stderr" "$1"
  refute_contains "$stderr" s3cret
}

@test "an unknown variable REDLOCK_… is a warning, with the name that was meant" {
  export REDLOCK_SERVER_TIMOUT=1s REDLOCK_URL=s3cret REDLOCK_HELD='' REDLOCK_FENCE=1
  export REDLOCK_SERVICE_HOST=10.0.0.1 REDLOCK_PORT=tcp://10.0.0.1:80 REDLOCK_PORT_80_TCP_ADDR=10.0.0.1
  export REDLOCK_REDIS_SERVICE_HOST=10.0.0.1 REDLOCK_REDIS_PORT_6379_TCP=tcp://10.0.0.1:6379 # by Kubernetes
  run -0 --separate-stderr "$REDLOCK" config
  [[ $(sort <<<"$stderr") == "redlock: warning: unknown variable 'REDLOCK_SERVER_TIMOUT', did you mean REDLOCK_SERVER_TIMEOUT?
redlock: warning: unknown variable 'REDLOCK_URL'" ]] || fail "$stderr"
}

@test "config: every key, and where it stands" {
  unset REDLOCK_SERVERS
  write '# All of it.' '' \
    'servers = [' '  "redis://db1",' '  "unix:///run/redis.sock",' ']' \
    'ttl = "50s"' 'kill-after = 2.5' 'server-timeout = "1s"' 'server-wait = 7' \
    'restart-grace = "5m"' 'prefix = "app:"' 'password = "s3cret"'
  run -0 "$REDLOCK" config
  assert_contains "$output" 'redis://:***@db1:6379 ' 'unix://:***@/run/redis.sock '
  refute_contains "$output" s3cret
  is ttl '50s redlock.toml:7'
  is kill-after '2500ms redlock.toml:8'
  is server-timeout '1s redlock.toml:9'
  is server-wait '7s redlock.toml:10'
  is restart-grace '5m redlock.toml:11'
  is prefix 'app: redlock.toml:12'
  is password '*** redlock.toml:13'
  is password-file '- default'
  write 'servers = ["redis://db1"]' 'password-file = "/dev/null"'
  run -78 --separate-stderr "$REDLOCK" config
  assert_contains "$stderr" "$REDLOCK_CONFIG:2: password-file \"/dev/null\": it is empty"
}

@test "config: a flag beats a variable, a variable beats the file, the file beats the default" {
  write 'ttl = "50s"'
  is ttl '50s redlock.toml:1'
  is ttl '30s default' --config /dev/null
  export REDLOCK_TTL=40
  is ttl '40s REDLOCK_TTL'
  is ttl '35s --ttl' --ttl=35s
  REDLOCK_TTL='' is ttl '50s redlock.toml:1'
  is tls-insecure '- default'
  is tls-insecure 'true --tls-insecure' --tls-insecure
  REDLOCK_TLS_INSECURE=0 is tls-insecure 'false REDLOCK_TLS_INSECURE'
  # An overridden value is not looked at, but a key that nobody knows is always an error.
  write 'ttl = "nonsense"' 'servers = 7'
  is ttl '40s REDLOCK_TTL'
  write 'ttl = "50s"' 'tttl = 7'
  run -78 "$REDLOCK" config --ttl 35
  # The file that a flag names comes before the file that the variable names.
  write
  unset REDLOCK_TTL
  is config 'redlock.toml REDLOCK_CONFIG'
  echo 'ttl = "55s"' >"$SCRATCH/other"
  is ttl '55s other:1' --config "$SCRATCH/other"
  is config 'other --config' --config "$SCRATCH/other"
}

@test "config: a file that is named must be there, the usual one need not" {
  local how
  rm -f "$REDLOCK_CONFIG"
  run -78 --separate-stderr "$REDLOCK" run L -- true
  assert_one_line "$stderr" "REDLOCK_CONFIG \"$REDLOCK_CONFIG\": No such file"
  run -78 --separate-stderr "$REDLOCK" run --config "$SCRATCH" L -- true
  assert_contains "$stderr" 'Is a directory'
  run -64 --separate-stderr "$REDLOCK" run --config= L -- true
  [[ ! -e /etc/redlock.toml ]] || skip 'this machine has an /etc/redlock.toml'
  for how in '' /dev/null; do
    REDLOCK_CONFIG=$how run -0 --separate-stderr "$REDLOCK" config
    [[ -z $stderr ]] || fail "$stderr"
  done
  unset REDLOCK_CONFIG
  is config '/etc/redlock.toml default, no such file'
}

@test "config: a file that is not there costs one system call" {
  command -v strace >/dev/null || skip 'strace is not installed'
  [[ ! -e /etc/redlock.toml ]] || skip 'this machine has an /etc/redlock.toml'
  unset REDLOCK_CONFIG
  strace -o "$SCRATCH/trace" -e trace=file "$REDLOCK" config >/dev/null || skip 'strace is not permitted'
  [[ $(grep -c redlock.toml "$SCRATCH/trace") == 1 ]] || fail "$(cat "$SCRATCH/trace")"
}

@test "config: unknown keys, wrong types and values: file, line, key, and what was probably meant" {
  unset REDLOCK_SERVERS
  assert_file_rejected "$REDLOCK_CONFIG:1: unknown key 'server', did you mean servers?" 'server = ["redis://x"]'
  assert_file_rejected "$REDLOCK_CONFIG:1: unknown key 'server_timeout', did you mean server-timeout?" 'server_timeout = 1'
  assert_file_rejected "unknown key 'rediscli-auth'" 'rediscli-auth = "s3cret"'
  assert_file_rejected "$REDLOCK_CONFIG:2: ttl: expected a time such as" 'prefix = "p"' 'ttl = true'
  assert_file_rejected "$REDLOCK_CONFIG:1: ttl: expected a time from 1s to 24h" 'ttl = -1'
  assert_file_rejected "$REDLOCK_CONFIG:1: ttl: expected a time from 1s to 24h" 'ttl = "1 day"'
  assert_file_rejected "$REDLOCK_CONFIG:1: prefix: lock name" 'prefix = "redlock-tag:"'
  assert_file_rejected "$REDLOCK_CONFIG:2: servers: \"a\" is not a server's URI; write redis://a" 'servers = [' '"a",' ']'
  assert_file_rejected "$REDLOCK_CONFIG:2: servers: " 'servers = [' '"http://u:s3cret@a",' ']'
  assert_file_rejected "$REDLOCK_CONFIG:1: servers: redis://:***@a:6379 occurs twice" \
    'servers = ["redis://:s3cret@a", "redis://:s3cret@a/2"]'
  assert_file_rejected "servers = [\"redis://HOST\"] into $REDLOCK_CONFIG" 'ttl = 9'
  REDLOCK_CONFIG=/dev/null run -78 --separate-stderr "$REDLOCK" run L -- true
  [[ $stderr == *'set REDLOCK_SERVERS (to try'* ]] || fail "$stderr"
}

@test "config: values that do not go together: run refuses them, and config shows them" {
  unset REDLOCK_SERVERS
  write 'servers = ["redis://a", "redis://b"]' 'kill-after = 4' 'ttl = 9'
  run -78 --separate-stderr "$REDLOCK" run L -- true
  assert_one_line "$stderr" "$REDLOCK_CONFIG:2: kill-after: expected at most a third of the ttl of 9s"
  is kill-after '4s redlock.toml:2'
}

@test "config: a mistake in the file: file and line, and no password" {
  local line
  for line in 'password = s3cret' 'password = "s3cret' "password = 's3cret'x" 'password = s3cret x' \
    'password "s3cret"' 's3cret' 'password = 99999999999999999999s3cret' 'password = ts3cret' \
    $'password = "s3cret\xff"' 'password = """s3cret' 'password = 1s3cret' 'password = [s3cret]'; do
    assert_file_rejected "$REDLOCK_CONFIG:2: " 'ttl = 50' "$line"
  done
  write 'password = 99999999999999999999'
  run -78 --separate-stderr "$REDLOCK" config
  refute_contains "$stderr" 9999
  head -c 300000 /dev/zero | tr '\0' '#' >"$REDLOCK_CONFIG"
  run -78 --separate-stderr "$REDLOCK" config
  assert_contains "$stderr" 'too long'
}

# warns TEXT [ARG…]: config has one warning, with TEXT, or none if there is no TEXT; it shows no password.
warns() {
  run -0 --separate-stderr "$REDLOCK" config "${@:2}"
  if [[ -n $1 ]]; then
    assert_one_line "$stderr" "redlock: warning: $1" || fail "not the warning: $1"
  else
    [[ -z $stderr ]] || fail "$stderr"
  fi
  refute_contains "$stderr$output" s3cret
}

@test "config: a file with a password that others may read is a warning" {
  local text
  for text in 'password = "s3cret"' 'servers = ["redis://u:s3cret@one"]' \
    'servers = ["redis+sentinel://one/main?sentinel_password=s3cret"]'; do
    unset REDLOCK_SERVERS
    write "$text"
    [[ $text == servers* ]] || export REDLOCK_SERVERS=redis://one
    warns ''
    chmod 604 "$REDLOCK_CONFIG"
    warns "others may read '$REDLOCK_CONFIG', which holds a password; chmod "
  done
  # The administrator may share it with a group.
  chmod 640 "$REDLOCK_CONFIG"
  if [[ $(id -u) == 0 ]]; then
    warns ''
    chown 65534 "$REDLOCK_CONFIG"
  fi
  run --separate-stderr "$REDLOCK" config
  assert_contains "$stderr" 'chmod go-rwx'
  # Without a password anybody may.
  write 'servers = ["redis://one"]'
  chmod 644 "$REDLOCK_CONFIG"
  warns ''
}

@test "config: a file that others may write is a warning, whatever it says" {
  local text may what
  while IFS='|' read -r text may what; do
    write "$text"
    chmod 646 "$REDLOCK_CONFIG"
    warns "others may $may '$REDLOCK_CONFIG', which $what; chmod "
  done <<<'password = "s3cret"|read and write|holds a password
servers = ["redis://one"]|write|controls what redlock does
on-lost = "logger lost"|write|controls what redlock does'
  chmod 644 "$REDLOCK_CONFIG"
  warns ''
}

@test "config: a password file that others may read or write is a warning; a pipe is nobody else's" {
  local file=$SCRATCH/password mode what
  echo s3cret >"$file"
  while IFS='|' read -r mode what; do
    chmod "$mode" "$file"
    warns "${what:+others may $what '$file', which holds a password; chmod }" --password-file "$file"
  done <<<'600|
400|
604|read
602|write
666|read and write'
  warns '' --password-file <(cat "$file")
  warns '' --password-file /dev/stdin <"$file"
  # Other commands warn, too, unless -q is given.
  run --separate-stderr "$REDLOCK" list -S "redis://127.0.0.1:$(free_port)" --password-file "$file"
  assert_contains "$stderr" 'holds a password'
  run --separate-stderr "$REDLOCK" run -q -n -S "redis://127.0.0.1:$(free_port)" --server-wait 0 \
    --password-file "$file" L -- true
  refute_contains "$stderr" 'holds a password'
}

@test "config: a password, or a command of --on-lost, in a file that another user owns is a warning" {
  [[ $(id -u) == 0 ]] || skip 'only root can give a file to another user'
  write 'on-lost = "logger lost"'
  chown 65534 "$REDLOCK_CONFIG"
  warns "another user (uid 65534) owns '$REDLOCK_CONFIG', which may set what --on-lost runs; chown"
  write 'ttl = 30'
  install -m 600 -o 65534 /dev/null "$SCRATCH/password"
  echo s3cret >"$SCRATCH/password"
  warns "another user (uid 65534) owns '$SCRATCH/password', which holds a password; chown" \
    --password-file "$SCRATCH/password"
}

@test "config: which password: flag, variables, file, redis-cli's" {
  start_server A --requirepass right
  export REDLOCK_SERVERS=$A_URI
  echo right >"$SCRATCH/right"
  echo wrong >"$SCRATCH/wrong"
  lock() { run_redlock run "$@" -n L -- true; }

  write 'password = "right"' "password-file = \"$SCRATCH/wrong\""
  REDISCLI_AUTH=wrong lock -0
  write 'password = "wrong"'
  REDLOCK_PASSWORD=right lock -0
  REDLOCK_PASSWORD_FILE=$SCRATCH/right lock -0
  lock -0 --password-file "$SCRATCH/right"
  REDISCLI_AUTH=right lock -69
  write "password-file = \"$SCRATCH/right\""
  REDISCLI_AUTH=wrong lock -0
  REDLOCK_PASSWORD=wrong lock -69
}

@test "config: a server that refuses the password: where it is from" {
  start_server A --requirepass right
  export REDLOCK_SERVERS=$A_URI
  # wrong SOURCE [ARG…]
  wrong() {
    run -69 --separate-stderr "$REDLOCK" run -n "${@:2}" L -- true
    assert_one_line "$stderr" ": wrong user or password (the password is from $1)"
  }
  install -m 600 /dev/null "$SCRATCH/bad"
  echo bad >"$SCRATCH/bad"
  wrong "$SCRATCH/bad" --password-file "$SCRATCH/bad"
  REDLOCK_PASSWORD_FILE=$SCRATCH/bad wrong "$SCRATCH/bad"
  REDLOCK_PASSWORD='right ' wrong 'REDLOCK_PASSWORD and begins or ends with a blank'
  REDLOCK_PASSWORD=$'right\n' wrong 'REDLOCK_PASSWORD and ends with a newline'
  REDISCLI_AUTH='"right"' wrong 'REDISCLI_AUTH and is in quotation marks'
  wrong 'its URI in -S/--server' -S "unix://:bad@${A_URI#unix://}"
  REDLOCK_SERVERS=unix://:bad@${A_URI#unix://} wrong 'its URI in REDLOCK_SERVERS'
  write '' 'password = "bad"'
  wrong "$REDLOCK_CONFIG:2"
  unset REDLOCK_SERVERS
  write "servers = [\"unix://:bad@${A_URI#unix://}\"]"
  wrong "its URI in $REDLOCK_CONFIG:1"
}

@test "config: an error about a file names the setting that names the file" {
  # says TEXT [ARG…]
  says() {
    run -78 --separate-stderr "$REDLOCK" run "${@:2}" L -- true
    assert_one_line "$stderr"
    [[ $stderr == "redlock: $1"* ]] || fail "$stderr"
  }
  local none="\"$SCRATCH/none\": No such file"
  says "--config $none" --config "$SCRATCH/none"
  write '' "password-file = \"$SCRATCH/none\""
  says "$REDLOCK_CONFIG:2: password-file $none"
  REDLOCK_SERVERS=rediss://one
  says "--tls-ca $none" --tls-ca "$SCRATCH/none" --password-file <(echo x)
  write '' '' "tls-cert = \"$SCRATCH/none\""
  says "$REDLOCK_CONFIG:3: tls-cert $none"
  REDLOCK_TLS_CA_DIR=$SCRATCH/none says "REDLOCK_TLS_CA_DIR $none"
}

@test "config: --json" {
  write 'servers = ["redis://:s3cret@one", "redis://two"]' 'ttl = "50s"'
  unset REDLOCK_SERVERS
  "$REDLOCK" config --json --server-wait 1 >"$SCRATCH/json"
  refute_contains "$(<"$SCRATCH/json")" s3cret
  REDLOCK_PREFIX='a"\' "$REDLOCK" config --json >"$SCRATCH/second"
  "$PYTHON" - "$SCRATCH/json" "$SCRATCH/second" "$REDLOCK_CONFIG" <<'CHECK' || fail "$(<"$SCRATCH/json")"
import json, sys
first, second = (json.load(open(name)) for name in sys.argv[1:3])
file = sys.argv[3]
assert first["ttl"] == {"value": 50.0, "unit": "s", "origin": "file", "where": file + ":2"}, first["ttl"]
assert first["servers"]["value"] == ["redis://:***@one:6379", "redis://two:6379"]
assert first["server-wait"] == {"value": 1.0, "unit": "s", "origin": "flag", "where": "--server-wait"}
assert first["kill-after"] == {"value": 5.0, "unit": "s", "origin": "default", "where": None}
assert first["prefix"]["value"] is None
assert first["log-entries"]["value"] == 1000 and first["tls-key"]["value"] is None
assert first["tls-insecure"]["value"] is False
assert {type(each["value"]).__name__ for each in first.values()} <= {"int", "float", "str", "bool", "list", "NoneType"}
assert second["prefix"] == {"value": 'a"\\', "unit": None, "origin": "environment", "where": "REDLOCK_PREFIX"}
CHECK
}

@test "config: the time-outs and the grace are those that are used" {
  is server-timeout '150ms default' --ttl 1500ms
  is kill-after '250ms default' --ttl 1500ms
  is server-timeout '200ms default'
}

@test "a named pipe is refused, and not waited for; one without a name is read" {
  mkfifo "$SCRATCH/fifo"
  run -78 --separate-stderr timeout 10 "$REDLOCK" config --config "$SCRATCH/fifo"
  assert_contains "$stderr" 'named pipe'
  [[ $stderr != *$'\n'* ]] || fail "$stderr"
  REDLOCK_CONFIG=$SCRATCH/fifo run -78 --separate-stderr timeout 10 "$REDLOCK" run L -- true
  assert_contains "$stderr" 'named pipe'
  run -78 --separate-stderr timeout 10 "$REDLOCK" run --password-file "$SCRATCH/fifo" L -- true
  assert_contains "$stderr" 'named pipe'
  # A slow writer of an unnamed one.
  run -0 bash -c '"$REDLOCK" config --config <(sleep 0.2; echo "ttl = \"41s\"") | grep -c 41s'
}
