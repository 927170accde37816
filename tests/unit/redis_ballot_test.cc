// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <string>
#include <variant>
#include <vector>

#include "redis/ballot.h"
#include "redis/scripts.h"

using redlock::lock::Answer;
using redlock::lock::Op;
using redlock::redis::Ballot;
using redlock::redis::Flight;
using redlock::redis::ReplyParser;
using redlock::redis::Value;
namespace lock = redlock::lock;
namespace redis = redlock::redis;

namespace {

Value parse(const std::string& wire) {
  ReplyParser parser;
  parser.feed(wire);
  auto value = parser.next();
  REQUIRE(value.has_value());
  return *value;
}

Answer read(Op op, const std::string& wire) {
  return redis::read_answer(op, parse(wire));
}

// Built by append(): g++ 12 sees overlapping copies in `"x" + std::string` (its bug 105651).
std::string bulk(const std::string& text) {
  std::string wire = "$";
  return wire.append(std::to_string(text.size())).append("\r\n").append(text).append("\r\n");
}

std::string refused(const std::string& pttl) {
  std::string wire = "*4\r\n";
  wire.append(bulk("refused")).append(bulk("T"));
  return wire.append(":").append(pttl).append("\r\n").append(bulk("{}"));
}

}  // namespace

TEST_CASE("ballot: the answers of the scripts") {
  CHECK(std::holds_alternative<lock::Granted>(read(Op::acquire, "*1\r\n$7\r\ngranted\r\n")));
  CHECK(std::holds_alternative<lock::Granted>(read(Op::repair, "*1\r\n$7\r\ngranted\r\n")));
  CHECK(std::holds_alternative<lock::Renewed>(read(Op::renew, "*1\r\n$7\r\nrenewed\r\n")));
  CHECK(std::holds_alternative<lock::Released>(read(Op::release, "*1\r\n$8\r\nreleased\r\n")));
  CHECK(std::holds_alternative<lock::Missing>(read(Op::release, "*1\r\n$7\r\nmissing\r\n")));
  CHECK(std::holds_alternative<lock::Missing>(read(Op::renew, "*1\r\n$7\r\nmissing\r\n")));
  const Answer other = read(Op::renew, "*2\r\n" + bulk("not_mine") + bulk("revoked:T"));
  CHECK(std::get<lock::NotMine>(other).blocker == "revoked:T");
  const auto who = std::get<lock::Refused>(read(Op::acquire, refused("1500")));
  CHECK(who.blocker == "T");
  CHECK(who.ttl_left == std::chrono::milliseconds(1500));
  CHECK(who.holder == "{}");
}

TEST_CASE("ballot: the time left is bounded") {
  const auto left = [](const std::string& pttl) {
    return std::get<lock::Refused>(read(Op::acquire, refused(pttl))).ttl_left;
  };
  CHECK_FALSE(left("-1").has_value());
  CHECK(left("-2") == std::chrono::milliseconds(0));
  CHECK(left("-9223372036854775808") == std::chrono::milliseconds(0));
  REQUIRE(left("9223372036854775807").has_value());
  const std::chrono::nanoseconds most = *left("9223372036854775807");
  CHECK(most.count() > 0);  // it fits into nanoseconds
}

TEST_CASE("ballot: hostile replies are no answer") {
  const std::vector<std::string> replies = {
      "+OK\r\n",
      ":1\r\n",
      "$-1\r\n",
      "*-1\r\n",
      "*0\r\n",
      "$7\r\ngranted\r\n",
      "*1\r\n+granted\r\n",
      "*1\r\n:1\r\n",
      "*1\r\n$-1\r\n",
      "*1\r\n*1\r\n$7\r\ngranted\r\n",
      "*1\r\n$7\r\nrefused\r\n",
      "*2\r\n$7\r\nrefused\r\n$1\r\nx\r\n",
      "*1\r\n$8\r\nnot_mine\r\n",
      "*2\r\n$8\r\nnot_mine\r\n:3\r\n",
      "*4\r\n$7\r\nrefused\r\n:1\r\n:1\r\n$0\r\n\r\n",
      "*4\r\n$7\r\nrefused\r\n$1\r\nx\r\n$1\r\n1\r\n$0\r\n\r\n",
      "*4\r\n$7\r\nrefused\r\n$1\r\nx\r\n:1\r\n$-1\r\n",
      "-ERR x\r\n"};
  for (const std::string& reply : replies) {
    CAPTURE(reply);
    for (const Op op : {Op::acquire, Op::renew, Op::repair, Op::release}) {
      const Answer answer = read(op, reply);
      REQUIRE(std::holds_alternative<lock::Unreachable>(answer));
      CHECK(std::get<lock::Unreachable>(answer).maybe_applied);
    }
  }
}

TEST_CASE("ballot: an answer to another question is no answer") {
  for (const Op op : {Op::renew, Op::release}) {
    CHECK(std::holds_alternative<lock::Unreachable>(read(op, "*1\r\n$7\r\ngranted\r\n")));
  }
  CHECK(std::holds_alternative<lock::Unreachable>(read(Op::acquire, "*1\r\n$7\r\nrenewed\r\n")));
  CHECK(std::holds_alternative<lock::Unreachable>(read(Op::acquire, "*1\r\n$7\r\nmissing\r\n")));
  CHECK(std::holds_alternative<lock::Unreachable>(read(Op::release, "*1\r\n$7\r\nrenewed\r\n")));
  CHECK(std::holds_alternative<lock::Unreachable>(read(Op::renew, "*1\r\n$8\r\nreleased\r\n")));
}

TEST_CASE("ballot: renew and release name the lock key only, the rest is a command of its own") {
  const Ballot ballot{"name", "redlock:{name}:holder", std::chrono::milliseconds(30'000), "{}"};
  const std::string renew(redis::scripts::renew);
  const std::string release(redis::scripts::release);
  const std::string acquire(redis::scripts::acquire);
  const auto same = [](const Flight& flight, unsigned replies, const std::string& wire) {
    CHECK(flight.replies == replies);
    CHECK(flight.wire == wire);
  };
  same(redis::encode_request(Op::renew, ballot, "T"), 2,
       redis::encode_command({"EVAL", renew, "1", "name", "T", "30000"}) +
           redis::encode_command({"PEXPIRE", "redlock:{name}:holder", "40000"}));
  same(redis::encode_request(Op::release, ballot, "T"), 2,
       redis::encode_command({"EVAL", release, "1", "name", "T"}) +
           redis::encode_command({"HDEL", "redlock:{name}:holder", "T"}));
  same(redis::encode_request(Op::acquire, ballot, "T"), 1,
       redis::encode_command(
           {"EVAL", acquire, "2", "name", "redlock:{name}:holder", "T", "30000", "{}"}));
}

TEST_CASE("ballot: the embedded scripts are whole and bare of comments") {
  for (const std::string_view script :
       {redis::scripts::acquire, redis::scripts::renew, redis::scripts::release}) {
    CHECK(script.starts_with("local "));
    CHECK(script.find("\n ") == std::string_view::npos);
    CHECK(script.find("--") == std::string_view::npos);
    CHECK(script.find("return {'") != std::string_view::npos);
  }
}
