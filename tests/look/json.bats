#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# What the commands print with --json, compared with redlock-json(7), field by field.

load ../lib/common
load ../lib/looking

setup() { servers 3; }
teardown() { stop_all; }

TAKEN=0 # how many outputs

# take WHAT ARG…: adds the output of `redlock ARG…` to the objects of that name.
take() {
  run --separate-stderr "$REDLOCK" "${@:2}"
  TAKEN=$((TAKEN + 1))
  printf '%s\n' "$output" >"$SCRATCH/json.$1.$TAKEN"
}

@test "json: redlock-json(7) has every member of every object, and no other" {
  local token
  everywhere set foreign somebody
  "$REDLOCK" run --once 1h once -- true
  "$REDLOCK" run once -- sh -c 'exit 3' || true
  "$REDLOCK" run --build 7 built -- true
  "$REDLOCK" run usual -- true
  "$REDLOCK" run usual -- true
  token=$("$REDLOCK" acquire -m why --ttl 600s held)
  "$REDLOCK" acquire --slots 2 --ttl 600s slots >/dev/null
  "$REDLOCK" acquire -s --ttl 600s shared >/dev/null
  "$REDLOCK" acquire --ttl 600s taken >/dev/null
  "$REDLOCK" release --force --yes -q taken
  background "$REDLOCK" run held -- true
  waits() { "$REDLOCK" status held | grep -q '^  waiting'; }
  wait_until "$BOUND" waits
  run -1 "$REDLOCK" run -n held -- true
  shows_refusal() { "$REDLOCK" status held | grep -q '^  refused'; }
  wait_until "$BOUND" shows_refusal
  take status status --json held slots shared taken foreign once built nothing
  take status status --json -S unix:///none nothing
  is '[member for member, value in j["locks"][0].items() if value]' \
    "['name', 'state', 'servers']"
  take status list --json
  take history history --json
  take history history --json held
  take history history --json --at 2020-01-01 once
  take history history --json --since 2h --until 1h once
  take acquire acquire --json got
  take hold hold --json --for 1h hold
  take vain acquire --json -n held
  take vain hold --json -n --for 1h held
  take renew renew --json held "$token"
  assert_status 0
  is 'j["renewed"], j["status"], j["error"]' "(True, 0, None)"
  take renew renew --json got "$token"
  assert_status 80
  is 'j["renewed"], j["status"], j["valid_for_s"], j["error"][:8]' "(False, 80, None, 'held by ')"
  take check check --json
  take config config --json
  "$PYTHON" - "$SOURCE/man/redlock-json.7" "$SCRATCH"/json.* <<'CHECK' || fail 'the page and the output differ'
import datetime, json, os, re, sys

page, name = {}, None
for line in open(sys.argv[1]):
    if line.startswith(".Ss Object: "):
        name = line[len(".Ss Object: "):].strip()
        page[name] = set()
    elif line.startswith((".Ss", ".Sh")):
        name = None
    elif name and line.startswith(".It Li "):
        page[name].update(line[len(".It Li "):].replace(",", " ").split())
assert len(page) > 15, page

# An object of the page: the members that are objects themselves, or arrays of these.
INSIDE = {
    "status, list": {"servers": "server", "locks": "lock"},
    "lock": {"holder": "holder", "holders": "one of the holders", "revoked_by": "revoked_by", "foreign": "foreign",
             "waiters": "waiter", "refused": "refused", "last_run": "last_run", "last_build": "last_build", "servers": "server of a lock"},
    "one of the holders": {"holder": "holder"},
    "last_run": {"by": "holder"}, "last_build": {"by": "holder"},
    "history": {"servers": "server", "locks": "log of a lock"},
    "log of a lock": {"usual": "usual", "refused": "refused", "runs": "run", "before": "run", "after": "run"},
    "run": {"holder": "holder of a run", "forced_by": "holder of a run"},
    "acquire or hold that did not get the lock": {"holder": "holder"},
    "check": {"servers": "checked server", "roll_out": "roll-out", "findings": "finding"},
    "roll-out": {"hosts": "host"},
}
seen = set()

def look(value, name):
    if value is None:
        return
    for one in value if isinstance(value, list) else [value]:
        seen.add(name)
        assert set(one) == page[name], (name, set(one) ^ page[name])
        for key, member in one.items():
            inside = INSIDE.get(name, {}).get(key)
            assert inside or not isinstance(member, dict), (name, key)
            if inside:
                look(member, inside)
            if key.endswith("_ms") and key != "round_trip_ms":
                check_moment(one[key[:-3]], member)

def check_moment(text, ms):
    assert (text is None) == (ms is None), (text, ms)
    if text is None:
        return
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", text), text
    moment = datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=datetime.timezone.utc)
    assert abs(moment.timestamp() * 1000 - ms) < 1, (text, ms)

TOP = {"status": "status, list", "vain": "acquire or hold that did not get the lock"}
for path in sys.argv[2:]:
    what = os.path.basename(path).split(".")[1]
    text = open(path).read()
    assert text.startswith("{"), f"no JSON in {path}: {text}"
    value = json.loads(text)
    if what == "config":
        value = list(value.values())
        what = "setting"
    look(value, TOP.get(what, what))
assert seen == set(page), set(page) ^ seen
CHECK
}
