// SPDX-License-Identifier: MIT
#include "records/records.h"

#include <doctest/doctest.h>

#include <chrono>
#include <string>

using namespace redlock;
using namespace std::chrono_literals;

namespace {

const std::string kForced(40, 'a');
const records::Holder kBastion{
    .host = "bastion", .user = "ops", .pid = 4711, .since = 1'800'000'000'000ms};

}  // namespace

TEST_CASE("revocation: a written record is read again") {
  const std::string value = records::revoked_value(kForced, kBastion);
  CHECK(value.starts_with("revoked:" + kForced + " {"));
  const auto read = records::read_revocation(value);
  REQUIRE(read);
  CHECK(read->host == "bastion");
  CHECK(read->user == "ops");
  CHECK(read->pid == 4711);
  CHECK(read->since == kBastion.since);
  CHECK_FALSE(read->replaces);
  records::Holder newer = kBastion;
  newer.replaces = true;
  CHECK(records::read_revocation(records::revoked_value(kForced, newer))->replaces);
}

TEST_CASE("revocation: it stays below 600 bytes, whatever the names") {
  for (const char* piece : {"\"", "\\", "x", "\xc3\xa4", "\x01", "\xff"}) {
    std::string name;
    while (name.size() < 5000) name += piece;
    const std::string value = records::revoked_value(
        kForced, {.host = name, .user = name, .pid = 4'194'304, .replaces = true, .since = 1ms});
    CHECK(value.size() < 600);
    CHECK(records::read_revocation(value));
  }
}

TEST_CASE("revocation: nothing that a server says is trusted") {
  for (const char* value : {"", "abc", "cooling:abc {}", "revoked:abc", "revoked:abc ",
                            "revoked:abc x", "revoked:abc []", "revoked:abc {", "revoked: {}"}) {
    CAPTURE(value);
    CHECK_FALSE(records::read_revocation(value));
  }
  const auto odd = records::read_revocation(
      "revoked:abc {\"host\": 1, \"user\": \"e\\u001b[2J\", \"pid\": \"x\"}");
  REQUIRE(odd);
  CHECK(odd->host.empty());
  CHECK(odd->user == "e\x1b[2J");
  CHECK(odd->pid == 0);
}
