// SPDX-License-Identifier: MIT
#include "diag/blocker.h"

#include <doctest/doctest.h>

#include <chrono>
#include <string>

using namespace redlock;
using namespace std::chrono_literals;

namespace {

const std::string kToken(40, 'a');
const records::Revocation kOps{
    .host = "bastion", .user = "ops", .pid = 4711, .since = 1'800'000'000'000ms};

}  // namespace

TEST_CASE("the process that revoked a lock is named in text that is safe to print") {
  CHECK(diag::describe(kOps) == "ops@bastion (pid 4711)");
  CHECK(diag::describe({.host = "", .user = "e\x1b[2J", .pid = 0, .since = {}}) ==
        "e?[2J@ (pid 0)");
}

TEST_CASE("who revoked the lock, as the servers say or a notice said") {
  using lock::Complaint;
  const std::string value = records::revoked_value(kToken, kOps);
  const std::string notice = "revoked" + value.substr(value.find(' '));
  CHECK_FALSE(diag::revoked_by({Complaint{0, lock::Missing{}}}, ""));
  CHECK_FALSE(diag::revoked_by({Complaint{0, lock::NotMine{"other"}}}, "released"));
  CHECK(diag::revoked_by({Complaint{0, lock::NotMine{"revoked:x"}}}, "") == "");
  CHECK(diag::revoked_by({Complaint{0, lock::Missing{}}, Complaint{1, lock::NotMine{value}}}, "") ==
        " by ops@bastion (pid 4711)");
  CHECK(diag::revoked_by({Complaint{0, lock::Missing{}}}, notice) == " by ops@bastion (pid 4711)");
  CHECK_FALSE(diag::revoked_by({Complaint{0, lock::Unreachable{}}}, notice));
  CHECK(diag::revoked_by({Complaint{0, lock::NotMine{"revoked:x"}}}, notice) ==
        " by ops@bastion (pid 4711)");
}

TEST_CASE("a waiter reads who revoked the lock, and that its job is being stopped") {
  const std::string who = R"({"host":"web1","user":"root","pid":7,"command":"b","since":1})";
  CHECK(diag::describe(lock::Refused{
            .blocker = records::revoked_value(kToken, kOps), .ttl_left = 20s, .holder = who}) ==
        "revoked by ops@bastion (pid 4711) from root@web1 (pid 7, b), whose job is being stopped; "
        "free at the latest in 20 s");
  CHECK(diag::describe(lock::Refused{.blocker = "revoked:x", .ttl_left = 20s, .holder = {}}) ==
        "revoked from its holder (who says nothing about itself); free at the latest in 20 s");
}
