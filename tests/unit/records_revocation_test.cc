// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "diag/holder.h"
#include "diag/revocation.h"

using namespace redlock;
using namespace std::chrono_literals;

namespace {

const std::string kToken(40, 'a');
const diag::Revocation kOps{
    .host = "bastion", .user = "ops", .pid = 4711, .since = 1'800'000'000'000ms};

}  // namespace

TEST_CASE("revocation: what is written is read again") {
  const std::string value = diag::revoked_value(kToken, kOps);
  CHECK(value.starts_with("revoked:" + kToken + " {"));
  const auto read = diag::read_revocation(value);
  REQUIRE(read);
  CHECK(read->host == "bastion");
  CHECK(read->user == "ops");
  CHECK(read->pid == 4711);
  CHECK(read->since == kOps.since);
  CHECK(diag::describe(*read) == "ops@bastion (pid 4711)");
}

TEST_CASE("revocation: it stays below 600 bytes, whatever the names") {
  for (const char* piece : {"\"", "\\", "x", "\xc3\xa4", "\x01", "\xff"}) {
    std::string name;
    while (name.size() < 5000) name += piece;
    const std::string value =
        diag::revoked_value(kToken, {.host = name, .user = name, .pid = 4'194'304, .since = 1ms});
    CHECK(value.size() < 600);
    CHECK(diag::read_revocation(value));
  }
}

TEST_CASE("revocation: nothing that a server says is trusted") {
  for (const char* value : {"", "abc", "cooling:abc {}", "revoked:abc", "revoked:abc ",
                            "revoked:abc x", "revoked:abc []", "revoked:abc {", "revoked: {}"}) {
    CAPTURE(value);
    CHECK_FALSE(diag::read_revocation(value));
  }
  const auto odd =
      diag::read_revocation("revoked:abc {\"host\": 1, \"user\": \"e\\u001b[2J\", \"pid\": \"x\"}");
  REQUIRE(odd);
  CHECK(diag::describe(*odd) == "e?[2J@ (pid 0)");
}

TEST_CASE("revocation: who it was, by what the servers say, or by word that came") {
  using lock::Complaint;
  const std::string value = diag::revoked_value(kToken, kOps);
  const std::string word = "revoked" + value.substr(value.find(' '));
  CHECK_FALSE(diag::revoked_by({Complaint{0, lock::Missing{}}}, ""));
  CHECK_FALSE(diag::revoked_by({Complaint{0, lock::NotMine{"other"}}}, "released"));
  CHECK(diag::revoked_by({Complaint{0, lock::NotMine{"revoked:x"}}}, "") == "");
  CHECK(diag::revoked_by({Complaint{0, lock::Missing{}}, Complaint{1, lock::NotMine{value}}}, "") ==
        " by ops@bastion (pid 4711)");
  CHECK(diag::revoked_by({Complaint{0, lock::Missing{}}}, word) == " by ops@bastion (pid 4711)");
  CHECK_FALSE(diag::revoked_by({Complaint{0, lock::Unreachable{}}}, word));
  CHECK(diag::revoked_by({Complaint{0, lock::NotMine{"revoked:x"}}}, word) ==
        " by ops@bastion (pid 4711)");
}

TEST_CASE("revocation: who waits is told by whom, and that the job is being stopped") {
  const std::string who = R"({"host":"web1","user":"root","pid":7,"command":"b","since":1})";
  CHECK(diag::describe(lock::Refused{
            .blocker = diag::revoked_value(kToken, kOps), .ttl_left = 20s, .holder = who}) ==
        "revoked by ops@bastion (pid 4711) from root@web1 (pid 7, b), whose job is being stopped; "
        "free at the latest in 20 s");
  CHECK(diag::describe(lock::Refused{.blocker = "revoked:x", .ttl_left = 20s, .holder = {}}) ==
        "revoked from its holder (who says nothing about itself); free at the latest in 20 s");
}
