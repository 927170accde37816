#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# A test that hangs is ended when BATS_TEST_TIMEOUT is over, with all that it has started. What a test has stopped,
# nothing else continues.

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
  background env -u BATS_RUN_TMPDIR -u BATS_FILE_TMPDIR -u BATS_TEST_TMPDIR -u BATS_SUITE_TMPDIR \
    BATS_TEST_TIMEOUT=1 bats --tap "$SCRATCH/hangs.bats"
  await -1 "$BACKGROUND_PID"
  assert_contains "$output" 'timeout after 1s'
  [[ $(wc -l <"$PIDS") == 2 ]] || fail "$(<"$PIDS")"
  while read -r pid; do wait_gone "$pid"; done <"$PIDS"
}

# The shell ties the process group of the tests to its session. When it ends, the kernel sends HUP and CONT to a group
# in which a process is stopped.
@test "bounded: a server that a test has stopped stays so when the shell of \`nohup bats &\` ends" {
  sed 's/^A test/@test/' >"$SCRATCH/stops.bats" <<'BATS'
load "$TESTS/lib/common"
teardown() { stop_all; }
A test "stops" {
  start_server A
  pause_server A
  : >"$STAGE.stopped"
  wait_until 20 test -e "$STAGE.alone"
  nap 0.1
  stopped "$A_PID"
}
BATS
  export TESTS STAGE=$SCRATCH/stage
  background env -u BATS_RUN_TMPDIR -u BATS_FILE_TMPDIR -u BATS_TEST_TMPDIR -u BATS_SUITE_TMPDIR \
    bash -c 'set -m
    (nohup bats --tap "$0" >"$STAGE.tap" &
      echo "$!" >"$STAGE.pid"
      for ((i = 0; i < 400; ++i)); do
        [[ ! -e $STAGE.stopped ]] || break
        sleep 0.05
      done) &
    wait
    : >"$STAGE.alone"' "$SCRATCH/stops.bats"
  await "$BACKGROUND_PID"
  wait_gone "$(<"$STAGE.pid")"
  assert_contains "$(<"$STAGE.tap")" $'\nok 1'
}
