#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
# shellcheck disable=SC2016,SC2030,SC2031,SC2046,SC2153,SC2154
#
# packaging/examples: the shell parts of each file, run as that system runs them, against real servers.

load ../lib/common

EXAMPLES=$SOURCE/packaging/examples

setup() {
  start_server A
  start_server B
  start_server C
  export REDLOCK_SERVERS="$A_URI $B_URI $C_URI"
  PATH=${REDLOCK%/*}:$PATH
  mkdir "$SCRATCH/project"
  cd "$SCRATCH/project" || return
  job migrate
  job deploy
}
teardown() {
  local pid
  for pid in $(pgrep -f 'sleep 2h') $(pgrep -f -- 'acquire .*--keep-for .* deploy'); do
    # Ours alone: they have this test's directory in their environment.
    grep -qzs "^SCRATCH_OF_TEST=$SCRATCH$" "/proc/$pid/environ" && kill -KILL "$pid"
  done
  stop_all
}
export SCRATCH_OF_TEST=$SCRATCH

# job NAME [COMMANDS]: ./NAME.sh tells whether the lock was held while it ran, and runs COMMANDS.
job() {
  printf '#!/bin/sh\necho "%s $(redlock status deploy >/dev/null && echo locked || echo free)" >>"$SCRATCH_OF_TEST/log"\n%s\n' \
    "$1" "${2-}" >"$1.sh"
  chmod +x "$1.sh"
}

# assert_log LINE…: that was run, and nothing else.
assert_log() { [[ $(cat "$SCRATCH/log" 2>/dev/null) == "$(printf '%s\n' "$@")" ]] || fail "$(cat "$SCRATCH/log")"; }

assert_unlocked() {
  run "$REDLOCK" status deploy
  assert_status 1
}

# take_deploy: somebody else has the lock; sets $theirs.
take_deploy() { theirs=$("$REDLOCK" acquire --ttl 60s deploy); }

# ---- as the systems do it ---------------------------------------------------------------------

# github_part NAME: prints the commands of that step.
github_part() {
  awk -v name="$1" '
    /^ *- name: / { wanted = ($0 ~ "name: " name "$"); block = 0 }
    wanted && /^ *run: \|$/ { block = 1; next }
    wanted && sub(/^ *run: /, "") { print; exit }
    block && !/^          / { exit }
    block { print substr($0, 11) }' "$EXAMPLES/github-actions.yml"
}

# github: the job of several steps: each by a shell of its own, with what GITHUB_ENV has; the last one
# always, if its condition holds. The status is that of the first that fails.
github() {
  local name first=0 status
  export GITHUB_ENV=$SCRATCH/github_env
  : >"$GITHUB_ENV"
  for name in Lock Migrate Deploy Unlock; do
    if [[ $name == Unlock ]]; then
      grep -q '^DEPLOY_LOCK=.' "$GITHUB_ENV" || break
    elif ((first != 0)); then
      continue
    fi
    github_part "$name" >"$SCRATCH/step.sh"
    [[ -s $SCRATCH/step.sh ]] || return 99
    status=0
    env $(<"$GITHUB_ENV") bash --noprofile --norc -e "$SCRATCH/step.sh" 3>&- || status=$?
    ((first != 0)) || first=$status
  done
  return "$first"
}

# gitlab SHELL: the script, as the runner puts it together.
gitlab() {
  local script
  script=$(awk '/^several-commands:/ { job = 1 } job && sub(/^    - /, "")' "$EXAMPLES/gitlab-ci.yml")
  [[ -n $script ]] || return 99
  printf 'set -e\n: | eval %q\nexit 0\n' "$script" >"$SCRATCH/gitlab.bash"
  printf 'set -e\n%s\n' "$script" >"$SCRATCH/gitlab.sh"
  "$1" "$SCRATCH/gitlab.$1" 3>&-
}

# jenkins_part NAME: prints the commands of that stage, or of always.
jenkins_part() {
  awk -v name="$1" '
    /stage\(|always \{/ { wanted = index($0, name) > 0 }
    !wanted { next }
    block && /\047\047\047/ { exit }
    block { print; next }
    /sh \047\047\047$/ { block = 1; next }
    match($0, /sh \047.*\047$/) { print substr($0, RSTART + 4, RLENGTH - 5); exit }' "$EXAMPLES/Jenkinsfile"
}

# jenkins: the stages, up to the first that fails, and then always.
jenkins() {
  local name first=0 status
  for name in Lock Migrate Deploy always; do
    [[ $name == always || $first == 0 ]] || continue
    jenkins_part "$name" >"$SCRATCH/step.sh"
    [[ -s $SCRATCH/step.sh ]] || return 99
    status=0
    sh -xe "$SCRATCH/step.sh" 3>&- || status=$?
    ((first != 0)) || first=$status
  done
  return "$first"
}

# script: the plain one.
script() { "$EXAMPLES/script-with-trap" 3>&-; }

# each COMMAND: calls `COMMAND SYSTEM…` for every system, from the same start.
each() {
  local system
  for system in github 'gitlab bash' 'gitlab sh' jenkins script; do
    rm -f "$SCRATCH/log" redlock.token
    # shellcheck disable=SC2086
    "$1" $system
  done
}

# ---- what must be so of all of them -----------------------------------------------------------

runs_locked() {
  run "$@"
  assert_status 0
  assert_log 'migrate locked' 'deploy locked'
  assert_unlocked
}

@test "examples: the steps run under the lock, and it is released" { each runs_locked; }

fails_unlocked() {
  run "$@"
  ((status != 0)) || fail "$*: $status" "$output"
  assert_log 'migrate locked'
  assert_unlocked
}

@test "examples: a step that fails fails the whole, and the lock is released" {
  job migrate 'exit 5'
  each fails_unlocked
}

is_refused() {
  run "$@"
  assert_status 1
  assert_log ''
}

@test "examples: somebody else has the lock for too long: nothing is run, and theirs is left alone" {
  take_deploy
  mkdir "$SCRATCH/impatient"
  # As the examples have it, but with less patience.
  local file
  for file in "$EXAMPLES"/*; do
    [[ -f $file ]] || continue
    sed 's/-w 10m/-w 1/; s/-w 60/-w 1/' "$file" >"$SCRATCH/impatient/${file##*/}"
    chmod +x "$SCRATCH/impatient/${file##*/}"
  done
  EXAMPLES=$SCRATCH/impatient
  each is_refused
  wait_for_value deploy "$theirs" A B C
}

waits() {
  take_deploy
  # Released once it was asked for in vain.
  background bash -c 'asked() { redis-cli -s "$2" info commandstats | awk -F"[=,]" "/^cmdstat_eval:/ {n += \$2} /^cmdstat_evalsha:/ {n += \$2 - \$NF} END {print n}"; }
    until (($(asked "$@") > $1)); do sleep 0.05; done
    echo theirs >>"$SCRATCH_OF_TEST/log"; "$REDLOCK" release deploy "$0"' "$theirs" "$(evals A)" "$A_SOCKET"
  run "$@"
  assert_status 0
  assert_log theirs 'migrate locked' 'deploy locked'
  assert_unlocked
}

@test "examples: somebody else has the lock: that is waited for" { each waits; }

is_stopped() {
  run "$@"
  ((status != 0)) || fail "status 0:" "$output" "$(<"$SCRATCH/log")"
  assert_log 'migrate locked'
  local server
  for server in A B C; do
    [[ $(cli "$server" get deploy) == theirs ]] || fail "$server has $(cli "$server" get deploy)" "$output"
    cli "$server" del deploy >/dev/null
  done
}

@test "examples: a lock that is lost: no further step" {
  # Without the trap, a renewal that comes after the second server would end the job before the third.
  job migrate 'trap "" TERM; for s in "$A" "$B" "$C"; do redis-cli -s "$s" set deploy theirs; done; trap - TERM; sleep 2'
  export A=$A_SOCKET B=$B_SOCKET C=$C_SOCKET REDLOCK_TTL=2s
  each is_stopped
}

@test "examples: a script that is killed leaves no lock" {
  job migrate 'echo $$ >"$SCRATCH_OF_TEST/ready"; exec sleep 60'
  background "$EXAMPLES/script-with-trap"
  wait_for "$SCRATCH/ready"
  kill -KILL "$BACKGROUND_PID"
  wait_until "$BOUND" has_no_keys A
  kill -KILL "$(<"$SCRATCH/ready")"
}

@test "examples: a script that is told to end ends what it runs" {
  job migrate 'echo $$ >"$SCRATCH_OF_TEST/ready"; exec sleep 60'
  background "$EXAMPLES/script-with-trap"
  wait_for "$SCRATCH/ready"
  kill -TERM "$BACKGROUND_PID"
  await "$BACKGROUND_PID"
  assert_status 143
  wait_gone "$(<"$SCRATCH/ready")"
  assert_unlocked
}

@test "examples: a script that is told to end releases the lock when its command is gone, not before" {
  # It cleans up, and says at the end whether it still had the lock.
  job migrate 'cleaned() { sleep 0.3; redlock status deploy >/dev/null && echo locked || echo free; }
trap "cleaned >>\"$SCRATCH_OF_TEST/log\"; exit 0" TERM
echo $$ >"$SCRATCH_OF_TEST/ready"
while :; do sleep 0.02; done'
  local signal shell
  for signal in HUP INT TERM; do
    shell='sh'
    if [[ $signal == TERM ]]; then shell='bash'; fi
    rm -f "$SCRATCH/log" "$SCRATCH/ready"
    background "$shell" "$EXAMPLES/script-with-trap"
    wait_for "$SCRATCH/ready"
    kill -"$signal" "$BACKGROUND_PID"
    await "$BACKGROUND_PID"
    assert_status $((128 + $(kill -l "$signal")))
    assert_log 'migrate locked' locked
    [[ -z $stderr ]] || fail "$stderr"
    assert_unlocked
  done
}

@test "examples: a script that is told to end before it runs anything ends without a complaint" {
  local shell
  # Between the traps and the first command.
  sed 's/^.*migrate\.sh.*$/kill -TERM $$/' "$EXAMPLES/script-with-trap" >"$SCRATCH/early"
  grep -q '^kill' "$SCRATCH/early"
  for shell in sh bash; do
    run --separate-stderr "$shell" "$SCRATCH/early" 3>&-
    assert_status 143
    [[ -z $stderr ]] || fail "$stderr"
    assert_log ''
    assert_unlocked
  done
}

@test "examples: what can be wrapped in one step" {
  local line
  for line in "$(github_part Wrapped)" "$(sed -n 's/^    - \(redlock run -w\)/\1/p' "$EXAMPLES/gitlab-ci.yml")" \
    "$(sed -n "s/.*sh '\(redlock run -w.*\)'\$/\1/p" "$EXAMPLES/Jenkinsfile")"; do
    rm -f "$SCRATCH/log"
    [[ $line == 'redlock run '* ]] || fail "not found"
    run bash -c "$line"
    assert_status 0
    assert_log 'deploy locked'
  done
}

# newest_lines: prints the lines for the newest run, of each system.
newest_lines() {
  github_part Newest
  github_part Cancel
  sed -n 's/^    - \(redlock run --newest\)/\1/p' "$EXAMPLES/gitlab-ci.yml"
  sed -n "s/.*sh '\(redlock run --newest.*\)'\$/\1/p" "$EXAMPLES/Jenkinsfile"
}

@test "examples: the newest run deploys, the one before it gives way, and --replace stops the one that runs" {
  local line lines holder first second
  mapfile -t lines < <(newest_lines)
  ((${#lines[@]} == 5)) || fail "${lines[@]}"
  for line in "${lines[@]}"; do
    rm -f "$SCRATCH/log"
    for server in A B C; do cli "$server" flushall >/dev/null; done
    background "$REDLOCK" run deploy -- sleep 60
    holder=$BACKGROUND_PID
    for server in A B C; do wait_for_key "$server" deploy; done
    background env GITHUB_RUN_NUMBER=7 CI_PIPELINE_IID=7 BUILD_NUMBER=7 bash -c "$line"
    first=$BACKGROUND_PID
    if [[ $line != *--replace* ]]; then
      for server in A B C; do wait_for_key "$server" 'redlock:{deploy}:newest'; done
      background env GITHUB_RUN_NUMBER=8 CI_PIPELINE_IID=8 BUILD_NUMBER=8 bash -c "$line"
      second=$BACKGROUND_PID
      await "$first"
      assert_status 1
      assert_contains "$stderr" 'superseded by'
      kill -TERM "$holder"
      first=$second
    fi
    await "$first"
    assert_status 0
    await "$holder"
    if [[ $line == *--replace* ]]; then assert_status 80; fi
    assert_log 'deploy locked'
  done
}

@test "examples: they are well-formed, as far as can be seen here" {
  local file
  for file in "$EXAMPLES"/*.yml; do
    "$PYTHON" -c 'import sys
try: import yaml
except ImportError: sys.exit(0)
class Loader(yaml.SafeLoader): pass
list(yaml.load_all(open(sys.argv[1]), Loader))' "$file" || fail "$file"
  done
  sh -n "$EXAMPLES/script-with-trap"
}

# wrapped: the lines that these systems run as one command, each in the words of a shell: of the Jobs of
# Kubernetes, Ansible's tasks, systemd's services. The lock is `deploy`, and the job is ./migrate.sh.
wrapped() {
  {
    awk '/^ *command: \[/ { command = $0 } /^ *args: \[/ { print command $0 }' "$EXAMPLES/kubernetes.yml"
    grep '^ *argv: \[' "$EXAMPLES/ansible.yml"
    sed -n 's/^ExecStart=//p' "$EXAMPLES"/*.service
  } | sed -E 's/^ *(command|argv): \[//; s/\] *args: \[/ /; s/\]$//; s/, / /g; s/"//g; s|/usr/bin/redlock|redlock|
    s/nightly-backup|leader|import( -- )/deploy\1/; s#/usr/local/bin/(backup --full|daemon)|\./(migrate|import)\.sh#./migrate.sh#'
}

@test "examples: Kubernetes, Ansible and systemd run their commands under the lock" {
  local line lines
  mapfile -t lines < <(wrapped)
  ((${#lines[@]} == 7)) || fail "${lines[@]}"
  for line in "${lines[@]}"; do
    rm -f "$SCRATCH/log"
    [[ $line == 'redlock run '*'deploy -- ./migrate.sh' ]] || fail "unexpected: $line"
    [[ $line != *CREDENTIALS_DIRECTORY* ]] || continue # below
    for server in A B C; do cli "$server" flushall >/dev/null; done # the marks of --once
    run bash -c "$line"
    assert_status 0
    assert_log 'migrate locked'
  done
}

@test "examples: systemd hands the password to the service" {
  local line server
  line=$(wrapped | grep CREDENTIALS_DIRECTORY)
  # The name of the credential is that of the file, and the file is the one of the manual.
  grep -qx 'LoadCredential=redlock.password:/etc/redlock.password' "$EXAMPLES/leader.service"
  for server in A B C; do cli "$server" config set requirepass secret >/dev/null; done
  printf '#!/bin/sh\nREDLOCK_PASSWORD=secret exec redlock status deploy\n' >migrate.sh
  export CREDENTIALS_DIRECTORY=$SCRATCH/credentials
  mkdir "$CREDENTIALS_DIRECTORY"
  (umask 077 && echo wrong >"$CREDENTIALS_DIRECTORY/redlock.password")
  run bash -c "$line"
  assert_status 69
  echo secret >"$CREDENTIALS_DIRECTORY/redlock.password"
  run bash -c "$line"
  assert_status 0
  assert_contains "$output" 'deploy: held'
}

@test "examples: GitHub's composite action" {
  sed -n 's/^      run: //p' "$EXAMPLES/github-action.yml" >"$SCRATCH/step.sh"
  [[ -s $SCRATCH/step.sh ]]
  LOCK=deploy WAIT=10m COMMAND='./migrate.sh && ./deploy.sh' run bash --noprofile --norc -eo pipefail "$SCRATCH/step.sh"
  assert_status 0
  assert_log 'migrate locked' 'deploy locked'
  take_deploy
  LOCK=deploy WAIT=0 COMMAND=./migrate.sh run bash --noprofile --norc -eo pipefail "$SCRATCH/step.sh"
  assert_status 1
}

@test "examples: the steps of the Dockerfile are lines for a shell, and its files exist" {
  sed -e ':join; /\\$/ { N; s/\\\n//; b join }' "$EXAMPLES/Dockerfile" | sed -n 's/^RUN //p' >"$SCRATCH/steps"
  (($(wc -l <"$SCRATCH/steps") == 3))
  sh -n "$SCRATCH/steps"
  local file
  while read -r file; do [[ -e $SOURCE/$file ]] || fail "$file"; done < <(grep -oE 'packaging/[a-z./-]+' "$SCRATCH/steps")
}

@test "examples: systemd understands the units" {
  command -v systemd-analyze >/dev/null || skip "systemd is not installed"
  mkdir "$SCRATCH/units"
  local unit
  for unit in "$EXAMPLES"/*.service "$EXAMPLES"/*.timer; do
    sed 's|^ExecStart=.*|ExecStart=/bin/true|' "$unit" >"$SCRATCH/units/${unit##*/}"
  done
  run systemd-analyze verify "$SCRATCH"/units/*
  [[ $status == 0 && -z $output ]] || fail "$output"
}
