// SPDX-License-Identifier: MIT
#include "redis/tls/context.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <openssl/pem.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <new>
#include <system_error>

#include "error.h"
#include "os/fd.h"
#include "redis/tls/openssl.h"
#include "redis/wire/trouble.h"

namespace redlock::redis {

// All releases of OpenSSL 3 share this ABI, and we are compiled with their headers.
static_assert(OPENSSL_VERSION_MAJOR == 3);

#if !REDLOCK_STATIC
void* load_openssl(const char* function) {
  constexpr const char* kName = "libssl.so.3";
  static void* const library = ::dlopen(kName, RTLD_NOW | RTLD_LOCAL);
  // dlsym(3) also searches the libraries that it depends on: most functions are libcrypto's.
  void* const address = library == nullptr ? nullptr : ::dlsym(library, function);
  if (address != nullptr) return address;
  const char* const why = ::dlerror();
  throw Error(ExitStatus::config,
              std::string("TLS needs OpenSSL 3 (on Debian the package libssl3): ") +
                  (why == nullptr ? kName : why));
}
#endif

namespace {

[[noreturn]] void fail(const std::string& what, const std::string& path, const std::string& why) {
  throw Error(ExitStatus::config, what + " \"" + untrusted(path) + "\": " + why);
}

/// OpenSSL does not always say why it could not read a file. `type`: O_DIRECTORY, or 0.
void check_readable(const std::string& what, const std::string& path, int type = 0) {
  char byte = 0;
  const os::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | type));
  if (!file || (type == 0 && ::read(file.get(), &byte, 1) < 0)) {
    fail(what, path, std::generic_category().message(errno));
  }
}

std::string common_name(const OpenSsl& openssl, const X509_NAME* name) {
  std::array<char, 256> text{};
  const int length = openssl.X509_NAME_get_text_by_NID(name, NID_commonName, text.data(),
                                                       static_cast<int>(text.size()));
  return length > 0 ? text.data() : "(no name)";
}

std::string date(const OpenSsl& openssl, const ASN1_TIME* time) {
  std::tm parts{};
  std::array<char, 64> text{};
  if (openssl.ASN1_TIME_to_tm(time, &parts) != 1) return "an unreadable date";
  const std::size_t length =
      std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
  return {text.data(), length};
}

/// All names for which the certificate is valid, as "DNS:db1, IP Address:10.0.0.1", or else the
/// common name.
std::string names_of(const OpenSsl& openssl, const X509* certificate) {
  const int at = openssl.X509_get_ext_by_NID(certificate, NID_subject_alt_name, -1);
  if (at < 0) return common_name(openssl, openssl.X509_get_subject_name(certificate));
  const std::unique_ptr<BIO, int (*)(BIO*)> printed(openssl.BIO_new(openssl.BIO_s_mem()),
                                                    openssl.BIO_free);
  if (!printed) throw std::bad_alloc();
  openssl.X509V3_EXT_print(printed.get(), openssl.X509_get_ext(certificate, at), 0, 0);
  std::array<char, 256> text{};
  const int length = openssl.BIO_read(printed.get(), text.data(), static_cast<int>(text.size()));
  return {text.data(), static_cast<std::size_t>(std::max(length, 0))};
}

std::string in_quotes(std::string_view text) {
  return '"' + untrusted(text) + '"';
}

/// Why a certificate of a server or an authority was not accepted. `wanted`: its name or address.
std::string explain(const OpenSsl& openssl, X509_STORE_CTX* store, std::string_view wanted) {
  const int error = openssl.X509_STORE_CTX_get_error(store);
  const std::string not_accepted =
      " was not accepted: " + untrusted(openssl.X509_verify_cert_error_string(error));
  const X509* const certificate = openssl.X509_STORE_CTX_get_current_cert(store);
  if (certificate == nullptr) return "its certificate" + not_accepted;
  const std::string subject =
      in_quotes(common_name(openssl, openssl.X509_get_subject_name(certificate)));
  const std::string issuer =
      in_quotes(common_name(openssl, openssl.X509_get_issuer_name(certificate)));
  const bool of_authority = openssl.X509_STORE_CTX_get_error_depth(store) > 0;
  const std::string whose =
      of_authority ? "the certificate of its authority " + subject : "its certificate";
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return whose + " expired on " + date(openssl, openssl.X509_get0_notAfter(certificate)) +
             "; renew it there";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return whose + " is not valid before " +
             date(openssl, openssl.X509_get0_notBefore(certificate)) +
             "; is the clock of this host right?";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return "its certificate is not for " + in_quotes(wanted) + ": it is for " +
             untrusted(names_of(openssl, certificate)) +
             "; use such a name in the URI, or --tls-sni, or have it issued for this one";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return whose + " is signed by " + issuer +
             ", which is not trusted here; give that authority's certificate to --tls-ca";
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      return "its certificate is self-signed and not trusted here; give it to --tls-ca";
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      return "its certificate comes from the authority " + subject +
             ", which is not trusted here; give that authority's certificate to --tls-ca";
    default:
      return whose + not_accepted;
  }
}

/// Verifies a server's chain and name as OpenSSL does, and notes the problem while the certificate
/// in question is at hand: afterwards OpenSSL keeps only a number. `argument`: the OpenSsl.
int verify_certificate(X509_STORE_CTX* store, void* argument) noexcept {
  const auto& openssl = *static_cast<const OpenSsl*>(argument);
  const int ok = openssl.X509_verify_cert(store);
  if (ok == 1 || openssl.X509_STORE_CTX_get_error(store) == X509_V_ERR_OUT_OF_MEM) return ok;
  const auto* const connection = static_cast<const SSL*>(
      openssl.X509_STORE_CTX_get_ex_data(store, openssl.SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto& check = *static_cast<CertificateCheck*>(openssl.SSL_get_ex_data(connection, 0));
  try {
    check.refused = explain(openssl, store, check.wanted);
  } catch (const std::bad_alloc&) {  // no exception may pass through OpenSSL
  }
  return ok;
}

std::array<std::string*, 4> paths_in(TlsSettings& settings) {
  return {&settings.ca, &settings.ca_dir, &settings.cert, &settings.key};
}

}  // namespace

TlsContext::TlsContext(TlsSettings settings)
    : settings_(std::move(settings)),
      openssl_(std::make_unique<const OpenSsl>()),
      context_(read()) {
  for (std::string* const path : paths_in(settings_)) {  // a keeper has another directory
    std::error_code unknown;
    const std::string whole = std::filesystem::absolute(*path, unknown);
    if (!path->empty() && !unknown) *path = whole;
  }
}

TlsContext::~TlsContext() = default;

bool TlsContext::read_again() const {
  TlsSettings settings = settings_;
  for (const std::string* const path : paths_in(settings)) {
    std::error_code missing;
    const auto type = std::filesystem::status(*path, missing).type();
    const bool directory = type == std::filesystem::file_type::directory;
    if (!path->empty() && !directory && type != std::filesystem::file_type::regular) return false;
  }
  try {
    context_ = read();
  } catch (const Error&) {
    return false;
  }
  return true;
}

TlsContext::Context TlsContext::read() const {
  const OpenSsl& ssl = *openssl_;
  Context context(ssl.SSL_CTX_new(ssl.TLS_client_method()), ssl.SSL_CTX_free);
  if (!context) throw std::bad_alloc();
  SSL_CTX* const made = context.get();
  ssl.SSL_CTX_ctrl(made, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, nullptr);
  ssl.SSL_CTX_set_options(made, SSL_OP_NO_RENEGOTIATION);
  if (settings_.verify == TlsSettings::Verify::server) {
    trust(made);
    ssl.SSL_CTX_set_verify(made, SSL_VERIFY_PEER, nullptr);
    ssl.SSL_CTX_set_cert_verify_callback(made, &verify_certificate, const_cast<OpenSsl*>(&ssl));
  }
  identify(made);
  return context;
}

void TlsContext::trust(SSL_CTX* context) const {
  const OpenSsl& ssl = *openssl_;
  if (settings_.ca.empty() && settings_.ca_dir.empty()) {
    if (ssl.SSL_CTX_set_default_verify_paths(context) != 1) throw std::bad_alloc();
  }
  if (!settings_.ca.empty()) {
    check_readable(settings_.names.ca, settings_.ca);
    if (ssl.SSL_CTX_load_verify_file(context, settings_.ca.c_str()) != 1) {
      refuse(settings_.names.ca, settings_.ca, "holds no certificate in PEM form");
    }
    // A certificate that the user names is trusted, even one of an authority that is not a root.
    ssl.X509_VERIFY_PARAM_set_flags(ssl.SSL_CTX_get0_param(context), X509_V_FLAG_PARTIAL_CHAIN);
  }
  if (!settings_.ca_dir.empty()) {
    check_readable(settings_.names.ca_dir, settings_.ca_dir, O_DIRECTORY);
    if (ssl.SSL_CTX_load_verify_dir(context, settings_.ca_dir.c_str()) != 1) throw std::bad_alloc();
  }
}

void TlsContext::identify(SSL_CTX* context) const {
  if (settings_.cert.empty() && settings_.key.empty()) return;
  const OpenSsl& ssl = *openssl_;
  const auto& [ca_name, ca_dir_name, cert_name, key_name] = settings_.names;
  if (settings_.cert.empty()) {
    fail(key_name, settings_.key, "there is no certificate to go with it; give --tls-cert");
  }
  check_readable(cert_name, settings_.cert);
  // OpenSSL's own callback asks on the terminal.
  ssl.SSL_CTX_set_default_passwd_cb(context, [](char*, int, int, void*) { return -1; });
  if (ssl.SSL_CTX_use_certificate_chain_file(context, settings_.cert.c_str()) != 1) {
    refuse(cert_name, settings_.cert, "holds no certificate in PEM form");
  }
  const std::string& key = settings_.key.empty() ? settings_.cert : settings_.key;
  check_readable(key_name, key);
  if (ssl.SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      ssl.SSL_CTX_check_private_key(context) != 1) {
    refuse(key_name, key, "holds no private key in PEM form");
  }
}

/// Throws for the first error that OpenSSL has noted, or with `otherwise` if that is of no help.
void TlsContext::refuse(const std::string& what, const std::string& path,
                        const std::string& otherwise) const {
  std::string why = otherwise;
  while (const unsigned long error = openssl_->ERR_get_error()) {
    const int library = ERR_GET_LIB(error);
    const int reason = ERR_GET_REASON(error);
    // The first two reasons mean a key of the same type, the third one a key of another type.
    if ((library == ERR_LIB_X509 &&
         (reason == X509_R_KEY_VALUES_MISMATCH || reason == X509_R_KEY_TYPE_MISMATCH)) ||
        (library == ERR_LIB_SSL && reason == SSL_R_NO_CERTIFICATE_ASSIGNED)) {
      why = "does not belong to the certificate \"" + untrusted(settings_.cert) + "\"";
    } else if (library == ERR_LIB_PEM &&
               (reason == PEM_R_BAD_PASSWORD_READ || reason == PEM_R_PROBLEMS_GETTING_PASSWORD)) {
      why = "is protected by a passphrase, which redlock never asks for; store it without one";
    } else if (library == ERR_LIB_SSL && reason >= 100 && reason < 1000) {
      // These reasons are libssl's own; others only name another library with a reason.
      const char* const words = openssl_->ERR_reason_error_string(error);
      if (words != nullptr && why == otherwise) why = otherwise + " that can be used: " + words;
    }
  }
  fail(what, path, why);
}

}  // namespace redlock::redis
