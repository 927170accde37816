# SPDX-License-Identifier: MIT
#
# Writes OUTPUT, a C++ file that defines one string_view for each Lua script named in SCRIPTS
# (paths, separated by commas), with parts/queue.lua in place of a line `--include queue`, and so on. Comment
# lines, and blanks that Lua does not need, are left out: the whole script goes over the wire with every
# request.

# Removes the blanks around operators, brackets and quotes, but not within quotes.
function(squeeze variable)
  set(lua "${${variable}}")
  string(REGEX MATCHALL "'[^'\n]*'" quotes "${lua}")
  string(REGEX REPLACE "'[^'\n]*'" "\"" lua "${lua}")
  string(REGEX REPLACE " ?(==|~=|<=|>=|\\.\\.|[=,<>+*(){}/\"]) ?" "\\1" lua "${lua}")
  set(squeezed "")
  foreach(quote IN LISTS quotes)
    string(FIND "${lua}" "\"" at)
    string(SUBSTRING "${lua}" 0 ${at} before)
    math(EXPR at "${at} + 1")
    string(SUBSTRING "${lua}" ${at} -1 lua)
    string(APPEND squeezed "${before}${quote}")
  endforeach()
  set(${variable} "${squeezed}${lua}" PARENT_SCOPE)
endfunction()

string(REPLACE "," ";" SCRIPTS "${SCRIPTS}")
set(text "// Generated from src/redis/scripts by embed_scripts.cmake.\n#include \"redis/requests/scripts.h\"\n\n")
string(APPEND text "namespace redlock::redis::scripts {\n\n")
foreach(path IN LISTS SCRIPTS)
  get_filename_component(name "${path}" NAME_WE)
  file(READ "${path}" lua)
  get_filename_component(folder "${path}" DIRECTORY)
  while(lua MATCHES "\n--include ([^\n]*)\n")
    file(READ "${folder}/parts/${CMAKE_MATCH_1}.lua" part)
    string(REPLACE "${CMAKE_MATCH_0}" "\n${part}\n" lua "${lua}")
  endwhile()
  set(lua "\n${lua}\n")
  string(REGEX REPLACE "\n[ \t]+" "\n" lua "${lua}")
  string(REGEX REPLACE "\n--[^\n]*" "" lua "${lua}")
  string(REGEX REPLACE "\n\n+" "\n" lua "${lua}")
  string(STRIP "${lua}" lua)
  squeeze(lua)
  string(APPEND text "constinit const std::string_view ${name} =\n    R\"lua(${lua})lua\";\n\n")
endforeach()
string(APPEND text "}  // namespace redlock::redis::scripts\n")
file(WRITE "${OUTPUT}" "${text}")
