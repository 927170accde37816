#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# No text of others has power over the terminal, nor is it invisible, nor without end: whatever a command says about a
# lock whose name, host, user, command and reason mean harm. Neither a pipe nor a file gets such text.

load ../lib/common

# What may be in the name of a lock, in words of the user, and in the records of others.
HARM=$'\u009b31m\u202e\u200b\u2066\u00ad\ufeff\U000e0041\xff'
NAME=L$HARM
BAD=$HARM$'\e[2J\a\r\x7f\nFAKE'
LONG=$(printf 'y%.0s' {1..2000})
TOKEN=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
KEY="redlock:{$NAME}:"

setup() {
  servers 1
  cd "$SCRATCH" || return
  COUNT=0 SAYING=()
}
teardown() { stop_all; }

# record [MORE]: prints a record that means harm, with MORE (JSON) in it.
record() {
  [[ -n ${RECORD-} ]] || RECORD=$("$PYTHON" -SEIc 'import json, os, sys
bad, long = (os.fsencode(each).decode("utf-8", "replace") for each in sys.argv[1:])
print(json.dumps({"host": "h" + bad + long, "user": "u" + bad, "pid": 7, "command": "c" + bad + long, "ttl": 30000,
                  "message": "m" + bad + long, "since": 1700000000000, "servers": bad, "protocol": 99,
                  "reason": "r" + bad, "held_by": "b" + bad, "waited": 1, "held": 2, "status": 3}))' "$BAD" "$LONG")
  echo "${RECORD%\}}${1:+, $1}}"
}

# says COMMAND…: starts it; what it says is judged by `all_harmless`.
says() {
  ((++COUNT))
  printf '%q ' "$@" >"$SCRATCH/said.$COUNT.command"
  timeout -s KILL 20 "$REDLOCK" "$@" >"$SCRATCH/said.$COUNT" 2>&1 3>&- </dev/null &
  SAYING+=($!)
}

# all_harmless: all that was started has ended, has named the lock, and said nothing harmful.
all_harmless() {
  local job
  for job in "${SAYING[@]}"; do wait "$job" || (($? < 128)) || fail 'one was killed'; done
  SAYING=()
  "$PYTHON" -SEI - "$SCRATCH"/{said.*,*.svg,*.html,*.prom} <<'SCRIPT' || fail 'harmful, or nothing of it was shown'
import os, sys, unicodedata
harm = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
bad = shown = False
for path in sys.argv[1:]:
    if path.endswith(".command") or not os.path.exists(path):
        continue
    of = open(path + ".command").read() if os.path.exists(path + ".command") else path
    said = open(path, "rb").read()
    try:
        text = said.decode()
        found = [f"U+{ord(c):04X}" for c in text if c != "\n" and unicodedata.category(c) in harm]
        found += ["a false line"] * ("\nFAKE" in text)
        found += ["a long line"] * ("/said." in path and max(map(len, text.split("\n"))) > 2500)
    except UnicodeDecodeError as error:
        found = [str(error)]
    shown = shown or b"?31m?????" in said
    if found:
        bad = True
        print(f"{of}: {sorted(set(found))}: {said[:600]!a}", file=sys.stderr)
sys.exit(bad or not shown)
SCRIPT
}

# harmless COMMAND…: it alone is started, and judged.
harmless() { says "$@" && all_harmless; }

# Whatever looks at a lock, or wants it while somebody has it.
look() {
  says status "$NAME"
  says status -v "$NAME"
  says status --json "$NAME"
  says list
  says list --json
  says list --prometheus
  says check -v "$NAME"
  says check --json "$NAME"
  says run -n -vv "$NAME" -- true
  says run -s -n -vv "$NAME" -- true
  says run --slots 2 -n -vv "$NAME" -- true
  says run -w 0.1 -vv --newest --build 4 "$NAME" -- true
  says acquire -n -v "$NAME"
  says hold -n -v "$NAME" --for 1m
  says renew -v "$NAME" "$TOKEN"
  says renew --json "$NAME" "$TOKEN"
  all_harmless
}

# plant KEY COMMAND…: that, for the key of the lock with this ending.
plant() { cli A "$2" "$KEY$1" "${@:3}" >/dev/null; }

@test "foreign text: a lock that somebody holds, releases, revokes or keeps" {
  plant holder hset "$TOKEN" "$(record)" "fence:$TOKEN" 5
  local value
  for value in "$TOKEN" "cooling:$TOKEN" "revoked:$TOKEN $(record)" "r$BAD"; do
    cli A set "$NAME" "$value" px 600000 >/dev/null
    look
  done
  plant holder hset "$TOKEN" "$(record '"maintenance": 1')"
  cli A set "$NAME" "$TOKEN" px 600000 >/dev/null
  look
  harmless release --force --yes -v "$NAME"
  cli A set "$NAME" "$TOKEN" px 600000 >/dev/null
  harmless release --force --now --yes -v "$NAME"
  cli A set "$NAME" "$TOKEN" px 600000 >/dev/null
  harmless release -v "$NAME" "$TOKEN"
}

@test "foreign text: several holders, waiters, locks of Redisson, keys that are none of redlock's" {
  background "$REDLOCK" run -s -m "$BAD" "$NAME" -- sh -c 'exec sleep 600' "$BAD"
  wait_for_key A "$NAME"
  local token at
  token=$(cli A zrange "${KEY}readers" 0 0)
  [[ $token != shared:* ]] || token=$(cli A zrange "${KEY}readers" 1 1)
  plant holder hset "$token" "$(record '"shared": 1')"
  plant readers zadd $(($(now_ms) + 60000)) "r$BAD"
  for at in 1 2; do
    plant queue zadd "$at" "w$at$BAD"
    plant alive zadd $(($(now_ms) + 60000)) "w$at$BAD"
    plant waiters hset "w$at$BAD" "$(record)"
  done
  look
  harmless release --force --yes -v "$NAME"
  await "$BACKGROUND_PID"
  cli A del "$NAME" "${KEY}readers" >/dev/null
  background "$REDLOCK" run --slots 2 -m "$BAD" "$NAME" -- sh -c 'exec sleep 600' "$BAD"
  wait_for_key A "$NAME"
  look
  kill "$BACKGROUND_PID"
  await "$BACKGROUND_PID"
  cli A del "$NAME" >/dev/null
  cli A hset "$NAME" "m$BAD:1" 2 mode "$BAD" >/dev/null
  look
  REDLOCK_AS=redisson harmless run -n -vv "$NAME" -- true
  cli A del "$NAME" >/dev/null
  cli A hset "$NAME" 0123abcd-0123-4567-89ab-0123456789ab:1 2 >/dev/null
  look
}

@test "foreign text: logs, refused runs, marks of successful runs, numbers of builds" {
  local event
  for event in acquired released lost skipped superseded revoked renewed "x$BAD"; do
    plant log xadd '*' event "$event" run "$event" data "$(record)" count 2 time "$(now_ms)"
    plant log xadd '*' event "$event" run "$event$BAD" data "$(record '"maintenance": 1')" count 1
  done
  plant fence hset value 7 refused "h$HARM i" "refused:h$HARM" "3 $(now_ms) $(record)" refused:i "1 1 $(record)"
  plant 'done' set "$(now_ms) $(record)"
  plant build set "9 $(now_ms) $(record)"
  plant newest set "0 9007199254740991 w has $(record)"
  plant alive zadd $(($(now_ms) + 60000)) w
  says history "$NAME"
  says history
  says history --refused "$NAME"
  says history --json "$NAME"
  says history --refused --json "$NAME"
  says history --failed --since 1d "$NAME"
  says history --at 1s "$NAME"
  says history --svg "$SCRATCH/picture.svg" --html "$SCRATCH/page.html" -v "$NAME"
  says history --svg "$SCRATCH/none/$BAD.svg" "$NAME"
  says status -v "$NAME"
  says status --json "$NAME"
  says list
  says run -vv --once 1h "$NAME" -- true
  says run -n -vv --build 5 "$NAME" -- true
  says run -w 0.1 -vv --newest "$NAME" -- true
  says release --force --yes --forget-build "$NAME"
  all_harmless
  [[ -s $SCRATCH/picture.svg && -s $SCRATCH/page.html ]] || fail 'no pictures'
  plant fence hset value "-$BAD"
  plant 'done' set "$BAD"
  plant build set "$BAD"
  says run -n -vv --once 1h "$NAME" -- true
  says run -n -vv --build 5 "$NAME" -- true
  says check -v "$NAME"
  plant log set "$BAD"
  harmless history "$NAME"
}

@test "foreign text: what a run says of itself, of what it is told, and of what it cannot do" {
  local run=("$NAME" -m "$BAD$LONG")
  harmless run -vv "${run[@]}" -- sh -c 'exit 3' "$BAD"
  harmless run -vv --min-hold 50ms --once 1h --build 5 "${run[@]}" -- true "$BAD"
  cli A flushall >/dev/null
  harmless run -vv --ttl 1s --on-lost ": $BAD" "${run[@]}" -- \
    sh -c 'redis-cli -s "$0" flushall >/dev/null; exec sleep 60' "$A_SOCKET"
  harmless run -vv --max-runtime 50ms --metrics-file "$SCRATCH/of.prom" "${run[@]}" -- sleep 60
  harmless run -vv --ttl 1s "$NAME" -- sh -c 'kill -9 $PPID; exec sleep 60' "$BAD"
  cli A flushall >/dev/null
  background "$REDLOCK" run -vv "${run[@]}" -- sleep 600
  wait_for_key A "$NAME"
  says run -vv --replace "${run[@]}" -- true
  says run -vv -w 9 "${run[@]}" -- true
  all_harmless
  await "$BACKGROUND_PID"
  says run -vv "$NAME" --also "M$HARM" -- "none$BAD"
  says run -vv "O$HARM" -c "exit 2 # $BAD"
  says run -vv --metrics-file "$SCRATCH/none/$BAD" "P$HARM" -- true
  says acquire -v -m "$BAD" "Q$HARM"
  says acquire --json -m "$BAD" "R$HARM"
  says hold -v --for 1m -m "$BAD" "S$HARM"
  says hold --json --for 1m -m "$BAD" "T$HARM"
  all_harmless
  says completions for status ''
  says list
  says list --json
  says list --prometheus
  says list "*$HARM*"
  says list "none$BAD"
  says status "none$HARM" "S$HARM" "T$HARM"
  says history
  says history --json
  all_harmless
}

@test "foreign text: words, settings and files that redlock does not understand" {
  local option word
  for option in --wait --ttl --slots --build --once --signal --kill-after --conflict-exit-code --progress --min-hold \
    --max-runtime --log-entries --record-command --server --password-file --ca --prefix --config --"$BAD" -"$BAD"; do
    says run "$option" "x$BAD" "$NAME" -- true
  done
  for word in "$BAD" "L$BAD" "$LONG$BAD"; do
    says run "$word" -- true
    says "$word"
    says status "$word"
    says history --since "$word" "$NAME"
    says hold --until "$word" "$NAME"
    says renew "$NAME" "$word"
    says release "$NAME" "$word"
    says help "$word"
    says acquire --keep-for "$word" "$NAME"
    says sandbox -N "$word"
    says sandbox -- "$word"
    REDLOCK_SERVERS=$word says check
    REDLOCK_SERVERS=redis://$word says status L
    REDLOCK_SERVERS=unix:///$word says run L -- true
    REDLOCK_TTL=$word says run L -- true
    REDLOCK_PASSWORD_FILE=$word says run L -- true
    REDLOCK_CONFIG=$word says config
    says -S "$A_URI?name=$word" status L
    all_harmless
  done
  local line
  for line in "$BAD" "key$BAD = 1" "ttl = \"$BAD\"" "ttl = $BAD" "servers = [\"redis://$BAD\"]" "prefix = \"$HARM\"" \
    "[$BAD]" "on-lost = '$HARM'"; do
    printf '%s\n' "$line" >"$SCRATCH/toml"
    REDLOCK_CONFIG=$SCRATCH/toml says config
    REDLOCK_CONFIG=$SCRATCH/toml says config --json
    REDLOCK_CONFIG=$SCRATCH/toml says check -v
    all_harmless
  done
}
