# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# For suites that must know when a job last ran: a job that writes down each moment of its life, and libraries in C that
# make redlock's system misbehave. Loaded after lib/common.

LOG=$SCRATCH/log
BEATING_JOB=("$PYTHON" -SEI "$TESTS/lib/beating_job.py" "$LOG") # its first lines list the words that it takes

# run_job [OPTION…] -- [WORD…]: starts the beating job with these words under the lock L, and waits until it beats; sets
# TOP, WORKER and JOB (PIDs) and WORKER_IDENTITY.
run_job() {
  local options=()
  while [[ $1 != -- ]]; do options+=("$1") && shift; done
  background "$REDLOCK" run "${options[@]}" L -- "${BEATING_JOB[@]}" "${@:2}"
  TOP=$BACKGROUND_PID
  wait_for_line "$LOG" beat
  WORKER=$(child_of "$TOP")
  WORKER_IDENTITY=$(identity_of "$WORKER")
  JOB=$(child_of "$WORKER")
}

# last [NAME] WORD: prints when the job, or its process of that name, last wrote WORD (beat, TERM, end); 0 for never.
last() {
  awk -v what="$*" 'BEGIN { count = split(what, words, " ") }
    $1 == words[1] && (count == 1 || $2 == words[2]) { time = $(count + 1) } END { print time ? time : 0 }' "$LOG"
}

# pids_of_job [NAME]: prints the PIDs of all processes of the job that beat, or of those with that name.
pids_of_job() {
  awk -v name="${1-}" '$(NF - 1) == "pid" && (name == "" || $1 == name) { print $NF }' "$LOG" 2>/dev/null
}
has_processes() { [[ $(pids_of_job | wc -l) == "$1" ]]; }

# job_is_gone: none of its processes runs.
job_is_gone() {
  local pid
  for pid in $(pids_of_job); do gone "$pid" || return 1; done
}

# preload FILE: compiles this C file of the suite's folder to a library; sets $SHIM, for LD_PRELOAD, and LD_LIBRARY_PATH.
# LD_PRELOAD separates its files by blanks, so a path there must not have one; LD_LIBRARY_PATH may.
preload() {
  SHIM=${1%.c}.so
  "${CC:-cc}" -shared -fPIC -o "$SCRATCH/$SHIM" "$BATS_TEST_DIRNAME/$1" -ldl
  export LD_LIBRARY_PATH=$SCRATCH
  # A sanitizer wants to be the first library.
  export ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS-}
}
