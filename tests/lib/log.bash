# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# What suites that look into the log of the lock L share, as the three servers A, B and C keep it. To be
# loaded after lib/common.

LOG='redlock:{L}:log'

# lines SERVER [LOG]: its log, a line of text each: event, count, JSON.
lines() {
  cli "$1" --json xrange "${2:-$LOG}" - + 2>/dev/null | "$PYTHON" -SEIc 'import json, sys
for _, line in json.load(sys.stdin):
    fields = dict(zip(line[::2], line[1::2]))
    print(fields["event"], fields["count"], fields["data"])'
}

# events SERVER: the events of its log, in one line.
events() { lines "$1" | cut -d' ' -f1 | paste -sd' '; }

# logged SERVER EVENTS…: that is what its log says happened.
logged() { [[ $(events "$1") == "$2" ]]; }

# short_events SERVER: its events, as if every run that came to its end had been a short one, which has
# no line of its beginning. Those that say of themselves that they took longer, on a loaded machine, have.
short_events() {
  cli "$1" --json xrange "$LOG" - + 2>/dev/null | "$PYTHON" -SEIc 'import json, sys
lines = [dict(zip(line[::2], line[1::2])) for _, line in json.load(sys.stdin)]
long = {line["run"] for line in lines if json.loads(line["data"]).get("held", 0) >= 500}
print(*(line["event"] for line in lines if line["event"] != "acquired" or line["run"] not in long))'
}

# assert_logged EVENTS…: a quorum has that in its logs, by short_events; sets $LOGGED, one of these
# servers. A run is over when a quorum has answered: the third may have been told nothing of a short one.
assert_logged() {
  wait_until "$BOUND" quorum_logged "$1" || fail "$(for server in A B C; do lines "$server"; done)"
}
quorum_logged() {
  local server count=0
  for server in A B C; do
    if [[ $(short_events "$server") == "$1" ]]; then
      count=$((count + 1))
      LOGGED=$server
    fi
  done
  ((count >= 2))
}
