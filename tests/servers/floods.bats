#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole,slow
#
# Servers whose answers never end, as hostile.bats: redlock reads up to a limit. That is up to 64 MiB, which
# takes ten times as long with sanitizers.

load ../lib/common
load ../lib/hostile

setup() { unset REDLOCK_SERVERS; }
teardown() { stop_all; }

@test "floods: list ends although the server never does" {
  hostile_server endless-cursors
  REDLOCK_SERVER_TIMEOUT=5ms meets list
  assert_contains "$output" 'list: status 69'
}

@test "floods: list reads a limited number of names, and says so" {
  hostile_server endless-names
  REDLOCK_SERVER_TIMEOUT=5s meets list-none
  assert_contains "$output" 'list-none: status 69'
  assert_contains "$output" "redlock: warning: $HOSTILE_URI names more than 100000 locks; the rest is left out"
}

@test "floods: list keeps a limited number of records, and says so" {
  hostile_server huge-records
  REDLOCK_SERVER_TIMEOUT=5s meets list
  assert_contains "$output" 'list: status 69'
  assert_contains "$output" "redlock: warning: $HOSTILE_URI has answered with more than 64 MiB; the rest is left out"
  stop_servers
  # Longer than any that redlock's script tells: not an answer at all.
  hostile_server huge-holders
  REDLOCK_SERVER_TIMEOUT=5s meets list
  assert_contains "$output" 'list: status 69'
}

@test "floods: history reads a limited part of a log, and says so" {
  hostile_server endless-log
  REDLOCK_SERVER_TIMEOUT=5s meets history history-json
  assert_contains "$output" 'history: status 69' "$HOSTILE_URI could not be asked: has answered with more than 64 MiB"
  stop_servers
  hostile_server same-line
  REDLOCK_SERVER_TIMEOUT=5s meets history
  assert_contains "$output" 'history: status 69'
}
