#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# The manual pages are well-formed, and redlock(1), redlock.toml(5) and the program tell the same story.

load ../lib/common

PAGE=$SOURCE/man/redlock.1

setup() {
  local command
  for command in run acquire hold renew release status list history check config sandbox; do "$REDLOCK" "$command" --help; done >"$SCRATCH/help"
}

# options_of_help: every option that --help lists, one a line.
options_of_help() {
  # The left-hand column ends at two blanks or at the end of the line.
  sed -n 's/^  \(-.*\)/\1/p' "$SCRATCH/help" | sed 's/   *.*//' |
    grep -oE -- '(^|[ ,])--?[A-Za-z][a-z-]*' | tr -d ' ,' | sort -u
}

# options_of_page: every option that has an entry under OPTIONS.
options_of_page() {
  sed -n '/^\.Sh OPTIONS/,/^\.Sh ENVIRONMENT/s/^\.It Fl //p' "$PAGE" |
    sed 's/ Ar .*//; s/ , Fl /\n/g' | sed 's/^/-/' | sort -u
}

# same FILE FILE: fails and shows the difference.
same() { diff "$1" "$2" || fail "--help (<) and the page (>) differ"; }

@test "man: mandoc finds nothing" {
  command -v mandoc >/dev/null || skip "mandoc is not installed"
  # Which other manuals are installed here is not this page's business.
  run mandoc -Tlint -Wall "$SOURCE"/man/*
  output=$(grep -v -e 'referenced manual not found' -e 'outdated mandoc.db' <<<"$output" || true)
  [ -z "$output" ] || fail "$output"
}

@test "man: the same options as --help" {
  options_of_help >"$SCRATCH/in_help"
  options_of_page >"$SCRATCH/in_page"
  grep -qx -- --server-timeout "$SCRATCH/in_help" || fail "options not found in --help"
  same "$SCRATCH/in_help" "$SCRATCH/in_page"
}

@test "man: every exit status, and all that --help lists" {
  sed -n '/^\.Sh EXIT STATUS/,/^\.Sh NOTES/s/^\.It \([0-9]\{1,3\}\)$/\1/p' "$PAGE" |
    sort -un >"$SCRATCH/in_page"
  printf '%s\n' 0 1 64 69 71 78 80 124 126 127 | diff - "$SCRATCH/in_page"
  sed -n '/^Exit status/,$s/^  \([0-9]\{1,3\}\) .*/\1/p' "$SCRATCH/help" | sort -un >"$SCRATCH/in_help"
  [ "$(wc -l <"$SCRATCH/in_help")" -eq 10 ] || fail "statuses not found in --help"
  same "$SCRATCH/in_help" "$SCRATCH/in_page"
}

@test "man: every environment variable of --help" {
  grep -oE 'RED(LOCK|ISCLI)_[A-Z_]+' "$SCRATCH/help" | sort -u >"$SCRATCH/in_help"
  sed -n '/^\.Sh ENVIRONMENT/,/^\.Sh FILES/s/^\.It Ev \(RED[A-Z_]*\)$/\1/p' "$PAGE" |
    sort -u >"$SCRATCH/in_page"
  grep -qx REDLOCK_SERVERS "$SCRATCH/in_help" || fail "variables not found in --help"
  same "$SCRATCH/in_help" "$SCRATCH/in_page"
}

@test "man: redlock.toml(5) has every setting of redlock config, with its default" {
  local page=$SOURCE/man/redlock.toml.5
  REDLOCK_SERVERS=redis://one "$REDLOCK" config --json |
    sed -n 's/^  "\([a-z-]*\)": {$/\1/p' | grep -vxE 'config|rediscli-auth' | sort >"$SCRATCH/in_config"
  sed -n 's/^\.It Ic \([a-z-]*\) No = .*/\1/p' "$page" | sort >"$SCRATCH/in_page"
  grep -qx server-timeout "$SCRATCH/in_config" || fail "keys not found in config"
  diff "$SCRATCH/in_config" "$SCRATCH/in_page" || fail "redlock config (<) and the page (>) differ"
  for default in '30 seconds' '200 milliseconds' '10 seconds' '60 seconds'; do
    grep -qF -- "$default" "$page" || fail "not in the page: $default"
  done
}

@test "man: the example of redlock.toml(5) is a file that works" {
  sed -n '/^# The same/,/^\.Ed/{/^\.Ed/!p}' "$SOURCE/man/redlock.toml.5" >"$SCRATCH/redlock.toml"
  echo secret >"$SCRATCH/password"
  sed -i "s|/etc/redlock.password|$SCRATCH/password|" "$SCRATCH/redlock.toml"
  run --separate-stderr "$REDLOCK" config --config "$SCRATCH/redlock.toml"
  assert_status 0
  assert_contains "$output" redis://:***@db3:6379
}

@test "man: the defaults of --help" {
  # One sentence with each of them; a changed default has to be changed there.
  for default in '30 seconds' '200 milliseconds' '10 seconds by default' '3 by default'; do
    grep -qF -- "$default" "$PAGE" || fail "not in the page: $default"
  done
  for default in '[30s]' '[200ms]' '[10s]' '[3]'; do
    grep -qF -- "$default" "$SCRATCH/help" || fail "not in --help: $default"
  done
}

@test "man: help and version go to standard output, within 80 columns" {
  run --separate-stderr "$REDLOCK" --help
  assert_status 0
  [ -z "$stderr" ] || fail "$stderr"
  ! grep -E '.{80}' - "$SCRATCH/help" <<<"$output" || fail "wider than 79 columns"
  run --separate-stderr "$REDLOCK" --version
  assert_status 0
  [[ $output =~ ^redlock\ [0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "$output"
}

@test "man: each line for cron, here and in the README, finds redlock where cmake --install puts it" {
  # Cron's own PATH is /usr/bin:/bin.
  local file found
  for file in "$SOURCE"/README.md "$SOURCE"/man/redlock*.? "$SOURCE"/packaging/examples/*; do
    found=$(awk '
      /^ *$/ || /^\.(Bd|Ed)/ { path = 0 }  # another example
      /^ *PATH=([^ ]*:)?\/usr\/local\/bin(:|$)/ { path = 1 }
      NF > 5 {
        for (i = 1; i <= 5; ++i) if ($i !~ /^[0-9*\/,-]+$/) next
        lines++
        if ($6 !~ /^\// && !path) print
      }
      END { if (FILENAME ~ /README|redlock\.1/ && lines < 4) print "only " lines " lines for cron are found" }' "$file")
    [[ -z $found ]] || fail "$file:" "$found"
  done
}
