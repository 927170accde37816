// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <openssl/x509_vfy.h>

#include <string>
#include <vector>

#include "contains.h"
#include "redis/tls/stream.h"
#include "redis/wire/trouble.h"
#include "redis/wire/uri.h"

using namespace redlock::redis;
using redlock::lock::Unreachable;
using redlock::tests::contains;

TEST_CASE("tls trouble: a certificate that is not accepted is for good, and nothing was sent") {
  struct Row {
    CertificateProblem problem;
    std::string part;
  };
  const std::vector<Row> rows = {
      {{.error = X509_V_ERR_CERT_HAS_EXPIRED, .date = "DAY"}, "its certificate expired on DAY"},
      {{.error = X509_V_ERR_CERT_HAS_EXPIRED, .authority = true, .subject = "CA", .date = "DAY"},
       "the certificate of its authority \"CA\" expired on DAY"},
      {{.error = X509_V_ERR_CERT_NOT_YET_VALID, .date = "DAY"}, "not valid before DAY"},
      {{.error = X509_V_ERR_HOSTNAME_MISMATCH, .names = "DNS:a, DNS:b"},
       "not for \"db1\": it is for DNS:a, DNS:b;"},
      {{.error = X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, .issuer = "CA"}, "signed by \"CA\", which is not trusted"},
      {{.error = X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, .subject = "CA"}, "authority \"CA\", which is not trusted"},
      {{.error = X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT}, "self-signed"},
      {{.error = X509_V_ERR_UNSPECIFIED, .reason = "CRL"}, "was not accepted: CRL"},
  };
  for (const Row& row : rows) {
    const Unreachable trouble = certificate_refused(row.problem, "db1");
    CHECK(trouble.permanent);
    CHECK_FALSE(trouble.maybe_applied);
    CHECK_MESSAGE(contains(trouble.why, row.part), trouble.why);
  }
}

TEST_CASE("tls trouble: a server's names are shown without control bytes") {
  const Unreachable trouble =
      certificate_refused({.error = X509_V_ERR_HOSTNAME_MISMATCH, .names = "a\n\x1b[31m"}, "db1");
  CHECK(contains(trouble.why, "it is for a??[31m;"));
}

TEST_CASE("tls trouble: alerts, before the first answer and after") {
  struct Row {
    int number;
    bool ours;
    std::string part;
  };
  const std::vector<Row> rows = {
      {116, false, "wants a client certificate"},
      {40, false, "does it want a client certificate"},
      {42, true, "refuses our certificate (--tls-cert): bad certificate"},
      {48, true, "unknown authority"},
      {48, false, "does it want a client certificate"},
      {70, false, "no TLS from 1.2 on"},
      {112, false, "does not answer to this name"},
  };
  for (const Row& row : rows) {
    const Unreachable early = alerted({row.number, row.ours, true});
    CHECK_MESSAGE(contains(early.why, row.part), early.why);
    CHECK(early.permanent);
    CHECK_FALSE(early.maybe_applied);
    const Unreachable late = alerted({row.number, row.ours, false});
    CHECK_FALSE(late.permanent);
    CHECK(late.maybe_applied);
  }
  const Unreachable unknown = alerted({80, false, true});
  CHECK(contains(unknown.why, "alert 80"));
  CHECK_FALSE(unknown.permanent);
}

TEST_CASE("tls trouble: hung up before a word, with TLS, without, and on a socket") {
  const auto why = [](const char* uri, int error) {
    return lost_before_a_word(parse_uri(uri), error).why;
  };
  CHECK(contains(why("redis://db1", 0), "does it want TLS (rediss://)"));
  CHECK(contains(why("rediss://db1", 0), "client certificate"));
  CHECK(contains(why("unix:///a", 0), "was it restarted"));
  CHECK_FALSE(contains(why("unix:///a", 0), "TLS"));
  CHECK(lost_before_a_word(parse_uri("redis://db1"), 0).maybe_applied);
}
