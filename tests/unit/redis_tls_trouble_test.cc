// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "contains.h"
#include "redis/tls/stream.h"
#include "redis/wire/trouble.h"
#include "redis/wire/uri.h"

using namespace redlock::redis;
using redlock::lock::Unreachable;
using redlock::tests::contains;

TEST_CASE("tls trouble: alerts, before the first answer and after") {
  struct Row {
    int number;
    bool ours;
    std::string part;
  };
  const std::vector<Row> rows = {
      {116, false, "wants a client certificate"},
      {40, false, "does it want a client certificate"},
      {42, true, "refuses our certificate (--tls-cert): bad certificate; see its log"},
      {43, true, "refuses our certificate (--tls-cert): unsupported certificate; see its log"},
      {44, true, "refuses our certificate (--tls-cert): certificate revoked; see its log"},
      {45, true, "refuses our certificate (--tls-cert): certificate expired; see its log"},
      {46, true, "refuses our certificate (--tls-cert): certificate not accepted; see its log"},
      {48, true, "refuses our certificate (--tls-cert): unknown authority; see its log"},
      {49, true, "refuses our certificate (--tls-cert): access denied; see its log"},
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
  // With a certificate of ours, the handshake did not fail for the lack of one.
  CHECK(contains(alerted({40, true, true}).why, "alert 40"));
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
