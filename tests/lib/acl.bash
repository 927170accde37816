# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Users and what they may do: as redlock-protocol(7) has it, and as far as the servers at hand know it.
# Beside common.bash:
#
#   load ../lib/common
#   load ../lib/acl
#   setup() { needs_users; … }

# needs_users: skips the test where the server knows none. Sets CHANNELS, the words that give a user
# all channels; there are none before Redis 6.2, where all users have them.
needs_users() {
  server_at_least 6 || skip 'this server knows no users (Redis 6)'
  CHANNELS=()
  ! server_at_least 6.2 || CHANNELS=('&*')
}

# needs_channels: the same for the permission to use channels.
needs_channels() {
  needs_users
  ((${#CHANNELS[@]})) || skip 'this server lets all users use all channels (Redis 6.2)'
}

# acl_of_page: needs_users, and sets ACL, the words after ACL SETUSER on the page.
acl_of_page() {
  needs_users
  local word words
  read -ra words <<<"$(sed -n '/^ACL SETUSER/,/^\.Ed/{s/^ACL SETUSER//;/^\.Ed/!p}' \
    "$SOURCE/man/redlock-protocol.7" | tr -s ' \n' ' ')"
  [[ ${words[*]:0:3} == 'cron on >password' ]] || fail "no ACL on the page: ${words[*]}"
  ACL=()
  for word in "${words[@]}"; do
    [[ $word == '&'* || $word == resetchannels ]] && [[ ${#CHANNELS[@]} == 0 ]] || ACL+=("$word")
  done
}

# denied SERVER: what its users were not permitted, a word a line; nothing since the last call.
denied() {
  cli "$1" acl log | awk 'previous == "object" { print } { previous = $0 }' | sort -u
  cli "$1" acl log reset >/dev/null
}

assert_nothing_denied() {
  local server found
  for server in "$@"; do
    found=$(denied "$server")
    [[ -z $found ]] || fail "$server did not permit: $found"
  done
}
