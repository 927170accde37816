#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bats file_tags=memory,slow
#
# rediss://: whom redlock believes and whom not, what it says then, and that TLS costs nothing where
# there is none.

load ../lib/common
load ../lib/acl
load ../lib/hostile
load ../lib/tls

setup_file() {
  make_authority ca
  make_authority other
  make_certificate server ca DNS:localhost,IP:127.0.0.1
  make_certificate elsewhere ca DNS:db9.example,DNS:*.db.example,IP:10.0.0.1
  make_certificate expired ca IP:127.0.0.1 20200101000000Z 20210101000000Z
  make_certificate future ca IP:127.0.0.1 20900101000000Z 20910101000000Z
  make_certificate stranger other IP:127.0.0.1
  make_certificate client ca ''
  make_certificate middle ca '' '' '' 'basicConstraints = critical,CA:TRUE'
  make_certificate leaf middle IP:127.0.0.1
  cat "$TLS/leaf.crt" "$TLS/middle.crt" >"$TLS/chain.crt"
  cp "$TLS/leaf.key" "$TLS/chain.key"
  make_certificate aged ca '' 20200101000000Z 20210101000000Z 'basicConstraints = critical,CA:TRUE'
  make_certificate below aged IP:127.0.0.1
  cat "$TLS/aged.crt" >>"$TLS/below.crt"
}

setup() { export REDLOCK_TLS_CA=$TLS/ca.crt; }
teardown() { stop_all; }

# holds ARG…: the run gets the lock.
holds() {
  run -0 --separate-stderr "$REDLOCK" run -n "$@" L -- echo in
  [[ $output == in && -z $stderr ]] || fail "$stderr"
}

# assert_no_connection URI ARG… -- TEXT…: this server can never be used, and so the run ends immediately with 69 and one
# line that has the URI and each TEXT.
assert_no_connection() {
  local uri=$1 arguments=()
  shift
  while [[ $1 != -- ]]; do
    arguments+=("$1")
    shift
  done
  timed -69 "$REDLOCK" run --server-wait 60s -S "$uri" "${arguments[@]}" L -- touch "$SCRATCH/ran"
  assert_between 0 "$elapsed" 10000
  [[ -z $output && ! -e $SCRATCH/ran ]]
  assert_one_line "$stderr" "$uri: " "${@:2}"
}

# misconfigured TEXT ARG…: 78 with one line that has TEXT, before anything is connected to.
misconfigured() {
  run -78 --separate-stderr "$REDLOCK" run --server-wait 60s -S "rediss://127.0.0.1:$(free_port)" "${@:2}" L -- true
  assert_one_line "$stderr" "$1"
}

# ---- whom to believe -------------------------------------------------------------------------

@test "tls: a lock on three servers, by address and by name, with a user and a database" {
  needs_users
  needs_localhost
  local servers=() server
  for server in A B C; do
    start_tls_server "$server" server --user cron on '>s3cret' '~*' "${CHANNELS[@]}" +@all
    local -n port=${server}_TLS_PORT
    servers+=(-S "rediss://cron:s3cret@127.0.0.1:$port/2")
  done
  servers[1]="valkeys://cron:s3cret@localhost:$A_TLS_PORT"
  start_job -vv --ttl 3s "${servers[@]}"
  wait_for_line "$JOB_ERR" 'renew: renewed'
  wait_for_key A L
  in_two() { [[ $(cli B -n 2 exists L) == 1 ]]; }
  wait_until "$BOUND" in_two
  run -1 "$REDLOCK" run -n "${servers[@]}" L -- true
  end_job
  assert_contains "$stderr" "rediss://cron:***@localhost:$A_TLS_PORT: acquire: granted"
  refute_contains "$stderr" s3cret
  for server in A B C; do wait_until "$BOUND" has_no_keys "$server"; done
}

@test "tls: trust in a file, in a directory, in the system's store, in one certificate, in a middle" {
  start_tls_server A server
  start_tls_server M chain
  unset REDLOCK_TLS_CA
  assert_no_connection "$A_TLS_URI" -- 'authority ca'
  SSL_CERT_FILE=$TLS/ca.crt holds -S "$A_TLS_URI"
  holds -S "$A_TLS_URI" --tls-ca "$TLS/ca.crt"
  holds -S "$A_TLS_URI" --tls-ca "$TLS/server.crt"
  holds -S "$M_TLS_URI" --tls-ca "$TLS/ca.crt"
  holds -S "$M_TLS_URI" --tls-ca "$TLS/middle.crt"
  mkdir "$SCRATCH/ca"
  cp "$TLS/ca.crt" "$SCRATCH/ca/ca.pem"
  openssl rehash "$SCRATCH/ca"
  holds -S "$A_TLS_URI" --tls-ca-dir "$SCRATCH/ca"
  # A named file replaces the system's store.
  SSL_CERT_FILE=$TLS/ca.crt assert_no_connection "$A_TLS_URI" --tls-ca "$TLS/other.crt" -- 'not trusted here'
}

@test "tls: an unknown authority" {
  start_tls_server A stranger
  assert_no_connection "$A_TLS_URI" -- 'signed by "authority other", which is not trusted here' --tls-ca
  start_tls_server B other
  assert_no_connection "$B_TLS_URI" -- 'self-signed' --tls-ca
}

@test "tls: a wrong name, and which it has; --tls-sni says which it should have" {
  start_tls_server A elsewhere
  assert_no_connection "$A_TLS_URI" -- 'not for "127.0.0.1"' 'it is for DNS:db9.example, DNS:*.db.example, IP Address:10.0.0.1' --tls-sni
  holds -S "$A_TLS_URI" --tls-sni db9.example
  REDLOCK_TLS_SNI=a.db.example holds -S "$A_TLS_URI"
  assert_no_connection "$A_TLS_URI" --tls-sni a.b.db.example -- 'not for "a.b.db.example"'
  start_tls_server B client
  assert_no_connection "$B_TLS_URI" -- 'it is for client'
  needs_localhost
  assert_no_connection "rediss://localhost:$A_TLS_PORT" -- 'not for "localhost"'
}

@test "tls: a certificate that has expired, and one of the future" {
  start_tls_server A expired
  assert_no_connection "$A_TLS_URI" -- 'its certificate expired on 2021-01-01 00:00:00 UTC'
  start_tls_server B future
  assert_no_connection "$B_TLS_URI" -- 'is not valid before 2090-01-01 00:00:00 UTC' clock
  start_tls_server C below
  assert_no_connection "$C_TLS_URI" -- 'the certificate of its authority "aged" expired on 2021-01-01 00:00:00 UTC'
}

@test "tls: --tls-insecure believes everybody, and warns in every command, once, unless -q is given" {
  start_tls_server A expired
  REDLOCK_TLS_INSECURE=1 holds -q -S "$A_TLS_URI"
  REDLOCK_TLS_INSECURE=0 assert_no_connection "$A_TLS_URI" -- expired
  # Nothing to warn of without TLS.
  holds --tls-insecure -S "$A_URI"
  local token words warning='warning: certificates are not verified (--tls-insecure)'
  local insecure=(--tls-insecure -S "$A_TLS_URI")
  token=$("$REDLOCK" acquire -q "${insecure[@]}" L)
  while read -r -a words; do
    run --separate-stderr "$REDLOCK" "${words[0]}" "${insecure[@]}" "${words[@]:1}"
    [[ $(grep -cF "$warning" <<<"$stderr"$'\n'"$output") == 1 ]] || fail "${words[*]}:" "$output" "$stderr"
    run --separate-stderr "$REDLOCK" "${words[0]}" -q "${insecure[@]}" "${words[@]:1}"
    refute_contains "$stderr" "$warning"
  done <<<"run M -- true
acquire -n L
renew L $token
status L
list
history L
release --force --now --yes L
release L $token
config"
  # What check finds is its output.
  run --separate-stderr "$REDLOCK" check "${insecure[@]}"
  assert_contains "$output" "certificates are not verified (--tls-insecure)"
}

@test "tls: what a certificate says is shown without what a terminal obeys" {
  local name=$'a\u009b31m\u202eb\u061c'
  quietly openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -utf8 \
    -subj "/CN=$name" -addext basicConstraints=critical,CA:TRUE -keyout "$TLS/evil.key" -out "$TLS/evil.crt"
  make_certificate victim evil IP:127.0.0.1
  start_tls_server A victim
  assert_no_connection "$A_TLS_URI" -- 'is signed by "a?31m?b?"'
  assert_printable "$stderr"
  make_certificate odd ca $'DNS:a\e[31m\x9bb'
  start_tls_server B odd
  assert_no_connection "$B_TLS_URI" -- 'it is for DNS:a?[31m?b'
  assert_printable "$stderr"
}

# ---- who we are ------------------------------------------------------------------------------

@test "tls: a server that wants a client certificate" {
  local protocol asked mine=(--tls-cert "$TLS/client.crt" --tls-key "$TLS/client.key")
  for protocol in TLSv1.2 TLSv1.3; do
    start_tls_server A server --tls-auth-clients yes --tls-protocols "$protocol"
    holds -S "$A_TLS_URI" "${mine[@]}"
    cat "$TLS/client.crt" "$TLS/client.key" >"$SCRATCH/both"
    holds -S "$A_TLS_URI" --tls-cert "$SCRATCH/both"
    asked=$(evals A)
    assert_no_connection "$A_TLS_URI" -- 'client certificate' --tls-cert
    assert_no_connection "$A_TLS_URI" --tls-cert "$TLS/stranger.crt" --tls-key "$TLS/stranger.key" -- \
      'refuses our certificate' 'unknown authority'
    assert_no_connection "$A_TLS_URI" --tls-cert "$TLS/expired.crt" --tls-key "$TLS/expired.key" -- \
      'refuses our certificate' expired
    # A server that let nobody in has nothing to be released: it was never asked.
    [[ $(evals A) == "$asked" ]] || fail "$asked requests before, $(evals A) afterwards"
    stop_servers
  done
}

@test "tls: files that are of no use are 78, and named, before anything is sent" {
  local cert=(--tls-cert "$TLS/client.crt")
  misconfigured "--tls-ca \"$SCRATCH/none\": No such file" --tls-ca "$SCRATCH/none"
  misconfigured "--tls-ca \"$TLS/ca.key\": holds no certificate" --tls-ca "$TLS/ca.key"
  misconfigured "--tls-ca-dir \"$TLS/ca.crt\": Not a directory" --tls-ca-dir "$TLS/ca.crt"
  misconfigured '--tls-cert "/": Is a directory' --tls-cert /
  misconfigured "--tls-cert \"$TLS/ca.key\": holds no certificate" --tls-cert "$TLS/ca.key"
  misconfigured 'there is no certificate to go with it' --tls-key "$TLS/client.key"
  misconfigured "--tls-key \"$TLS/client.crt\": holds no private key" "${cert[@]}"
  misconfigured "\"$TLS/server.key\": does not belong to the certificate" "${cert[@]}" --tls-key "$TLS/server.key"
  quietly openssl genrsa -out "$SCRATCH/rsa" 2048
  misconfigured 'does not belong to the certificate' "${cert[@]}" --tls-key "$SCRATCH/rsa"
  quietly openssl ec -in "$TLS/client.key" -aes128 -passout pass:x -out "$SCRATCH/locked"
  misconfigured 'protected by a passphrase' "${cert[@]}" --tls-key "$SCRATCH/locked"
  if [[ $(id -u) != 0 ]]; then
    install -m 0 "$TLS/client.key" "$SCRATCH/forbidden"
    misconfigured 'Permission denied' "${cert[@]}" --tls-key "$SCRATCH/forbidden"
  fi
  run -64 --separate-stderr "$REDLOCK" run -S rediss://h --tls-sni 10.0.0.1 L -- true
  assert_contains "$stderr" --tls-sni
}

# ---- the wrong port --------------------------------------------------------------------------

@test "tls: a port for plain text, of Redis and of another program" {
  start_server A --tcp
  # Redis waits for the end of what it takes for a command, unless the packet happens to contain a newline.
  run -69 --separate-stderr "$REDLOCK" run --server-wait 300ms -S "rediss://127.0.0.1:$A_PORT" L -- true
  assert_one_line "$stderr" 'does not speak TLS'
  garbage_server 'HTTP/1.1 400 Bad Request\r\n\r\n'
  assert_no_connection "rediss://127.0.0.1:$GARBAGE_PORT" -- 'does not speak TLS'
}

@test "tls: plain text to a port for TLS" {
  start_tls_server A server
  run -69 --separate-stderr "$REDLOCK" run --server-wait 300ms -S "redis://127.0.0.1:$A_TLS_PORT" L -- true
  assert_one_line "$stderr" 'does it want TLS (rediss://)'
  # Others than Redis say so.
  garbage_server '\x15\x03\x01\x00\x02\x02\x46'
  assert_no_connection "redis://127.0.0.1:$GARBAGE_PORT" -- 'speaks TLS on this port' rediss://
}

@test "tls: broken bytes arrive" {
  local answer
  # Hangs up; a record that is too long; half a record; an alert (internal error); a ServerHello of
  # nothing.
  for answer in '' '\x16\x03\x03\xff\xff' '\x15\x03\x03\x00\x02\x02\x50' '\x16\x03\x03\x00\x04\x02\x00\x00\x00'; do
    garbage_server "$answer"
    run -69 --separate-stderr "$REDLOCK" run --server-wait 300ms -S "rediss://127.0.0.1:$GARBAGE_PORT" L -- true
    assert_one_line "$stderr" "rediss://127.0.0.1:$GARBAGE_PORT: "
  done
}

# ---- one of several --------------------------------------------------------------------------

@test "tls: a server that stops in the handshake delays nobody" {
  start_tls_server A server
  start_tls_server B server
  start_tls_server C server
  pause_server B
  timed_below 900 -0 "$REDLOCK" run -vv -S "$A_TLS_URI" -S "$B_TLS_URI" -S "$C_TLS_URI" L -- echo in # to connect: 1 s
  run -69 --separate-stderr "$REDLOCK" run --server-wait 300ms -S "$B_TLS_URI" L -- true
  assert_contains "$stderr" 'no TLS handshake within 1000 ms'
}

@test "tls: a write that the kernel takes in parts" {
  cat >"$SCRATCH/parts.c" <<'PARTS'
#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>
ssize_t send(int fd, const void* bytes, size_t size, int flags) {
  static int calls;
  if (++calls % 3 == 0) {
    errno = EAGAIN;
    return -1;
  }
  usleep(5000); // the server answers what it has
  return syscall(SYS_sendto, fd, bytes, size < 700 ? size : 700, flags, NULL, 0);
}
PARTS
  cc -shared -fPIC -o "$SCRATCH/parts.so" "$SCRATCH/parts.c"
  start_tls_server A server
  local uri
  for uri in "$A_TLS_URI" "$A_TCP_URI"; do
    run -0 --separate-stderr env LD_LIBRARY_PATH="$SCRATCH" LD_PRELOAD=parts.so \
      ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0" \
      "$REDLOCK" run -n -S "$uri" L -- echo in
    [[ $output == in && -z $stderr ]] || fail "$stderr"
    assert_nothing_left A
  done
}

@test "tls: a name with a dot at its end, and an address with a zone, are verified without these" {
  start_tls_server A server
  holds -S "$A_TLS_URI" --tls-sni localhost.
  holds -S "$A_TLS_URI" --tls-sni 127.0.0.1%lo
}

@test "tls: one connection from the acquire to the release, though a worker goes on with it, and one to listen" {
  start_tls_server A server
  local before after
  before=$(cli A info stats | sed -n 's/^total_connections_received:\([0-9]*\).*/\1/p')
  # No answer is given up for being late. It renews as soon as it listens.
  start_job -vv --ttl 30s --server-timeout 3s -S "$A_TLS_URI"
  wait_for_line "$JOB_ERR" 'renew: renewed'
  end_job
  refute_contains "$stderr" closed
  after=$(cli A info stats | sed -n 's/^total_connections_received:\([0-9]*\).*/\1/p')
  ((after == before + 3)) || fail "$((after - before - 1)) connections" # ours, and the one that asks
}

@test "tls: check tells until when the certificate is good" {
  make_certificate soon ca IP:127.0.0.1 20200101000000Z "$(date -u -d '+3 days +1 hour' +%Y%m%d%H%M%SZ)"
  start_tls_server A soon
  run --separate-stderr "$REDLOCK" check -S "$A_TLS_URI"
  [[ $output =~ ^"$A_TLS_URI".*warning\ +certificate\ +'the certificate expires in 3d ' ]] || fail "$output" "$stderr"
  run -69 --separate-stderr "$REDLOCK" check -S "$A_TLS_URI" --tls-ca "$TLS/other.crt"
  assert_contains "$output" 'not trusted here'
}

# ---- what it costs ---------------------------------------------------------------------------

@test "tls: OpenSSL is loaded only where a server speaks TLS" {
  start_tls_server A server
  local count='grep -c libssl "/proc/$PPID/maps" || true'
  run --separate-stderr "$REDLOCK" run -S "$A_URI" L -- sh -c "$count"
  [[ $output == 0 ]] || fail "$output"
  run --separate-stderr "$REDLOCK" run -S "$A_TLS_URI" L -- sh -c "$count"
  ((output > 0))
}

@test "tls: a keeper goes on with the connections of the one that has acquired" {
  start_tls_server A server
  local token before
  background sleep 60
  token=$("$REDLOCK" acquire -S "$A_TLS_URI" --ttl 2s --keep-for "$BACKGROUND_PID" L)
  connections() { cli A client list | sed -n 's/ addr=127.*//p' | sort; }
  before=$(connections)
  outlast A L
  [[ $(connections) == "$before" ]] || fail "it has made another connection: $before" "$(connections)"
  [[ $(cli A get L) == "$token" ]]
  kill -KILL "$BACKGROUND_PID"
  wait_until "$BOUND" has_no_keys A
}
