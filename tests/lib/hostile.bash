# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Servers that mean harm (tests/hostile/README.md), and what must not reach a terminal. For suites that
# have loaded lib/common.

# hostile_server MODE [ARG…]: sets HOSTILE_URI, HOSTILE_PORT.
hostile_server() { start_listener HOSTILE ../hostile/server.py "$@"; }

# meets [COMMAND…]: these commands of tests/hostile/attack.py, or all, meet $HOSTILE_URI, and each ends in
# bounded time and memory, with a status that a server may bring about, and says nothing that a terminal
# obeys. Sets $output: a line for each command, with its status and its first line on standard error.
meets() {
  local most=400 # MiB
  ! grep -q __asan_init "$REDLOCK" || most=1500
  run -0 "$PYTHON" -B "$TESTS/hostile/attack.py" "$REDLOCK" 60 "$most" "$HOSTILE_URI" "$@"
}

# assert_printable TEXT: there is nothing in it that a terminal obeys, and no byte that is not UTF-8.
assert_printable() {
  "$PYTHON" -SEIc 'import os, sys, unicodedata
text = os.fsencode(sys.argv[1]).decode()
bad = [c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Cs")]
sys.exit(f"U+{ord(bad[0]):04X} in: {text!a}" if bad else 0)' "$1" || fail 'not printable'
}
