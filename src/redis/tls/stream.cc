// SPDX-License-Identifier: MIT
#include "redis/tls/stream.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <iterator>
#include <new>
#include <utility>

#include "lock/time.h"
#include "os/resolver.h"
#include "redis/tls/openssl.h"
#include "redis/wire/trouble.h"

namespace redlock::redis {
namespace {

constexpr std::size_t kChunk = 16 * 1024;

/// The host in the form of certificates and SNI: without the final dot of a fully qualified name,
/// and without the zone of an address, which means something only on this host.
std::string name_to_verify(const TlsSettings& settings, const Endpoint& endpoint) {
  std::string name = settings.sni.empty() ? endpoint.address.host : settings.sni;
  name = name.substr(0, name.find('%'));
  if (name.ends_with('.')) name.pop_back();
  return name;
}

/// The alerts by which a server refuses our certificate.
struct Refusal {
  int number;
  std::string_view name;
};
constexpr Refusal kRefusals[] = {
    {SSL_AD_BAD_CERTIFICATE, "bad certificate"},
    {SSL_AD_UNSUPPORTED_CERTIFICATE, "unsupported certificate"},
    {SSL_AD_CERTIFICATE_REVOKED, "certificate revoked"},
    {SSL_AD_CERTIFICATE_EXPIRED, "certificate expired"},
    {SSL_AD_CERTIFICATE_UNKNOWN, "certificate not accepted"},
    {SSL_AD_UNKNOWN_CA, "unknown authority"},
    {SSL_AD_ACCESS_DENIED, "access denied"},
};

}  // namespace

lock::Unreachable alerted(const Alert& alert) {
  const auto* const refusal = std::ranges::find(kRefusals, alert.number, &Refusal::number);
  const bool refused = refusal != std::end(kRefusals);
  lock::Unreachable trouble{!alert.before_data, alert.before_data, {}};
  if (refused && alert.ours) {
    trouble.why =
        "refuses our certificate (--tls-cert): " + std::string(refusal->name) + "; see its log";
  } else if (refused || (alert.number == SSL_AD_HANDSHAKE_FAILURE && !alert.ours)) {
    trouble.why =
        "broke off the TLS handshake; does it want a client certificate (--tls-cert)? See its log";
  } else if (alert.number == SSL_AD_CERTIFICATE_REQUIRED) {
    trouble.why = "wants a client certificate; give --tls-cert and --tls-key";
  } else if (alert.number == SSL_AD_PROTOCOL_VERSION) {
    trouble.why = "supports no TLS from 1.2 on, and redlock nothing older";
  } else if (alert.number == SSL_AD_UNRECOGNIZED_NAME) {
    trouble.why = "does not answer to this name; see the URI and --tls-sni";
  } else {
    trouble.permanent = false;
    trouble.why = "broke off TLS with alert " + std::to_string(alert.number) + "; see its log";
  }
  return trouble;
}

/// The client side of one TLS connection. It has no socket: bytes from the server are fed in, and
/// bytes for the server are taken out. So it never blocks, and never raises SIGPIPE.
struct Stream::Tls {
  const OpenSsl& openssl;
  bool has_certificate;
  CertificateCheck certificate;  // of the server
  std::unique_ptr<SSL, void (*)(SSL*)> ssl;
  BIO* incoming;  // both belong to ssl
  BIO* outgoing;
  bool established = false;
  bool answered = false;
  std::optional<lock::Unreachable> failure;

  Tls(const TlsContext& context, const Endpoint& endpoint)
      : openssl(context.openssl()),
        has_certificate(!context.settings().cert.empty()),
        certificate{.wanted = name_to_verify(context.settings(), endpoint)},
        ssl(openssl.SSL_new(context.get()), openssl.SSL_free),
        incoming(openssl.BIO_new(openssl.BIO_s_mem())),
        outgoing(openssl.BIO_new(openssl.BIO_s_mem())) {
    if (!ssl || incoming == nullptr || outgoing == nullptr) throw std::bad_alloc();
    openssl.SSL_set_bio(ssl.get(), incoming, outgoing);
    openssl.SSL_set_connect_state(ssl.get());
    openssl.SSL_set_ex_data(ssl.get(), 0, &certificate);
    expect_name();
  }

  void expect_name() {
    std::string& wanted = certificate.wanted;
    X509_VERIFY_PARAM* const rules = openssl.SSL_get0_param(ssl.get());
    openssl.X509_VERIFY_PARAM_set_hostflags(rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    int set = 0;
    if (os::numeric_address(wanted, 1)) {
      set = openssl.X509_VERIFY_PARAM_set1_ip_asc(rules, wanted.c_str());
    } else {
      set = openssl.X509_VERIFY_PARAM_set1_host(rules, wanted.data(), wanted.size());
      // RFC 6066 allows only names.
      openssl.SSL_ctrl(ssl.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                       wanted.data());
    }
    if (set != 1) throw std::bad_alloc();  // it would verify no name at all
  }

  /// Takes the result of each call. If the call only needs more to read, that is no failure.
  void look_at(int result) {
    const int error = openssl.SSL_get_error(ssl.get(), result);
    if (error == SSL_ERROR_NONE || error == SSL_ERROR_WANT_READ || error == SSL_ERROR_ZERO_RETURN) {
      return;
    }
    if (!failure) failure = explain();
    openssl.ERR_clear_error();
  }

  [[nodiscard]] lock::Unreachable explain() const {
    if (!certificate.refused.empty()) return {false, true, certificate.refused};
    const unsigned long error = openssl.ERR_get_error();
    const int reason = ERR_GET_REASON(error);
    if (ERR_GET_LIB(error) == ERR_LIB_SSL) {
      const int alert = reason - SSL_AD_REASON_OFFSET;
      if (alert > 0 && alert <= 255) return alerted({alert, has_certificate, !answered});
      const bool plain_text = reason == SSL_R_WRONG_VERSION_NUMBER ||
                              reason == SSL_R_HTTP_REQUEST ||
                              reason == SSL_R_PACKET_LENGTH_TOO_LONG;
      if (!established && plain_text) {
        return {false, true,
                "does not speak TLS on this port; give its TLS port, or write redis:// for plain "
                "text"};
      }
    }
    const char* const words = openssl.ERR_reason_error_string(error);
    return {established, false,
            "TLS failed: " + untrusted(words == nullptr ? "for no known reason" : words)};
  }
};

Stream::Stream(os::Fd socket, const TlsContext* tls, const Endpoint& endpoint)
    : socket_(std::move(socket)), local_(endpoint.kind == Endpoint::Kind::unix_socket) {
  if (tls != nullptr) tls_ = std::make_unique<Tls>(*tls, endpoint);
}

Stream::~Stream() {
  if (!tls_ || !tls_->established || tls_->failure || has_rest()) return;
  tls_->openssl.SSL_shutdown(tls_->ssl.get());
  tls_->openssl.ERR_clear_error();
  send_rest();  // if this fails, the server still sees that the connection ends
}

/// recv(2) into TLS. 0 at the end, -1 with errno.
ssize_t Stream::receive() {
  std::array<char, kChunk> chunk;  // not cleared: it is written before it is read
  const ssize_t n = ::recv(socket_.get(), chunk.data(), chunk.size(), 0);
  // A memory BIO takes all bytes, unless memory is used up.
  const int size = static_cast<int>(n);
  if (n > 0 && tls_->openssl.BIO_write(tls_->incoming, chunk.data(), size) != size) {
    throw std::bad_alloc();
  }
  return n;
}

Stream::Handshake Stream::handshake() {
  if (!tls_) return Handshake::done;
  while (true) {
    const int result = tls_->openssl.SSL_do_handshake(tls_->ssl.get());
    tls_->established = result == 1;
    tls_->look_at(result);
    send_rest();
    if (tls_->established) return Handshake::done;
    if (tls_->failure) return Handshake::failed;
    const ssize_t n = receive();
    if (n > 0) continue;
    if (n < 0 && errno == EAGAIN) return Handshake::under_way;
    tls_->failure = {false, false,
                     "closed the connection during the TLS handshake; does it speak TLS on this "
                     "port? See its log"};
    return Handshake::failed;
  }
}

ssize_t Stream::write(std::string_view bytes) {
  if (!tls_) return ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  send_rest();
  if (has_rest()) {
    errno = EAGAIN;
    return -1;
  }
  const int size = static_cast<int>(std::min(bytes.size(), kChunk));
  const int n = tls_->openssl.SSL_write(tls_->ssl.get(), bytes.data(), size);
  tls_->look_at(n);
  if (n != size) {
    errno = EPROTO;
    return -1;
  }
  send_rest();
  return n;
}

ssize_t Stream::read(std::span<char> bytes) {
  if (!tls_) return ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
  while (true) {
    const int size = static_cast<int>(bytes.size());
    const int got = tls_->openssl.SSL_read(tls_->ssl.get(), bytes.data(), size);
    tls_->look_at(got);
    send_rest();  // TLS sends messages of its own now and then
    if (got > 0) {
      tls_->answered = true;
      return got;
    }
    if (tls_->failure) {
      errno = EPROTO;
      return -1;
    }
    if ((tls_->openssl.SSL_get_shutdown(tls_->ssl.get()) & SSL_RECEIVED_SHUTDOWN) != 0) return 0;
    const ssize_t n = receive();
    if (n <= 0) return n;
  }
}

void Stream::abandon() {
  tls_.reset();
}

std::optional<lock::Unreachable> Stream::failure() const {
  return tls_ ? tls_->failure : std::nullopt;
}

int Stream::unread() const {
  int bytes = 0;
  return local_ && ::ioctl(socket_.get(), SIOCOUTQ, &bytes) == 0 ? bytes : 0;
}

bool Stream::has_rest() const {
  return tls_ && tls_->openssl.BIO_ctrl(tls_->outgoing, BIO_CTRL_PENDING, 0, nullptr) > 0;
}

// A broken connection keeps the bytes that it cannot send; reading finds out why it broke.
void Stream::send_rest() {
  if (!has_rest()) return;
  char* rest = nullptr;
  const long size = tls_->openssl.BIO_ctrl(tls_->outgoing, BIO_CTRL_INFO, 0, &rest);
  ssize_t sent = ::send(socket_.get(), rest, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  std::array<char, kChunk> taken;  // the bytes that the BIO need not keep any more
  while (sent > 0) {
    const auto part = std::min<ssize_t>(sent, kChunk);
    sent -= tls_->openssl.BIO_read(tls_->outgoing, taken.data(), static_cast<int>(part));
  }
}

std::optional<std::chrono::system_clock::time_point> Stream::certificate_expires() const {
  if (!tls_) return std::nullopt;
  const OpenSsl& openssl = tls_->openssl;
  const X509* const certificate = openssl.SSL_get0_peer_certificate(tls_->ssl.get());
  std::tm parts{};
  if (certificate == nullptr ||
      openssl.ASN1_TIME_to_tm(openssl.X509_get0_notAfter(certificate), &parts) != 1) {
    return std::nullopt;
  }
  const std::chrono::seconds expires(std::max<std::time_t>(::timegm(&parts), 0));
  using std::chrono::system_clock;
  return system_clock::time_point(
      std::chrono::duration_cast<system_clock::duration>(lock::saturated(expires)));
}

}  // namespace redlock::redis
