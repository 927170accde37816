# SPDX-License-Identifier: MIT
#
# Reads the log of `ctest --verbose` twice: prints one line for each test, and the output of those that failed, but for
# their cases that passed.
/^ *[0-9]+\/[0-9]+ +Test +#[0-9]+: / {
  split($0, parts, "#")
  number = parts[2] + 0
  if (NR == FNR) {
    if ($0 !~ / Passed +[0-9.]+ sec/) failed[number] = 1
  } else {
    sub(/^ *[0-9]+\/[0-9]+ +Test +#[0-9]+: /, "")
    print
  }
  next
}
NR != FNR && /^[0-9]+: / && !/^[0-9]+: ok / && failed[$1 + 0]
