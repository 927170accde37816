// SPDX-License-Identifier: MIT
//
// What can go wrong with TLS, in the same spirit as trouble.h. OpenSSL's own numbers stay in
// tls.cc.
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
  bool authority = false;            ///< it is about a certificate the server's was signed with
  std::string subject{};             ///< common name of the certificate it is about
  std::string issuer{};              ///< common name of who signed that
  std::string date{};                ///< expired, not_yet_valid: when
  std::vector<std::string> names{};  ///< wrong_name: those it has
  std::string reason{};              ///< other: OpenSSL's words
};

/// `wanted`: the name or address the certificate should have.
lock::Unreachable certificate_refused(const CertificateProblem& problem, std::string_view wanted);

/// The server sent the fatal alert `number` of https://www.iana.org/assignments/tls-parameters.
/// `ours`: we have shown a certificate. `before_data`: it has not answered anything yet, so that no
/// request can have been carried out.
struct Alert {
  int number;
  bool ours;
  bool before_data;
};
lock::Unreachable alerted(const Alert& alert);

/// The answer to the first packet of TLS was none of TLS's.
lock::Unreachable not_tls();

/// TLS broke in any other way; OpenSSL's words.
lock::Unreachable tls_broken(std::string_view reason);

/// The server hung up during the handshake.
lock::Unreachable tls_hung_up();

}  // namespace redlock::redis
