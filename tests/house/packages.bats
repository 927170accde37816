#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# packaging/packages.sh: what packaging/quickstart and tests/run say and do where packages are missing. And that all
# packages are of the same release.

load ../lib/common

# A machine where nothing is installed, not even what tells who we are.
setup() {
  mkdir "$SCRATCH/bin"
  ln -s "$(command -v dirname)" "$(command -v bash)" "$SCRATCH/bin"
  user 1000
}

# has NAME COMMANDS: the machine has that program.
has() {
  printf '#!/bin/sh\n%s\n' "$2" >"$SCRATCH/bin/$1"
  chmod +x "$SCRATCH/bin/$1"
}

user() { has id "echo $1"; }

there() { run --separate-stderr env -i PATH="$SCRATCH/bin" "$@"; }

# assert_told PACKAGE…: they stand in the line to be run as root, and no package stands there twice.
assert_told() {
  local line package
  assert_status 69
  line=$(grep -F '  apt-get update && apt-get install --no-install-recommends ' <<<"$stderr") || fail "no such line: $stderr"
  for package; do assert_contains "$line " " $package "; done
  [[ -z $(tr ' ' '\n' <<<"${line#*&&}" | sort | uniq -d) ]] || fail "twice: $line"
}

@test "quickstart, where nothing is installed and nothing can be: the line for root, 69" {
  there /bin/sh "$SOURCE/packaging/quickstart"
  assert_told g++ cmake libhiredis-dev redis-tools
  refute_contains "$stderr" bats
}

@test "tests/run: the same, with what tests need" {
  there bash "$SOURCE/tests/run"
  assert_told g++ cmake libhiredis-dev redis-tools bats mandoc
  refute_contains "$stderr" groff
  there bash "$SOURCE/tests/run" --all
  assert_told g++ bats zsh groff-base strace
}

@test "root installs what is missing, without sudo" {
  user 0
  has apt-get "echo \"\$DEBIAN_FRONTEND \$*\" >>'$SCRATCH/log'"
  there /bin/sh -c ". '$SOURCE/packaging/packages.sh'; need one false; need two true; install_missing"
  assert_status 0
  [[ $(cat "$SCRATCH/log") == "noninteractive update -q"$'\n'*" --no-install-recommends one" ]] ||
    fail "$(cat "$SCRATCH/log")"
}

@test "a user with sudo installs through it; an apt-get that fails: 69, with what is missing" {
  has sudo "echo \"\$*\" >>'$SCRATCH/log'; exit 1"
  has apt-get 'echo "not by sudo"'
  there /bin/sh -c ". '$SOURCE/packaging/packages.sh'; need one false; install_missing"
  assert_status 69
  assert_contains "$stderr" 'apt-get failed; what is missing: one'
  [[ $(cat "$SCRATCH/log") == "apt-get update -q" ]] || fail "$(cat "$SCRATCH/log")"
}

@test "where nothing is missing, nobody is asked" {
  has id 'echo asked; exit 1'
  there /bin/sh -c ". '$SOURCE/packaging/packages.sh'; need one true; install_missing"
  assert_status 0
  [[ -z $output$stderr ]] || fail "$output" "$stderr"
}

# deb.bats, rpm.bats and alpine.bats compare the version of each package with redlock's.
@test "the newest release in the change log is this version, and has the date that packages and manual have" {
  local version date='' page
  version=$("$REDLOCK" --version | sed -n '1s/^redlock //p')
  while read -r _ release _ day; do
    [[ $release == '[Unreleased]' ]] || { date=$day && break; }
  done < <(grep '^## ' "$SOURCE/packaging/CHANGELOG.md")
  [[ $release == "[$version]" && $date =~ ^[0-9]{4}-[0-9]{2}-[0-9]{2}$ ]] || fail "$release $date, not $version"
  [[ $(head -n 1 "$SOURCE/packaging/debian/changelog") == "redlock ($version-"* ]]
  [[ $(date -u -d "$(sed -n 's/^ -- .*>  //p' "$SOURCE/packaging/debian/changelog" | head -n 1)" +%F) == "$date" ]]
  [[ $(grep -m 1 '^\* ' "$SOURCE/packaging/rpm/redlock.spec") == "* $(LC_ALL=C date -u -d "$date" '+%a %b %d %Y') "*" $version-1" ]]
  for page in "$SOURCE"/man/*; do
    [[ ! $(date -u -d "$(sed -n 's/^\.Dd //p' "$page")" +%F) < $date ]] || fail "$page has an earlier date"
  done
}
