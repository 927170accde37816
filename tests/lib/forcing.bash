# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# What the suites of forced releases share: a job that writes down when it is stopped. To be loaded after
# lib/common. With the default ttl of 30 s a renewal is 10 s away: who stops its job sooner was told.

# setup_job: three servers, and the job.
setup_job() {
  servers 3
  export A_SOCKET SCRATCH
  LOG=$SCRATCH/log
  export USER=ops LOGNAME=ops
  cat >"$SCRATCH/job" <<'JOB'
#!/bin/bash
# job LOG: writes "start TIME", at a TERM "TERM TIME", and half a second later, but not before LOG.stay is gone,
# "end TIME".
exec 2>/dev/null # of bash's "Terminated"
# Without a process of its own: the trap starts it while the TERM is still on its way, which may reach it, too.
say() { echo "$1 $((${EPOCHREALTIME//[.,]/} / 1000))" >>"$LOG"; }
LOG=$1
trap 'say TERM; sleep 0.5; while [[ -e $1.stay ]]; do sleep 0.02; done; say end; exit 3' TERM
say start
for ((i = 0; i < 3000; i++)); do
  [[ ! -e $1.finish ]] || { say end; exit 7; }
  sleep 0.05
done
JOB
  chmod +x "$SCRATCH/job"
}

TOLD=8000 # ms: the most that being told takes on a loaded machine

# start_job [OPTIONS…]: the job above under the lock L; waits until it runs. Sets $HOLDER (PID), $MESSAGES (file).
start_job() {
  background "$REDLOCK" run "$@" L -- "$SCRATCH/job" "$LOG"
  HOLDER=$BACKGROUND_PID MESSAGES=$BACKGROUND_ERR
  wait_for "$LOG"
}

# force [-STATUS] ARG…: the command, without a terminal.
force() { run_redlock release "$@" --force </dev/null; }

# time_of WHAT: prints when the job first did that.
time_of() { awk -v what="$1" '$1 == what { print $2; exit }' "$LOG"; }
