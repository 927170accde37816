# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# What the suites about several servers share: a job under the lock L, and what became of it and of its
# servers. To be loaded after lib/common.

# setup_job: where the job of start_job says that it is there, and is told to end.
setup_job() {
  READY=$SCRATCH/ready
  FINISH=$SCRATCH/finish
}

# For tests in which nobody may wait for a server. One that hangs would be waited for: 6 s for an
# answer, 1 s for a connection, 2 s for the end of a release.
PATIENTLY=(--ttl 60s --server-timeout 6s)
PROMPT=800 # ms

# promptly CMD…: `run` with stderr apart; also sets $took, in ms.
promptly() {
  local began=${EPOCHREALTIME/./}
  run --separate-stderr "$@"
  took=$(((${EPOCHREALTIME/./} - began) / 1000))
}

# took_less_than MS: the last timed command took less.
took_less_than() { ((took < $1)) || fail "it took $took ms" "${stderr-}"; }

assert_silent() { [[ -z $stderr ]] || fail "it says: $stderr"; }

# assert_named_once TEXT SERVER…: TEXT, one message, names each of these servers once.
assert_named_once() {
  local text=$1 server
  shift
  for server in "$@"; do
    local -n uri=${server}_URI
    [[ $(grep -oF "$uri:" <<<"$text" | wc -l) == 1 ]] || fail "$uri is not named once in: $text"
  done
}

# assert_nothing_left SERVER…: no lock there.
assert_nothing_left() {
  local server
  for server in "$@"; do assert_no_key "$server" L; done
}

# wait_until_free SERVER…: until no lock is there. For servers of which a quorum was enough for redlock to end.
wait_until_free() {
  local server
  for server in "$@"; do wait_until "$BOUND" lacks_key "$server" L || fail "$server has the lock" || return 1; done
}

# start_job ARG…: `redlock run ARG… L -- a job` in the background; the job says that it is ready,
# ends with 7 once $FINISH is there, and gives up after 60 s.
start_job() {
  background "$REDLOCK" run "$@" L -- bash -c 'echo "$$" >"$1"
    for i in {1..1200}; do [[ ! -e $2 ]] || exit 7; read -rt 0.05 <>"$NAP"; done' job "$READY" "$FINISH"
  wait_for "$READY"
}

# finish_job: lets the job end, waits for redlock; sets what await does, and $took.
finish_job() {
  local began=${EPOCHREALTIME/./}
  : >"$FINISH"
  await "$BACKGROUND_PID" || return 1
  took=$(((${EPOCHREALTIME/./} - began) / 1000))
}
