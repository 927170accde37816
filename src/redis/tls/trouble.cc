// SPDX-License-Identifier: MIT
#include "redis/tls/trouble.h"

#include <algorithm>
#include <iterator>

#include "redis/wire/trouble.h"

namespace redlock::redis {
namespace {

using Kind = CertificateProblem::Kind;

constexpr std::size_t kMostNames = 5;

std::string in_quotes(std::string_view text) {
  return '"' + untrusted(text) + '"';
}

std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMostNames); ++i) {
    if (i > 0) text += ", ";
    text += untrusted(names[i]);
  }
  if (names.size() > kMostNames) {
    text += " and " + std::to_string(names.size() - kMostNames) + " more";
  }
  return text;
}

std::string whose(const CertificateProblem& problem) {
  if (!problem.authority) return "its certificate";
  return "the certificate of its authority " + in_quotes(problem.subject);
}

std::string wrong_name(const CertificateProblem& problem, std::string_view wanted) {
  const std::string has =
      problem.names.empty() ? "it has no name at all" : "it is for " + list(problem.names);
  return "its certificate is not for " + in_quotes(wanted) + ": " + has +
         "; use such a name in the URI, or --tls-sni, or have it issued for this one";
}

std::string explain(const CertificateProblem& problem, std::string_view wanted) {
  switch (problem.kind) {
    case Kind::expired:
      return whose(problem) + " expired on " + problem.date + "; renew it there";
    case Kind::not_yet_valid:
      return whose(problem) + " is not valid before " + problem.date +
             "; is the clock of this host right?";
    case Kind::wrong_name:
      return wrong_name(problem, wanted);
    case Kind::self_signed:
      return "its certificate is self-signed and not trusted here; give it to --tls-ca";
    case Kind::unknown_authority:
      return whose(problem) + " is signed by " + in_quotes(problem.issuer) +
             ", which is not trusted here; give that authority's certificate to --tls-ca";
    case Kind::private_root:
      return "its certificate comes from the authority " + in_quotes(problem.subject) +
             ", which is not trusted here; give that authority's certificate to --tls-ca";
    case Kind::other:
      break;
  }
  return whose(problem) + " was not accepted: " + untrusted(problem.reason);
}

/// The alerts by which a server refuses our certificate.
struct Refusal {
  int number;
  std::string_view name;
};
constexpr Refusal kRefusals[] = {
    {42, "bad certificate"},     {43, "unsupported certificate"},  {44, "certificate revoked"},
    {45, "certificate expired"}, {46, "certificate not accepted"}, {48, "unknown authority"},
    {49, "access denied"},
};

std::string explain(const Alert& alert) {
  constexpr int handshake_failure = 40;
  constexpr int protocol_version = 70;
  constexpr int unrecognized_name = 112;
  constexpr int certificate_required = 116;
  if (alert.number == certificate_required) {
    return "wants a client certificate; give --tls-cert and --tls-key";
  }
  const auto* const refusal = std::ranges::find(kRefusals, alert.number, &Refusal::number);
  const bool refused = refusal != std::end(kRefusals);
  if (refused && alert.ours) {
    return "refuses our certificate (--tls-cert): " + std::string(refusal->name) + "; see its log";
  }
  if (refused || (alert.number == handshake_failure && !alert.ours)) {
    return "broke off the TLS handshake; does it want a client certificate (--tls-cert)? See its "
           "log";
  }
  if (alert.number == protocol_version)
    return "supports no TLS from 1.2 on, and redlock nothing older";
  if (alert.number == unrecognized_name) {
    return "does not answer to this name; see the URI and --tls-sni";
  }
  return {};
}

}  // namespace

lock::Unreachable certificate_refused(const CertificateProblem& problem, std::string_view wanted) {
  return {false, true, explain(problem, wanted)};
}

lock::Unreachable alerted(const Alert& alert) {
  std::string why = explain(alert);
  const bool known = !why.empty();
  if (!known) {
    why = "broke off TLS with alert " + std::to_string(alert.number) + "; see its log";
  }
  return {!alert.before_data, known && alert.before_data, std::move(why)};
}

lock::Unreachable not_tls() {
  return {false, true,
          "does not speak TLS on this port; give its TLS port, or write redis:// for plain text"};
}

lock::Unreachable tls_broken(std::string_view reason) {
  return {true, false, "TLS failed: " + untrusted(reason)};
}

lock::Unreachable tls_hung_up() {
  return {false, false,
          "closed the connection during the TLS handshake; does it speak TLS on this port? See its "
          "log"};
}

}  // namespace redlock::redis
