#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# The manual pages are well-formed, and they and the program tell the same story.

load ../lib/common

MAN=$SOURCE/man
MAIN=$MAN/redlock.1
COMMANDS='run acquire hold renew release status list history check config sandbox'

setup() {
  local command
  for command in $COMMANDS; do
    {
      "$REDLOCK" "$command" --help
      [[ $command == sandbox ]] || "$REDLOCK" "$command" --help-servers
    } >"$SCRATCH/$command"
  done
  cat "$SCRATCH"/[a-z]* >"$SCRATCH/help"
}

# page_of COMMAND: the page that describes it.
page_of() {
  case $1 in
    renew) echo "$MAN/redlock-acquire.1" ;;
    list | history) echo "$MAN/redlock-status.1" ;;
    config) echo "$MAN/redlock-check.1" ;;
    *) echo "$MAN/redlock-$1.1" ;;
  esac
}

# shared_page redlock-COMMAND.1: the page that cmake --install gives this name too, if it does.
shared_page() {
  local command=${1#redlock-}
  grep -oE "\b${command%.1}:redlock[a-z-]*" "$SOURCE/CMakeLists.txt" | sed 's/.*://'
}

# entries HELP: the options that a help lists, a line for each entry: `-n, --nonblock, --nb`.
entries() { sed -n 's/^  \(-.*\)/\1/p' "$1" | sed 's/   *.*//'; }

# names: the names of the options in such lines, one a line.
names() { grep -oE -- '(^|[ ,])--?[A-Za-z][a-z-]*' | tr -d ' ,'; }

# flags: the arguments of the macro Fl in the lines of a page, one a line.
flags() {
  awk '{
    flag = 0
    for (i = 1; i <= NF; ++i) {
      if ($i ~ /^\.?Fl$/) flag = 1
      else if ($i ~ /^\.?[A-Z][a-z]$/) flag = 0
      else if (flag && $i ~ /^-?[A-Za-z]/) print "-" $i
    }
  }'
}

# defined PAGE…: the options that have an entry there.
defined() { cat "$@" | grep -E '^\.It Fl |^\.Fl .* , Fl ' | flags | sort -u; }

# section NAME PAGE: the lines of a section.
section() { awk -v name="$1" '/^\.Sh /{ wanted = index($0, ".Sh " name) == 1; next } wanted' "$2"; }

# statuses PAGE: the numbers that its EXIT STATUS lists.
statuses() { section 'EXIT STATUS' "$1" | sed -n 's/^\.It \([0-9][0-9 ,]*\)$/\1/p' | tr -s ' ,' '\n' | sort -un; }

# same FILE FILE: fails and shows the difference.
same() { diff "$1" "$2" || fail "--help (<) and the pages (>) differ"; }

@test "man: mandoc finds nothing" {
  command -v mandoc >/dev/null || skip "mandoc is not installed"
  # Which other manuals are installed here is not this page's business.
  run --separate-stderr mandoc -Tlint -Wall "$MAN"/*
  output=$(printf '%s\n' "$output" "$stderr" |
    grep -v -e 'referenced manual not found' -e 'outdated mandoc.db' -e '^$' || true)
  [ -z "$output" ] || fail "$output"
}

@test "man: only punctuation follows a reference to a page on its line" {
  run grep -nE '^\.Xr [^ ]+ [^ ]+ .*[[:alnum:]]' "$MAN"/*
  [ -z "$output" ] || fail "$output"
}

@test "man: groff finds nothing" {
  command -v groff >/dev/null || skip "groff is not installed"
  local page
  for page in "$MAN"/*; do
    run groff -mdoc -ww -z "$page"
    [ -z "$output" ] || fail "$page:" "$output"
  done
}

@test "man: 80 columns are enough, redlock(1) begins with examples, and the longest pages of commands stay short" {
  command -v mandoc >/dev/null || skip "mandoc is not installed"
  # redlock(1) has what all commands share, secrets that change, and TROUBLESHOOTING: 55 lines for a reader in a hurry.
  # The promises of redlock-run(1) are in redlock-guarantees(7).
  local page
  local -A limit=([redlock.1]=375 [redlock-run.1]=420)
  for page in "$MAN"/*; do
    mandoc -Tutf8 -O width=80 "$page" | sed 's/.\x08//g' >"$SCRATCH/rendered"
    ! grep -E '.{81}' "$SCRATCH/rendered" || fail "$page is wider"
    (($(wc -l <"$SCRATCH/rendered") <= ${limit["${page##*/}"]:-9999})) || fail "$page has $(wc -l <"$SCRATCH/rendered") lines"
  done
  grep '^\.Sh' "$MAIN" | tr '\n' ' ' | grep -qF '.Sh DESCRIPTION .Sh EXAMPLES\&\& .Sh OPTIONS' || fail 'EXAMPLES are too far down'
}

@test "man: each page that another one refers to exists, and so does each section" {
  local page name
  for page in "$MAN"/*; do
    while read -r name; do
      [[ -e $MAN/$name || -n $(shared_page "$name") ]] || fail "$page refers to $name"
    done < <(grep -oE 'Xr redlock[a-z.-]* [0-9]' "$page" | sed 's/Xr //; s/ /./')
    while read -r name; do
      grep -qE "^\.S[hs] $name" "$page" || fail "$page refers to its section $name"
    done < <(sed -n 's/.*\bSx //p' "$page" | sed 's/ [).,;:].*//; s/ ) .*//')
  done
}

@test "man: each command has a page of its name, which --help names" {
  local command page
  for command in $COMMANDS; do
    grep -qx "The manual: man redlock-$command" "$SCRATCH/$command" || fail "--help of $command names no page"
    page=$MAN/redlock-$command.1
    if [[ ! -e $page ]]; then
      page=$MAN/$(shared_page "redlock-$command.1").1
      [[ -e $page ]] || fail "no page for $command"
    fi
    [[ $page == "$(page_of "$command")" ]] || fail "$command has another page: $page"
    grep -qE "^\.Cm .*\b$command\b" "$page" || fail "$page does not have $command in its SYNOPSIS"
  done
}

@test "man: the same options as --help" {
  entries "$SCRATCH/help" | names | sort -u >"$SCRATCH/in_help"
  defined "$MAN"/*.1 >"$SCRATCH/in_pages"
  grep -qx -- --server-timeout "$SCRATCH/in_help" || fail "options not found in --help"
  same "$SCRATCH/in_help" "$SCRATCH/in_pages"
}

@test "man: the page of each command has the command's options, or redlock(1) has" {
  local command page entry
  defined "$MAIN" >"$SCRATCH/common"
  for command in $COMMANDS; do
    page=$(page_of "$command")
    flags <"$page" | sort -u - "$SCRATCH/common" >"$SCRATCH/mentioned"
    # These two take the options of run that have a variable.
    case $command in check | config) defined "$MAN/redlock-run.1" >>"$SCRATCH/mentioned" ;; esac
    while read -r entry; do
      names <<<"$entry" | grep -qxFf "$SCRATCH/mentioned" || fail "not in $page: $entry"
    done < <(entries "$SCRATCH/$command")
  done
}

@test "man: no page has an option that its commands do not take" {
  local page command
  for page in "$MAN"/redlock-*.1; do
    : >"$SCRATCH/in_help"
    for command in $COMMANDS; do
      [[ $(page_of "$command") != "$page" ]] || entries "$SCRATCH/$command" | names >>"$SCRATCH/in_help"
    done
    run grep -vxFf "$SCRATCH/in_help" <(defined "$page")
    [ -z "$output" ] || fail "$page:" "$output"
  done
}

@test "man: every exit status, and all that --help lists" {
  printf '%s\n' 0 1 64 69 71 78 80 124 126 127 >"$SCRATCH/all"
  statuses "$MAIN" | diff "$SCRATCH/all" -
  statuses "$MAN/redlock-run.1" | diff "$SCRATCH/all" -
  statuses_of_help() { sed -n '/^Exit status/,$s/^  \([0-9]\{1,3\}\) .*/\1/p' "$@" | sort -un; }
  statuses_of_help "$SCRATCH/help" | diff "$SCRATCH/all" -
  local page command
  for page in "$MAN"/redlock-*.1; do
    for command in $COMMANDS; do
      [[ $(page_of "$command") != "$page" ]] || statuses_of_help "$SCRATCH/$command"
    done >"$SCRATCH/in_help"
    run grep -vxFf "$SCRATCH/in_help" <(statuses "$page")
    [[ -z $output || $page == *-run.1 ]] || fail "$page:" "$output"
  done
}

@test "man: every environment variable of --help" {
  grep -oE 'RED(LOCK|ISCLI)_[A-Z_]+' "$SCRATCH/help" | sort -u >"$SCRATCH/in_help"
  for page in "$MAIN" "$MAN/redlock-run.1"; do section ENVIRONMENT "$page"; done |
    grep -oE 'RED(LOCK|ISCLI)_[A-Z_]+' | grep -vxE 'REDLOCK_STAGE(_PIPES)?' | sort -u >"$SCRATCH/in_pages"
  grep -qx REDLOCK_SERVERS "$SCRATCH/in_help" || fail "variables not found in --help"
  same "$SCRATCH/in_help" "$SCRATCH/in_pages"
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
  run -0 --separate-stderr "$REDLOCK" config --config "$SCRATCH/redlock.toml"
  assert_contains "$output" redis://:***@db3:6379
}

@test "man: the defaults" {
  # One sentence with each of them; a changed default has to be changed there.
  for default in '30 seconds' '200 milliseconds' '10 seconds by default' '3 by default'; do
    cat "$MAN"/*.1 | grep -qF -- "$default" || fail "not in the pages: $default"
  done
}

@test "man: each line for cron, here and in the README, finds redlock where cmake --install puts it" {
  # Cron's own PATH is /usr/bin:/bin.
  local file found
  for file in "$SOURCE"/README.md "$SOURCE"/man/redlock*.? "$SOURCE"/packaging/examples/* "$SOURCE"/packaging/examples/java/*; do
    [[ -f $file ]] || continue
    found=$(awk '
      /^ *$/ || /^\.(Bd|Ed)/ { path = 0 }  # another example
      /^ *PATH=([^ ]*:)?\/usr\/local\/bin(:|$)/ { path = 1 }
      NF > 5 {
        for (i = 1; i <= 5; ++i) if ($i !~ /^[0-9*\/,-]+$/) next
        lines++
        if ($6 !~ /^\// && !path) print
      }
      END {
        if (FILENAME ~ /README|redlock-run\.1/ && lines < 3) print "only " lines " lines for cron are found"
        if (FILENAME ~ /redlock\.1/ && lines < 1) print "no line for cron is found"
      }' "$file")
    [[ -z $found ]] || fail "$file:" "$found"
  done
}

@test "man: each example of --help is a valid command" {
  local line
  export token=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
  # Without the servers, it ends with another status than that of a wrong command line.
  redlock() {
    [[ $1 == sandbox ]] || REDLOCK_SERVERS=unix:///none REDLOCK_SERVER_WAIT=0 "$REDLOCK" "$@" >"$SCRATCH/out" 2>&1
    (($? != 64)) || echo "$*: $(<"$SCRATCH/out")" >>"$SCRATCH/wrong"
  }
  sed -n '/^Example/,/^$/s|^  ||p' "$SCRATCH/help" | sed "s|trap '\(.*\)' EXIT|\1|; s|redis://|unix:///|g; s|--force|& --yes|; /[.]\{3\}\$/d" >"$SCRATCH/examples"
  while read -r line; do (eval "$line") <&- || true; done <"$SCRATCH/examples"
  (($(wc -l <"$SCRATCH/examples") == 12)) || fail "$(<"$SCRATCH/examples")"
  [[ ! -e $SCRATCH/wrong ]] || fail "$(<"$SCRATCH/wrong")"
}
