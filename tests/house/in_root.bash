# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Runs redlock in the root $ROOT, in which nothing else need be. The servers are outside, their sockets inside.

# The namespace is for the mount and, if we are not root, for the permission to call chroot(2). PROCESS: an environment.
enter=(unshare --mount)
if [[ $(id -u) != 0 ]]; then enter+=(--map-root-user); fi
# shellcheck disable=SC2016 # expanded inside
enter+=(sh -c 'mount --rbind /proc "$ROOT/proc" && exec env ${PROCESS-} "$CHROOT" "$ROOT" "$@"' sh)
CHROOT=$(command -v chroot)
export CHROOT

# with_servers PROGRAM WORD…: runs that in the root, with the servers of PROGRAM's sandbox.
with_servers() {
  export SHOWN_ROOT=${ROOT// /%20} # in the URIs of servers
  # shellcheck disable=SC2016 # expanded inside
  TMPDIR=$ROOT/tmp "$ROOT$1" sandbox -N 3 -- sh -c '
    export REDLOCK_SERVERS="$(echo "$REDLOCK_SERVERS" | sed "s|$SHOWN_ROOT||g")"
    exec "$@"' sh "${enter[@]}" "$@"
}

# prints PATTERN TEXT WHAT: ends the script, unless TEXT, which WHAT printed, matches the pattern.
prints() {
  [[ $2 =~ $1 ]] && return
  echo "$3 printed: $2" >&2
  exit 1
}
