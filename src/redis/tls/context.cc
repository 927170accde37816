// SPDX-License-Identifier: MIT
#include "redis/tls/context.h"

#include <dirent.h>
#include <openssl/pem.h>

#include <cerrno>
#include <cstdio>
#include <new>
#include <system_error>
#include <utility>

#include "error.h"
#include "redis/tls/certificate.h"
#include "redis/tls/client_hello.h"
#include "redis/tls/openssl.h"
#include "redis/wire/untrusted.h"

namespace redlock::redis {
namespace {

// These reasons are libssl's own; others only name another library with a reason.
constexpr int kFirstSslReason = 100;
constexpr int kLastSslReason = 1000;

[[noreturn]] void fail(const std::string& what, const std::string& path, const std::string& why) {
  throw Error(ExitStatus::config, what + " \"" + untrusted(path) + "\": " + why);
}

/// OpenSSL does not always say why it could not read a file.
void check_readable(const std::string& what, const std::string& path) {
  struct Close {
    void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
  };
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "re"));
  if (!file || (std::fgetc(file.get()) == EOF && std::ferror(file.get()) != 0)) {
    fail(what, path, std::generic_category().message(errno));
  }
}

void check_directory(const std::string& what, const std::string& path) {
  struct Close {
    void operator()(DIR* directory) const { static_cast<void>(closedir(directory)); }
  };
  const std::unique_ptr<DIR, Close> directory(opendir(path.c_str()));
  if (!directory) fail(what, path, std::generic_category().message(errno));
}

/// Replaces OpenSSL's own callback, which asks on the terminal.
int no_passphrase(char* /*buffer*/, int /*size*/, int /*rwflag*/, void* /*argument*/) {
  return -1;
}

}  // namespace

void TlsContext::Free::operator()(ssl_ctx_st* context) const {
  openssl->SSL_CTX_free(context);
}

TlsContext::TlsContext(TlsSettings settings)
    : settings_(std::move(settings)),
      openssl_(std::make_unique<const OpenSsl>()),
      context_(openssl_->SSL_CTX_new(openssl_->TLS_client_method()), Free{openssl_.get()}) {
  if (!context_) throw std::bad_alloc();
  const OpenSsl& ssl = *openssl_;
  ssl.SSL_CTX_ctrl(get(), SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, nullptr);
  ssl.SSL_CTX_set_options(get(), SSL_OP_NO_RENEGOTIATION);
  add_padding(ssl, get());
  if (settings_.verify == TlsSettings::Verify::server) {
    trust();
    ssl.SSL_CTX_set_verify(get(), SSL_VERIFY_PEER, nullptr);
    ssl.SSL_CTX_set_cert_verify_callback(get(), &verify_certificate, as_argument(ssl));
  }
  identify();
}

TlsContext::~TlsContext() = default;

void TlsContext::trust() {
  const OpenSsl& ssl = *openssl_;
  if (settings_.ca.empty() && settings_.ca_dir.empty()) {
    if (ssl.SSL_CTX_set_default_verify_paths(get()) != 1) throw std::bad_alloc();
  }
  if (!settings_.ca.empty()) {
    const std::string what = "TLS authority file (--tls-ca)";
    check_readable(what, settings_.ca);
    if (ssl.SSL_CTX_load_verify_file(get(), settings_.ca.c_str()) != 1) {
      refuse(what, settings_.ca, "holds no certificate in PEM form");
    }
    // A certificate that the user names is trusted, even one of an authority that is not a root.
    ssl.X509_VERIFY_PARAM_set_flags(ssl.SSL_CTX_get0_param(get()), X509_V_FLAG_PARTIAL_CHAIN);
  }
  if (!settings_.ca_dir.empty()) {
    check_directory("TLS authority directory (--tls-ca-dir)", settings_.ca_dir);
    if (ssl.SSL_CTX_load_verify_dir(get(), settings_.ca_dir.c_str()) != 1) throw std::bad_alloc();
  }
}

void TlsContext::identify() {
  if (settings_.cert.empty() && settings_.key.empty()) return;
  const OpenSsl& ssl = *openssl_;
  const std::string key_name = "TLS key (--tls-key)";
  const std::string cert_name = "TLS certificate (--tls-cert)";
  if (settings_.cert.empty()) {
    fail(key_name, settings_.key, "there is no certificate to go with it; give --tls-cert");
  }
  check_readable(cert_name, settings_.cert);
  ssl.SSL_CTX_set_default_passwd_cb(get(), &no_passphrase);
  if (ssl.SSL_CTX_use_certificate_chain_file(get(), settings_.cert.c_str()) != 1) {
    refuse(cert_name, settings_.cert, "holds no certificate in PEM form");
  }
  const std::string& key = settings_.key.empty() ? settings_.cert : settings_.key;
  check_readable(key_name, key);
  if (ssl.SSL_CTX_use_PrivateKey_file(get(), key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      ssl.SSL_CTX_check_private_key(get()) != 1) {
    refuse(key_name, key, "holds no private key in PEM form");
  }
}

/// Throws for the first error that OpenSSL has noted, or with `otherwise` if that error is of no
/// help.
void TlsContext::refuse(const std::string& what, const std::string& path,
                        const std::string& otherwise) {
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
    } else if (library == ERR_LIB_SSL && reason >= kFirstSslReason && reason < kLastSslReason) {
      const char* const words = openssl_->ERR_reason_error_string(error);
      if (words != nullptr && why == otherwise) why = otherwise + " that can be used: " + words;
    }
  }
  fail(what, path, why);
}

}  // namespace redlock::redis
