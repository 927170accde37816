// SPDX-License-Identifier: MIT
//
// Everything that can go wrong with TLS, worded as in redis/wire/trouble.h. Absent on purpose:
// OpenSSL's own numbers, which stay in stream.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lock/vote.h"

namespace redlock::redis {

/// Why a server's certificate was not accepted.
struct CertificateProblem {
  enum class Kind {
    expired,
    not_yet_valid,
    wrong_name,
    unknown_authority,
    self_signed,   ///< by itself
    private_root,  ///< the chain ends in an authority that is not trusted here
    other,
  };
  Kind kind = Kind::other;
  bool authority = false;            ///< the problem is in the certificate of an authority
  std::string subject{};             ///< common name of the certificate with the problem
  std::string issuer{};              ///< common name of its signer
  std::string date{};                ///< expired, not_yet_valid: when
  std::vector<std::string> names{};  ///< wrong_name: the names that it has
  std::string reason{};              ///< other: OpenSSL's text
};

/// `wanted`: the name or address the certificate should have.
lock::Unreachable certificate_refused(const CertificateProblem& problem, std::string_view wanted);

/// The server sent the fatal alert `number` of https://www.iana.org/assignments/tls-parameters.
/// `ours`: we have shown a certificate. `before_data`: the server has not answered anything yet, so
/// it cannot have carried out a request.
struct Alert {
  int number;
  bool ours;
  bool before_data;
};
lock::Unreachable alerted(const Alert& alert);

/// The server did not answer our first TLS packet with TLS.
lock::Unreachable not_tls();

/// TLS broke in any other way; `reason`: OpenSSL's text.
lock::Unreachable tls_broken(std::string_view reason);

/// The server hung up during the handshake.
lock::Unreachable tls_hung_up();

}  // namespace redlock::redis
