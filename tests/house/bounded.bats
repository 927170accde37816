#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
# shellcheck disable=SC2154 # set by run
#
# A test that hangs is ended when BATS_TEST_TIMEOUT is over, with all that it has started.

load ../lib/common

teardown() { stop_all; }

@test "bounded: a test whose grandchildren hang is ended, and they are, too" {
  local pid
  # bats would take the line for one of this file.
  sed 's/^A test/@test/' >"$SCRATCH/hangs.bats" <<'BATS'
load "$TESTS/lib/common"
A test "hangs" {
  mkfifo "$SCRATCH/fifo"
  run bash -c 'trap "" TERM
    setsid -f bash -c "echo \$\$ >>\"\$PIDS\"; read -r _ <\"\$0\"" "$0"
    sh -c "echo \$\$ >>\"\$PIDS\"; read -r _ <\"\$0\"" "$0"' "$SCRATCH/fifo"
}
BATS
  export TESTS PIDS=$SCRATCH/pids
  # Without the folders of this run of bats.
  background env -u BATS_RUN_TMPDIR -u BATS_FILE_TMPDIR -u BATS_TEST_TMPDIR -u BATS_SUITE_TMPDIR -u BATS_ROOT \
    BATS_TEST_TIMEOUT=1 bats --tap "$SCRATCH/hangs.bats"
  await "$BACKGROUND_PID"
  assert_status 1
  assert_contains "$output" 'timeout after 1s'
  [[ $(wc -l <"$PIDS") == 2 ]] || fail "$(<"$PIDS")"
  while read -r pid; do wait_gone "$pid"; done <"$PIDS"
}
