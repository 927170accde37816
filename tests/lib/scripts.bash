# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# For the suites that send redlock's scripts to server A one by one, about a lock L. To be loaded after lib/common.

TOKEN=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
OTHER=bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
HOLDER='redlock:{L}:holder'
FENCE='redlock:{L}:fence'
LINE='redlock:{L}:'
DEAD='redlock:{L}:dead'
READERS='redlock:{L}:readers'

# answer_of SCRIPT KEYS ARG…: sends it; sets $output, its answer in one line.
answer_of() {
  run cli A eval "$(script_of "$1")" "${@:2}"
  output=${lines[*]}
}

# answers TEXT SCRIPT KEYS ARG…: sends the script, which answers so.
answers() {
  answer_of "${@:2}"
  [[ $output == "$1" ]] || fail "${*:2}: it answers '$output', not '$1'"
}

LIST=0123abcd # the id of a list of servers

# take TOKEN [HOLD [WAITER TICKET]]: asks for the lock, as a writer, a reader or for a slot: the token says it. The
# grace is $GRACE seconds, the ttl $TTL ms.
GRACE=0
TTL=60000
take() {
  local script=acquire keys=(L "$HOLDER" "$FENCE" "$DEAD")
  case $1 in
    s*) script=acquire_shared keys+=("$READERS") ;;
    p*) script=acquire_slot keys+=("$READERS") ;;
  esac
  answer_of "$script" "${#keys[@]}" "${keys[@]}" "$1" "$TTL" '{}' "$GRACE" "$TTL" "${2-$1}" "${3-}" "${4-}" "$LINE" "$LIST"
}

# told BEGINNING…: that is how the last answer begins.
told() { [[ $output == "$*"* ]] || fail "the answer is '$output', not '$*…'"; }

# takes …: take, which gets the lock.
takes() { take "$@" && told granted; }

# in_queue NAME…: these stand in the queue, with the tickets 1, 2 and so on, alive, and have just asked.
in_queue() {
  local name ticket=0 ends=$(($(now_ms) + 20000)) queue=() alive=()
  for name in "$@"; do
    queue+=("$((++ticket))" "$name")
    alive+=("$ends" "$name")
  done
  cli A zadd "${LINE}queue" "${queue[@]}" >/dev/null
  cli A zadd "${LINE}alive" "${alive[@]}" >/dev/null
}
no_line() { cli A del "${LINE}queue" "${LINE}alive" "${LINE}waiters" "${LINE}turn" >/dev/null; }
