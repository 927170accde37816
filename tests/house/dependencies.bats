#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# packaging/cmake/RedlockDependencies.cmake: the libraries that a build finds belong to the headers that it uses.

load ../lib/common

# other_hiredis: a hiredis.pc for version 1.2.0 in a folder of its own, as from an installation by hand; its headers
# are beside it, its library is not. Sets OTHER.
other_hiredis() {
  OTHER=$SCRATCH/opt/hiredis
  mkdir -p "$OTHER/lib/pkgconfig" "$OTHER/include"
  cat >"$OTHER/lib/pkgconfig/hiredis.pc" <<END
prefix=$OTHER
libdir=\${prefix}/lib
includedir=\${prefix}/include
Name: hiredis
Description: of another version than the system's
Version: 1.2.0
Libs: -L\${libdir} -lhiredis
Cflags: -I\${includedir}
END
}

configure() {
  PKG_CONFIG_PATH=$OTHER/lib/pkgconfig cmake -S "$SOURCE" -B "$SCRATCH/build" -G Ninja -DBUILD_TESTING=OFF \
    -DREDLOCK_LTO=OFF "$@"
}

setup() {
  command -v cmake >/dev/null && command -v ninja >/dev/null || skip "needs cmake and ninja"
  other_hiredis
}

@test "a hiredis.pc without its library is an error, even where another hiredis is installed" {
  run configure
  ((status != 0)) || fail "configured with $(grep -o '[^ ]*libhiredis[^ ]*' "$SCRATCH/build/build.ninja" | sort -u)"
  # CMake breaks lines.
  local said
  said=$(tr -s ' \n' ' ' <<<"$output")
  assert_contains "$said" "pkg-config finds hiredis 1.2.0 ($OTHER/lib/pkgconfig/hiredis.pc), but neither"
  assert_contains "$said" 'PKG_CONFIG_PATH'
}

@test "the library of that hiredis.pc is taken: the archive if there is one, and if it is wanted" {
  : >"$OTHER/lib/libhiredis.so"
  run configure
  assert_status 0
  grep -qF " $OTHER/lib/libhiredis.so" "$SCRATCH/build/build.ninja"
  : >"$OTHER/lib/libhiredis.a"
  run configure
  assert_status 0
  grep -qF " $OTHER/lib/libhiredis.a" "$SCRATCH/build/build.ninja"
  run configure -DREDLOCK_STATIC_RUNTIME=OFF
  assert_status 0
  grep -qF " $OTHER/lib/libhiredis.so" "$SCRATCH/build/build.ninja"
  grep -qx 'hiredis 1.2.0' "$SCRATCH/build/built-with"
}
