#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# tests/servers/versions: builds the server that it gets, runs the suites with that one and no other, and tells how they
# ended. The server is the installed one under another version; its sources are a Makefile.

load ../lib/common

setup() {
  local installed
  mkdir -p "$SCRATCH/sources/src"
  installed=$(type -P redis-server || type -P valkey-server || type -P redis-check-rdb || type -P valkey-check-rdb)
  # A program acts by its name.
  printf '%s\n' '#!/bin/bash' 'if [[ $1 == --version ]]; then echo "Redis server v=9.8.7 sha=0"; exit; fi' \
    "echo started >>'$SCRATCH/started'" "exec -a redis-server '$installed' \"\$@\"" >"$SCRATCH/server"
  printf 'all:\n\techo "$(MALLOC) $(BUILD_TLS)" >../built\n\tcp ../server src/redis-server\n\tchmod +x src/redis-server\n' \
    >"$SCRATCH/sources/Makefile"
  chmod +x "$SCRATCH/server"
}

# versions ARG…: with a suite of its own, from standard input; %test is @test there, which bats would read here.
versions() {
  {
    printf 'load %q\n' "$TESTS/lib/common"
    sed 's/^%/@/'
  } >"$SCRATCH/suite.bats"
  local suite
  suite=$(realpath --relative-to "$TESTS" "$SCRATCH")/suite
  run --separate-stderr env SUITES="${suite// /\\ }" "$TESTS/servers/versions" "$@" 3>&-
}

@test "versions: a folder of sources is built, and the suites run with that server" {
  versions "$SCRATCH/sources" <<'END'
%test "with its server" {
  start_server A
  "$REDLOCK" run -S "$A_URI" L -- true
  stop_all
}
%test "not with this one" { skip; }
END
  assert_status 0
  [[ $output == 'Redis 9.8.7: 1 passed, 0 failed, 1 skipped' ]] || fail "$output"
  [[ $(<"$SCRATCH/built") == 'libc yes' ]] || fail "make got $(<"$SCRATCH/built")"
  [[ $(<"$SCRATCH/started") == started ]] || fail 'the suite has started another server'
}

@test "versions: shows a failed test, with status 1, which a server gets, too, with which no test passes" {
  versions "$SCRATCH/server" <<'END'
%test "this one passes" { true; }
%test "this one fails" { echo 'the reason'; false; }
END
  assert_status 1
  [[ $output == 'Redis 9.8.7: 1 passed, 1 failed, 0 skipped' ]] || fail "$output"
  assert_contains "$stderr" 'the reason'
  refute_contains "$stderr" 'this one passes'
  versions "$SCRATCH/server" <<<'%test "skipped" { skip; }'
  assert_status 1
}

@test "versions: --list runs nothing; refuses a file that is not a server, and sources that build none" {
  versions --list "$SCRATCH/server" <<<'%test "fails" { false; }'
  assert_status 0
  [[ $output == "Redis 9.8.7: $SCRATCH/server" ]] || fail "$output"
  sed -i 's/Redis server v=.* sha/Server v=7.2.7 sha/' "$SCRATCH/server"
  versions --list "$SCRATCH/server" </dev/null
  [[ $output == "Valkey 7.2.7: $SCRATCH/server" ]] || fail "$output" "$stderr"
  versions --list /bin/true </dev/null
  assert_status 1
  [[ $stderr == '/bin/true is not a server' ]] || fail "$stderr"
  echo 'all:' >"$SCRATCH/sources/Makefile"
  versions "$SCRATCH/sources" </dev/null
  assert_status 69
  assert_contains "$stderr" "$SCRATCH/sources: no server could be built there"
  versions --lits </dev/null
  assert_status 64
}
