// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "lock/value.h"
#include "redis/requests/answer.h"
#include "redis/requests/request.h"
#include "redis/requests/scripts.h"

using redlock::lock::Answer;
using redlock::lock::Op;
using redlock::redis::Flight;
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
                           .waiter = "me",
                           .holder_json = "{}",
                           .restart_grace = std::chrono::seconds(60)};

LockContext context_of(const std::string& name, const std::string& holder) {
  return {.lock_key = name,
          .waiter = std::string(20, 'w'),
          .ttl = std::chrono::hours(24),
          .holder_json = holder,
          .restart_grace = std::chrono::hours(24)};
}

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
  const std::string all = token + " s" + token.substr(1);
  const auto revoked = std::get<lock::Revoked>(
      read(Op::revoke, "*3\r\n$7\r\nrevoked\r\n:1\r\n$" + std::to_string(all.size()) + "\r\n" + all + "\r\n"));
  CHECK(revoked.readers.size() == 2);
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
  for (const auto& [wire, question] : answers) {
    CAPTURE(wire);
    std::string with_other_word = wire;
    ++with_other_word[wire.find('\n', wire.find('$')) + 1];
    for (const Op op : {Op::acquire, Op::renew, Op::repair, Op::commit, Op::release, Op::leave,
                        Op::inquire, Op::mark, Op::unmark, Op::revoke, Op::leave_queue}) {
      CHECK(is_answer(op, wire) == (op == question));
      CHECK_FALSE(is_answer(op, with_other_word));
    }
  }
  CHECK_FALSE(is_answer(Op::acquire, "*1\r\n$7\r\nmissing\r\n"));
  CHECK_FALSE(is_answer(Op::renew, "*1\r\n$8\r\nreleased\r\n"));
}

TEST_CASE("context: renew and release name the lock key only, the rest is a command of its own") {
  const redis::Secrets alone{.token = "T", .hold = "T"};
  const redis::Secrets joins{.token = "T", .hold = "H"};

  const LockContext context{.lock_key = "name",
                            .waiter = "me",
                            .ttl = std::chrono::seconds(20),
                            .holder_json = "{}",
                            .restart_grace = std::chrono::seconds(60)};
  const std::string renew(redis::scripts::renew);
  const std::string release(redis::scripts::release);
  const std::string hold(redis::scripts::hold);
  const std::string leave(redis::scripts::leave);
  // Whoever waits is woken if that makes the lock free.
  const std::string wake = redis::encode_hand_on("name");
  const auto ask = [](Op op, std::chrono::nanoseconds life = std::chrono::seconds(30)) {
    return lock::Ask{.op = op, .attempt = 1, .fence = 7, .life = life};
  };
  const auto same = [](const Flight& flight, unsigned replies, const std::string& wire) {
    CHECK(flight.replies == replies);
    CHECK(flight.wire == wire);
  };
  same(redis::encode_request(ask(Op::renew), context, alone), 2,
       redis::encode_command({"EVAL", renew, "1", "name", "T", "30000"}) +
           redis::encode_command(
               {"EVAL", hold, "1", "redlock:{name}:holder", "T", "T", "20000", "40000"}));
  same(redis::encode_request(ask(Op::release), context, alone), 2,
       redis::encode_command({"EVAL", release, "1", "name", "T"}) +
           redis::encode_command({"HDEL", "redlock:{name}:holder", "T", "fence:T", "holds:T"}));
  // Part of a millisecond is one: a key that cools longer does no harm.
  same(redis::encode_request(ask(Op::leave, std::chrono::microseconds(1500)), context, joins), 2,
       redis::encode_command({"EVAL", leave, "2", "name", "redlock:{name}:holder", "T", "H", "2"}) +
           wake);
  // An owner's release is noted and told, what its keeper does for it is noted.
  lock::Ask leave_for = ask(Op::leave, std::chrono::seconds(0));
  same(redis::encode_request(leave_for, context, {.token = "T", .hold = "T", .adopted = true}), 3,
       redis::encode_command({"EVAL", leave, "3", "name", "redlock:{name}:holder",
                              "redlock:{name}:fence", "T", "T", "0", "owner", "20000"}) +
           wake + redis::encode_command({"PUBLISH", "redlock:{name}:told:T", "released"}));
  leave_for.for_owner = true;
  same(redis::encode_request(leave_for, context, alone), 2,
       redis::encode_command({"EVAL", leave, "3", "name", "redlock:{name}:holder",
                              "redlock:{name}:fence", "T", "T", "0", "keeper", "20000"}) +
           wake);
  same(redis::encode_request(ask(Op::inquire), context, alone), 1,
       redis::encode_command(
           {"EVAL", std::string(redis::scripts::inquire), "1", "redlock:{name}:fence", "T"}));
  lock::Ask mark = ask(Op::mark);
  mark.began = std::chrono::milliseconds(1234);
  const std::string mark_script(redis::scripts::mark);
  same(redis::encode_request(mark, context, alone), 1,
       redis::encode_command(
           {"EVAL", mark_script, "1", "redlock:{name}:done", "1234", "30000", "{}"}));
  mark.who = "them";
  same(redis::encode_request(mark, context, alone), 1,
       redis::encode_command(
           {"EVAL", mark_script, "1", "redlock:{name}:done", "1234", "30000", "them"}));
  mark.op = Op::unmark;
  same(redis::encode_request(mark, context, alone), 1,
       redis::encode_command({"EVAL", release, "1", "redlock:{name}:done", "1234 them"}));
  same(redis::encode_request(ask(Op::commit), context, alone), 1,
       redis::encode_command({"EVAL", std::string(redis::scripts::commit), "3", "name",
                              "redlock:{name}:holder", "redlock:{name}:fence", "T", "7"}));
  same(redis::encode_request(ask(Op::repair), context, alone), 2,
       redis::encode_command({"EVAL", std::string(redis::scripts::repair), "4", "name",
                              "redlock:{name}:holder", "redlock:{name}:fence",
                              "redlock:{name}:dead", "T", "30000", "{}"}) +
           redis::encode_command(
               {"EVAL", hold, "1", "redlock:{name}:holder", "T", "T", "20000", "40000"}));
}

TEST_CASE("context: an acquire names the queue as an argument, and us only if we have a ticket") {
  const redis::Secrets secrets{.token = "T", .hold = "H"};
  const auto same = [&](const lock::Ask& ask, const std::string& wire) {
    const Flight flight = redis::encode_request(ask, kContext, secrets);
    CHECK(flight.replies == 1);
    CHECK(flight.wire == wire);
  };
  // The server refuses a script to a user without permission for one of its keys, and a user
  // without permission for the queue can lock all the same.
  const auto command = [](const char* keys, auto... more) {
    return redis::encode_command({"EVAL", redis::scripts::acquire, keys, "n", "redlock:{n}:holder",
                                  "redlock:{n}:fence", "redlock:{n}:dead", more...});
  };
  lock::Ask ask{.op = Op::acquire, .attempt = 1, .life = std::chrono::seconds(30)};
  const char* const line = "redlock:{n}:";
  same(ask, command("4", "T", "30000", "{}", "60", "0", "H", "", "", line));
  ask.once = std::chrono::seconds(50);
  const char* const done = "redlock:{n}:done";
  same(ask, command("5", done, "T", "30000", "{}", "60", "0", "H", "", "", line, "50000"));
  ask.ticket = 1'800'000'000'000;
  const char* const ticket = "1800000000000";
  same(ask, command("5", done, "T", "30000", "{}", "60", "0", "H", "me", ticket, line, "50000"));
  ask.once = {};
  same(ask, command("4", "T", "30000", "{}", "60", "0", "H", "me", ticket, line));
}

TEST_CASE("context: the embedded scripts are whole and bare of comments") {
  for (const std::string_view script :
       {redis::scripts::acquire, redis::scripts::commit, redis::scripts::mark,
        redis::scripts::renew, redis::scripts::repair, redis::scripts::release,
        redis::scripts::hold, redis::scripts::inquire, redis::scripts::leave,
        redis::scripts::hand_on, redis::scripts::join_queue, redis::scripts::acquire_newest,
        redis::scripts::won, redis::scripts::acquire_shared,
        redis::scripts::acquire_slot, redis::scripts::commit_shared, redis::scripts::renew_shared,
        redis::scripts::repair_shared, redis::scripts::release_shared,
        redis::scripts::leave_shared}) {
    CHECK((script.starts_with("local ") || script.starts_with("if ")));
    CHECK(script.find("\n ") == std::string_view::npos);
    CHECK(script.find("--") == std::string_view::npos);
    CHECK(script.find("return{'") != std::string_view::npos);
  }
  for (const std::string_view script : {redis::scripts::acquire, redis::scripts::hand_on}) {
    CHECK_MESSAGE(script.find("local function hand_on") != std::string_view::npos, "turn.lua");
  }
}

TEST_CASE("a token says whose it is: a reader's requests go to the lock and its readers") {
  const LockContext context = context_of("name", "{}");
  const auto wire = [&](Op op, char first, bool adopted = false) {
    redis::Secrets secrets{std::string(40, 'a'), std::string(40, 'a'), adopted};
    secrets.token.front() = secrets.hold.front() = first;
    return redis::encode_request({.op = op, .attempt = 1}, context, secrets);
  };
  const auto asks = [](const redis::Flight& flight, std::string_view script) {
    return flight.wire.find(script) != std::string::npos;
  };
  CHECK(asks(wire(Op::acquire, 's'), redis::scripts::acquire_shared));
  CHECK(asks(wire(Op::acquire, 'p'), redis::scripts::acquire_slot));
  CHECK(asks(wire(Op::acquire, 'a'), redis::scripts::acquire));
  CHECK(asks(wire(Op::renew, 's'), redis::scripts::renew_shared));
  CHECK(asks(wire(Op::renew, 'a'), redis::scripts::renew));
  CHECK(asks(wire(Op::repair, 's'), redis::scripts::repair_shared));
  CHECK(asks(wire(Op::release, 's'), redis::scripts::release_shared));
  CHECK(asks(wire(Op::commit, 's'), redis::scripts::commit_shared));
  CHECK(asks(wire(Op::leave, 's'), redis::scripts::leave_shared));
  CHECK(wire(Op::leave, 's').replies == 2);
  CHECK(wire(Op::leave, 's', true).replies == 3);
  CHECK(lock::is_token(std::string(39, 'a').insert(0, 1, 's')));
  CHECK(lock::is_token(std::string(39, 'a').insert(0, 1, 'p')));
  CHECK(lock::is_token(std::string(39, 'a').insert(0, 1, 'r')));
  CHECK_FALSE(lock::is_token(std::string(39, 'a').insert(0, 1, 'x')));
  CHECK_FALSE(lock::is_token(std::string(40, 's')));
}

TEST_CASE("a waking server reads an acquire and what takes it back at once") {
  redis::Secrets secrets{std::string(40, 't'), std::string(40, 'h'), false};
  constexpr std::size_t kReadAtOnce = 16 * 1024;
  // While an acquire is unanswered, at most 8 KiB are sent in all but for what stands at the end.
  constexpr std::size_t kMaxUnread = 8 * 1024;
  const auto size = [&](Op op, const LockContext& context) {
    lock::Ask ask{.op = op, .attempt = 1, .life = std::chrono::hours(24)};
    ask.ticket = 1ULL << 53U;
    ask.once = std::chrono::hours(24);
    ask.for_owner = true;
    return redis::encode_request(ask, context, secrets).wire.size();
  };
  // The wake behind the leave may be missing: nobody wakes for a lock that was never had.
  const auto leave = [&](const LockContext& context) {
    return size(Op::leave, context) - redis::encode_hand_on(context.lock_key).size();
  };
  SUBCASE("a leave, for the longest name and a holder that says as much of itself as one can") {
    const LockContext longest = context_of(std::string(255, 'n'), std::string(1500, 'j'));
    CHECK(std::max(size(Op::acquire, longest), kMaxUnread) + leave(longest) < kReadAtOnce);
  }
  SUBCASE("a mark, too, for a name and a holder of some length") {
    const LockContext usual = context_of(std::string(128, 'n'), std::string(800, 'j'));
    CHECK(std::max(size(Op::acquire, usual), kMaxUnread) + size(Op::mark, usual) + leave(usual) <
          kReadAtOnce);
  }
  SUBCASE("a leave of a reader or a slot, whose scripts are longer, for shorter names") {
    const LockContext usual = context_of(std::string(96, 'n'), std::string(800, 'j'));
    secrets.token.front() = 's';
    CHECK(std::max(size(Op::acquire, usual), kMaxUnread) + leave(usual) < kReadAtOnce);
    const LockContext shorter = context_of(std::string(32, 'n'), std::string(380, 'j'));
    secrets.token.front() = 'p';
    CHECK(std::max(size(Op::acquire, shorter), kMaxUnread) + leave(shorter) < kReadAtOnce);
  }
}
