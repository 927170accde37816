# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# What the suites of the commands that tell of locks share: these commands, and assertions about what the last `run
# --separate-stderr` has printed. To be loaded after lib/common.

status() { run_redlock status "$@"; }
list() { run_redlock list "$@"; }
history() { run_redlock history "$@"; }

# silent: nothing was said on standard error.
silent() { [[ -z $stderr ]] || fail "$stderr"; }

# has TEXT…: every TEXT stands in the output, which is blank for blank (but for their number) the same.
has() {
  local text plain
  plain=$(tr -s ' ' <<<"$output")
  for text in "$@"; do assert_contains "$plain" "$text"; done
}

# json EXPRESSION: prints the value of a Python expression over the output, as `j`, its first lock, `l`,
# and its runs, `r`.
json() {
  "$PYTHON" -SEIc 'import json, sys
j = json.load(sys.stdin)
l = (j.get("locks") or [None])[0]
r = (l or {}).get("runs")
print(eval(sys.argv[1]))' "$1" <<<"$output"
}

# is EXPRESSION VALUE: json EXPRESSION prints VALUE.
is() {
  local value
  value=$(json "$1") || fail "no JSON: $output"
  [[ $value == "$2" ]] || fail "$1 is $value, not $2:" "$output"
}

# agreed_fence LOCK: prints the fence that a quorum of the servers A, B and C has. One of them may be
# lower, or higher: its vote was not needed.
agreed_fence() {
  local server
  for server in A B C; do cli "$server" hget "redlock:{$1}:fence" value; done | sort | uniq -d | grep . ||
    fail "no quorum has the same fence for $1"
}

# longest_line: prints how many characters the longest line of the output has.
longest_line() { "$PYTHON" -SEIc 'import sys; print(max(len(l) for l in sys.stdin.read().splitlines()))' <<<"$output"; }

# everywhere COMMAND…: the same redis command on the servers A, B and C.
everywhere() {
  local server
  for server in A B C; do cli "$server" "$@" >/dev/null; done
}
