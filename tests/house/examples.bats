#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
# shellcheck disable=SC2094,SC2046,SC2317
#
# packaging/examples: the shell parts of each file, run as that system runs them, against real servers.

load ../lib/common

EXAMPLES=$SOURCE/packaging/examples

setup() {
  servers 3
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

assert_unlocked() { run -1 "$REDLOCK" status deploy; }

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

# steps PART STEP…: carries out the script `PART STEP` of each step, up to the first one that fails, and of the last
# step always, if wants_last says so. The status is that of the first that fails.
steps() {
  local step first=0 status
  for step in "${@:2}"; do
    if [[ $step == "${*: -1}" ]]; then
      wants_last || break
    elif ((first != 0)); then
      continue
    fi
    "$1" "$step" >"$SCRATCH/step.sh"
    [[ -s $SCRATCH/step.sh ]] || return 99
    status=0
    carry_out "$SCRATCH/step.sh" 3>&- || status=$?
    ((first != 0)) || first=$status
  done
  return "$first"
}

# github: the job of several steps: each by a shell of its own, with what GITHUB_ENV has.
github() {
  export GITHUB_ENV=$SCRATCH/github_env
  : >"$GITHUB_ENV"
  carry_out() { env $(<"$GITHUB_ENV") bash --noprofile --norc -e "$1"; }
  wants_last() { grep -q '^DEPLOY_LOCK=.' "$GITHUB_ENV"; }
  steps github_part Lock Migrate Deploy Unlock
}

# github_jobs: the jobs with one lock, each with the token that the first one puts out.
github_jobs() {
  export GITHUB_OUTPUT=$SCRATCH/github_output
  : >"$GITHUB_OUTPUT"
  token() { sed -n 's/^token=//p' "$GITHUB_OUTPUT"; }
  carry_out() { TOKEN=$(token) bash --noprofile --norc -e "$1"; }
  wants_last() { [[ -n $(token) ]]; }
  steps github_part Hold 'Held migrate' 'Held deploy' Release
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

# jenkins: the stages.
jenkins() {
  carry_out() { sh -xe "$1"; }
  wants_last() { true; }
  steps jenkins_part Lock Migrate Deploy always
}

# script: the plain one.
script() { "$EXAMPLES/script-with-trap" 3>&-; }

# each COMMAND: calls `COMMAND SYSTEM…` for every system, from the same start.
each() {
  local system
  for system in github github_jobs 'gitlab bash' 'gitlab sh' jenkins script; do
    rm -f "$SCRATCH/log" redlock.token
    # shellcheck disable=SC2086
    "$1" $system
  done
}

# ---- what must be so of all of them -----------------------------------------------------------

runs_locked() {
  run -0 "$@"
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
  run -1 "$@"
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
  run -0 "$@"
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
    run -143 --separate-stderr "$shell" "$SCRATCH/early" 3>&-
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
    run -0 bash -c "$line"
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
      await -1 "$first"
      assert_contains "$stderr" 'superseded by'
      kill -TERM "$holder"
      first=$second
    fi
    await -0 "$first"
    await "$holder"
    if [[ $line == *--replace* ]]; then assert_status 80; fi
    assert_log 'deploy locked'
  done
}

@test "examples: GitHub's run that cancels: what is green, and what is red" {
  local line holder waits
  line=$(github_part Cancel)
  # An older build than one that was successful, and one that a newer run supersedes while it waits: green.
  GITHUB_RUN_NUMBER=5 run -0 bash -c "$line"
  GITHUB_RUN_NUMBER=4 run -0 --separate-stderr bash -c "$line"
  assert_contains "$stderr" 'build 4 is older than 5'
  assert_log 'deploy locked'
  "$REDLOCK" hold --for 60s deploy >"$SCRATCH/held" # no run replaces a hold
  background env GITHUB_RUN_NUMBER=6 bash -c "$line"
  waits=$BACKGROUND_PID
  for server in A B C; do wait_for_key "$server" 'redlock:{deploy}:newest'; done
  background env GITHUB_RUN_NUMBER=7 bash -c "$line"
  await -0 "$waits"
  assert_contains "$stderr" 'superseded by'
  "$REDLOCK" release deploy - <"$SCRATCH/held"
  await -0 "$BACKGROUND_PID"
  # One that is stopped for a newer one: red, and so is one that fails.
  job deploy 'echo >"$SCRATCH_OF_TEST/ready"; exec sleep 60'
  background env GITHUB_RUN_NUMBER=8 bash -c "$line"
  holder=$BACKGROUND_PID
  wait_for "$SCRATCH/ready"
  job deploy 'exit 3'
  GITHUB_RUN_NUMBER=9 run -3 bash -c "$line"
  await -80 "$holder"
}

@test "examples: GitHub's jobs with one lock mask no token, and each job that locks is released" {
  # GitHub drops an output that contains a masked value.
  ! sed -n '/^  hold:/,$p' "$EXAMPLES/github-actions.yml" | grep -q 'add-mask' || fail 'a masked output'
  [[ $(grep -c 'needs.hold.outputs.token }}' "$EXAMPLES/github-actions.yml") == 3 ]]
  grep -A1 '^    needs: \[hold, migrate, deploy\]' "$EXAMPLES/github-actions.yml" | grep -qF 'if: always() && needs.hold'
}

# fence_is NUMBER: what runs from here on has this fence.
fence_is() { export REDLOCK_FENCE=$1; }

# has_written TEXT: writes that by the example, as `fenced` says.
has_written() {
  echo "$1" >report
  run -0 fenced
}

# refuses_older FENCE: a run with this fence may not write.
refuses_older() {
  fence_is "$1"
  echo older >report
  run fenced
  ((status != 0)) || fail "an older run has written: $output"
}

# stores NAME: that program is the stand-in of tests/lib/stores.py, with its state in $STORE.
stores() {
  export STORE=$SCRATCH/store
  mkdir -p "$STORE" "$SCRATCH/programs"
  ln -sf "$TESTS/lib/stores.py" "$SCRATCH/programs/$1"
  PATH=$SCRATCH/programs:$PATH
}

@test "examples: a fence in S3 refuses an older run, a race, and a store that ignores If-Match" {
  stores aws
  fenced() { "$EXAMPLES/fence-s3" shop day/report report; }
  stored() { "$PYTHON" -c 'import json, sys; o = json.load(open(sys.argv[1])); print(o["fence"], o["body"], end="")' "$STORE/day_report"; }
  fence_is 100
  has_written one
  has_written again # the same run
  fence_is 200
  has_written two
  refuses_older 100
  assert_contains "$output" 'a later run has stored day/report'
  [[ $(stored) == '200 two' ]] || fail "$(stored)"
  # A later run stores its report between our look and our write; and the same for a new object.
  for fence in 300 500; do
    printf '#!/bin/sh\necho later >later; REDLOCK_FENCE=%s exec "%s" shop day/report later\n' $((fence + 100)) "$EXAMPLES/fence-s3" >"$STORE/before-write"
    chmod +x "$STORE/before-write"
    refuses_older $fence
    assert_contains "$output" PreconditionFailed
    [[ $(stored) == "$((fence + 100)) later" ]] || fail "$(stored)"
    rm "$STORE/day_report"
  done
  touch "$STORE/ignores"
  refuses_older 900
  assert_contains "$output" 'this store ignores If-Match'
  [[ ! -e $STORE/day_report ]]
}

@test "examples: a fence for a file of another host refuses an older run, and a part of a file" {
  # What `ssh files fence-file ...` runs there.
  fenced() { "$EXAMPLES/fence-file" "$SCRATCH/file" "$REDLOCK_FENCE" "$(stat -c %s report)" <report; }
  fence_is 100
  has_written one
  has_written again
  fence_is 200
  has_written two
  refuses_older 100
  assert_contains "$output" 'a later run has written'
  fence_is 300
  run -1 "$EXAMPLES/fence-file" "$SCRATCH/file" 300 1000 <report
  assert_contains "$output" 'is incomplete'
  [[ $(<"$SCRATCH/file") == two && $(<"$SCRATCH/file.fence") == 200 ]] || fail "$(head "$SCRATCH"/file*)"
  # A number that cannot be read lets nobody in.
  echo broken >"$SCRATCH/file.fence"
  refuses_older 400
  # Of two at the same time, the second compares when the first has written.
  echo 200 >"$SCRATCH/file.fence"
  exec 8>>"$SCRATCH/file.lock"
  flock 8
  background bash -c 'exec "$0" "$1" 300 "$(stat -c %s report)" <report 8>&-' "$EXAMPLES/fence-file" "$SCRATCH/file"
  blocked() { pgrep -P "$BACKGROUND_PID" -x flock; }
  wait_until "$BOUND" blocked
  echo 400 >"$SCRATCH/file.fence"
  exec 8>&-
  await -1 "$BACKGROUND_PID"
  assert_contains "$stderr" 'a later run has written'
  # Together: the file is that of the larger number, whoever was last.
  echo 200 >"$SCRATCH/file.fence"
  local fence pids=()
  for fence in 509 501 508 502 507 503; do
    echo "by $fence" >"report.$fence"
    "$EXAMPLES/fence-file" "$SCRATCH/file" $fence "$(stat -c %s "report.$fence")" <"report.$fence" 2>/dev/null &
    pids+=($!)
  done
  wait "${pids[@]}" || true
  [[ $(<"$SCRATCH/file") == 'by 509' ]] || fail "$(<"$SCRATCH/file")"
  [[ -z $(find "$SCRATCH" -name 'file.??????') ]] || fail "$(ls "$SCRATCH")"
}

@test "examples: a fence in Kubernetes refuses an older run, and a race" {
  stores kubectl
  echo '{"metadata": {"resourceVersion": "7"}, "data": {"silver": "1"}}' >"$STORE/configmap_prices"
  fenced() { "$EXAMPLES/fence-kubernetes" configmap/prices "\"data\": {\"gold\": \"$(<report)\"}"; }
  fence_is 100
  has_written 41
  fence_is 200
  has_written 42
  refuses_older 100
  assert_contains "$output" 'a later run has changed configmap/prices'
  printf '#!/bin/sh\nREDLOCK_FENCE=400 exec "%s" configmap/prices "\\"data\\": {\\"gold\\": \\"43\\"}"\n' "$EXAMPLES/fence-kubernetes" >"$STORE/before-write"
  chmod +x "$STORE/before-write"
  refuses_older 300
  assert_contains "$output" Conflict
  [[ $("$PYTHON" -c 'import json, sys; o = json.load(sys.stdin); print(o["data"], o["metadata"]["annotations"]["fence"])' \
    <"$STORE/configmap_prices") == "{'silver': '1', 'gold': '43'} 400" ]] || fail "$(<"$STORE/configmap_prices")"
}

@test "examples: a later run has a larger fence, and its job may use these" {
  fenced() { "$REDLOCK" run report -c "'$EXAMPLES/fence-file' '$SCRATCH/file' \"\$REDLOCK_FENCE\" \"\$(stat -c %s report)\" <report"; }
  has_written one
  has_written two
  [[ $(<"$SCRATCH/file") == two ]]
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
    run -0 bash -c "$line"
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
  export CREDENTIALS_DIRECTORY=credentials # systemd's has no blank, and the line does not quote it
  mkdir "$CREDENTIALS_DIRECTORY"
  (umask 077 && echo wrong >"$CREDENTIALS_DIRECTORY/redlock.password")
  run -69 bash -c "$line"
  echo secret >"$CREDENTIALS_DIRECTORY/redlock.password"
  run -0 bash -c "$line"
  assert_contains "$output" 'deploy: held'
}

@test "examples: GitHub's composite action" {
  sed -n 's/^      run: //p' "$EXAMPLES/github-action.yml" >"$SCRATCH/step.sh"
  [[ -s $SCRATCH/step.sh ]]
  LOCK=deploy WAIT=10m COMMAND='./migrate.sh && ./deploy.sh' run bash --noprofile --norc -eo pipefail "$SCRATCH/step.sh"
  assert_status 0
  assert_log 'migrate locked' 'deploy locked'
  take_deploy
  LOCK=deploy WAIT=0 COMMAND=./migrate.sh run -1 bash --noprofile --norc -eo pipefail "$SCRATCH/step.sh"
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
