// SPDX-License-Identifier: MIT
//
// OpenSSL's functions, loaded when the first server with TLS is set up. If OpenSSL were linked in
// the ordinary way (or statically, because of its relocations), it would slow down every start of
// redlock, with TLS or without; loaded like this, it costs nothing unless it is used. Only the
// portable build (REDLOCK_STATIC) has it inside. Here are only the functions that redlock calls,
// each under its own name and with the type from its header.
#pragma once

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace redlock::redis {

/// libssl.so.3 together with the libcrypto that it needs; never unloaded.
class OpenSslLibrary {
 public:
  /// A function of any type: the caller's.
  struct Found {
    void* address;

    template <typename Function>
    operator Function*() const {
      return reinterpret_cast<Function*>(address);
    }
  };

  /// Throws Error (78) if the library is not installed.
  OpenSslLibrary() : handle_(open()) {}
  /// Throws Error (78) if it has no such function.
  [[nodiscard]] Found find(const char* function) const;

 private:
  static void* open();

  void* handle_;  ///< null where OpenSSL is linked in (REDLOCK_STATIC)
};

struct OpenSsl {
  OpenSslLibrary lib;

  // For all connections.
  decltype(&::TLS_client_method) TLS_client_method = lib.find("TLS_client_method");
  decltype(&::SSL_CTX_new) SSL_CTX_new = lib.find("SSL_CTX_new");
  decltype(&::SSL_CTX_free) SSL_CTX_free = lib.find("SSL_CTX_free");
  decltype(&::SSL_CTX_ctrl) SSL_CTX_ctrl = lib.find("SSL_CTX_ctrl");
  decltype(&::SSL_CTX_set_options) SSL_CTX_set_options = lib.find("SSL_CTX_set_options");
  decltype(&::SSL_CTX_set_verify) SSL_CTX_set_verify = lib.find("SSL_CTX_set_verify");
  decltype(&::SSL_CTX_set_cert_verify_callback) SSL_CTX_set_cert_verify_callback =
      lib.find("SSL_CTX_set_cert_verify_callback");
  decltype(&::SSL_CTX_set_default_verify_paths) SSL_CTX_set_default_verify_paths =
      lib.find("SSL_CTX_set_default_verify_paths");
  decltype(&::SSL_CTX_load_verify_file) SSL_CTX_load_verify_file =
      lib.find("SSL_CTX_load_verify_file");
  decltype(&::SSL_CTX_load_verify_dir) SSL_CTX_load_verify_dir =
      lib.find("SSL_CTX_load_verify_dir");
  decltype(&::SSL_CTX_get0_param) SSL_CTX_get0_param = lib.find("SSL_CTX_get0_param");
  decltype(&::SSL_CTX_set_default_passwd_cb) SSL_CTX_set_default_passwd_cb =
      lib.find("SSL_CTX_set_default_passwd_cb");
  decltype(&::SSL_CTX_use_certificate_chain_file) SSL_CTX_use_certificate_chain_file =
      lib.find("SSL_CTX_use_certificate_chain_file");
  decltype(&::SSL_CTX_use_PrivateKey_file) SSL_CTX_use_PrivateKey_file =
      lib.find("SSL_CTX_use_PrivateKey_file");
  decltype(&::SSL_CTX_check_private_key) SSL_CTX_check_private_key =
      lib.find("SSL_CTX_check_private_key");

  // For one connection.
  decltype(&::SSL_new) SSL_new = lib.find("SSL_new");
  decltype(&::SSL_free) SSL_free = lib.find("SSL_free");
  decltype(&::SSL_ctrl) SSL_ctrl = lib.find("SSL_ctrl");
  decltype(&::SSL_get0_param) SSL_get0_param = lib.find("SSL_get0_param");
  decltype(&::SSL_set_bio) SSL_set_bio = lib.find("SSL_set_bio");
  decltype(&::SSL_set_connect_state) SSL_set_connect_state = lib.find("SSL_set_connect_state");
  decltype(&::SSL_get_shutdown) SSL_get_shutdown = lib.find("SSL_get_shutdown");
  decltype(&::SSL_set_ex_data) SSL_set_ex_data = lib.find("SSL_set_ex_data");
  decltype(&::SSL_get_ex_data) SSL_get_ex_data = lib.find("SSL_get_ex_data");
  decltype(&::SSL_get_ex_data_X509_STORE_CTX_idx) SSL_get_ex_data_X509_STORE_CTX_idx =
      lib.find("SSL_get_ex_data_X509_STORE_CTX_idx");
  decltype(&::SSL_do_handshake) SSL_do_handshake = lib.find("SSL_do_handshake");
  decltype(&::SSL_read) SSL_read = lib.find("SSL_read");
  decltype(&::SSL_write) SSL_write = lib.find("SSL_write");
  decltype(&::SSL_shutdown) SSL_shutdown = lib.find("SSL_shutdown");
  decltype(&::SSL_get1_peer_certificate) SSL_get1_peer_certificate =
      lib.find("SSL_get1_peer_certificate");
  decltype(&::SSL_get_error) SSL_get_error = lib.find("SSL_get_error");
  decltype(&::BIO_new) BIO_new = lib.find("BIO_new");
  decltype(&::BIO_s_mem) BIO_s_mem = lib.find("BIO_s_mem");
  decltype(&::BIO_read) BIO_read = lib.find("BIO_read");
  decltype(&::BIO_write) BIO_write = lib.find("BIO_write");

  // For errors and certificates.
  decltype(&::ERR_get_error) ERR_get_error = lib.find("ERR_get_error");
  decltype(&::ERR_clear_error) ERR_clear_error = lib.find("ERR_clear_error");
  decltype(&::ERR_reason_error_string) ERR_reason_error_string =
      lib.find("ERR_reason_error_string");
  decltype(&::X509_verify_cert) X509_verify_cert = lib.find("X509_verify_cert");
  decltype(&::X509_VERIFY_PARAM_set_flags) X509_VERIFY_PARAM_set_flags =
      lib.find("X509_VERIFY_PARAM_set_flags");
  decltype(&::X509_VERIFY_PARAM_set_hostflags) X509_VERIFY_PARAM_set_hostflags =
      lib.find("X509_VERIFY_PARAM_set_hostflags");
  decltype(&::X509_VERIFY_PARAM_set1_host) X509_VERIFY_PARAM_set1_host =
      lib.find("X509_VERIFY_PARAM_set1_host");
  decltype(&::X509_VERIFY_PARAM_set1_ip_asc) X509_VERIFY_PARAM_set1_ip_asc =
      lib.find("X509_VERIFY_PARAM_set1_ip_asc");
  decltype(&::X509_STORE_CTX_get_ex_data) X509_STORE_CTX_get_ex_data =
      lib.find("X509_STORE_CTX_get_ex_data");
  decltype(&::X509_STORE_CTX_get_error) X509_STORE_CTX_get_error =
      lib.find("X509_STORE_CTX_get_error");
  decltype(&::X509_STORE_CTX_get_error_depth) X509_STORE_CTX_get_error_depth =
      lib.find("X509_STORE_CTX_get_error_depth");
  decltype(&::X509_STORE_CTX_get_current_cert) X509_STORE_CTX_get_current_cert =
      lib.find("X509_STORE_CTX_get_current_cert");
  decltype(&::X509_verify_cert_error_string) X509_verify_cert_error_string =
      lib.find("X509_verify_cert_error_string");
  decltype(&::X509_free) X509_free = lib.find("X509_free");
  decltype(&::X509_get0_notBefore) X509_get0_notBefore = lib.find("X509_get0_notBefore");
  decltype(&::X509_get0_notAfter) X509_get0_notAfter = lib.find("X509_get0_notAfter");
  decltype(&::ASN1_TIME_to_tm) ASN1_TIME_to_tm = lib.find("ASN1_TIME_to_tm");
  decltype(&::X509_get_issuer_name) X509_get_issuer_name = lib.find("X509_get_issuer_name");
  decltype(&::X509_get_subject_name) X509_get_subject_name = lib.find("X509_get_subject_name");
  decltype(&::X509_NAME_get_text_by_NID) X509_NAME_get_text_by_NID =
      lib.find("X509_NAME_get_text_by_NID");
  decltype(&::X509_get_ext_d2i) X509_get_ext_d2i = lib.find("X509_get_ext_d2i");
  decltype(&::GENERAL_NAMES_free) GENERAL_NAMES_free = lib.find("GENERAL_NAMES_free");
  decltype(&::GENERAL_NAME_get0_value) GENERAL_NAME_get0_value =
      lib.find("GENERAL_NAME_get0_value");
  decltype(&::OPENSSL_sk_num) OPENSSL_sk_num = lib.find("OPENSSL_sk_num");
  decltype(&::OPENSSL_sk_value) OPENSSL_sk_value = lib.find("OPENSSL_sk_value");
  decltype(&::ASN1_STRING_get0_data) ASN1_STRING_get0_data = lib.find("ASN1_STRING_get0_data");
  decltype(&::ASN1_STRING_length) ASN1_STRING_length = lib.find("ASN1_STRING_length");
};

/// OpenSSL hands its callbacks a pointer to non-const data; ours change nothing.
inline void* as_argument(const OpenSsl& openssl) {
  return const_cast<OpenSsl*>(&openssl);
}

}  // namespace redlock::redis
