# SPDX-License-Identifier: MIT
#
# Reads logs of `ctest --verbose` and prints a line for each reason why cases of a suite were skipped.

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

#  3/12 Test  #4: sandbox ...............   Passed    1.02 sec
/^ *[0-9]+\/[0-9]+ +Test +#[0-9]+: / {
  split($0, parts, "#")
  suite = parts[2]
  sub(/^[0-9]+: /, "", suite)
  sub(/ .*/, "", suite)
  suites[log_number ":" (parts[2] + 0)] = suite
}

END {
  for (i = 1; i <= reasons; i++) {
    split(order[i], parts, SUBSEP)
    what = cases[order[i]] == 1 ? "\"" names[order[i]] "\"" : cases[order[i]] " cases"
    line = "skipped: " suites[parts[1]] ", " what ": " (parts[2] == "" ? "no reason given" : parts[2])
    if (!shown[line]++) print line
  }
}
