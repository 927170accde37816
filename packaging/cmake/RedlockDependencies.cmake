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
#   redlock_tomlplusplus  toml++ 3, header only: a shared library would be loaded by every run
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

pkg_check_modules(HIREDIS REQUIRED IMPORTED_TARGET hiredis>=0.14)
if(REDLOCK_STATIC_RUNTIME)
  find_library(REDLOCK_HIREDIS_ARCHIVE NAMES libhiredis.a HINTS ${HIREDIS_LIBRARY_DIRS})
endif()
add_library(redlock_hiredis INTERFACE)
if(REDLOCK_STATIC_RUNTIME AND REDLOCK_HIREDIS_ARCHIVE)
  target_link_libraries(redlock_hiredis INTERFACE ${REDLOCK_HIREDIS_ARCHIVE})
  target_include_directories(redlock_hiredis SYSTEM INTERFACE ${HIREDIS_INCLUDE_DIRS})
else()
  target_link_libraries(redlock_hiredis INTERFACE PkgConfig::HIREDIS)
endif()

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
find_path(REDLOCK_TOMLPLUSPLUS_INCLUDE toml++/toml.h REQUIRED)
add_library(redlock_tomlplusplus INTERFACE)
target_include_directories(redlock_tomlplusplus SYSTEM INTERFACE ${REDLOCK_TOMLPLUSPLUS_INCLUDE})
target_compile_definitions(redlock_tomlplusplus INTERFACE TOML_EXCEPTIONS=0 TOML_HEADER_ONLY=1
  TOML_ENABLE_FORMATTERS=0)

find_path(REDLOCK_DOCTEST_INCLUDE doctest/doctest.h)
if(BUILD_TESTING AND NOT REDLOCK_DOCTEST_INCLUDE)
  message(STATUS "doctest not found: building without tests (apt-get install doctest-dev)")
  set(BUILD_TESTING OFF)
endif()
add_library(redlock_doctest INTERFACE)
if(REDLOCK_DOCTEST_INCLUDE)
  target_include_directories(redlock_doctest SYSTEM INTERFACE ${REDLOCK_DOCTEST_INCLUDE})
endif()
