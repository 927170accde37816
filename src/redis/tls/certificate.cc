// SPDX-License-Identifier: MIT
#include "redis/tls/certificate.h"

#include <arpa/inet.h>

#include <array>
#include <ctime>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "redis/tls/client_hello.h"
#include "redis/tls/openssl.h"
#include "redis/tls/trouble.h"

namespace redlock::redis {
namespace {

using Kind = CertificateProblem::Kind;

std::string text_of(const OpenSsl& openssl, const ASN1_STRING* string) {
  const auto* const bytes = reinterpret_cast<const char*>(openssl.ASN1_STRING_get0_data(string));
  return {bytes, static_cast<std::size_t>(openssl.ASN1_STRING_length(string))};
}

/// A certificate names an IP address by its bytes.
std::string address_of(const std::string& bytes) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (bytes.size() != 4 && bytes.size() != 16) return {};
  inet_ntop(bytes.size() == 4 ? AF_INET : AF_INET6, bytes.data(), text.data(), text.size());
  return text.data();
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

/// All names for which the certificate is valid: subjectAltName, or else the common name.
std::vector<std::string> names_of(const OpenSsl& openssl, const X509* certificate) {
  const auto free = [&openssl](GENERAL_NAMES* names) { openssl.GENERAL_NAMES_free(names); };
  const std::unique_ptr<GENERAL_NAMES, decltype(free)> alternatives(
      static_cast<GENERAL_NAMES*>(
          openssl.X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
      free);
  std::vector<std::string> names;
  const auto* const stack = reinterpret_cast<const OPENSSL_STACK*>(alternatives.get());
  const int count = stack == nullptr ? 0 : openssl.OPENSSL_sk_num(stack);
  for (int i = 0; i < count; ++i) {
    const auto* const entry = static_cast<const GENERAL_NAME*>(openssl.OPENSSL_sk_value(stack, i));
    int type = 0;
    const void* const value = openssl.GENERAL_NAME_get0_value(entry, &type);
    if (type == GEN_DNS) names.push_back(text_of(openssl, static_cast<const ASN1_STRING*>(value)));
    if (type == GEN_IPADD) {
      names.push_back(address_of(text_of(openssl, static_cast<const ASN1_STRING*>(value))));
    }
  }
  if (names.empty()) {
    names.push_back(common_name(openssl, openssl.X509_get_subject_name(certificate)));
  }
  return names;
}

Kind kind_of(int error) {
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return Kind::expired;
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return Kind::not_yet_valid;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return Kind::wrong_name;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return Kind::unknown_authority;
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      return Kind::self_signed;
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      return Kind::private_root;
    default:
      return Kind::other;
  }
}

CertificateProblem describe(const OpenSsl& openssl, X509_STORE_CTX* store) {
  const int error = openssl.X509_STORE_CTX_get_error(store);
  CertificateProblem problem;
  problem.kind = kind_of(error);
  problem.authority = openssl.X509_STORE_CTX_get_error_depth(store) > 0;
  problem.reason = openssl.X509_verify_cert_error_string(error);
  const X509* const certificate = openssl.X509_STORE_CTX_get_current_cert(store);
  if (certificate == nullptr) return problem;
  problem.subject = common_name(openssl, openssl.X509_get_subject_name(certificate));
  problem.issuer = common_name(openssl, openssl.X509_get_issuer_name(certificate));
  if (problem.kind == Kind::expired) {
    problem.date = date(openssl, openssl.X509_get0_notAfter(certificate));
  } else if (problem.kind == Kind::not_yet_valid) {
    problem.date = date(openssl, openssl.X509_get0_notBefore(certificate));
  } else if (problem.kind == Kind::wrong_name) {
    problem.names = names_of(openssl, certificate);
  }
  return problem;
}

}  // namespace

int verify_certificate(X509_STORE_CTX* store, void* argument) noexcept {
  const auto& openssl = *static_cast<const OpenSsl*>(argument);
  const int ok = openssl.X509_verify_cert(store);
  if (ok == 1) return ok;
  const auto* const connection = static_cast<const SSL*>(
      openssl.X509_STORE_CTX_get_ex_data(store, openssl.SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto& notes = *static_cast<TlsNotes*>(openssl.SSL_get_ex_data(connection, 0));
  notes.no_memory = openssl.X509_STORE_CTX_get_error(store) == X509_V_ERR_OUT_OF_MEM;
  try {
    notes.problem = describe(openssl, store);
  } catch (const std::bad_alloc&) {
    notes.no_memory = true;  // no exception may pass through OpenSSL
  }
  return ok;
}

}  // namespace redlock::redis
