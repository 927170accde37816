# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# What the suites about several servers share: a job under the lock L, and what became of it and of its
# servers. To be loaded after lib/common.

# For tests in which nobody may wait for a server. One that hangs would be waited for: 6 s for an
# answer, 1 s for a connection, 2 s for the end of a release.
PATIENTLY=(--ttl 60s --server-timeout 6s)

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
