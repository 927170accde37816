# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# Sourced by packaging/quickstart and tests/run: what they need from Debian, and how to get it.
#
#   need PACKAGE PROBE…   notes PACKAGE as missing, once, unless the command PROBE succeeds
#   install_missing       installs what was noted: as root, with sudo, or (status 69) not at all

missing=

need() {
  need_package=$1
  shift
  case " $missing " in
    *" $need_package "*) return ;;
  esac
  "$@" >/dev/null 2>&1 || missing="$missing $need_package"
}

has_command() {
  for has_command_name in "$@"; do
    ! command -v "$has_command_name" || return 0
  done
  return 1
}

has_header() {
  printf '#if !__has_include(<%s>)\n#error\n#endif\n' "$1" | g++ -E -x c++ -o /dev/null -
}

has_fuzzer() {
  echo 'extern "C" int LLVMFuzzerTestOneInput() { return 0; }' |
    clang++ -fsanitize=fuzzer,address -x c++ -o /dev/null -
}

has_python_module() { /usr/bin/python3 -c "import $1"; }

need_to_build() {
  need g++ has_command g++
  need cmake has_command cmake
  need ninja-build has_command ninja
  need pkg-config has_command pkg-config
  need libhiredis-dev pkg-config --exists hiredis
  need libssl-dev pkg-config --exists 'libssl >= 3'
  need libcli11-dev has_header CLI/CLI.hpp
  need libfmt-dev has_header fmt/format.h
  need nlohmann-json3-dev has_header nlohmann/json.hpp
}

# Not the package redis-server: that one starts a service. redis-check-rdb, which comes with
# redis-cli, is the same program.
need_servers() {
  need redis-tools has_command redis-server valkey-server redis-check-rdb valkey-check-rdb
  need redis-tools has_command redis-cli valkey-cli
}

need_to_test() {
  need_to_build
  need_servers
  need doctest-dev has_header doctest/doctest.h
  need libluajit-5.1-dev pkg-config --exists luajit # the simulators run the scripts
  need bats has_command bats
  need python3 test -x /usr/bin/python3
  need python3-redis has_python_module redis
  need mandoc has_command mandoc
  need openssl has_command openssl
  need libnss-wrapper env LD_PRELOAD=libnss_wrapper.so sh -c 'grep -q nss_wrapper "/proc/$$/maps"'
  need util-linux has_command setpriv
  need procps has_command ps
  need make has_command make # try_versions.bats
  need busybox-static busybox crond --help # Debian's busybox has no cron daemon
}

need_for_all() {
  need lintian has_command lintian # deb.bats
  need rpm has_command rpmbuild # rpm.bats
  need rpmlint has_command rpmlint
  need zsh has_command zsh # completions.bats types into these two
  need fish has_command fish
  need groff-base has_command groff # man.bats
  need strace has_command strace    # config.bats
  need clang has_command clang++
  need libclang-rt-dev has_fuzzer # tests/fuzz
  need clang-tidy has_command clang-tidy
  need clang-format has_command clang-format
  need shellcheck has_command shellcheck
  need valgrind has_command valgrind
  need liblua5.4-dev pkg-config --exists lua5.4 # redlock_sim_dragonfly
  need debootstrap has_command debootstrap # tests/house/fresh
  need g++-aarch64-linux-gnu has_command aarch64-linux-gnu-g++ # packaging/build-arm64
  need qemu-user has_command qemu-aarch64
  need dpkg-dev has_command dpkg-source # packaging/build-musl
  need perl has_command perl
  need python3-pip python3 -m pip --version
  need python3-venv python3 -c 'import ensurepip' # tests/mutants/mutants --draw
}

install_missing() {
  [ -n "$missing" ] || return 0
  install_as_root=
  if [ "$(id -u)" -ne 0 ]; then
    install_as_root='sudo'
    command -v sudo >/dev/null 2>&1 || install_as_root='none'
  fi
  if [ "$install_as_root" = none ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "These packages are missing, and this user cannot install them. As root:" >&2
    echo "  apt-get update && apt-get install --no-install-recommends$missing" >&2
    exit 69
  fi
  echo "installing:$missing" >&2
  # sudo may be for apt-get alone and drop the variable; without a terminal to ask on, Debian's
  # packages ask nothing either.
  DEBIAN_FRONTEND=noninteractive
  export DEBIAN_FRONTEND
  # shellcheck disable=SC2086 # words on purpose
  {
    $install_as_root apt-get update -q &&
      $install_as_root apt-get install -q -y --no-install-recommends $missing
  } </dev/null >&2 || {
    echo "apt-get failed; what is missing:$missing" >&2
    exit 69
  }
  missing=
}
