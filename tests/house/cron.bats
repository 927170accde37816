#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole,slowest
#
# The crontab lines of redlock-run(1) under a real cron daemon, two of them for two hosts. It is
# busybox's: that one takes a directory of its own. Takes until the next full minute.

load ../lib/common

# busybox writes these two files, whatever its folder of crontabs is.
MARKS=(/run/crond.pid /run/crond.reboot)
setup() {
  local mark
  [[ -w /run ]] || return 0
  for mark in "${MARKS[@]}"; do [[ ! -e $mark ]] || cp -p "$mark" "$SCRATCH"; done
}
teardown() {
  local mark
  stop_all
  [[ -w /run ]] || return 0
  for mark in "${MARKS[@]}"; do
    if [[ -e $SCRATCH/${mark##*/} ]]; then cp -p "$SCRATCH/${mark##*/}" "$mark"; else rm -f "$mark"; fi
  done
}

# crontab_of HOST: each line runs its job under a lock and then says how redlock ended. The slow
# job takes longer than it takes the other daemon to start its own.
crontab_of() {
  local log
  printf -v log %q "$SCRATCH"
  cat <<END
* * * * * "$REDLOCK" run -n -E 0 --min-hold 40s short -- sh -c "echo $1 >>$log/short" 2>$log/short.$1.err; echo \$? >$log/short.$1
* * * * * "$REDLOCK" run --once 50s daily -- sh -c "echo $1 >>$log/daily; sleep 1" 2>$log/daily.$1.err; echo \$? >$log/daily.$1
* * * * * "$REDLOCK" run --once 50s failing -- sh -c "echo $1 >>$log/failing; exit 3" 2>$log/failing.$1.err; echo \$? >$log/failing.$1
END
}

# start_cron HOST: a cron daemon with that host's crontab.
start_cron() {
  local dir=$SCRATCH/cron.$1
  mkdir -p "$dir"
  crontab_of "$1" >"$dir/root"
  start_tool env LOGNAME=root busybox crond -f -c "$dir" -L "$dir/log"
}

@test "cron: of two hosts with the same crontab one runs each job, once" {
  busybox crond --help >/dev/null 2>&1 || skip "no busybox with crond (apt-get install busybox-static)"
  [[ $(id -u) == 0 ]] || skip "busybox's crond needs root"
  local name host
  servers 3
  # Not on either side of a full minute: that is when each of them looks what there is to do.
  wait_until "$BOUND" eval '((10#$(date +%S) < 55))'
  start_cron one
  start_cron two

  for name in short daily failing; do
    for host in one two; do wait_for "$SCRATCH/$name.$host" 90; done
  done
  # A second minute may have begun on a loaded machine: the times above cover most of it.
  [[ $(wc -l <"$SCRATCH/short") == 1 ]] || fail "short ran:" "$(cat "$SCRATCH/short")"
  [[ $(wc -l <"$SCRATCH/daily") == 1 ]] || fail "daily ran:" "$(cat "$SCRATCH/daily")"
  [[ $(wc -l <"$SCRATCH/failing") == 2 ]] || fail "failing ran:" "$(cat "$SCRATCH/failing")"
  for host in one two; do
    [[ $(<"$SCRATCH/short.$host") == 0 ]] || fail "short on $host: $(<"$SCRATCH/short.$host")"
    [[ $(<"$SCRATCH/daily.$host") == 0 ]] || fail "daily on $host: $(<"$SCRATCH/daily.$host")"
    [[ $(<"$SCRATCH/failing.$host") == 3 ]] || fail "failing on $host"
    # Nothing to mail.
    [[ ! -s $SCRATCH/short.$host.err && ! -s $SCRATCH/daily.$host.err ]] ||
      fail "$(cat "$SCRATCH"/*.err)"
  done
}
