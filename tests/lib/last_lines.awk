# SPDX-License-Identifier: MIT
#
# Reads logs of `ctest --verbose` and prints a line for each reason why cases of a suite were skipped, and for each case
# that failed.

FNR == 1 { log_number++ }

# 12: ok 5 name # skip why
/^[0-9]+: ok [0-9]+ .* # skip/ {
  key = log_number ":" ($1 + 0)
  why = $0
  sub(/^.* # skip */, "", why)
  name = $0
  sub(/^[0-9]+: ok [0-9]+ /, "", name)
  sub(/ # skip.*/, "", name)
  if (!((key, why) in cases)) order[++reasons] = key SUBSEP why
  cases[key, why]++
  names[key, why] = name
}

# fail SUITE CASE
function fail(suite, name) {
  if ((suite, name) in failures) return
  failures[suite, name] = ""
  order_failed[++failed] = suite SUBSEP name
  cases_failed[suite]++
}

# 12: not ok 5 name
/^[0-9]+: not ok [0-9]+ / {
  key = log_number ":" ($1 + 0)
  name = $0
  sub(/^[0-9]+: not ok [0-9]+ /, "", name)
  fail(key, name)
  last[key] = name
}

# 12: #  in test file tests/lock/run.bats, line 7)
/^[0-9]+: # .*in test file .*, line [0-9]+\)/ {
  key = log_number ":" ($1 + 0)
  place = $0
  sub(/.*in test file /, "", place)
  sub(/.*\/tests\//, "tests/", place)
  sub(/\).*/, "", place)
  if ((key, last[key]) in failures) failures[key, last[key]] = " (" place ")"
}

# 12: TEST CASE:  name (doctest prints it above a failure)
/^[0-9]+: TEST CASE: / {
  key = log_number ":" ($1 + 0)
  name = $0
  sub(/^[0-9]+: TEST CASE: */, "", name)
  fail(key, name)
}

#  3/12 Test  #4: sandbox ...............   Passed    1.02 sec
/^ *[0-9]+\/[0-9]+ +Test +#[0-9]+: / {
  split($0, parts, "#")
  suite = parts[2]
  sub(/^[0-9]+: /, "", suite)
  sub(/ .*/, "", suite)
  suites[log_number ":" (parts[2] + 0)] = suite
  if (!/ Passed +[0-9.]+ sec/) {
    if (!cases_failed[log_number ":" (parts[2] + 0)]) print "failed: " suite ": it crashed, or ran out of time"
  }
}

END {
  for (i = 1; i <= reasons; i++) {
    split(order[i], parts, SUBSEP)
    what = cases[order[i]] == 1 ? "\"" names[order[i]] "\"" : cases[order[i]] " cases"
    line = "skipped: " suites[parts[1]] ", " what ": " (parts[2] == "" ? "no reason given" : parts[2])
    if (!shown[line]++) print line
  }
  for (i = 1; i <= failed; i++) {
    split(order_failed[i], parts, SUBSEP)
    print "failed: " suites[parts[1]] ", \"" parts[2] "\"" failures[order_failed[i]]
  }
}
