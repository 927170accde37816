# SPDX-License-Identifier: MIT
#
# Reads the log of `ctest --verbose` and prints "PASSED FAILED": the cases of the doctest programs
# and of the bats files, every other test as one, and one failure more for a test that failed without a failing case (it
# crashed, or ran out of time).

# 12: ok 3 name / 12: not ok 4 name / 12: ok 5 name # skip why
/^[0-9]+: ok [0-9]+ / && !/ # skip/ { passed++ }
/^[0-9]+: not ok [0-9]+ / { failed++; cases[$1 + 0]++ }

# 1: [doctest] test cases:  33 |  33 passed | 0 failed | 0 skipped
/^[0-9]+: \[doctest\] test cases:/ {
  for (i = 1; i < NF; i++) {
    if ($(i + 1) == "passed") passed += $i
    if ($(i + 1) == "failed") { failed += $i; cases[$1 + 0] += $i }
  }
}

#  3/12 Test  #4: sandbox ...............***Failed    1.02 sec
/^ *[0-9]+\/[0-9]+ +Test +#[0-9]+: / && !/ Passed +[0-9.]+ sec/ {
  split($0, parts, "#")
  if (!cases[parts[2] + 0]) failed++
}

/^ *[0-9]+\/[0-9]+ +Test +#[0-9]+: (sim|fuzz_)/ && / Passed +[0-9.]+ sec/ { passed++ }

END {
  if (!passed && !failed) failed = 1 # no tests were found
  print passed + 0, failed + 0
}
