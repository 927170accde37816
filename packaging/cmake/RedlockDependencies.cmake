# SPDX-License-Identifier: MIT
#
# The libraries of others, as targets:
#
#   redlock_hiredis       hiredis 0.14 to 1.x, statically where there is an archive
#   redlock_openssl       the headers of OpenSSL 3 only: it is loaded when a server needs TLS; with
#                         REDLOCK_STATIC its archives, too
#   redlock_fmt           fmt. Debian has no libfmt.a, and one more shared library is slower to load.
#                         Version 9 is compiled here, once (fmt.cc). Another version is header only in
#                         what is installed, and a shared library in Debug builds: to compile it into
#                         every file takes three seconds a file
#   CLI11::CLI11, nlohmann_json::nlohmann_json
#   redlock_doctest       doctest, header only (tests)
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json 3 REQUIRED)
find_package(Threads REQUIRED)

if(fmt_VERSION VERSION_GREATER_EQUAL 9 AND fmt_VERSION VERSION_LESS 10)
  add_library(redlock_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/fmt.cc)
  target_include_directories(redlock_fmt SYSTEM PUBLIC
    $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)
else()
  add_library(redlock_fmt INTERFACE)
  target_link_libraries(redlock_fmt INTERFACE
    $<IF:$<CONFIG:Debug>,fmt::fmt,fmt::fmt-header-only>)
endif()

pkg_check_modules(HIREDIS REQUIRED hiredis>=0.14)
# The library has to be of the same version as the headers: with another one everything compiles, and every command
# crashes. So redlock takes it only from the folder that pkg-config names, or from the one that hiredis.pc is in (Debian's
# names /usr/lib, and is in /usr/lib/x86_64-linux-gnu).
pkg_get_variable(redlock_hiredis_named hiredis libdir)
pkg_get_variable(redlock_hiredis_pc hiredis pcfiledir)
cmake_path(GET redlock_hiredis_pc PARENT_PATH redlock_hiredis_near)
set(redlock_hiredis_names libhiredis.a libhiredis.so)
if(REDLOCK_STATIC)
  set(redlock_hiredis_names libhiredis.a)
elseif(NOT REDLOCK_STATIC_RUNTIME)
  set(redlock_hiredis_names libhiredis.so)
endif()
set(redlock_hiredis_library redlock_hiredis_library-NOTFOUND)
find_library(redlock_hiredis_library NO_CACHE NO_DEFAULT_PATH NAMES ${redlock_hiredis_names} NAMES_PER_DIR
  PATHS ${redlock_hiredis_named} ${redlock_hiredis_near})
if(NOT redlock_hiredis_library)
  message(FATAL_ERROR "pkg-config finds hiredis ${HIREDIS_VERSION} (${redlock_hiredis_pc}/hiredis.pc), but neither "
    "${redlock_hiredis_named} nor ${redlock_hiredis_near} has its library (${redlock_hiredis_names}). Install the "
    "development package of that version, or set PKG_CONFIG_PATH to the folder of another hiredis.pc.")
endif()
add_library(redlock_hiredis INTERFACE)
target_link_libraries(redlock_hiredis INTERFACE ${redlock_hiredis_library})
target_include_directories(redlock_hiredis SYSTEM INTERFACE ${HIREDIS_INCLUDE_DIRS})

pkg_check_modules(OPENSSL REQUIRED libssl>=3)
add_library(redlock_openssl INTERFACE)
target_include_directories(redlock_openssl SYSTEM INTERFACE ${OPENSSL_INCLUDE_DIRS})
if(REDLOCK_STATIC)
  # Paths: after a mere name, CMake would switch back to shared libraries.
  find_library(REDLOCK_SSL_ARCHIVE NAMES libssl.a HINTS ${OPENSSL_LIBRARY_DIRS} REQUIRED)
  find_library(REDLOCK_CRYPTO_ARCHIVE NAMES libcrypto.a HINTS ${OPENSSL_LIBRARY_DIRS} REQUIRED)
  target_link_libraries(redlock_openssl INTERFACE ${REDLOCK_SSL_ARCHIVE} ${REDLOCK_CRYPTO_ARCHIVE})
else()
  target_link_libraries(redlock_openssl INTERFACE ${CMAKE_DL_LIBS})
endif()

find_path(REDLOCK_DOCTEST_INCLUDE doctest/doctest.h)
if(BUILD_TESTING AND NOT REDLOCK_DOCTEST_INCLUDE)
  message(STATUS "doctest not found: building without tests (apt-get install doctest-dev)")
  set(BUILD_TESTING OFF)
endif()
add_library(redlock_doctest INTERFACE)
if(REDLOCK_DOCTEST_INCLUDE)
  target_include_directories(redlock_doctest SYSTEM INTERFACE ${REDLOCK_DOCTEST_INCLUDE})
endif()

# What the program is made of, a line each: `redlock --version` shows it, and packaging/sbom reads it.
if(REDLOCK_STATIC)
  set(redlock_openssl_version "${OPENSSL_VERSION}")
else()
  set(redlock_openssl_version "3 (loaded when a server needs TLS)")
endif()
set(REDLOCK_BUILT_WITH ${PROJECT_BINARY_DIR}/built-with)
file(WRITE ${REDLOCK_BUILT_WITH}
  "compiler ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}\n"
  "hiredis ${HIREDIS_VERSION}\n"
  "OpenSSL ${redlock_openssl_version}\n"
  "fmt ${fmt_VERSION}\n"
  "CLI11 ${CLI11_VERSION}\n"
  "nlohmann_json ${nlohmann_json_VERSION}\n")
