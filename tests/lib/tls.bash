# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# An authority of the test's own, certificates by it, and servers that show them. For suites that
# have loaded lib/common; the files lie in $TLS, once for the whole suite:
#
#   setup_file() { make_authority ca; make_certificate server ca IP:127.0.0.1; }

TLS=$BATS_FILE_TMPDIR/tls

# make_authority NAME: $TLS/NAME.crt and NAME.key, signed by itself.
make_authority() {
  mkdir -p "$TLS"
  quietly openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 \
    -subj "/CN=authority $1" -addext basicConstraints=critical,CA:TRUE \
    -keyout "$TLS/$1.key" -out "$TLS/$1.crt"
}

# make_certificate NAME AUTHORITY SAN [START END [EXTENSION]]: $TLS/NAME.crt and NAME.key for the
# subjectAltName SAN ("DNS:a,IP:127.0.0.1"; empty: none), valid from now for 30 days, or from START
# to END (YYYYMMDDHHMMSSZ).
make_certificate() {
  local name=$1 authority=$2 san=$3 dates=(-days 30)
  [[ -z ${4-} ]] || dates=(-startdate "$4" -enddate "$5")
  local dir
  dir=$(mktemp -d "$TLS/ca.XXXXXX")
  : >"$dir/index"
  cat >"$dir/config" <<CONFIG
[ca]
default_ca = here
[here]
database = $dir/index
new_certs_dir = $dir
rand_serial = yes
default_md = sha256
policy = any
[any]
commonName = supplied
[extensions]
${6-basicConstraints = CA:FALSE}
${san:+subjectAltName = $san}
CONFIG
  quietly openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
    -subj "/CN=$name" -keyout "$TLS/$name.key" -out "$dir/request" || return 1
  quietly openssl ca -batch -notext -config "$dir/config" -extensions extensions "${dates[@]}" \
    -cert "$TLS/$authority.crt" -keyfile "$TLS/$authority.key" -in "$dir/request" -out "$TLS/$name.crt"
}

# quietly CMD…: its output is shown only if it fails.
quietly() {
  local said
  said=$("$@" 2>&1) || fail "$*:" "$said"
}

# start_tls_server NAME CERTIFICATE [REDIS OPTIONS…]: start_server with a TLS port, that shows
# $TLS/CERTIFICATE.crt and wants no client certificate; sets NAME_TLS_PORT and NAME_TLS_URI
# (rediss://127.0.0.1:…), besides what start_server sets. Skips the test where the server speaks no TLS.
start_tls_server() {
  needs_tls
  local name=$1 certificate=$2 tls_port try
  shift 2
  for try in 1 2 3; do
    tls_port=$(free_port)
    ! start_server "$name" --tcp --tls-port "$tls_port" --tls-cert-file "$TLS/$certificate.crt" \
      --tls-key-file "$TLS/$certificate.key" --tls-ca-cert-file "$TLS/ca.crt" --tls-auth-clients no "$@" || break
    ((try < 3)) || return 1
  done
  declare -g "${name}_TLS_PORT=$tls_port" "${name}_TLS_URI=rediss://127.0.0.1:$tls_port"
}
