// SPDX-License-Identifier: MIT
//
// What the replies of the scripts mean, also those of a hostile server.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "lock/value.h"
#include "redis/requests/answer.h"

using redlock::lock::Answer;
using redlock::lock::Op;
using redlock::redis::LockContext;
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

const LockContext kContext{.lock_key = "n",
                           .restart_grace = std::chrono::seconds(60),
                           .waiter = "me",
                           .holder_json = "{}"};

Answer read(Op op, const std::string& wire) {
  return redis::read_answer(op, kContext, parse(wire));
}

// Built by append(): g++ 12 sees overlapping copies in `"x" + std::string` (its bug 105651).
std::string bulk(const std::string& text) {
  std::string wire = "$";
  return wire.append(std::to_string(text.size())).append("\r\n").append(text).append("\r\n");
}

std::string number(const std::string& digits) {
  std::string wire = ":";
  return wire.append(digits).append("\r\n");
}

/// A refusal of an acquire. `word`: "refused" or "turn".
std::string refused(const std::string& pttl, const std::string& ticket = "7",
                    const std::string& place = "2", const std::string& waiters = "3",
                    const std::string& word = "refused") {
  std::string wire = "*8\r\n";
  wire.append(bulk(word)).append(bulk("T")).append(number(pttl)).append(bulk("{}"));
  wire.append(bulk("0")).append(bulk(ticket));
  return wire.append(number(place)).append(number(waiters));
}

std::string granted(const std::string& run_id, int uptime, const std::string& trace,
                    const std::string& fence, const std::string& clock = "0") {
  std::string wire = "*6\r\n";
  wire.append(bulk("granted")).append(bulk(run_id));
  wire.append(":").append(std::to_string(uptime)).append("\r\n");
  return wire.append(bulk(trace)).append(bulk(fence)).append(bulk(clock));
}

}  // namespace

TEST_CASE("context: a server that was started only just now is no witness") {
  using std::chrono::seconds;
  const auto grant = [](const std::string& run_id, int uptime, const std::string& trace) {
    return std::get<lock::Granted>(read(Op::acquire, granted(run_id, uptime, trace, "1")));
  };
  CHECK(grant("abc", 0, "none").distrusted_for == seconds(61));
  CHECK(grant("abc", -5, "none").distrusted_for == seconds(61));  // the clock was set back
  CHECK(grant("abc", 60, "none").distrusted_for == seconds(1));
  CHECK(grant("abc", 61, "none").distrusted_for == seconds(0));
  CHECK(grant("", 0, "none").distrusted_for == seconds(0));  // not permitted to know
  CHECK(grant("abc", 500, "none").may_be_new);
  CHECK(grant("abc", 119, "present").may_be_new);
  CHECK_FALSE(grant("abc", 120, "present").may_be_new);
  CHECK_FALSE(grant("abc", 0, "earlier").may_be_new);

  const auto fresh = std::get<lock::Unreachable>(read(Op::acquire, "*2\r\n$5\r\nfresh\r\n:12\r\n"));
  CHECK_FALSE(fresh.maybe_applied);
  CHECK_FALSE(fresh.permanent);
  CHECK(fresh.why.find("restarted 12 s ago") != std::string::npos);
  CHECK(fresh.why.find("trusted in 49 s") != std::string::npos);
}

TEST_CASE("context: a run that is superseded, and a lock that is revoked") {
  const auto newest = std::get<lock::Superseded>(
      read(Op::acquire, "*4\r\n$10\r\nsuperseded\r\n$0\r\n\r\n:0\r\n$2\r\n{}\r\n"));
  CHECK(newest.build == 0);
  CHECK(newest.who == "{}");
  const auto build = std::get<lock::Superseded>(
      read(Op::acquire, "*4\r\n$10\r\nsuperseded\r\n$4\r\n4713\r\n:1500\r\n$2\r\n{}\r\n"));
  CHECK(build.build == 4713);
  CHECK(build.ago == std::chrono::milliseconds(1500));
  CHECK(std::holds_alternative<lock::Unreachable>(
      read(Op::acquire, "*4\r\n$10\r\nsuperseded\r\n$1\r\nx\r\n:0\r\n$2\r\n{}\r\n")));
  const std::string token(40, 'a');
  const std::string all = token + " s" + token.substr(1) + " shared:s" + token.substr(1);
  const auto revoked = std::get<lock::Revoked>(read(
      Op::revoke,
      "*4\r\n$7\r\nrevoked\r\n:1\r\n$" + std::to_string(all.size()) + "\r\n" + all + "\r\n:1\r\n"));
  CHECK(revoked.readers.size() == 2);
  CHECK_FALSE(revoked.before);
  const char* const again = "*4\r\n$7\r\nrevoked\r\n:1\r\n$0\r\n\r\n:0\r\n";
  CHECK(std::get<lock::Revoked>(read(Op::revoke, again)).before);
  CHECK(std::holds_alternative<lock::NotMine>(
      read(Op::revoke, "*2\r\n$8\r\nnot_mine\r\n$1\r\nx\r\n")));
}

TEST_CASE("context: a run that was successful") {
  const std::string wire = "*4\r\n$4\r\ndone\r\n:1500\r\n:-1\r\n$2\r\n{}\r\n";
  const auto done = std::get<lock::Done>(read(Op::acquire, wire));
  CHECK(done.age == std::chrono::milliseconds(1500));
  CHECK(done.left == std::chrono::milliseconds(0));
  CHECK(done.who == "{}");
  CHECK(std::holds_alternative<lock::Marked>(read(Op::mark, "*1\r\n$6\r\nmarked\r\n")));
  CHECK(std::holds_alternative<lock::Unreachable>(read(Op::acquire, "*1\r\n$4\r\ndone\r\n")));
}

TEST_CASE("context: a server's clock") {
  const auto clock = [](const std::string& text) {
    return std::get<lock::Granted>(read(Op::acquire, granted("abc", 1, "none", "1", text))).clock;
  };
  CHECK(clock("0").count() == 0);
  CHECK(clock("1800000000000").count() == 1'800'000'000'000);
  CHECK(clock("9000000000000000").count() == 0);  // no clock shows that: it would overflow
}

TEST_CASE("context: a replica has no vote") {
  const auto replica =
      std::get<lock::Unreachable>(read(Op::acquire, "*2\r\n$7\r\nreplica\r\n$8\r\ndb1:6379\r\n"));
  CHECK_FALSE(replica.maybe_applied);
  CHECK(replica.permanent);
  CHECK(replica.why.find("db1:6379") != std::string::npos);
}

TEST_CASE("context: the answers of the scripts") {
  const auto grant =
      std::get<lock::Granted>(read(Op::acquire, granted("abc", 100, "present", "17")));
  CHECK(grant.run_id == "abc");
  CHECK(grant.fence == 17);
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
  const std::string repair = "*5\r\n" + bulk("refused") + bulk("T") + number("1500") + bulk("{}");
  CHECK(std::get<lock::Refused>(read(Op::repair, repair + bulk("0"))).blocker == "T");
}

TEST_CASE("context: the refusal of an acquire says where we stand in the queue") {
  const auto held = std::get<lock::Refused>(read(Op::acquire, refused("1500")));
  CHECK_FALSE(held.turn);
  CHECK(held.ticket == 7);
  CHECK(held.place == 2);
  CHECK(held.waiters == 3);
  // Of readers, the ninth text is the writer that waits before us, otherwise who has each slot.
  for (const std::string blocker : {"T", "shared:T"}) {
    std::string wire = refused("1500").replace(0, 4, "*9\r\n") + bulk("x");
    wire.replace(wire.find(bulk("T")), bulk("T").size(), bulk(blocker));
    const auto more = std::get<lock::Refused>(read(Op::acquire, wire));
    CHECK(more.slots == (blocker == "T" ? "x" : ""));
    CHECK(more.waits_before.has_value() == (blocker != "T"));
  }
  const auto turn =
      std::get<lock::Refused>(read(Op::acquire, refused("400", "8", "0", "0", "turn")));
  CHECK(turn.turn);
  CHECK(turn.blocker == "T");
  CHECK(turn.ttl_left == std::chrono::milliseconds(400));
  CHECK(turn.ticket == 8);
  CHECK(turn.place == 0);
}

TEST_CASE("context: a refusal that misplaces us in the queue is no answer") {
  const auto makes_sense = [](const std::string& wire) {
    return std::holds_alternative<lock::Refused>(read(Op::acquire, wire));
  };
  CHECK(makes_sense(refused("1", "9007199254740992")));
  CHECK_FALSE_MESSAGE(makes_sense(refused("1", "9007199254740993")), "no score counts that far");
  CHECK_FALSE(makes_sense(refused("1", "99999999999999999999999")));
  for (const char* ticket : {"", "-1", "inf", "nan", "1e15", "7.5"}) {
    CAPTURE(ticket);
    CHECK_FALSE(makes_sense(refused("1", ticket)));
  }
  CHECK_FALSE(makes_sense(refused("1", "7", "-1")));
  CHECK_FALSE(makes_sense(refused("1", "7", "2", "-1")));
  const std::string head = bulk("refused") + bulk("T") + number("1") + bulk("{}") + bulk("0");
  CHECK_FALSE_MESSAGE(makes_sense("*5\r\n" + head), "as a repair is refused");
  CHECK_FALSE(makes_sense("*7\r\n" + head + bulk("7") + number("1")));
  CHECK_FALSE(makes_sense("*8\r\n" + head + number("7") + number("1") + number("1")));
  CHECK_FALSE(makes_sense("*8\r\n" + head + bulk("7") + bulk("1") + bulk("1")));
  CHECK_FALSE(makes_sense("*9\r\n" + head + bulk("7") + number("1") + number("1") + number("1")));
  const std::string turn = refused("1", "7", "2", "3", "turn");
  CHECK(std::holds_alternative<lock::Unreachable>(read(Op::repair, turn)));
  CHECK(std::holds_alternative<lock::Unreachable>(read(Op::renew, turn)));
}

TEST_CASE("context: the time left is bounded") {
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

TEST_CASE("context: hostile replies are no answer") {
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
      granted("abc", 1, "none", ""),
      granted("abc", 1, "none", "-1"),
      granted("abc", 1, "none", "99999999999999999999999"),
      "*5\r\n$7\r\ngranted\r\n:1\r\n:1\r\n$1\r\nx\r\n$1\r\n1\r\n",
      "*2\r\n$5\r\nfresh\r\n$1\r\n1\r\n",
      "*2\r\n$13\r\nnot_committed\r\n:1\r\n",
      "*2\r\n$13\r\nnot_committed\r\n$2\r\n-1\r\n",
      "*2\r\n$7\r\nreplica\r\n:1\r\n",
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
    for (const Op op : {Op::acquire, Op::commit, Op::renew, Op::repair, Op::release}) {
      const Answer answer = read(op, reply);
      REQUIRE(std::holds_alternative<lock::Unreachable>(answer));
      CHECK(std::get<lock::Unreachable>(answer).maybe_applied);
    }
  }
}

TEST_CASE("context: an answer to another question is no answer, nor is one with another word") {
  const std::vector<std::pair<std::string, Op>> answers = {
      {granted("abc", 1, "none", "1"), Op::acquire},
      {refused("1500"), Op::acquire},
      {"*4\r\n" + bulk("done") + number("1") + number("1") + bulk("{}"), Op::acquire},
      {"*4\r\n" + bulk("superseded") + bulk("7") + number("1") + bulk("{}"), Op::acquire},
      {"*1\r\n" + bulk("granted"), Op::repair},
      {"*1\r\n" + bulk("committed"), Op::commit},
      {"*2\r\n" + bulk("not_committed") + bulk("7"), Op::commit},
      {"*1\r\n" + bulk("renewed"), Op::renew},
      {"*1\r\n" + bulk("marked"), Op::mark},
      {"*1\r\n" + bulk("kept"), Op::leave},
      {"*1\r\n" + bulk("cooling"), Op::leave}};
  const auto is_answer = [](Op op, const std::string& wire) {
    return !std::holds_alternative<lock::Unreachable>(read(op, wire));
  };
  for (const auto& each : answers) {
    const std::string& wire = each.first;  // clang 14 captures no structured binding
    CAPTURE(wire);
    std::string with_other_word = wire;
    ++with_other_word[wire.find('\n', wire.find('$')) + 1];
    for (const Op op : {Op::acquire, Op::renew, Op::repair, Op::commit, Op::release, Op::leave,
                        Op::inquire, Op::mark, Op::unmark, Op::revoke, Op::leave_queue}) {
      CHECK(is_answer(op, wire) == (op == each.second));
      CHECK_FALSE(is_answer(op, with_other_word));
    }
  }
  const std::vector<std::pair<std::string, std::vector<Op>>> common = {
      {"released", {Op::release, Op::leave, Op::inquire, Op::unmark, Op::repair}},
      {"missing",
       {Op::release, Op::leave, Op::inquire, Op::unmark, Op::renew, Op::mark, Op::revoke,
        Op::leave_queue}},
      {"held", {Op::leave, Op::leave_queue}},
      {"free", {Op::leave_queue}}};
  for (const auto& each : common) {
    CAPTURE(each.first);
    for (const Op op : {Op::acquire, Op::renew, Op::repair, Op::commit, Op::release, Op::leave,
                        Op::inquire, Op::mark, Op::unmark, Op::revoke, Op::leave_queue}) {
      CHECK(is_answer(op, "*1\r\n" + bulk(each.first)) ==
            (std::ranges::count(each.second, op) > 0));
    }
  }
}
