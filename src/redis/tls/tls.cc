// SPDX-License-Identifier: MIT
#include "redis/tls/tls.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <new>

#include "lock/time.h"
#include "os/resolver.h"
#include "redis/tls/client_hello.h"
#include "redis/tls/openssl.h"
#include "redis/tls/trouble.h"

namespace redlock::redis {
namespace {

constexpr int kBioChunk = 4096;

// OpenSSL notes a received fatal alert as this plus its number (SSL_AD_REASON_OFFSET).
constexpr int kFirstAlert = SSL_AD_REASON_OFFSET;
constexpr int kLastAlert = SSL_AD_REASON_OFFSET + 255;

/// The host in the form of certificates and SNI: without the final dot of a fully qualified name,
/// and without the zone of an address, which means something only on this host.
std::string name_to_verify(const TlsSettings& settings, const Endpoint& endpoint) {
  std::string name = settings.sni.empty() ? endpoint.host : settings.sni;
  name = name.substr(0, name.find('%'));
  if (name.ends_with('.')) name.pop_back();
  return name;
}

bool says_not_tls(int reason) {
  return reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST ||
         reason == SSL_R_PACKET_LENGTH_TOO_LONG;
}

}  // namespace

struct Tls::Impl {
  struct Free {
    const OpenSsl* library;
    void operator()(SSL* connection) const { library->SSL_free(connection); }
  };

  const OpenSsl& openssl;
  bool has_certificate;
  std::string wanted;  // the server's name, or address
  TlsNotes notes;
  std::unique_ptr<SSL, Free> ssl{nullptr, Free{nullptr}};
  BIO* incoming = nullptr;  // both belong to ssl
  BIO* outgoing = nullptr;
  bool established = false;
  bool answered = false;
  std::optional<lock::Unreachable> failure;

  Impl(const TlsContext& context, const Endpoint& endpoint)
      : openssl(context.openssl()),
        has_certificate(!context.settings().cert.empty()),
        wanted(name_to_verify(context.settings(), endpoint)) {
    // Twice: the length of the first packet, and so its padding, is known only once it exists.
    begin(context);
    openssl.SSL_do_handshake(ssl.get());
    openssl.ERR_clear_error();
    notes.padding = padding_for(openssl.BIO_ctrl_pending(outgoing));
    begin(context);
  }

  void begin(const TlsContext& context) {
    ssl = {openssl.SSL_new(context.get()), Free{&openssl}};
    if (!ssl) throw std::bad_alloc();
    connect_to_memory();
    openssl.SSL_set_connect_state(ssl.get());
    openssl.SSL_set_ex_data(ssl.get(), 0, &notes);
    expect_name();
  }

  void connect_to_memory() {
    incoming = openssl.BIO_new(openssl.BIO_s_mem());
    outgoing = openssl.BIO_new(openssl.BIO_s_mem());
    if (incoming == nullptr || outgoing == nullptr) throw std::bad_alloc();
    openssl.SSL_set_bio(ssl.get(), incoming, outgoing);
  }

  void expect_name() {
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

  /// To be called after a call that failed. It is no failure if the call only needs more to read.
  void look_at_failure(int result) {
    const int error = openssl.SSL_get_error(ssl.get(), result);
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_ZERO_RETURN) return;
    if (!failure) failure = explain();
    openssl.ERR_clear_error();
  }

  [[nodiscard]] lock::Unreachable explain() const {
    if (notes.no_memory) throw std::bad_alloc();
    if (notes.problem) return certificate_refused(*notes.problem, wanted);
    const unsigned long error = openssl.ERR_get_error();
    const int reason = ERR_GET_REASON(error);
    if (ERR_GET_LIB(error) == ERR_LIB_SSL) {
      if (reason > kFirstAlert && reason <= kLastAlert) {
        return alerted({reason - kFirstAlert, has_certificate, !answered});
      }
      if (!established && says_not_tls(reason)) return not_tls();
    }
    const char* const words = openssl.ERR_reason_error_string(error);
    lock::Unreachable trouble = tls_broken(words == nullptr ? "for no known reason" : words);
    trouble.maybe_applied = established;
    return trouble;
  }
};

Tls::Tls(const TlsContext& context, const Endpoint& endpoint)
    : impl_(std::make_unique<Impl>(context, endpoint)) {}
Tls::~Tls() = default;

Tls::Handshake Tls::handshake() {
  const int result = impl_->openssl.SSL_do_handshake(impl_->ssl.get());
  impl_->established = result == 1;
  if (impl_->established) return Handshake::done;
  impl_->look_at_failure(result);
  return impl_->failure ? Handshake::failed : Handshake::under_way;
}

void Tls::feed(std::string_view bytes) {
  // A memory BIO takes all bytes, unless memory is used up.
  const int size = static_cast<int>(bytes.size());
  if (impl_->openssl.BIO_write(impl_->incoming, bytes.data(), size) != size) throw std::bad_alloc();
}

void Tls::take(std::string& out) {
  std::array<char, kBioChunk> chunk;  // not cleared: it is written before it is read
  int n = 0;
  while ((n = impl_->openssl.BIO_read(impl_->outgoing, chunk.data(), kBioChunk)) > 0) {
    out.append(chunk.data(), static_cast<std::size_t>(n));
  }
}

std::size_t Tls::read(std::span<char> plain) {
  if (impl_->failure) return 0;
  const int n =
      impl_->openssl.SSL_read(impl_->ssl.get(), plain.data(), static_cast<int>(plain.size()));
  if (n > 0) {
    impl_->answered = true;
    return static_cast<std::size_t>(n);
  }
  impl_->look_at_failure(n);
  return 0;
}

bool Tls::write(std::string_view plain) {
  if (impl_->failure) return false;
  const int size = static_cast<int>(plain.size());
  const int n = impl_->openssl.SSL_write(impl_->ssl.get(), plain.data(), size);
  if (n == size) return true;
  impl_->look_at_failure(n);
  return false;
}

void Tls::close() {
  if (!impl_->established || impl_->failure) return;
  impl_->openssl.SSL_shutdown(impl_->ssl.get());
  impl_->openssl.ERR_clear_error();
}

bool Tls::closed() const {
  return (impl_->openssl.SSL_get_shutdown(impl_->ssl.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
}

std::optional<std::chrono::system_clock::time_point> Tls::certificate_expires() const {
  const OpenSsl& openssl = impl_->openssl;
  const auto free = [&openssl](X509* certificate) { openssl.X509_free(certificate); };
  const std::unique_ptr<X509, decltype(free)> certificate(
      openssl.SSL_get1_peer_certificate(impl_->ssl.get()), free);
  std::tm parts{};
  if (!certificate ||
      openssl.ASN1_TIME_to_tm(openssl.X509_get0_notAfter(certificate.get()), &parts) != 1) {
    return std::nullopt;
  }
  const std::chrono::seconds expires(std::max<std::time_t>(::timegm(&parts), 0));
  using std::chrono::system_clock;
  return system_clock::time_point(
      std::chrono::duration_cast<system_clock::duration>(lock::saturated(expires)));
}

const std::optional<lock::Unreachable>& Tls::failure() const {
  return impl_->failure;
}

}  // namespace redlock::redis
