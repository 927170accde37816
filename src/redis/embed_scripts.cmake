# SPDX-License-Identifier: MIT
#
# Writes OUTPUT, a C++ file that defines one string_view for each Lua script named in SCRIPTS
# (paths, separated by commas), with line.lua in place of a line `--include line`. Comment lines,
# indentation and empty lines are left out: the whole script goes over the wire with every request.
string(REPLACE "," ";" SCRIPTS "${SCRIPTS}")
set(text "// Generated from src/redis/scripts by embed_scripts.cmake.\n#include \"redis/scripts.h\"\n\n")
string(APPEND text "namespace redlock::redis::scripts {\n\n")
foreach(path IN LISTS SCRIPTS)
  get_filename_component(name "${path}" NAME_WE)
  file(READ "${path}" lua)
  get_filename_component(folder "${path}" DIRECTORY)
  file(READ "${folder}/line.lua" line)
  string(REPLACE "\n--include line\n" "\n${line}\n" lua "${lua}")
  set(lua "\n${lua}\n")
  string(REGEX REPLACE "\n[ \t]+" "\n" lua "${lua}")
  string(REGEX REPLACE "\n--[^\n]*" "" lua "${lua}")
  string(REGEX REPLACE "\n\n+" "\n" lua "${lua}")
  string(STRIP "${lua}" lua)
  string(APPEND text "constinit const std::string_view ${name} =\n    R\"lua(${lua})lua\";\n\n")
endforeach()
string(APPEND text "}  // namespace redlock::redis::scripts\n")
file(WRITE "${OUTPUT}" "${text}")
