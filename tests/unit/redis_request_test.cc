// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "lock/value.h"
#include "redis/requests/request.h"
#include "redis/requests/scripts.h"
#include "redis/wire/resp.h"

using redlock::lock::Op;
using redlock::redis::Flight;
using redlock::redis::LockContext;
namespace lock = redlock::lock;
namespace redis = redlock::redis;

namespace {

LockContext context_of(const std::string& name, const std::string& holder) {
  return {.lock_key = name,
          .waiter = std::string(20, 'w'),
          .ttl = std::chrono::hours(24),
          .holder_json = holder,
          .restart_grace = std::chrono::hours(24)};
}

}  // namespace

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
       redis::encode_command(
           {"EVAL", hold, "1", "redlock:{name}:holder", "T", "T", "30000", "40000"}) +
           redis::encode_command({"EVAL", renew, "1", "name", "T", "30000"}));
  CHECK(redis::encode_request(ask(Op::renew), context, alone).answer_at == 1);
  lock::Ask cut = ask(Op::renew);
  cut.cuts = true;
  same(redis::encode_request(cut, context, alone), 3,
       redis::encode_request(ask(Op::renew), context, alone).wire +
           redis::encode_command({"EVAL", std::string(redis::scripts::cut), "2", "name",
                                  "redlock:{name}:holder", "T", "T", "30000"}));
  const redis::Secrets redisson{"r1", "r1", false};
  CHECK(redis::encode_request(cut, context, redisson).replies == 2);
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
  mark.age = std::chrono::microseconds(5999);
  const std::string mark_script(redis::scripts::mark);
  same(redis::encode_request(mark, context, alone), 1,
       redis::encode_command(
           {"EVAL", mark_script, "1", "redlock:{name}:done", "1234", "30000", "{}", "5"}));
  mark.who = "them";
  mark.began = {};  // the server's clock is not known
  same(redis::encode_request(mark, context, alone), 1,
       redis::encode_command(
           {"EVAL", mark_script, "1", "redlock:{name}:done", "", "30000", "them", "5"}));
  mark.op = Op::unmark;
  same(redis::encode_request(mark, context, alone), 1,
       redis::encode_command(
           {"EVAL", std::string(redis::scripts::unmark), "1", "redlock:{name}:done", "them"}));
  same(redis::encode_request(ask(Op::commit), context, alone), 1,
       redis::encode_command({"EVAL", std::string(redis::scripts::commit), "3", "name",
                              "redlock:{name}:holder", "redlock:{name}:fence", "T", "7"}));
  same(redis::encode_request(ask(Op::repair), context, alone), 2,
       redis::encode_command({"EVAL", std::string(redis::scripts::repair), "4", "name",
                              "redlock:{name}:holder", "redlock:{name}:fence",
                              "redlock:{name}:dead", "T", "30000", "{}"}) +
           redis::encode_command(
               {"EVAL", hold, "1", "redlock:{name}:holder", "T", "T", "30000", "40000"}));
}

TEST_CASE("context: an acquire names the queue as an argument, and us only if we have a ticket") {
  const LockContext context{.lock_key = "n",
                            .waiter = "me",
                            .holder_json = "{}",
                            .restart_grace = std::chrono::seconds(60)};
  const redis::Secrets secrets{.token = "T", .hold = "H"};
  const auto same = [&](const lock::Ask& ask, const std::string& wire) {
    const Flight flight = redis::encode_request(ask, context, secrets);
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
  same(ask, command("4", "T", "30000", "{}", "60", "30000", "H", "", "", line));
  ask.once = std::chrono::seconds(50);
  const char* const done = "redlock:{n}:done";
  same(ask, command("5", done, "T", "30000", "{}", "60", "30000", "H", "", "", line, "50000"));
  ask.ticket = 1'800'000'000'000;
  const char* const ticket = "1800000000000";
  same(ask, command("5", done, "T", "30000", "{}", "60", "30000", "H", "me", ticket, line, "50000"));
  ask.once = {};
  same(ask, command("4", "T", "30000", "{}", "60", "30000", "H", "me", ticket, line));
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
