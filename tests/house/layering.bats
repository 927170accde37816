#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# Includes go downward only, and each library of others has one place where it is used.

load ../lib/common

setup() { cd "$SOURCE/src" || return; }

# includes FILE…: prints FILE: HEADER for every #include, <…> and "…" kept.
includes() { grep -HoE '^ *# *include *[<"][^>"]+[>"]' "$@" | sed -E 's/: *# *include */: /'; }

sources() { find "$@" -name '*.cc' -o -name '*.h'; }

# assert_none WHAT: nothing comes on standard input; otherwise the lines are shown.
assert_none() {
  local lines
  lines=$(cat)
  [[ -z $lines ]] || fail "$1:" "$lines"
}

# users_of PATTERN: the files that include a header matching it.
users_of() {
  mapfile -t files < <(sources .)
  includes "${files[@]}" | grep -E ": [<\"]$1" | cut -d: -f1 | sort -u
}

# may_include LAYER LOWER…: the layer includes itself, the layers named, and src/*.h of no layer.
may_include() {
  local layer=$1 files allowed
  allowed=$(IFS='|' && echo "$*")
  mapfile -t files < <(sources "$layer")
  ((${#files[@]})) || fail "no files in src/$layer"
  includes "${files[@]}" | grep -E ': "' | grep -vE ": \"(($allowed)/|error\.h\")" |
    assert_none "src/$layer may include $* only"
}

@test "lock is pure: the standard library without clocks, threads or I/O, and lock/" {
  mapfile -t files < <(sources lock)
  includes "${files[@]}" | grep -E ': "' | grep -vE ': "lock/' | assert_none 'lock/ includes lock/ only'
  includes "${files[@]}" | grep -E ': <.*[/.].*>' | assert_none 'no header that is not of the C++ library'
  includes "${files[@]}" |
    grep -E ': <(c?stdio|iostream|[io]?f?stream|thread|mutex|atomic|random|filesystem|ctime|format|condition_variable|future)>' |
    assert_none 'no I/O, threads, randomness or formatting'
  grep -nE '::now\(|std::rand|[^_]getenv' "${files[@]}" | assert_none 'no clock, no environment'
}

@test "includes go downward" {
  may_include os lock
  may_include redis lock os
  may_include config redis lock os
  may_include cli config redis diag lock os
  may_include records lock os
  may_include diag records lock os
  may_include driver cli config redis diag records lock os
  may_include observe driver cli config redis diag records lock os
}

@test "includes go downward within redis/, too" {
  may_include redis/wire lock os
  may_include redis/tls redis/wire lock os
  may_include redis/requests redis/wire lock os
  may_include redis/connection redis/requests redis/tls redis/wire lock os
  may_include redis/servers redis/connection redis/requests redis/tls redis/wire lock os
  # No file lies beside these folders.
  sources redis -maxdepth 1 | assert_none 'in none of the folders'
}

@test "only redis/ uses hiredis and OpenSSL" {
  users_of '(hiredis|openssl)' | grep -v '^\./redis/' | assert_none 'outside redis/'
}

@test "one file uses CLI11, and one nlohmann's JSON" {
  [[ $(users_of 'CLI/' | wc -l) == 1 ]]
  [[ $(users_of 'nlohmann' | wc -l) == 1 ]]
}

@test "a room includes no other" {
  local room
  for room in run hold look check force sandbox; do
    may_include "$room" observe driver cli config redis diag records lock os
  done
}

@test "one place blocks while there is a lock: the loop in driver/" {
  # Every file above os/ that blocks, and in how many lines. Add none for a process with a session:
  # a wait of its own would let the lease pass.
  local found
  found=$(sources . | grep -v '^\./os/' | sort |
    xargs grep -cE '\.wait\(|::(p?poll|epoll_wait|select|sigwaitinfo|sigtimedwait|sigwait|pause|nanosleep)\(' | grep -v ':0$')
  [[ $found == "$(
    echo ./driver/driver.cc:3       # the loop, and 10 ms where the system refuses it
    echo ./driver/setup.cc:1        # status, list, history, check: they only look
    echo ./force/force_release.cc:1 # until somebody else's lock is gone
    echo ./hold/keeper.cc:2         # the parent's last word; it must need nothing of the system
    echo ./look/screen.cc:1         # --watch: it has no session
    echo ./observe/observed.cc:1    # status, list: half a second between two looks
    echo ./run/supervision.cc:1     # the command of --on-lost, when all is over
    echo ./run/supervisor.cc:2      # it has no session
    echo ./sandbox/sandbox.cc:1     # it has no session either
  )" ]] || fail "these lines block:" "$found"
}

@test "every source file includes its own header first" {
  # So that each header is compiled once with nothing before it.
  local file first
  for file in $(sources lock os records redis config cli diag driver observe run hold look check force sandbox | grep '\.cc$'); do
    [[ -e ${file%.cc}.h ]] || continue
    first=$(includes "$file" | head -n 1)
    [[ $first == "$file: \"${file%.cc}.h\"" ]] || fail "not its own header: $first"
  done
}
