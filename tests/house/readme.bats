#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
# shellcheck disable=SC2013
#
# The README: each of its fenced blocks and each command in its sentences is run here against real servers, or stands
# in the list of those that are not, with the reason. So is each pair of commands in redlock-migrate(7).

load ../lib/common

README=$SOURCE/README.md
MIGRATE=$SOURCE/man/redlock-migrate.7

# How to run a block, by its first line.
declare -gA HOW=(
  ["redlock sandbox -- redlock run demo -- echo 'I hold the lock'"]=has_private_servers
  ['PATH=/usr/local/bin:/usr/bin:/bin']=crontab_works
  ['export REDLOCK_SERVERS=redis://ci-redis REDLOCK_PASSWORD=...']=deploys
  ['redlock run --newest deploy-shop -- ./deploy.sh              # of those that wait, only the newest goes on']=deploys_the_newest
  ["redlock run -n -E 75 report -c 'make-report > /srv/report.txt'"]=tells_outcomes_apart
  ['token=$(redlock acquire -w 60 --keep-for $$ deploy) || exit']=runs_under_the_lock
  ['$ redlock list']=shows_the_holder
  ['redlock release --force --wait nightly-backup']=stops_the_holder
  ['redlock run --slots 3 transcode -- ./transcode.sh video.mkv     # $REDLOCK_SLOT: 1, 2 or 3']=shares_the_locks
  ["redlock hold --for 2h -m 'schema migration' nightly-backup"]=keeps_everybody_out
  ['servers = ["redis://db1", "redis://db2", "redis://db3"]']=is_a_configuration
  ['redlock config    # what is set, and where']=checks_the_servers
)
declare -gA NOT_RUN=(
  ['web1$ redlock run backup -- ./backup │ web2$ redlock run -n backup -- ./backup']='a recording; tests/lock/contention.bats has its messages'
  ['packaging/quickstart    # installs what is missing, builds, runs a real job']='installs packages, and runs this test'
)
# The commands in sentences, with the exit status that they have here.
declare -gA IN_TEXT=(
  ['redlock check']=1 # servers without an append-only file
  ['redlock run --help-servers']=0
  ['redlock history --refused']=0
  ['redlock list --prometheus']=0
)
declare -gA NOT_RUN_IN_TEXT=(
  ['packaging/build-tarball']='packaging/release'
  ['packaging/examples']='a folder'
)

# Servers A to C, the programs of the README, and a directory for what it calls /usr/local/bin and so on.
setup() {
  servers 3
  ROOT=../root # relative, since the blocks quote no path, and the one of SCRATCH may have a blank
  mkdir "$SCRATCH/project"
  cd "$SCRATCH/project" || return
  mkdir -p "$ROOT"/{usr/local/bin,srv,var/lib/node_exporter,etc}
  local program
  for program in "$ROOT"/usr/local/bin/{backup,poll,hourly,make-report,cmd} deploy.sh migrate.sh backup test-my-script report.sh import.sh transcode.sh reprice.sh; do
    printf '#!/bin/sh\necho "%s $*" >>"%s/log"\n' "${program##*/}" "$SCRATCH" >"$program"
    chmod +x "$program"
  done
  ln -s "$REDLOCK" "$ROOT/usr/local/bin/redlock"
  PATH=$ROOT/usr/local/bin:$PATH
}
teardown() { stop_all; }

# blocks: writes each fenced block of the README into a file of $SCRATCH/blocks.
blocks() {
  mkdir -p "$SCRATCH/blocks"
  awk -v dir="$SCRATCH/blocks" '
    /^```/ && file { close(file); file = ""; next }
    /^```/ { file = sprintf("%s/%02d.%s", dir, ++count, substr($0, 4)); printf "" >file; next }
    file { print >file }' "$README"
}

# block FUNCTION: prints the block that this function runs, as it is for these servers and in $ROOT.
block() {
  blocks
  local file first
  for file in "$SCRATCH"/blocks/*; do
    IFS= read -r first <"$file"
    [[ ${HOW["$first"]-} == "$1" ]] || continue
    sed -e "s|redis://db1 redis://db2 redis://db3|$REDLOCK_SERVERS|; s|redis://ci-redis|$A_URI|" \
      -e "s|\"redis://db1\", \"redis://db2\", \"redis://db3\"|\"$A_URI\", \"$B_URI\", \"$C_URI\"|" \
      -e "s|/usr/local/bin|$ROOT&|g; s|/srv/|$ROOT&|; s|/var/lib|$ROOT&|; s|/etc/redlock.password|$ROOT&|" "$file"
    return
  done
  fail "no block for $1"
}

# assert_ran LINE…: these programs ran, in this order.
assert_ran() { [[ $(cat "$SCRATCH/log" 2>/dev/null) == "$(printf '%s\n' "$@")" ]] || fail "$(cat "$SCRATCH/log")"; }

# take_backup: a job has the lock nightly-backup; sets BACKGROUND_PID.
take_backup() {
  background redlock run nightly-backup -- sh -c 'echo >"$0"; exec sleep 60' "$SCRATCH/holds"
  wait_for "$SCRATCH/holds"
}

# crontab: runs the lines of a crontab, as cron would, without their times.
crontab() {
  local line
  while IFS= read -r line; do
    if [[ $line == [A-Z]* ]]; then export "${line?}"; else sh -c "${line#* * * * * }" || return; fi
  done
}

@test "README: each block is run by a test, or is in the list of those that are not" {
  blocks
  local file first seen=0
  for file in "$SCRATCH"/blocks/*; do
    IFS= read -r first <"$file"
    [[ -n ${HOW["$first"]-}${NOT_RUN["$first"]-} ]] || fail "neither run nor in NOT_RUN:" "$(cat "$file")"
    seen=$((seen + 1))
  done
  # Nothing in the lists that the README does not have.
  ((seen == ${#HOW[@]} + ${#NOT_RUN[@]})) || fail "$seen blocks, ${#HOW[@]} + ${#NOT_RUN[@]} in the lists"
  for first in "${HOW[@]}"; do
    grep -qE "^@test .*$first" "${BATS_TEST_FILENAME}" || fail "no test for $first"
  done
}

@test "README: sandbox, has_private_servers" {
  printf '#!/bin/sh\necho "$REDLOCK_SERVERS"; redlock run -n L -- true\n' >test-my-script
  run -0 --separate-stderr bash -c "$(block has_private_servers)"
  [[ ${lines[0]} == 'I hold the lock' && ${lines[1]} == *redlock-sandbox* && $output != *"$A_SOCKET"* ]] || fail "$output"
}

@test "README: cron, crontab_works" {
  crontab <<<"$(block crontab_works)"
  assert_ran 'backup --full' 'poll ' 'hourly '
  # The second host, in the same minute.
  crontab <<<"$(block crontab_works)"
  assert_ran 'backup --full' 'poll ' 'hourly ' 'backup --full'
}

@test "README: CI, deploys" {
  run -0 bash -c "$(block deploys | sed 's/ REDLOCK_PASSWORD=\.\.\.//')"
  assert_ran 'deploy.sh production'
}

@test "README: CI, deploys_the_newest" {
  run -0 bash -c "$(block deploys_the_newest)"
  assert_ran 'deploy.sh ' 'deploy.sh ' 'deploy.sh ' 'deploy.sh '
  run -1 --separate-stderr redlock run --build 4710 deploy-shop -- ./deploy.sh
  assert_contains "$stderr" 'build 4710 is older than 4711'
  printf '#!/bin/sh\nexit 3\n' >deploy.sh
  run -3 redlock run --hold-on-failure 1d deploy-shop -- ./deploy.sh
  run -9 redlock run -n -E 9 deploy-shop -- ./deploy.sh
}

@test "README: a script, tells_outcomes_apart" {
  local script
  script=$(block tells_outcomes_apart)
  printf '#!/bin/sh\necho text\n' >"$ROOT/usr/local/bin/make-report"
  run bash -c "$script"
  [[ -z $output && $(<"$ROOT/srv/report.txt") == text ]] || fail "$output"
  local theirs
  theirs=$(redlock acquire report)
  run bash -c "$script"
  [[ $output == 'another host makes the report' ]] || fail "$output"
  redlock release report "$theirs"
  REDLOCK_SERVERS=$SCRATCH_URI/none REDLOCK_SERVER_WAIT=0 run --separate-stderr bash -c "$script"
  [[ $output == 'the lock servers cannot be reached' ]] || fail "$output"
  printf '#!/bin/sh\nexit 3\n' >"$ROOT/usr/local/bin/make-report"
  run bash -c "$script"
  [[ $output == 'make-report failed' ]] || fail "$output"
}

@test "README: between commands, runs_under_the_lock" {
  local name
  for name in migrate deploy; do
    printf '#!/bin/sh\nredlock status deploy >/dev/null && echo "%s, locked" >>"%s/log"\n' "$name" "$SCRATCH" >"$name.sh"
  done
  run -0 bash -c "$(block runs_under_the_lock)" 3>&-
  assert_ran 'migrate, locked' 'deploy, locked'
  run -1 redlock status deploy
}

@test "README: at 3 a.m., shows_the_holder" {
  take_backup
  local line expected=() i=0
  mapfile -t expected < <(block shows_the_holder)
  for ((i = 0; i < ${#expected[@]}; i++)); do
    [[ ${expected[i]} == '$ '* ]] || continue
    COLUMNS=79 run -0 bash -c "${expected[i]#$ }"
    # The same headings, within 79 columns, and the same rows of status.
    line=${expected[i + 1]}
    if [[ $line == nightly-backup:* ]]; then
      assert_contains "${lines[0]}" 'nightly-backup: held ('
      for line in holder command since mode fence expires; do grep -q "^  $line " <<<"$output" || fail "$output"; done
    else
      for line in ${line%%  11-18*}; do assert_contains "${lines[0]}" "$line"; done
      ((${#lines[@]} == 2)) || fail "$output"
    fi
  done
}

@test "README: a job that hangs, stops_the_holder" {
  take_backup
  # No terminal to ask on.
  run -0 bash -c "$(block stops_the_holder) --yes"
  await -80 "$BACKGROUND_PID"
  run -1 redlock status nightly-backup
}

@test "README: more than one at a time, shares_the_locks" {
  block shares_the_locks >"$SCRATCH/script"
  run -0 --separate-stderr bash -e "$SCRATCH/script"
  assert_ran 'transcode.sh video.mkv' 'report.sh ' 'import.sh ' 'reprice.sh '
}

@test "README: maintenance, keeps_everybody_out" {
  block keeps_everybody_out >"$SCRATCH/script"
  bash -e <(head -n 1 "$SCRATCH/script") >/dev/null
  run -1 --separate-stderr redlock run -w 0.7 nightly-backup -- backup
  assert_contains "$stderr" 'schema migration'
  run -0 --separate-stderr bash -e <(tail -n 1 "$SCRATCH/script")
  redlock run -n nightly-backup -- backup
  assert_ran 'backup '
}

@test "redlock-metrics(7): the crontab writes the metrics that the rules use" {
  local page=$SOURCE/man/redlock-metrics.7 metric
  crontab <<<"$(sed -n '/^PATH=/,/^\.Ed/{/^\.Ed/!p}' "$page" |
    sed "s|/usr/local/bin|$ROOT&|g; s|/var/lib|$ROOT&|")"
  assert_ran 'backup '
  for metric in redlock_last_success_timestamp_seconds redlock_lost_total redlock_last_wait_seconds; do
    grep -qF "$metric{lock=\"nightly-backup\"}" "$ROOT/var/lib/node_exporter/redlock.prom" || fail "no $metric"
    grep -qE "^  (expr:.*| *\()$metric" "$page" || fail "no rule uses $metric"
  done
}

@test "redlock-metrics(7): a monitor hears of the run that does the work, and of no other" {
  local line
  line=$(grep -A1 '^redlock run .* -- \\e$' "$SOURCE/man/redlock-metrics.7" | tr -d '\n' | sed "s/\\\\e//; s/\\\\&//; s|/usr/local/bin|$ROOT&|g")
  [[ $line == *'runitor -uuid '* ]] || fail "$line"
  # As runitor: it says how the command ended.
  printf '#!/bin/sh\nuuid=$2; shift 3; "$@"; status=$?; echo "ping $uuid $status" >>"%s/log"; exit $status\n' "$SCRATCH" \
    >"$ROOT/usr/local/bin/runitor"
  chmod +x "$ROOT/usr/local/bin/runitor"
  run -0 bash -c "$line"
  assert_ran 'backup ' 'ping 2f9f3c2e-... 0'
  take_backup
  run -0 bash -c "$line"
  assert_ran 'backup ' 'ping 2f9f3c2e-... 0'
}

@test "redlock-hold(1): a freeze keeps several names from everybody, until it ends" {
  local page=$SOURCE/man/redlock-hold.1 name
  sed -n '/^for name/,/^\.Ed/{/^\.Ed/!p}' "$page" >"$SCRATCH/script"
  sed -n '1,/^wait/p' "$SCRATCH/script" >"$SCRATCH/freeze"
  sed '1,/^wait/d' "$SCRATCH/script" >"$SCRATCH/thaw"
  # A job that runs goes on to its end; until then the other name is frozen.
  background redlock run deploy-shop -- sh -c 'echo >"$0"; exec sleep 60' "$SCRATCH/holds"
  wait_for "$SCRATCH/holds"
  local job=$BACKGROUND_PID
  background bash -e "$SCRATCH/freeze"
  local freeze=$BACKGROUND_PID
  frozen() { redlock list "$1" | grep -qF 'maintenance (freeze until Monday)'; }
  wait_until "$BOUND" frozen deploy-api
  ! frozen deploy-shop || fail 'the job was not waited for'
  kill -TERM "$job"
  await -0 "$freeze"
  for name in deploy-shop deploy-api; do
    run -1 --separate-stderr redlock run -w 0.7 "$name" -- true
    assert_contains "$stderr" 'freeze until Monday'
  done
  bash -e "$SCRATCH/thaw"
  for name in deploy-shop deploy-api; do redlock run -n "$name" -- true; done
}

@test "README: settings, is_a_configuration" {
  block is_a_configuration >"$SCRATCH/redlock.toml"
  (umask 077 && echo secret >"$ROOT/etc/redlock.password")
  REDLOCK_SERVERS='' run -0 --separate-stderr redlock config --config "$SCRATCH/redlock.toml"
  assert_contains "$output" "${C_URI#unix://}"
}

@test "README: servers, checks_the_servers" {
  local commands
  mapfile -t commands < <(block checks_the_servers)
  ((${#commands[@]} == 2))
  run -0 bash -c "${commands[0]}"
  assert_contains "$output" "${B_URI#unix://}"
  # With warnings: no append-only file, no restart grace.
  run -1 bash -c "${commands[1]}"
  [[ $output == *'3 of 3 servers usable, 0 failures, '* ]] || fail "$output"
}

# The commands install: tests/house/deb.bats, rpm.bats and alpine.bats make the packages.
@test "README: what the table of systems names is there, and is a command for a shell" {
  local table command path seen=0
  table=$(sed -n '/^| on | command |$/,/^$/p' "$README")
  while IFS= read -r command; do
    bash -n <<<"$command" || fail "$command"
    for path in $(grep -oE 'packaging/[-a-zA-Z./]+' <<<"$command"); do
      [[ -e $SOURCE/$path ]] || fail "there is no $path"
      seen=$((seen + 1))
    done
  done < <(grep -oE '`[^`]+`|[(]packaging[a-zA-Z/]+[)]' <<<"$table" | sed 's,^[(]\(.*\)[)]$,\1,' | tr -d '`')
  ((seen >= 6)) || fail "$table"
  # apt and dnf take a file by its path.
  grep -qF './$(packaging/build-deb --build' <<<"$table"
  grep -qF './$(packaging/build-rpm)' <<<"$table"
}

# ---- the sentences ----------------------------------------------------------------------------

# in_text: prints each command in a sentence.
in_text() {
  awk '/^```/ { block = !block; next } !block && !/^\|/' "$README" | tr '\n' ' ' | grep -oE '`[^`]+`' | tr -d '`' |
    grep -E '^(redlock|sudo|bats|man) |^(tests|packaging|build)/' | sort -u
}

@test "README: each command in a sentence works, or is in the list of those that are not run" {
  local command words seen=0
  PATH=${REDLOCK%/*}:$PATH
  while IFS= read -r command; do
    read -ra words <<<"$command"
    case $command in
      man\ man/*)
        [[ -f $SOURCE/${words[1]} ]] || fail "$command"
        continue
        ;;
      man\ *)
        compgen -G "$SOURCE/man/${words[1]}.[157]" >/dev/null || fail "$command"
        continue
        ;;
    esac
    [[ -n ${IN_TEXT["$command"]-}${NOT_RUN_IN_TEXT["$command"]-} ]] || fail "neither run nor in NOT_RUN_IN_TEXT: $command"
    seen=$((seen + 1))
    [[ $command != tests/* && $command != packaging/* || -x $SOURCE/${words[0]} ]] || fail "no program: $command"
    [[ -n ${IN_TEXT["$command"]-} ]] || continue
    # As it is written, from the top of the source.
    run --separate-stderr bash -c "cd '$SOURCE' && $command" 3>&- </dev/null
    [[ $status == "${IN_TEXT["$command"]}" ]] || fail "$command: status $status" "$output" "$stderr"
  done < <(in_text)
  # Nothing in the lists that the README does not have.
  ((seen == ${#IN_TEXT[@]} + ${#NOT_RUN_IN_TEXT[@]})) ||
    fail "$seen commands, ${#IN_TEXT[@]} + ${#NOT_RUN_IN_TEXT[@]} in the lists"
}

# ---- the pairs of redlock-migrate(7) ----------------------------------------------------------

# pairs SECTION: `old<tab>new` for each pair of commands in that section of redlock-migrate(7).
pairs() {
  awk -v section=".Sh $1" '
    /^\.S[hs] / { here = $0 == section }
    /^\.Ed/ { block = 0 }
    here && block && NF { if (old == "") old = $0; else { print old "\t" $0; old = "" } }
    /^\.Bd / { block = 1 }' "$MIGRATE" | sed "s|/var/lock/b|../lockfile|g"
}

# gives COMMAND STATUS: a shell runs the command, which ends with this status.
gives() {
  run --separate-stderr bash -c "$1" 3>&- <<<input
  [[ $status == "$2" ]] || fail "$1: status $status, not $2" "$output" "$stderr"
}

@test "redlock-migrate(7): what flock does, redlock does" {
  local left right count=0
  printf '#!/bin/sh\nexit 3\n' >"$ROOT/usr/local/bin/cmd"
  while IFS=$'\t' read -r left right; do
    count=$((count + 1))
    if [[ $left == exec* ]]; then
      gives "$left" 0
      gives "$right" 0
      continue
    fi
    gives "$left" 3
    gives "$right" 3
    # Somebody else has the lock. The others would never end.
    case $left in *' -n '*) status=1 ;; *' -E 75 '*) status=75 ;; *) continue ;; esac
    left=${left/-w 10/-w 0.7} right=${right/-w 10/-w 0.7}
    gives "flock ../lockfile -c '${left//\'/}'" "$status"
    gives "redlock run b -- env -u REDLOCK_HELD $right" "$status"
  done < <(pairs 'FROM FLOCK')
  ((count == 6)) || fail "$count pairs"
}

# script_in_manual MARK: prints the script of redlock-migrate(7) that begins after a line with this text.
script_in_manual() {
  awk -v mark="$1" '
    /^\.Ed/ { block = 0 }
    block { print }
    index($0, mark) { found = 1 }
    found && /^\.Bd / { block = 1; found = 0 }' "$MIGRATE" | sed "s|/var/lock/b|../lockfile|g"
}

# assert_port MARK SHELL…: both scripts after MARK, the one of flock and the other, run cmd under the lock, end with its
# status, leave the lock free, and end with 1, without a run of cmd, where somebody else has it.
assert_port() {
  local old new shell file text
  text=$(script_in_manual "$1")
  old=${text%%$'\n\n'*} new=${text#*$'\n\n'}
  [[ $old == *flock* && $new == *redlock* ]] || fail "$1: $text"
  shift
  printf '#!/bin/sh\necho "$(redlock status b >/dev/null && echo locked) $*" >>"%s/log"\nexit 3\n' "$SCRATCH" >"$ROOT/usr/local/bin/cmd"
  for shell; do
    printf '#!/usr/bin/env %s\n%s\n' "$shell" "$old" >"$SCRATCH/old.$shell"
    printf '#!/usr/bin/env %s\n%s\n' "$shell" "$new" >"$SCRATCH/new.$shell"
    chmod +x "$SCRATCH/old.$shell" "$SCRATCH/new.$shell"
    for file in "$SCRATCH/old.$shell" "$SCRATCH/new.$shell"; do
      : >"$SCRATCH/log"
      gives "'$file'" 3
      [[ $file == */old.* ]] || assert_ran 'locked '
      : >"$SCRATCH/log"
      case $file in
        */old.*) gives "flock ../lockfile '$file'" 1 ;;
        */new.*) gives "redlock run b -- env -u REDLOCK_HELD -u REDLOCK_NAME '$file'" 1 ;;
      esac
      [[ ! -s $SCRATCH/log ]] || fail "$file:" "$(cat "$SCRATCH/log")"
    done
    assert_free b
  done
}

@test "redlock-migrate(7): a part of a script under the lock" {
  assert_port 'A part of a script under the lock' bash
}

@test "redlock-migrate(7): a whole script that locks itself" {
  assert_port 'A script that takes the lock for itself' sh bash
}

@test "redlock-migrate(7): in place of consul lock" {
  local left right count=0
  printf '#!/bin/sh\ncat\nexit 3\n' >"$ROOT/usr/local/bin/cmd"
  while IFS=$'\t' read -r left right; do
    count=$((count + 1))
    gives "$right" 3
    [[ $output == input ]] || fail "$right: $output"
  done < <(pairs 'FROM CONSUL LOCK')
  ((count == 6)) || fail "$count pairs"
}

@test "redlock-migrate(7): in place of redis-cli, on the same key" {
  local left right count=0 token=mine
  export REDLOCK_SERVERS=$A_URI
  redis_cli() { redis-cli -s "$A_SOCKET" "$@"; }
  local cli="redis-cli -s '$A_SOCKET'"
  while IFS=$'\t' read -r left right; do
    count=$((count + 1))
    # The script has the key, so redlock does not get it, and the other way round.
    gives "token=$token; ${left/redis-cli/"$cli"}" 0
    case $right in
      token*)
        [[ $output == OK ]]
        gives "$right" 1
        redis_cli del b
        token=$(bash -c "$right; echo \$token")
        gives "token=other; ${left/redis-cli/"$cli"}" 0
        [[ $output != OK ]] || fail "the script has the lock of redlock"
        ;;
      *renew*) gives "token=$token; $right" 0 ;;
      *)
        # The script has deleted the key: 80. redlock deletes its own alone.
        gives "token=$token; $right" 80
        ;;
    esac
  done < <(pairs 'FROM SCRIPTS WITH SET NX')
  ((count == 3)) || fail "$count pairs"
}

@test "redlock-migrate(7): in place of setlock, solo and chronic" {
  local left right count=0
  printf '#!/bin/sh\nexit 3\n' >"$ROOT/usr/local/bin/cmd"
  printf '#!/bin/sh\nexec "$@"\n' >"$ROOT/usr/local/bin/chronic"
  chmod +x "$ROOT/usr/local/bin/chronic"
  while IFS=$'\t' read -r left right; do
    count=$((count + 1))
    gives "$right" 3
    [[ $right == *' -n '* ]] || continue
    # Somebody else has the lock.
    gives "redlock run b -- env -u REDLOCK_HELD $right" "$([[ $right == *'-E 0'* ]] && echo 0 || echo 1)"
  done < <(pairs 'FROM CHRONIC, SETLOCK AND SOLO')
  ((count == 7)) || fail "$count pairs"
}

@test "redlock-migrate(7): the programs that measure its figures exist, and overhead runs" {
  local program count=0
  PATH=${REDLOCK%/*}:$PATH
  for program in $(grep -oE 'tests/bench/[a-z]+' "$MIGRATE"); do
    count=$((count + 1))
    [[ -x $SOURCE/$program ]] || fail "no program: $program"
  done
  ((count == 4)) || fail "$count programs"
  run -0 --separate-stderr "$SOURCE/tests/bench/overhead" 1 3>&- </dev/null
}
