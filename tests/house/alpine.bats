#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
# shellcheck disable=SC2013 # the options are words; expanded by the inner shell
#
# packaging/alpine/APKBUILD: its shell parts, run as abuild(1) runs them, by busybox's shell.

load ../lib/common

# abuild COMMANDS: in a shell that has read the file, in the folder of the sources, with strict errors as abuild.
abuild() {
  mkdir -p "$SCRATCH/src"
  run env pkgdir="$SCRATCH/root" PATH="$SCRATCH/bin:$PATH" \
    busybox sh -ec '. "$1/packaging/alpine/APKBUILD"; cd "$2"; eval "$3"' sh "$SOURCE" "$SCRATCH/src" "$1"
}

@test "alpine: the version is redlock's, and every library that CMake looks for is named" {
  abuild 'echo "$pkgname $pkgver"; echo $source; echo $depends $makedepends'
  assert_status 0
  [[ ${lines[0]} == "$("$REDLOCK" --version | head -n 1)" ]] || fail "${lines[0]}"
  [[ ${lines[1]} == "${lines[0]/ /-}.tar.gz" ]] || fail "${lines[1]}"
  local package
  for package in cli11 fmt-dev hiredis-dev nlohmann-json 'openssl-dev>3' cmake samurai libssl3; do
    [[ " ${lines[2]} " == *" $package "* ]] || fail "$package is missing: ${lines[2]}"
  done
}

@test "alpine: build() and check() give CMake options and targets that there are" {
  mkdir -p "$SCRATCH/bin" "$SCRATCH/src/build/tests"
  printf '#!/bin/sh\nprintf "%%s\\n" "$@" >>"%s"\n' "$SCRATCH/words" | tee "$SCRATCH/bin/cmake" \
    "$SCRATCH/src/build/tests/redlock_unit" >"$SCRATCH/src/build/tests/redlock_unit_lock"
  chmod +x "$SCRATCH/bin/cmake" "$SCRATCH"/src/build/tests/*
  abuild 'build; check'
  assert_status 0
  local option
  for option in $(sed -n 's/^-D\(REDLOCK_[A-Z_]*\)=.*/\1/p' "$SCRATCH/words"); do
    grep -rqE "^(option|set)\($option " "$SOURCE/CMakeLists.txt" "$SOURCE/packaging/cmake" || fail "no such option: $option"
  done
  [[ -n $option ]]
  for option in redlock redlock_unit redlock_unit_lock; do
    grep -qxF "$option" "$SCRATCH/words" || fail "$option is not built"
    grep -rqE "^ *(add_executable\($option|redlock_unit_program\(${option#redlock_}) " "$SOURCE/CMakeLists.txt" \
      "$SOURCE/tests" --include=CMakeLists.txt || fail "no such target: $option"
  done
}

@test "alpine: package() puts every file where its subpackages look for it" {
  mkdir -p "$SCRATCH/src"
  ln -s "${REDLOCK%/*}" "$SCRATCH/src/build"
  abuild package
  assert_status 0
  local path
  for path in bin/redlock share/man/man1/redlock.1 share/man/man5/redlock.toml.5 share/doc/redlock/README.md \
    share/bash-completion/completions/redlock share/zsh/site-functions/_redlock share/fish/vendor_completions.d/redlock.fish; do
    [[ -s $SCRATCH/root/usr/$path ]] || fail "missing: $path"
  done
  [[ $(ls "$SCRATCH/root") == usr ]] || fail "$(find "$SCRATCH/root" -maxdepth 2)"
}
