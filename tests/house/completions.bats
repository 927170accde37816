#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
# shellcheck disable=SC1003
#
# The completions of the shells: what redlock answers their scripts, and what each shell makes of it.

load ../lib/common

SCRIPTS=$SOURCE/src/cli/completions

setup() {
  export SCRATCH_OF_TEST=$SCRATCH
  cd "$SCRATCH" || return
}
teardown() { stop_all; }

# offered WORD…: the candidates for the last of the words, without their help.
offered() { "$REDLOCK" completions for "$@" | sed '/^:/d; s/\t.*//'; }

# also WORD…: what the shell is told to offer besides.
also() { "$REDLOCK" completions for "$@" | tail -n 1; }

@test "completions: every command and every option of --help" {
  local command
  offered '' >"$SCRATCH/commands"
  for command in $("$REDLOCK" --help | sed -n 's/^  \([a-z]*\)  *redlock .*/\1/p' | sort -u); do
    grep -qx "$command" "$SCRATCH/commands" || fail "not offered: $command"
    [[ $command != completions ]] || continue
    "$REDLOCK" "$command" --help | sed -n 's/^  \(-.*\)/\1/p' | sed 's/   *.*//' |
      grep -oE -- '(^|[ ,])--?[A-Za-z][a-z-]*' | tr -d ' ,' >"$SCRATCH/in_help"
    [[ $command == sandbox ]] || (($(wc -l <"$SCRATCH/in_help") > 5)) || fail "options of $command not found"
    while read -r flag; do
      offered "$command" "$flag" | grep -qx -- "$flag" || fail "not offered: $command $flag"
    done <"$SCRATCH/in_help"
  done
}

@test "completions: the job begins after NAME, with or without --" {
  [[ $(also run L '') == ':job 2' ]]
  [[ $(also run -nw 5 L -v -- ls -) == ':job 6' ]]
  [[ $(also run --ttl=5s L ls -) == ':job 3' ]]
  [[ $(also run -nv L ls -) == ':job 3' ]]
  [[ $(also sandbox -N 1 -- ls) == ':job 4' ]]
  [[ $(also status L ls) == :nothing ]]
}

@test "completions: the names of held locks, from the servers that the line names" {
  start_server A
  start_server B
  REDLOCK_SERVERS=$A_URI "$REDLOCK" acquire app:job
  REDLOCK_SERVERS=$B_URI "$REDLOCK" acquire other
  REDLOCK_SERVERS=$B_URI "$REDLOCK" acquire --prefix team: ours
  export REDLOCK_SERVERS=$A_URI
  # No command takes the name that is left of this one.
  cli B hset 'redlock:{team:-x}:holder' x y >/dev/null
  [[ $(offered run '') == app:job ]]
  [[ $(offered status L ap) == app:job ]]
  [[ -z $(offered run x) ]]
  [[ $(offered run -n -S "$B_URI" o) == other ]]
  [[ $(offered release --prefix=team: --server "$B_URI" '') == ours ]] ||
    fail "$(offered release --prefix=team: --server "$B_URI" '')"
  [[ -z $(offered release app:job '') ]]
}

@test "completions: servers that do not answer, or none, cost little time and no word" {
  run -0 --separate-stderr "$REDLOCK" completions for run ''
  [[ $output == :nothing && -z $stderr ]]
  run --separate-stderr "$REDLOCK" completions for run -S nonsense ''
  [[ $output == :nothing && -z $stderr ]]
  run --separate-stderr "$REDLOCK" completions for run -S rediss://localhost --tls-ca "$SCRATCH/none" ''
  [[ $output == :nothing && -z $stderr ]] || fail "$output" "$stderr"
  black_hole
  timed_below 5000 "$REDLOCK" completions for run -S "$BLACK_HOLE_URI" ''
  [[ $output == :nothing && -z $stderr ]]
}

@test "completions: a script for each shell, and a word about others" {
  [[ $("$REDLOCK" completions bash) == "$(<"$SCRIPTS/redlock.bash")" ]]
  [[ $("$REDLOCK" completions zsh) == "$(<"$SCRIPTS/_redlock")" ]]
  [[ $("$REDLOCK" completions fish) == "$(<"$SCRIPTS/redlock.fish")" ]]
  run -64 --separate-stderr "$REDLOCK" completions tcsh
  assert_one_line "$stderr"
  run -64 --separate-stderr "$REDLOCK" completions
  assert_one_line "$stderr"
}

# in_shell SHELL: sets up a server, and redlock in PATH, for a shell that is installed.
in_shell() {
  command -v "${1%-installed}" >/dev/null || skip "${1%-installed} is not installed"
  servers 1
  mkdir bin
  ln -s "$REDLOCK" bin/redlock
  PATH=$SCRATCH/bin:$PATH
}

# shell_completes SHELL: a tab does what it should there.
shell_completes() {
  in_shell "$1"
  printf '#!/bin/sh\n' >bin/unusual_program
  chmod +x bin/unusual_program
  : >settings.toml
  redlock acquire --ttl 5m app:job
  redlock acquire --ttl 5m 'two words'
  run "$PYTHON" "$TESTS/lib/complete.py" "$1" 'redlock acq' 'redlock run --prog' 'redlock run --progress=alw' \
    'redlock run -n --signal TER' 'redlock status app:j' 'redlock run tw' "redlock list -S $A_URI -S unix:/" \
    'redlock run --config=sett' 'redlock run app:job -- unusual_p' 'redlock run app:job cat sett'
  [[ $output == '<redlock><acquire>
<redlock><run><--progress>
<redlock><run><--progress=always>
<redlock><run><-n><--signal><TERM>
<redlock><status><app:job>
<redlock><run><two words>
<redlock><list><-S><'"$A_URI"'><-S><unix:///>
<redlock><run><--config=settings.toml>
<redlock><run><app:job><--><unusual_program>
<redlock><run><app:job><cat><settings.toml>' ]] || fail "$output"
}

# shell_quotes SHELL: a tab inserts a name that somebody has made of a shell's words, and Enter does not carry it out.
shell_quotes() {
  local first='b$(touch ran)`touch ran`"'\''\ !' second='c$(touch ran)`touch ran`"\'
  in_shell "$1"
  redlock acquire --ttl 5m "$first"
  redlock acquire --ttl 5m "$second"
  run "$PYTHON" "$TESTS/lib/complete.py" "$1" 'redlock status b' "redlock status 'b" 'redlock status "c' \
    'redlock status "c\$(tou' 'redlock status c\$\('
  [[ $output == "<redlock><status><$first>
<redlock><status><$first>
<redlock><status><$second>
<redlock><status><$second>
<redlock><status><$second>" ]] || fail "$output"
  # Where a shell would replace only a part of the word, it gets nothing to insert.
  [[ $1 != bash ]] || run "$PYTHON" "$TESTS/lib/complete.py" "$1" 'redlock status "c"' 'redlock status "b\$(touch"'
  [[ $1 != bash || $output == '<redlock><status><c>
<redlock><status><b$(touch>' ]] || fail "$output"
  [[ ! -e ran ]] || fail 'it was carried out'
}

@test "completions: in bash" { shell_completes bash; }

@test "completions: a name that a shell would carry out, in bash" { shell_quotes bash; }

@test "completions: in zsh" { shell_completes zsh; }

@test "completions: a name that a shell would carry out, in zsh" { shell_quotes zsh; }

@test "completions: in zsh, from the directory where zsh looks for them" { shell_completes zsh-installed; }

@test "completions: in fish" { shell_completes fish; }

@test "completions: a name that a shell would carry out, in fish" { shell_quotes fish; }
