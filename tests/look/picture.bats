#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# `redlock history --svg` and `--html`: a picture that stands for itself.

load ../lib/common
load ../lib/looking

setup() {
  export TZ=UTC
  servers 3
}
teardown() { stop_all; }

# wrote LOCK MINUTES EVENT RUN JSON: a line in all logs, MINUTES minutes ago. The oldest line comes first.
wrote() {
  everywhere xadd "redlock:{$1}:log" $(($(now_ms) - $2 * 60000)) event "$3" run "$4" count 2 data "$5"
}

# a_night: runs of several kinds of two locks, in the last day.
a_night() {
  wrote backup 3000 released old '{"host":"web1","user":"cron","held":60000,"status":0}'
  wrote backup 600 released a '{"host":"web1","user":"cron","command":"./backup","held":3600000,"waited":600000,"status":0}'
  wrote backup 500 skipped s '{"host":"web2","user":"cron"}'
  wrote backup 300 released b '{"host":"web1","user":"cron","command":"./backup","held":1800000,"status":3}'
  wrote backup 200 acquired c '{"host":"web1","user":"cron"}'
  wrote deploy 100 lost d '{"host":"ci","user":"ci","held":600000,"status":143}'
}

@test "picture: the README shows what redlock draws now" {
  "$SOURCE/packaging/picture" "$SCRATCH/night.svg" 3>&-
  diff "$SOURCE/packaging/night.svg" "$SCRATCH/night.svg" || fail 'run packaging/picture'
  grep -qF '<img src="packaging/night.svg" width="100%"' "$SOURCE/README.md"
}

# drawn EXPRESSION: prints the value of a Python expression over the picture, as `root`; `all(NAME)` are its elements,
# `kinds` the classes of its bars in their order, but for those of the legend, and `said` their tooltips.
drawn() {
  "$PYTHON" -SEIc 'import sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[2]).getroot()
def all(name): return [e for e in root.iter() if e.tag.split("}")[-1] == name]
bars = [e for e in all("rect") + all("line") if e.get("class") and e[:] and e.get("class") not in ("track", "tick")]
bars = [e for e in bars if e[0].text not in ("exit 0", "failed, lost", "forced", "runs now", "end unknown", "waited", "skipped", "maintenance")]
kinds = [e.get("class") for e in bars]
said = [e[0].text for e in bars]
print(eval(sys.argv[1]))' "$1" "$2"
}

@test "picture: runs, waits, losses and gaps of all locks, as valid XML" {
  a_night
  history -0 --svg "$SCRATCH/p.svg" --html "$SCRATCH/p.html"
  [[ -z $output$stderr ]] || fail "$output" "$stderr"
  [[ $(drawn '" ".join(sorted(kinds))' "$SCRATCH/p.svg") == \
    'run failed run failed run good run unknown skipped wait' ]] || fail "$(<"$SCRATCH/p.svg")"
  # The axis has round times.
  [[ $(drawn '{e.text[2:] for e in all("text") if e.text and len(e.text) == 5 and e.text[2] == ":"}' "$SCRATCH/p.svg") == \
    "{':00'}" ]] || fail "$(<"$SCRATCH/p.svg")"
  # 24 hours: the run of 3000 minutes ago is not there.
  [[ $(drawn 'sum("held for 1h 0m, waited 10m 0s, cron@web1, ./backup" in s for s in said)' "$SCRATCH/p.svg") == 1 ]]
  [[ $(drawn 'sum(e.get("class") == "track" for e in all("rect"))' "$SCRATCH/p.svg") == 2 ]]
  [[ $(drawn '[t.text for t in all("text") if t.get("class") == "name"]' "$SCRATCH/p.svg") == "['backup', 'deploy']" ]]
  # The later, the further to the right, and all within the picture.
  [[ $(drawn '[2 <= float(e.get("x")[:-1]) < 98 for e in bars if e.get("x")] == [True] * 5' "$SCRATCH/p.svg") == True ]]
  # Nothing is fetched, and nothing is run.
  ! grep -iE '<script|href|src=|url\(|@import|https?://' "$SCRATCH/p.svg" "$SCRATCH/p.html" |
    grep -v 'xmlns="http://www.w3.org/2000/svg"' || fail 'the picture needs something else'
  assert_contains "$(<"$SCRATCH/p.svg")" '@media (prefers-color-scheme: dark)'
  [[ $(tail -n +2 "$SCRATCH/p.html" | "$PYTHON" -SEIc 'import sys, xml.etree.ElementTree as tree
print(sum(e.tag == "tr" for e in tree.fromstring(sys.stdin.read()).iter()))') == 6 ]] || fail "$(<"$SCRATCH/p.html")"
}

@test "picture: one lock over a week, to standard output" {
  a_night
  history -0 --since 1w --svg - backup
  printf '%s\n' "$output" >"$SCRATCH/p.svg"
  [[ $(drawn 'kinds.count("run good")' "$SCRATCH/p.svg") == 2 ]] || fail "$output"
  history --since 1w --failed --svg - backup
  printf '%s\n' "$output" >"$SCRATCH/p.svg"
  [[ $(drawn '" ".join(sorted(kinds))' "$SCRATCH/p.svg") == 'run failed run unknown' ]] || fail "$output"
  history -0 --html - nothing
  assert_contains "$output" '</html>'
}

# labels: prints the text of each bar, and what of the picture's width it has.
labels() { drawn '[(e[0].text, round(float(e.get("width")[:-1]))) for e in all("svg") if e is not root]' "$SCRATCH/p.svg"; }

@test "picture: a bar says who, if it is long enough; a hold says why" {
  wrote backup 600 released a '{"host":"web1","user":"cron","held":21600000,"status":0}'
  wrote backup 590 released b '{"host":"web2","user":"cron","held":60000,"status":0}'
  wrote backup 300 released c '{"host":"admin","user":"root","maintenance":1,"message":"new <disk>","ttl":10800000,"held":10800000}'
  wrote backup 115 released e '{"host":"a-long-name-of-a-host","user":"cron","held":3600000,"status":0}'
  wrote backup 100 acquired d '{"host":"web3","user":"cron"}' # its end is not known
  history -0 --svg "$SCRATCH/p.svg"
  [[ $(labels) == "[('web1', 24), ('new <disk>', 12), ('a-l…', 4)]" ]] || fail "$(labels)"
  assert_contains "$(<"$SCRATCH/p.svg")" '>4 runs, 1 failed, 1 hold, the last 3 runs took'
}

# styles WIDTH: prints the rules of the page that hold in a window of that width, white space removed.
styles() {
  "$PYTHON" -SEIc 'import re, sys
page = open(sys.argv[1]).read()
for most, rules in re.findall(r"@media \(max-width: (\d+)px\) \{\n(.*?)\n\}", page, re.S):
    if int(sys.argv[2]) > int(most): page = page.replace(rules, "")
print(re.sub(r"\s", "", "".join(re.findall(r"<style>(.*?)</style>", page, re.S))))' "$SCRATCH/p.html" "$1"
}

@test "picture: the page shows the time and the lock first, and breaks names in a narrow window only" {
  a_night
  history --html "$SCRATCH/p.html"
  assert_contains "$(<"$SCRATCH/p.html")" '<tr><th>When</th><th>Lock</th><th>Outcome</th>'
  assert_contains "$(<"$SCRATCH/p.html")" ' +0000</td><td class="name">backup</td><td class="outcome bad">exit 3</td>'
  assert_contains "$(styles 1200)" 'th,td{text-align:left;padding:0.2em0.8em0.2em0;border-bottom:1pxsolidvar(--line);white-space:nowrap;}'
  refute_contains "$(styles 1200)" td.name
  assert_contains "$(styles 400)" 'td.name,td.outcome{white-space:normal;'
}

@test "picture: foreign text has no power over it" {
  local evil='</title><script>alert(1)</script>&\"'\''\u001b[31m\uffff]]>'
  wrote 'a<b>&"c' 60 released r "{\"host\":\"$evil\",\"user\":\"$evil\",\"command\":\"$evil\",\"reason\":\"$evil\",\"held\":60000,\"status\":1}"
  history -0 --svg "$SCRATCH/p.svg" --html "$SCRATCH/p.html"
  [[ $(drawn 'len(all("script")), [t.text for t in all("text") if t.get("class") == "name"]' "$SCRATCH/p.svg") == "(0, ['a<b>&\"c'])" ]] || fail "$(<"$SCRATCH/p.svg")"
  [[ $(drawn 'sum("<script>alert(1)</script>" in s for s in said)' "$SCRATCH/p.svg") == 1 ]]
  ! grep -qF '<script' "$SCRATCH/p.html" || fail "$(<"$SCRATCH/p.html")"
  ! LC_ALL=C grep -q $'[\x01-\x08\x0b-\x1f]' "$SCRATCH/p.svg" || fail 'control characters'
}

@test "picture: the file is the old one or the new one, and no other file is harmed" {
  a_night
  echo old >"$SCRATCH/p.svg"
  chmod 640 "$SCRATCH/p.svg"
  exec 8<"$SCRATCH/p.svg"
  history -0 --svg "$SCRATCH/p.svg"
  # Who reads the old file goes on to do so; the mode stays.
  [[ $(cat <&8) == old && $(stat -c %a "$SCRATCH/p.svg") == 640 ]]
  exec 8<&-
  grep -q '</svg>' "$SCRATCH/p.svg"
  echo old >"$SCRATCH/other"
  ln -s other "$SCRATCH/link"
  history -71 --svg "$SCRATCH/link"
  assert_contains "$stderr" 'it is a symbolic link; name the file itself'
  [[ -L $SCRATCH/link && $(<"$SCRATCH/other") == old ]]
  # A new file, while anybody who may read the directory has its lock.
  (exec 9<"$SCRATCH" && flock 9 && umask 027 && "$REDLOCK" history --html "$SCRATCH/p.html" backup)
  [[ $(stat -c %a "$SCRATCH/p.html") == 640 ]]
  # The standard names of open files.
  "$REDLOCK" history --svg /dev/stdout backup >"$SCRATCH/out.svg"
  grep -q '</svg>' "$SCRATCH/out.svg"
  for name in stderr fd/2 fd/7; do
    head -c 200000 /dev/zero >"$SCRATCH/out.svg" # of which nothing stays
    "$REDLOCK" history --svg "/dev/$name" backup 2<>"$SCRATCH/out.svg" 7>&2
    [[ $(tail -n 1 "$SCRATCH/out.svg") == *'</svg>' ]] || fail "/dev/$name"
  done
  [[ $("$REDLOCK" history --svg /dev/stdout backup | tail -n 1) == *'</svg>'* ]]
  history -0 --svg /dev/null
  [[ -c /dev/null ]]
  # A file that is not regular, as /dev/null, is written to, and not replaced.
  mkfifo "$SCRATCH/pipe"
  background cat "$SCRATCH/pipe"
  into_pipe() { history --svg "$SCRATCH/pipe" && [[ $status == 0 ]]; } # cat may still be about to open it
  wait_until "$BOUND" into_pipe
  [[ -p $SCRATCH/pipe ]]
  await "$BACKGROUND_PID"
  assert_contains "$output" '</svg>'
  history -71 --svg "$SCRATCH/pipe"
  assert_contains "$stderr" 'no process reads from it'
  mkdir "$SCRATCH/p"
  history -71 --svg "$SCRATCH/p"
  assert_contains "$stderr" 'it is not a regular file'
  history -71 --svg "$SCRATCH/none/p.svg"
  assert_one_line "$stderr" "cannot write to '$SCRATCH/none/p.svg': No such file or directory"
  [[ -z $(find "$SCRATCH" -name '.redlock*') ]]
  local arguments
  for arguments in '--svg - --html -' '--svg - --json' '--html - --at 2h'; do
    # shellcheck disable=SC2086 # several words
    history -64 $arguments backup
  done
}
