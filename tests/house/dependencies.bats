#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# packaging/cmake/RedlockDependencies.cmake: the libraries that a build finds belong to the headers that it uses.

load ../lib/common

# A hiredis.pc for version 1.2.0 in a folder of its own, OTHER, as from an installation by hand; its headers are beside
# it, its library is not.
setup() {
  if ! command -v cmake >/dev/null || ! command -v ninja >/dev/null; then skip "needs cmake and ninja"; fi
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
  PKG_CONFIG_PATH=$OTHER/lib/pkgconfig cmake -S "$SOURCE" -B "$SCRATCH/build" -G Ninja -DBUILD_TESTING=OFF "$@"
}

# linked FILE: redlock is linked with this library of OTHER. build.ninja escapes blanks.
linked() { sed 's/[$"\\]//g' "$SCRATCH/build/build.ninja" | grep -qF " $OTHER/lib/$1"; }

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
  run -0 configure
  linked libhiredis.so
  : >"$OTHER/lib/libhiredis.a"
  run -0 configure
  linked libhiredis.a
  run -0 configure -DREDLOCK_STATIC_RUNTIME=OFF
  linked libhiredis.so
  grep -qx 'hiredis 1.2.0' "$SCRATCH/build/built-with"
}

@test "where there is no static libstdc++, the shared one is linked" {
  : >"$OTHER/lib/libhiredis.so"
  printf '#!/bin/sh\ncase " $* " in *" -static-libstdc++ "*) echo "cannot find -lstdc++" >&2 && exit 1 ;; esac\n%s "$@"\n' \
    "exec $(command -v c++)" >"$SCRATCH/c++"
  chmod +x "$SCRATCH/c++"
  run -0 configure -DCMAKE_CXX_COMPILER="$SCRATCH/c++"
  assert_contains "$output" 'There is no static libstdc++'
  refute_contains "$(<"$SCRATCH/build/build.ninja")" -static-libstdc++
  grep -qF -e -static-libstdc++ "${REDLOCK%/*}/build.ninja" # here there is one
}

@test "redlock does not load libm: every start would pay for it" {
  command -v objdump >/dev/null || skip "needs objdump"
  run -0 objdump -p "$REDLOCK"
  [[ $output == *'NEEDED'*'libc.so'* || $output != *NEEDED* ]] || fail "objdump shows no libraries: $output"
  [[ $output != *libm.so* ]] || fail "$(grep NEEDED <<<"$output")"
}
