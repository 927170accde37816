# SPDX-License-Identifier: MIT
#
# Compiler and linker flags for every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# Measured: with -O2, redlock is no faster, a twentieth larger, and takes a third longer to build.
set(CMAKE_CXX_FLAGS_RELEASE "-O1 -DNDEBUG")

# -fPIE for the objects, -pie for the link: the first without the second is easily had.
include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# To look for all of this takes an eighth of the time of a build. With sanitizers that are not complete, only the tests
# have these warnings: tests/run compiles the rest in the release build, too.
set(redlock_warnings -Wall -Wextra -Wconversion -Wshadow)
if(NOT REDLOCK_SANITIZE OR REDLOCK_SANITIZE_FULLY)
  add_compile_options(${redlock_warnings})
endif()
# Where g++ 12 optimises, it sees std::string's memcpy() overlap where it cannot (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  add_compile_options(-Wno-restrict)
endif()
# With libstdc++ 12, newer releases of clang warn of get_temporary_buffer(), which std::stable_sort calls. g++
# looks at our own calls.
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 15)
  add_compile_options(-Wno-deprecated-declarations)
endif()
if(REDLOCK_WERROR)
  add_compile_options(-Werror)
endif()

set(redlock_optimised $<CONFIG:Release,RelWithDebInfo,MinSizeRel>)
if(REDLOCK_SANITIZE)
  add_compile_options(-fsanitize=${REDLOCK_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  if(REDLOCK_SANITIZE MATCHES "undefined")
    # This check needs a descriptor for itself: without one it reports errors that are none.
    add_compile_options(-fno-sanitize=vptr)
    # The messages and their tables make the start of the program take half as long again. Without them it dies of
    # SIGILL where the error is. The two checks stand at each access through a pointer, and take a quarter of the time
    # to compile. AddressSanitizer stops at a null pointer, too, once the program follows it.
    if(NOT REDLOCK_SANITIZE_FULLY)
      add_compile_options(-fsanitize-undefined-trap-on-error -fno-sanitize=null,alignment)
    endif()
  endif()
  # Its tables hold 160000 addresses. Without a fixed place in memory, each start of redlock would relocate all of them.
  if(REDLOCK_SANITIZE MATCHES "address")
    set(CMAKE_POSITION_INDEPENDENT_CODE OFF)
  endif()
  if(REDLOCK_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
  endif()
  # The sanitizers replace libc's functions: no fortified calls.
  set(REDLOCK_HARDENING OFF)
  # Each start of redlock loads the sanitizers' libraries, and at its end LeakSanitizer reads all their data. A static
  # runtime, without the library that only has the messages, takes a third less time.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND REDLOCK_SANITIZE STREQUAL "address,undefined" AND NOT REDLOCK_SANITIZE_FULLY)
    add_link_options(-fsanitize=address -static-libasan)
  else()
    add_link_options(-fsanitize=${REDLOCK_SANITIZE})
    set(REDLOCK_STATIC_RUNTIME OFF)
  endif()
endif()

if(REDLOCK_HARDENING)
  add_compile_options(-fstack-protector-strong -fstack-clash-protection
    $<${redlock_optimised}:-U_FORTIFY_SOURCE> $<${redlock_optimised}:-D_FORTIFY_SOURCE=2>)
  add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
endif()

# What the binary does not use it does not load: start-up is most of what `redlock run` costs.
add_link_options(-Wl,--as-needed)
# Nor does it contain functions that nobody calls, of static libraries for instance. (Measured: optimisation while
# linking makes it a twelfth smaller still, but no faster, and the build a sixth longer.)
add_compile_options($<${redlock_optimised}:-ffunction-sections> $<${redlock_optimised}:-fdata-sections>)
add_link_options($<${redlock_optimised}:-Wl,--gc-sections>)
if(REDLOCK_STATIC)
  add_compile_definitions(REDLOCK_STATIC=1)
  set(CMAKE_CXX_LINK_OPTIONS_PIE -static-pie)  # in place of -pie, which wins over -static
elseif(REDLOCK_STATIC_RUNTIME)
  # Fedora has the archive of libstdc++ in a package of its own.
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_LINK_OPTIONS -static-libstdc++ -static-libgcc)
  check_cxx_source_compiles("#include <new>\nint main() { delete new int; }" REDLOCK_HAS_STATIC_RUNTIME)
  unset(CMAKE_REQUIRED_LINK_OPTIONS)
  if(REDLOCK_HAS_STATIC_RUNTIME)
    add_link_options(-static-libstdc++ -static-libgcc)
  else()
    message(STATUS "There is no static libstdc++: linking the shared one")
  endif()
endif()
