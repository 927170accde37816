# SPDX-License-Identifier: MIT
#
# OFF: a missing #include is noticed, and a library that links too little. ON: for a build from scratch, as in
# `tests/run`, where it saves half of the time. LOOP: for the loop of work. The more files are compiled together, the
# cheaper are their headers, and the dearer is a change of one file.
set(REDLOCK_QUICK OFF CACHE STRING "Compile many files at a time: ON; some: LOOP; each alone: OFF")

# Many files at a time take up to 1 GB of memory. A machine that lacks it compiles fewer of them side by
# side.
function(redlock_limit_jobs)
  cmake_host_system_information(RESULT jobs QUERY NUMBER_OF_LOGICAL_CORES)
  cmake_host_system_information(RESULT megabytes QUERY TOTAL_PHYSICAL_MEMORY)
  math(EXPR fit "${megabytes} / 1200")
  if(fit LESS jobs)
    set(jobs ${fit})
  endif()
  if(jobs LESS 1)
    set(jobs 1)
  endif()
  set_property(GLOBAL PROPERTY JOB_POOLS compile=${jobs})
  set(CMAKE_JOB_POOL_COMPILE compile PARENT_SCOPE)
endfunction()

set(redlock_whole OFF)  # all rooms are one library, and the unit tests one program
if(REDLOCK_QUICK STREQUAL LOOP)
  set(redlock_batch 6)
elseif(REDLOCK_QUICK)
  set(redlock_batch 25)
  set(redlock_whole ON)
endif()

if(REDLOCK_QUICK)
  redlock_limit_jobs()
  # g++ spends a tenth of its time on collecting garbage unless it may use this much memory (in KiB).
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    add_compile_options(--param=ggc-min-heapsize=524288)
  endif()
endif()

# redlock_batch(TARGET FILE…): compiles its files many at a time, but each FILE alone. What is in the
# anonymous namespaces of the others must have different names.
function(redlock_batch target)
  if(REDLOCK_QUICK)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${redlock_batch})
    set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# redlock_precompile(OWNER TARGET…): compiles the headers of the standard library that most files include once for all
# of these, which must have the same options. That saves two fifths of the time of a small file, and with sanitizers a
# tenth of the whole. No header of redlock is among them. (With g++ 12 and optimisation, they lead to warnings of what
# cannot be.)
function(redlock_precompile owner)
  if(NOT REDLOCK_QUICK OR NOT CMAKE_BUILD_TYPE STREQUAL Debug)
    return()
  endif()
  target_precompile_headers(${owner} PRIVATE <algorithm> <array> <charconv> <chrono> <cstddef> <cstdint> <cstring>
    <deque> <functional> <map> <memory> <optional> <set> <span> <string> <string_view> <system_error> <utility>
    <variant> <vector>)
  foreach(target IN LISTS ARGN)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endforeach()
endfunction()

# redlock_layer(NAME [PUBLIC LIBRARY…] [PRIVATE LIBRARY…] [ALONE FILE…]): the library redlock_NAME, of the files in
# src/NAME, which links these; see redlock_batch().
function(redlock_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 layer "" "" "PUBLIC;PRIVATE;ALONE")
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cc)
  list(TRANSFORM layer_ALONE PREPEND ${PROJECT_SOURCE_DIR}/src/${name}/)
  add_library(redlock_${name} STATIC ${files})
  target_include_directories(redlock_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(redlock_${name} PUBLIC ${layer_PUBLIC} PRIVATE ${layer_PRIVATE})
  redlock_batch(redlock_${name} ${layer_ALONE})
endfunction()

# redlock_room(NAME NUMBER LINK LIBRARY… [ALONE FILE…]): the library redlock_NAME, of driver/ or a room above it. These
# include the same headers, and most of their object code comes from those. With redlock_whole they are one library, and
# the files of all rooms with the same NUMBER are compiled together.
function(redlock_room name number)
  cmake_parse_arguments(PARSE_ARGV 2 room "" "" "LINK;ALONE")
  if(NOT redlock_whole)
    redlock_layer(${name} PUBLIC ${room_LINK} ALONE ${room_ALONE})
    return()
  endif()
  if(NOT TARGET redlock_rooms)
    add_library(redlock_rooms STATIC)
    set_target_properties(redlock_rooms PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    target_link_libraries(redlock_rooms PUBLIC ${room_LINK})  # the lowest, driver, comes first
  endif()
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cc)
  target_sources(redlock_rooms PRIVATE ${files})
  list(TRANSFORM room_ALONE PREPEND ${PROJECT_SOURCE_DIR}/src/${name}/)
  list(REMOVE_ITEM files "" ${room_ALONE})
  set_source_files_properties(${files} PROPERTIES UNITY_GROUP ${number})
  add_library(redlock_${name} INTERFACE)
  target_link_libraries(redlock_${name} INTERFACE redlock_rooms)
endfunction()
