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
  /// Throws Error (78) if the library is not installed.
  OpenSslLibrary();
  /// Throws Error (78) if it has no such function.
  [[nodiscard]] void* find(const char* function) const;

 private:
  static void* open();

  void* handle_;  ///< null where OpenSSL is linked in (REDLOCK_STATIC)
};

template <typename Signature>
class OpenSslFunction;

template <typename Result, typename... Arguments>
class OpenSslFunction<Result(Arguments...)> {
 public:
  OpenSslFunction(const OpenSslLibrary& library, const char* name)
      : function_(reinterpret_cast<Result (*)(Arguments...)>(library.find(name))) {}

  Result operator()(Arguments... arguments) const { return function_(arguments...); }

 private:
  Result (*function_)(Arguments...);
};

struct OpenSsl {
  template <typename Signature>
  using Function = OpenSslFunction<Signature>;

  OpenSslLibrary lib;

  // For all connections.
  Function<decltype(::TLS_client_method)> TLS_client_method{lib, "TLS_client_method"};
  Function<decltype(::SSL_CTX_new)> SSL_CTX_new{lib, "SSL_CTX_new"};
  Function<decltype(::SSL_CTX_free)> SSL_CTX_free{lib, "SSL_CTX_free"};
  Function<decltype(::SSL_CTX_ctrl)> SSL_CTX_ctrl{lib, "SSL_CTX_ctrl"};
  Function<decltype(::SSL_CTX_set_options)> SSL_CTX_set_options{lib, "SSL_CTX_set_options"};
  Function<decltype(::SSL_CTX_set_verify)> SSL_CTX_set_verify{lib, "SSL_CTX_set_verify"};
  Function<decltype(::SSL_CTX_set_cert_verify_callback)> SSL_CTX_set_cert_verify_callback{
      lib, "SSL_CTX_set_cert_verify_callback"};
  Function<decltype(::SSL_CTX_set_default_verify_paths)> SSL_CTX_set_default_verify_paths{
      lib, "SSL_CTX_set_default_verify_paths"};
  Function<decltype(::SSL_CTX_load_verify_file)> SSL_CTX_load_verify_file{
      lib, "SSL_CTX_load_verify_file"};
  Function<decltype(::SSL_CTX_load_verify_dir)> SSL_CTX_load_verify_dir{lib,
                                                                        "SSL_CTX_load_verify_dir"};
  Function<decltype(::SSL_CTX_get0_param)> SSL_CTX_get0_param{lib, "SSL_CTX_get0_param"};
  Function<decltype(::SSL_CTX_set_default_passwd_cb)> SSL_CTX_set_default_passwd_cb{
      lib, "SSL_CTX_set_default_passwd_cb"};
  Function<decltype(::SSL_CTX_use_certificate_chain_file)> SSL_CTX_use_certificate_chain_file{
      lib, "SSL_CTX_use_certificate_chain_file"};
  Function<decltype(::SSL_CTX_use_PrivateKey_file)> SSL_CTX_use_PrivateKey_file{
      lib, "SSL_CTX_use_PrivateKey_file"};
  Function<decltype(::SSL_CTX_check_private_key)> SSL_CTX_check_private_key{
      lib, "SSL_CTX_check_private_key"};
  Function<decltype(::SSL_CTX_add_client_custom_ext)> SSL_CTX_add_client_custom_ext{
      lib, "SSL_CTX_add_client_custom_ext"};

  // For one connection.
  Function<decltype(::SSL_new)> SSL_new{lib, "SSL_new"};
  Function<decltype(::SSL_free)> SSL_free{lib, "SSL_free"};
  Function<decltype(::SSL_ctrl)> SSL_ctrl{lib, "SSL_ctrl"};
  Function<decltype(::SSL_get0_param)> SSL_get0_param{lib, "SSL_get0_param"};
  Function<decltype(::SSL_set_bio)> SSL_set_bio{lib, "SSL_set_bio"};
  Function<decltype(::SSL_set_connect_state)> SSL_set_connect_state{lib, "SSL_set_connect_state"};
  Function<decltype(::SSL_get_shutdown)> SSL_get_shutdown{lib, "SSL_get_shutdown"};
  Function<decltype(::SSL_set_ex_data)> SSL_set_ex_data{lib, "SSL_set_ex_data"};
  Function<decltype(::SSL_get_ex_data)> SSL_get_ex_data{lib, "SSL_get_ex_data"};
  Function<decltype(::SSL_get_ex_data_X509_STORE_CTX_idx)> SSL_get_ex_data_X509_STORE_CTX_idx{
      lib, "SSL_get_ex_data_X509_STORE_CTX_idx"};
  Function<decltype(::SSL_do_handshake)> SSL_do_handshake{lib, "SSL_do_handshake"};
  Function<decltype(::SSL_read)> SSL_read{lib, "SSL_read"};
  Function<decltype(::SSL_write)> SSL_write{lib, "SSL_write"};
  Function<decltype(::SSL_shutdown)> SSL_shutdown{lib, "SSL_shutdown"};
  Function<decltype(::SSL_get1_peer_certificate)> SSL_get1_peer_certificate{
      lib, "SSL_get1_peer_certificate"};
  Function<decltype(::SSL_get_error)> SSL_get_error{lib, "SSL_get_error"};
  Function<decltype(::BIO_new)> BIO_new{lib, "BIO_new"};
  Function<decltype(::BIO_s_mem)> BIO_s_mem{lib, "BIO_s_mem"};
  Function<decltype(::BIO_read)> BIO_read{lib, "BIO_read"};
  Function<decltype(::BIO_ctrl_pending)> BIO_ctrl_pending{lib, "BIO_ctrl_pending"};
  Function<decltype(::BIO_write)> BIO_write{lib, "BIO_write"};

  // For errors and certificates.
  Function<decltype(::ERR_get_error)> ERR_get_error{lib, "ERR_get_error"};
  Function<decltype(::ERR_clear_error)> ERR_clear_error{lib, "ERR_clear_error"};
  Function<decltype(::ERR_reason_error_string)> ERR_reason_error_string{lib,
                                                                        "ERR_reason_error_string"};
  Function<decltype(::X509_verify_cert)> X509_verify_cert{lib, "X509_verify_cert"};
  Function<decltype(::X509_VERIFY_PARAM_set_flags)> X509_VERIFY_PARAM_set_flags{
      lib, "X509_VERIFY_PARAM_set_flags"};
  Function<decltype(::X509_VERIFY_PARAM_set_hostflags)> X509_VERIFY_PARAM_set_hostflags{
      lib, "X509_VERIFY_PARAM_set_hostflags"};
  Function<decltype(::X509_VERIFY_PARAM_set1_host)> X509_VERIFY_PARAM_set1_host{
      lib, "X509_VERIFY_PARAM_set1_host"};
  Function<decltype(::X509_VERIFY_PARAM_set1_ip_asc)> X509_VERIFY_PARAM_set1_ip_asc{
      lib, "X509_VERIFY_PARAM_set1_ip_asc"};
  Function<decltype(::X509_STORE_CTX_get_ex_data)> X509_STORE_CTX_get_ex_data{
      lib, "X509_STORE_CTX_get_ex_data"};
  Function<decltype(::X509_STORE_CTX_get_error)> X509_STORE_CTX_get_error{
      lib, "X509_STORE_CTX_get_error"};
  Function<decltype(::X509_STORE_CTX_get_error_depth)> X509_STORE_CTX_get_error_depth{
      lib, "X509_STORE_CTX_get_error_depth"};
  Function<decltype(::X509_STORE_CTX_get_current_cert)> X509_STORE_CTX_get_current_cert{
      lib, "X509_STORE_CTX_get_current_cert"};
  Function<decltype(::X509_verify_cert_error_string)> X509_verify_cert_error_string{
      lib, "X509_verify_cert_error_string"};
  Function<decltype(::X509_free)> X509_free{lib, "X509_free"};
  Function<decltype(::X509_get0_notBefore)> X509_get0_notBefore{lib, "X509_get0_notBefore"};
  Function<decltype(::X509_get0_notAfter)> X509_get0_notAfter{lib, "X509_get0_notAfter"};
  Function<decltype(::ASN1_TIME_to_tm)> ASN1_TIME_to_tm{lib, "ASN1_TIME_to_tm"};
  Function<decltype(::X509_get_issuer_name)> X509_get_issuer_name{lib, "X509_get_issuer_name"};
  Function<decltype(::X509_get_subject_name)> X509_get_subject_name{lib, "X509_get_subject_name"};
  Function<decltype(::X509_NAME_get_text_by_NID)> X509_NAME_get_text_by_NID{
      lib, "X509_NAME_get_text_by_NID"};
  Function<decltype(::X509_get_ext_d2i)> X509_get_ext_d2i{lib, "X509_get_ext_d2i"};
  Function<decltype(::GENERAL_NAMES_free)> GENERAL_NAMES_free{lib, "GENERAL_NAMES_free"};
  Function<decltype(::GENERAL_NAME_get0_value)> GENERAL_NAME_get0_value{lib,
                                                                        "GENERAL_NAME_get0_value"};
  Function<decltype(::OPENSSL_sk_num)> OPENSSL_sk_num{lib, "OPENSSL_sk_num"};
  Function<decltype(::OPENSSL_sk_value)> OPENSSL_sk_value{lib, "OPENSSL_sk_value"};
  Function<decltype(::ASN1_STRING_get0_data)> ASN1_STRING_get0_data{lib, "ASN1_STRING_get0_data"};
  Function<decltype(::ASN1_STRING_length)> ASN1_STRING_length{lib, "ASN1_STRING_length"};
};

}  // namespace redlock::redis
