#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
# shellcheck disable=SC2013 # options and targets are words
#
# packaging/build-rpm: the package of the redlock that is tested, as a new machine gets it.

load ../lib/common

BUILD=${REDLOCK%/*}

setup_file() {
  command -v rpmbuild >/dev/null || return 0
  export HOME=$BATS_FILE_TMPDIR # rpm(8) and rpmlint write there
  export RPM_PAYLOAD=w1.xzdio # compressing would take most of the time of this suite
  RPM=$("$SOURCE/packaging/build-rpm" --build "$BUILD" --output "$BATS_FILE_TMPDIR")
  export RPM
  ROOT=$BATS_FILE_TMPDIR/root
  export ROOT
  mkdir "$ROOT"
  rpm2cpio "$RPM" | (cd "$ROOT" && busybox cpio -idm 2>/dev/null)
}
setup() { command -v rpmbuild >/dev/null || skip "rpmbuild is not installed: apt-get install rpm"; }

field() { rpm -qp --queryformat "%{$1}" "$RPM" 2>/dev/null; }

@test "rpm: built again at another time by another umask, it has the same bytes" {
  (umask 077 && "$SOURCE/packaging/build-rpm" --build "$BUILD" --output "$SCRATCH")
  cmp "$RPM" "$SCRATCH/${RPM##*/}"
}

@test "rpm: name, version and what it depends on" {
  [[ "$(field name) $(field version)" == "$("$REDLOCK" --version | head -n 1)" ]] || fail "$(field version)"
  run rpm -qp --requires "$RPM"
  assert_contains "$output" '(openssl-libs >= 3 or libopenssl3)' 'libc.so.6(GLIBC_2.'
  refute_contains "$output" hiredis
  # The version of a build by hand, without packaging/build-rpm.
  grep -qF "redlock_version: %global redlock_version $(field version)}" "$SOURCE/packaging/rpm/redlock.spec"
}

@test "rpm: every file is there, belongs to root, and may be read by everybody" {
  local path
  for path in bin/redlock share/man/man1/redlock.1.gz share/man/man1/redlock-renew.1.gz \
    share/man/man5/redlock.toml.5.gz share/man/man7/redlock-protocol.7.gz \
    share/bash-completion/completions/redlock share/zsh/site-functions/_redlock \
    share/fish/vendor_completions.d/redlock.fish share/doc/redlock/{LICENSE,README.md,CHANGELOG.md,examples/script-with-trap}; do
    [[ -s $ROOT/usr/$path ]] || fail "missing: $path"
  done
  run bash -c 'rpm -qplv "$1" | grep -vE "^(-rw-r--r--|-rwxr-xr-x|drwxr-xr-x) .* root +root "' _ "$RPM"
  [[ -z $output ]] || fail "$output"
}

@test "rpm: unpacked into an empty root, it runs the main job there" {
  PATH=$ROOT/usr/bin:/usr/bin:/bin
  [[ $(command -v redlock) == "$ROOT/usr/bin/redlock" ]]
  run -0 redlock sandbox -N 1 -- redlock run demo -- echo 'I hold the lock'
  assert_contains "$output" 'I hold the lock'
}

@test "rpm: built from the sources, it gives CMake options and targets that there are, and links no library statically" {
  local script option target
  script=$(rpmspec -P "$SOURCE/packaging/rpm/redlock.spec" | sed -n '/^%prep/,/^%install/p')
  for option in $(grep -oE 'D(REDLOCK_[A-Z_]+)=' <<<"$script" | sed 's|D\(.*\)=|\1|' | sort -u); do
    grep -rqE "^(option|set)\\($option " "$SOURCE/CMakeLists.txt" "$SOURCE/packaging/cmake" || fail "no such option: $option"
  done
  assert_contains "$script" '-DREDLOCK_STATIC_RUNTIME=OFF'
  for target in $(sed -n 's/.*--target //p' <<<"$script"); do
    grep -q "^build $target: " "$BUILD/build.ninja" || fail "no such target: $target"
  done
  [[ $target == redlock_unit_lock ]] || fail "$script"
}

@test "rpm: rpmlint finds nothing" {
  command -v rpmlint >/dev/null || skip "rpmlint is not installed"
  run rpmlint --config "$SOURCE/packaging/rpm/rpmlint.toml" "$RPM" "$SOURCE/packaging/rpm/redlock.spec"
  assert_contains "$output" ' 0 errors, 0 warnings'
}
