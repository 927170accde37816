# SPDX-License-Identifier: MIT
#
# Precompiled headers, for who builds everything from scratch: the presets of `tests/run` do, and
# what they gain is a third of the time. Elsewhere they are off, so that an #include that is missing
# is noticed.
option(REDLOCK_PRECOMPILE "Precompile the headers that most files include" OFF)

# redlock_precompile(TARGET HEADER…): these, and the usual ones of the standard library.
function(redlock_precompile target)
  if(REDLOCK_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE <algorithm> <array> <chrono> <deque> <functional>
      <map> <memory> <optional> <set> <string> <string_view> <system_error> <utility> <variant>
      <vector> ${ARGN})
  endif()
endfunction()
