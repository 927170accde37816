# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# Replaces functions inside bats 1.8 (Debian 12) that take much of the time of a short test. common.bash reads this
# file, for that release of bats alone.

# bats runs a trap before each command, which takes 0.1 ms: from it bats knows the line to show when a test fails. Here
# only the commands of tests, setup and teardown have this trap. When a helper fails, bats shows the line that called it.
# bats calls this function for each test, after all functions are defined.
bats_test_function() {
  declare -ft "${@: -1}" {setup,teardown}{,_file} 2>/dev/null || true # not everywhere are there all of them
  set +T
}

# bats starts a process for the time in milliseconds.
get_mills_since_epoch() { now_ms; }

# For each test bats removes a file that is in the folder of its run, which it removes as well.
rm() { [[ $# == 2 && $1 == -f && $2 == "${BATS_OUT-}" ]] || command rm "$@"; }

# In the subshell of `run`, a program takes the place of that shell; bats would start one more process.
bats_merge_stdout_and_stderr() {
  if [[ $1 == */* && -z $keep_empty_lines ]]; then exec "$@" 2>&1; fi
  "$@" 2>&1
}
bats_redirect_stderr_into_file() {
  if [[ $1 == */* && -z $keep_empty_lines ]]; then exec "$@" 2>>"$bats_run_separate_stderr_file"; fi
  "$@" 2>>"$bats_run_separate_stderr_file"
}
