# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Helpers for suites about waiting jobs: a job that holds a lock, jobs that wait for it, and what the
# servers know and say of them. To be loaded after lib/common and lib/looking.

# of_lock NAME: what follows is about that lock; sets LOCK, its keys QUEUE, ALIVE, WAITERS and TURN, and LOG, its
# file.
of_lock() {
  LOCK=$1
  QUEUE="redlock:{$LOCK}:queue"
  ALIVE="redlock:{$LOCK}:alive"
  WAITERS="redlock:{$LOCK}:waiters"
  TURN="redlock:{$LOCK}:turn"
  LOG=$SCRATCH/log.$LOCK
}
of_lock L

# ---- jobs --------------------------------------------------------------------------------------

# hold [OPTION…]: starts a job under the lock, until let_go; sets HOLDER (PID). All $SERVERS have its key.
hold() {
  local held=$SCRATCH/held.$LOCK server
  rm -f "$SCRATCH/go.$LOCK" "$held"
  background "$REDLOCK" run "$@" "$LOCK" -- bash -c 'echo start holder >>"$0"; echo x >"$1"
    until [[ -e $2 ]]; do read -rt 0.05 <>"$NAP"; done; echo end holder >>"$0"' "$LOG" "$held" "$SCRATCH/go.$LOCK"
  HOLDER=$BACKGROUND_PID
  wait_for "$held"
  for server in "${SERVERS[@]:-A}"; do wait_for_key "$server" "$LOCK"; done
}

# hold_twice: the same, and the job runs redlock for the same lock again, until $INNER.go is there; then
# $INNER.over is written.
hold_twice() {
  rm -f "$SCRATCH/go.$LOCK"
  background "$REDLOCK" run "$LOCK" -- sh -c '"$0" run "$2" -- sh -c "echo x >\"\$INNER\"
    until [ -e \"\$INNER.go\" ]; do sleep 0.05; done"
    echo x >"$INNER.over"; until [ -e "$1" ]; do sleep 0.05; done' "$REDLOCK" "$SCRATCH/go.$LOCK" "$LOCK"
  HOLDER=$BACKGROUND_PID
  wait_for "$INNER"
}

# end_hold [-STATUS]: the job of hold ends, and redlock does, with that status.
end_hold() { let_go && await "$@" "$HOLDER"; }

# renew_soon SERVER: sends the holders a message there, so that they renew immediately: a server that has forgotten
# a lock gets it back.
renew_soon() {
  local channel
  wait_until_listening "$1"
  for channel in $(cli "$1" pubsub channels '*:told:*'); do cli "$1" publish "$channel" x >/dev/null; done
}

# waiter NAME [OPTION…]: a run waits for the lock, and then writes "start NAME TIME" and "end NAME" to
# $LOG; sets the variable NAME to its PID. Returns when it stands in the queue of all servers and would
# hear if it was woken by any.
waiter() {
  local before
  before=$(waiters A)
  background "$REDLOCK" run -vv "${@:2}" "$LOCK" -- bash -c 'echo "start $1 $((${EPOCHREALTIME/[.,]/} / 1000))" >>"$0"
    echo "end $1" >>"$0"' "$LOG" "$1"
  declare -g "$1=$BACKGROUND_PID"
  wait_until "$BOUND" queued $((before + 1)) || return 1
  wait_until "$BOUND" hears "$BACKGROUND_PID"
}

# line_up NAME…: hold, and these waiters in their order.
line_up() {
  local each
  hold
  for each in "$@"; do waiter "$each"; done
}

# began_at NAME: prints when the job of that waiter began, in ms.
began_at() { awk -v name="$1" '$1 == "start" && $2 == name { print $3 }' "$LOG"; }

# refusals PID: prints how often the run with -v has been refused.
refusals() { count_text "$SCRATCH/background.$1.err" 'acquire: refused' && echo "$COUNT"; }
refused_more() { has_texts "$SCRATCH/background.$1.err" 'acquire: refused' $(($2 + 1)); }

# ---- the queue -----------------------------------------------------------------------------------

# in_queue SERVER: prints the random names of the waiters, in their order.
in_queue() { cli "$1" zrange "$QUEUE" 0 -1; }

# waiters SERVER: prints how many wait there.
waiters() { cli "$1" zcard "$QUEUE"; }

# queued COUNT: this many stand in the queue of every server.
queued() {
  local server
  for server in "${SERVERS[@]:-A}"; do [[ $(answer "$server" zcard "$QUEUE") == "$1" ]] || return 1; done
}
SOON=10 # seconds: a waiter that does not leave is forgotten after 20 s
nobody_waits() { queued 0; }
assert_nobody_waits() { nobody_waits || fail "somebody waits: $(in_queue A)"; }

# waiter_of PID: prints the name of that process in the queue of A.
waiter_of() {
  local fields i
  mapfile -t fields < <(answer A hgetall "$WAITERS")
  for ((i = 1; i < ${#fields[@]}; i += 2)); do
    [[ ${fields[i]} != *'"pid":'"$1"[,\}]* ]] || echo "${fields[i - 1]}"
  done
}

# hears PID: this waiter listens on every server.
hears() {
  local name server
  name=$(waiter_of "$1")
  [[ -n $name ]] || return 1
  for server in "${SERVERS[@]:-A}"; do
    [[ $(answer "$server" pubsub numsub "redlock:{$LOCK}:wake:$name") == *$'\n'1 ]] || return 1
  done
}

# listening COUNT: this many waiters listen on A.
listening() { [[ $(cli A pubsub channels "redlock:{$LOCK}:wake:*" | grep -c wake) == "$1" ]]; }

# until_when SERVER WAITER: prints until when the server counts that waiter, in ms since 1970.
until_when() { cli "$1" zscore "$ALIVE" "$2"; }

# plant SERVER COUNT TICKET MS WHO: COUNT waiters stand in that queue, from this ticket on, and count for MS ms,
# though there are no such processes: planted1, planted2 and so on. WHO is their record.
plant() {
  cli "$1" eval 'local now = redis.call("TIME")
    for at = 1, ARGV[1] do
      redis.call("ZADD", KEYS[1], ARGV[2] + at - 1, "planted" .. at)
      redis.call("ZADD", KEYS[2], now[1] * 1000 + ARGV[3], "planted" .. at)
      redis.call("HSET", KEYS[3], "planted" .. at, ARGV[4])
    end' 3 "$QUEUE" "$ALIVE" "$WAITERS" "${@:2}" >/dev/null
}
planted() { in_queue "$1" | grep -c planted || true; }

# word SERVER TEXT WAITER: that server says this to the waiter.
word() { cli "$1" publish "redlock:{$LOCK}:wake:$3" "$2" >/dev/null; }

# long_silent SERVER WAITER: it has not asked there for half a second: only by listening could it be woken.
long_silent() { (($(until_when "$1" "$2") - 20000 < $(now_ms) - 500)); }

# waiting NAME: `redlock status --json NAME`, which says nothing else; for `is`.
waiting() {
  run --separate-stderr "$REDLOCK" status --json "$1"
  silent
}

# ---- what a server says ----------------------------------------------------------------------------

# listen_in SERVER: keeps what the server carries out from now on.
listen_in() {
  local server=$1
  local -n monitored=${1}_SOCKET
  start_tool redis-cli -s "$monitored" monitor >"$SCRATCH/monitor.$server"
  wait_for_line "$SCRATCH/monitor.$server" OK
}

# calls SERVER: prints the words that were sent to waiters since listen_in.
calls() { grep -F ':wake:' "$SCRATCH/monitor.$1" | grep -F '"PUBLISH"' || true; }

# heard_by SERVER WORD WAITER: waits until that word was sent to that waiter.
heard_by() { wait_for_line "$SCRATCH/monitor.$1" "\"PUBLISH\" \"redlock:{$LOCK}:wake:$3\" \"$2\""; }
