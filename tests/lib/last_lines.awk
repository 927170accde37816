# SPDX-License-Identifier: MIT
#
# Reads the log of `ctest --verbose` and prints a line for each reason why cases of a suite were skipped, and for each
# case that failed.

# 12: ok 5 name # skip why
/^[0-9]+: ok [0-9]+ .* # skip/ {
  why = name = $0
  sub(/^.* # skip */, "", why)
  sub(/^[0-9]+: ok [0-9]+ /, "", name)
  sub(/ # skip.*/, "", name)
  if (!cases[$1 + 0, why]++) order[++reasons] = $1 + 0 SUBSEP why
  names[$1 + 0, why] = name
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
  last = $0
  sub(/^[0-9]+: not ok [0-9]+ /, "", last)
  lasts[$1 + 0] = last
  fail($1 + 0, last)
}

# 12: #  in test file tests/lock/run.bats, line 7)
/^[0-9]+: # .*in test file .*, line [0-9]+\)/ {
  place = $0
  sub(/.*in test file /, "", place)
  sub(/.*\/tests\//, "tests/", place)
  sub(/\).*/, "", place)
  if (($1 + 0, lasts[$1 + 0]) in failures) failures[$1 + 0, lasts[$1 + 0]] = " (" place ")"
}

# 12: TEST CASE:  name (doctest prints it above a failure)
/^[0-9]+: TEST CASE: / {
  name = $0
  sub(/^[0-9]+: TEST CASE: */, "", name)
  fail($1 + 0, name)
}

#  3/12 Test  #4: sandbox ...............   Passed    1.02 sec
/^ *[0-9]+\/[0-9]+ +Test +#[0-9]+: / {
  split($0, parts, "#")
  suite = parts[2]
  sub(/^[0-9]+: /, "", suite)
  sub(/ .*/, "", suite)
  suites[parts[2] + 0] = suite
  if (!/ Passed +[0-9.]+ sec/ && !cases_failed[parts[2] + 0]) print "failed: " suite ": it crashed, or ran out of time"
}

END {
  for (i = 1; i <= reasons; i++) {
    split(order[i], parts, SUBSEP)
    what = cases[order[i]] == 1 ? "\"" names[order[i]] "\"" : cases[order[i]] " cases"
    print "skipped: " suites[parts[1]] ", " what ": " (parts[2] == "" ? "no reason given" : parts[2])
  }
  for (i = 1; i <= failed; i++) {
    split(order_failed[i], parts, SUBSEP)
    print "failed: " suites[parts[1]] ", \"" parts[2] "\"" failures[order_failed[i]]
  }
}
