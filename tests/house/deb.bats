#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=whole
#
# packaging/build-deb: the package of the redlock that is tested, as a new machine gets it.

load ../lib/common

BUILD=${REDLOCK%/*}

setup_file() {
  unset DEBFULLNAME DEBEMAIL
  command -v dpkg-deb >/dev/null || return 0
  export DPKG_DEB_COMPRESSOR_LEVEL=1 # this suite makes three packages, and compressing them would take most of its time
  DEB=$("$SOURCE/packaging/build-deb" --build "$BUILD" --output "$BATS_FILE_TMPDIR")
  export DEB
  ROOT=$BATS_FILE_TMPDIR/root
  export ROOT
  dpkg-deb -x "$DEB" "$ROOT"
}
setup() { command -v dpkg-deb >/dev/null || skip "no dpkg here"; }

field() { dpkg-deb --field "$DEB" "$1"; }

@test "deb: built again at another time by another umask, it has the same bytes" {
  (umask 077 && "$SOURCE/packaging/build-deb" --build "$BUILD" --output "$SCRATCH")
  cmp "$DEB" "$SCRATCH/${DEB##*/}"
  # Even where the times of the files differ.
  [[ $(dpkg-deb --fsys-tarfile "$DEB" | tar -tv --full-time --utc -f - | awk '{ print $4, $5 }' | sort -u | wc -l) == 1 ]]
}

@test "deb: name, version and what it depends on" {
  [[ $(field Package) == redlock ]]
  [[ "redlock $(field Version)" == "$("$REDLOCK" --version | head -n 1)-"* ]] || fail "$(field Version)"
  [[ $(field Depends) =~ ^libc6\ \(\>=\ 2\.[0-9]+\),\ libssl3 ]] || fail "$(field Depends)"
  [[ $(field Suggests) == *'redis-server | valkey-server'* ]]
  (($(field Installed-Size) > 500))
}

@test "deb: whoever makes the package for others is its maintainer; else nobody answers, and it says so" {
  [[ $(field Maintainer) == 'The redlock authors <redlock@redlock.invalid>' ]] || fail "$(field Maintainer)"
  # In one place.
  [[ $(grep -rlF "redlock@" "$SOURCE/packaging/debian" "$SOURCE/packaging/build-deb") == */changelog ]]
  DEBFULLNAME='A. Nyone' DEBEMAIL=anyone@example.org "$SOURCE/packaging/build-deb" --build "$BUILD" --output "$SCRATCH"
  [[ $(dpkg-deb --field "$SCRATCH/${DEB##*/}" Maintainer) == 'A. Nyone <anyone@example.org>' ]]
}

@test "deb: everything is where Debian wants it, and belongs to root" {
  local path
  for path in bin/redlock share/man/man1/redlock.1.gz share/man/man1/redlock-sandbox.1.gz \
    share/man/man5/redlock.toml.5.gz share/man/man7/redlock-{guarantees,json,metrics,migrate,protocol}.7.gz \
    share/bash-completion/completions/redlock share/zsh/vendor-completions/_redlock \
    share/fish/vendor_completions.d/redlock.fish \
    share/doc/redlock/{copyright,changelog.gz,changelog.Debian.gz,README.md,examples/script-with-trap,third-party/libhiredis-dev}; do
    [[ -s $ROOT/usr/$path ]] || fail "missing: $path"
  done
  [[ -x $ROOT/usr/share/doc/redlock/examples/script-with-trap ]]
  run bash -c 'dpkg-deb --fsys-tarfile "$1" | tar -tv --numeric-owner -f - | grep -v " 0/0 "' _ "$DEB"
  [[ -z $output ]] || fail "$output"
  run bash -c 'dpkg-deb --fsys-tarfile "$1" | tar -tv -f - | grep -vE "^(-rw-r--r--|-rwxr-xr-x|drwxr-xr-x) "' _ "$DEB"
  [[ -z $output ]] || fail "$output"
  mkdir "$SCRATCH/control"
  dpkg-deb --control "$DEB" "$SCRATCH/control"
  (cd "$ROOT" && md5sum --quiet -c "$SCRATCH/control/md5sums")
  [[ $(cd "$ROOT" && find usr -type f | wc -l) == $(wc -l <"$SCRATCH/control/md5sums") ]]
}

@test "deb: unpacked into an empty root, it runs the main job there" {
  PATH=$ROOT/usr/bin:/usr/bin:/bin
  [[ $(command -v redlock) == "$ROOT/usr/bin/redlock" ]]
  redlock --version
  run -0 redlock sandbox -N 1 -- redlock run demo -- echo 'I hold the lock'
  assert_contains "$output" 'I hold the lock'
  # The compiler's directories are nobody's business.
  ! grep -aqF "$SOURCE" "$ROOT/usr/bin/redlock" || fail "the binary knows where it was built"
}

@test "deb: lintian finds nothing" {
  command -v lintian >/dev/null || skip "lintian is not installed"
  TMPDIR=$SCRATCH run lintian --allow-root --fail-on error,warning --tag-display-limit 0 "$DEB"
  [[ $status == 0 && -z $output ]] || fail "$output"
}
