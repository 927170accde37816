#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# What a job inherits is what it would have inherited without redlock: tests/lib/look.py tells all of
# it, and the two are compared item by item.

load ../lib/common

setup() { servers 1 && export LOOK=$TESTS/lib/look.py; }
teardown() { stop_all; }

# compare COMMAND…: COMMAND, which runs the words after its own, runs look.py, and then look.py
# under redlock. Both write their findings to a file, and have the same standard descriptors.
compare() {
  local look=("$PYTHON" -SEI "$LOOK") way
  for way in plain locked; do
    local words=("${look[@]}")
    [[ $way == plain ]] || words=("$REDLOCK" run -S "$A_URI" L -- "${look[@]}")
    "$@" "${words[@]}" </dev/null >"$SCRATCH/found" 2>"$SCRATCH/errors" 3>&- ||
      fail "$way, $*: status $?" "$(cat "$SCRATCH/errors")"
    mv "$SCRATCH/found" "$SCRATCH/$way"
  done
  (($(wc -l <"$SCRATCH/plain") > 60)) || fail "$(cat "$SCRATCH/plain")"
  diff "$SCRATCH/plain" "$SCRATCH/locked" || fail "differs under: $*"
}

# by_shell COMMANDS: the same with a shell that runs COMMANDS before.
by_shell() { compare bash -c "$1"$'\nexec "$@"' bash; }

@test "with nothing special" { compare env; }

@test "signals ignored at entry" {
  compare env --ignore-signal=CHLD
  compare env --ignore-signal=PIPE,HUP,INT,QUIT
  compare env --ignore-signal=TERM,USR1,USR2,TSTP,TTIN,TTOU,CONT,ALRM
  compare env --default-signal --ignore-signal=RTMIN+3,WINCH
}

@test "signals blocked at entry" {
  compare env --block-signal=CHLD,PIPE,TERM
  compare env --block-signal=INT,HUP,TSTP,TTOU,CONT,RTMIN+1
}

@test "limits" {
  by_shell 'ulimit -n 24'
  by_shell 'ulimit -c 0; ulimit -S -s 4096; ulimit -t 100; ulimit -f 10000; ulimit -S -u 5000; ulimit -l 32'
}

@test "umask, directory, nice, I/O priority, scheduling, processors" {
  by_shell 'umask 027; cd /usr/share'
  compare nice -n 7
  compare ionice -c 3
  compare chrt --batch 0
  compare taskset -c "$(taskset -cp $$ | sed 's/.*[ ,-]//')"
}

@test "descriptors: others, and closed ones" {
  echo text >"$SCRATCH/file"
  mkfifo "$SCRATCH/fifo"
  by_shell 'exec 7<"$SCRATCH/file" 9>>"$SCRATCH/file" 5<>"$SCRATCH/file" 8<>"$SCRATCH/fifo"; read -r -u 7 -n 2'
  by_shell 'exec 0<&-'
  by_shell 'exec 2>&-'
  by_shell 'exec 0<&- 2>&-'
}

@test "environment: odd names and values, and no REDLOCK_* but ours" {
  compare env -i
  compare env 'A=' 'B=a b' $'C=two\nlines' 'D.E=1' 'LC_ALL=xx_YY' LD_BIND_NOW=1
  compare env -i HOME=/ PATH=/usr/bin:/bin SHELL=/bin/sh LOGNAME=x "REDLOCK_SERVERS=$A_URI" REDLOCK_TTL=20s
}

@test "privileges and what prctl(2) keeps" {
  compare setpriv --no-new-privs
  compare setpriv --pdeathsig clear
  compare setarch --addr-no-randomize
  by_shell 'echo 200 >/proc/self/oom_score_adj; echo 70000 >/proc/self/timerslack_ns'
  compare "$PYTHON" -SEIc 'import ctypes, os, sys
libc = ctypes.CDLL(None)
libc.prctl(41, 1, 0, 0, 0)  # PR_SET_THP_DISABLE
os.execvp(sys.argv[1], sys.argv[1:])'
  ((EUID != 0)) || compare setpriv --regid 1 --groups 2,3 --inh-caps=-all --bounding-set=-sys_admin
}

@test "off a terminal the job is in redlock's session and process group" {
  local form
  for form in 'exec %s' '%s; :' 'exec setsid --wait %s' 'set -m; %s'; do
    # shellcheck disable=SC2059
    run bash -c "$(printf "$form" 'sh -c '\''read -r _ _ _ _ group session _ </proc/self/stat; echo "$group $session"; exec "$REDLOCK" run L -- cat /proc/self/stat'\')" 3>&-
    assert_status 0
    read -r _ _ _ _ group session _ <<<"${lines[1]}"
    [[ ${lines[0]} == "$group $session" ]] || fail "$form: $output"
  done
}

@test "session and terminal" {
  # At a terminal, as its session's leader and below one.
  local plain locked command form n=0
  printf -v plain '%q ' "$PYTHON" -SEI "$LOOK"
  printf -v locked '%q run L -- %s' "$REDLOCK" "$plain"
  for form in 'exec %s' '%s; :' 'exec setsid --wait %s'; do
    for command in "$plain" "$locked"; do
      n=$((n + 1))
      # shellcheck disable=SC2059
      "$PYTHON" -SEIc 'import os, pty, sys; sys.exit(pty.spawn(["sh", "-c", sys.argv[1]]))' \
        "$(printf "$form" "$command")" </dev/null | grep -vE '^(session|descriptor|environment)' >"$SCRATCH/$n"
    done
    (($(wc -l <"$SCRATCH/$n") > 40)) || fail "$(cat "$SCRATCH/$n")"
    diff "$SCRATCH/$((n - 1))" "$SCRATCH/$n" || fail "differs under: $form"
  done
}
