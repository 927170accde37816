# SPDX-License-Identifier: MIT
#
# For who builds everything from scratch: the presets of `tests/run` do, and what they gain is half of
# the time. Elsewhere it is off, so that an #include that is missing is noticed.
option(REDLOCK_QUICK "Compile several files at a time, and what tests include beforehand" OFF)

# redlock_batch(TARGET FILE…): compiles its files some at a time, but for FILE…. What is in the
# anonymous namespaces of the others must have different names then.
function(redlock_batch target)
  if(REDLOCK_QUICK)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# redlock_precompile(TARGET HEADER…): these, and the usual ones of the standard library.
function(redlock_precompile target)
  if(REDLOCK_QUICK)
    target_precompile_headers(${target} PRIVATE <algorithm> <array> <chrono> <deque> <functional>
      <map> <memory> <optional> <set> <string> <string_view> <system_error> <utility> <variant>
      <vector> ${ARGN})
  endif()
endfunction()
