// SPDX-License-Identifier: MIT
#include "doctest.h"

#include <algorithm>

#include "commands.h"
#include "each_of.h"
#include "lock/value.h"
#include "redis/requests/request.h"
#include "redis/requests/scripts.h"

using redlock::lock::Op;
using redlock::redis::Command;
using redlock::redis::LockContext;
namespace lock = redlock::lock;
namespace redis = redlock::redis;
namespace scripts = redlock::redis::scripts;
namespace tests = redlock::tests;

namespace {

LockContext context_of(const std::string& name, const std::string& holder) {
  return {.lock_key = name,
          .list = "01234567",
          .ttl = std::chrono::hours(24),
          .restart_grace = std::chrono::hours(24),
          .waiter = std::string(20, 'w'),
          .holder_json = holder};
}

}  // namespace

TEST_CASE("context: renew and release name the lock key only, the rest is a command of its own") {
  const redis::Secrets alone{.token = "T", .hold = "T"};
  const redis::Secrets joins{.token = "T", .hold = "H"};

  const LockContext context{.lock_key = "name",
                            .ttl = std::chrono::seconds(20),
                            .restart_grace = std::chrono::seconds(60),
                            .waiter = "me",
                            .holder_json = "{}"};
  // Whoever waits is woken if that makes the lock free.
  const Command wake = redis::encode_hand_on("name");
  const auto same = [&](const lock::Operation& operation, const redis::Secrets& secrets,
                        const std::vector<Command>& commands) {
    CHECK(redis::encode_request(operation, context, secrets).commands == commands);
  };
  constexpr std::chrono::seconds kLife(30);
  const Command renew{&scripts::renew, {"name"}, {"T", "30000"}};
  const Command hold{
      &scripts::hold, {"redlock:{name}:holder"}, {"T", "T", "30000", "40000", "20000"}};
  const lock::op::Renew cut{.life = kLife, .cuts = true};
  same(lock::op::Renew{.life = kLife}, alone, {hold, renew});
  CHECK(redis::encode_request(cut, context, alone).answer_at == 1);
  const Command of_ttl{&scripts::hold, hold.keys, {"T", "T", "20000", "30000", ""}};
  CHECK(redis::encode_request(lock::op::Renew{.life = context.ttl}, context, alone).commands[0] ==
        of_ttl);
  // A process that joined says who it is: once the first one has left, it is the holder.
  same(lock::op::Renew{.life = kLife}, joins,
       {{&scripts::hold, hold.keys, {"T", "H", "30000", "40000", "20000", "{}"}}, renew});
  same(cut, alone,
       {hold, renew, {&scripts::cut, {"name", "redlock:{name}:holder"}, {"T", "T", "30000"}}});
  const redis::Secrets redisson{"r1", "r1", false};
  CHECK(redis::encode_request(cut, context, redisson).commands.size() == 2);
  same(lock::op::Release{}, alone,
       {{&scripts::release, {"name"}, {"T"}},
        {.words = {"HDEL", "redlock:{name}:holder", "T", "fence:T", "holds:T", "lease:T"}}});
  // Part of a millisecond is one: a key that cools longer does no harm.
  same(lock::op::Leave{.cools = std::chrono::microseconds(1500)}, joins,
       {{&scripts::leave, {"name", "redlock:{name}:holder"}, {"T", "H", "2"}}, wake});
  // An owner's release is noted and told, what its keeper does for it is noted.
  const std::vector<std::string> noted{"name", "redlock:{name}:holder", "redlock:{name}:fence"};
  same(lock::op::Leave{}, {.token = "T", .hold = "T", .adopted = true},
       {{&scripts::leave, noted, {"T", "T", "0", "owner", "20000"}},
        wake,
        {.keys = {"name"}, .words = {"PUBLISH", "redlock:{name}:told:T", "released"}}});
  same(lock::op::Leave{.for_owner = true}, alone,
       {{&scripts::leave, noted, {"T", "T", "0", "keeper", "20000"}}, wake});
  same(lock::op::Inquire{}, alone, {{&scripts::inquire, {"redlock:{name}:fence"}, {"T"}}});
  lock::op::Mark mark{.life = kLife,
                      .began = std::chrono::milliseconds(1234),
                      .age = std::chrono::microseconds(5999)};
  const std::vector<std::string> done{"redlock:{name}:done"};
  same(mark, alone, {{&scripts::mark, done, {"1234", "30000", "{}", "5"}}});
  mark.who = "them";
  mark.began = {};  // the server's clock is not known
  same(mark, alone, {{&scripts::mark, done, {"", "30000", "them", "5"}}});
  same(lock::op::Unmark{"them"}, alone, {{&scripts::unmark, done, {"them"}}});
  same(lock::op::Commit{7}, alone, {{&scripts::commit, noted, {"T", "7"}}});
  same(lock::op::Repair{.life = kLife}, alone,
       {{&scripts::repair,
         {"name", "redlock:{name}:holder", "redlock:{name}:fence", "redlock:{name}:dead"},
         {"T", "30000", "{}"}},
        hold});
}

TEST_CASE("queue: joining carries who we are and the ticket, leaving and handing on do not") {
  const std::vector<std::string> keys{"redlock:{n}:queue", "redlock:{n}:alive",
                                      "redlock:{n}:waiters", "redlock:{n}:turn"};
  CHECK(redis::encode_join_queue("n", "me", "{}", 1'800'000'000'000) ==
        Command{&scripts::join_queue, {"n"}, {"redlock:{n}:", "me", "{}", "1800000000000"}, keys});
  const auto hand_on = [&keys](const char* waiter) {
    return Command{&scripts::hand_on, {"n"}, {"redlock:{n}:", waiter}, keys};
  };
  CHECK(redis::encode_hand_on("n", "me") == hand_on("me"));
  CHECK(redis::encode_hand_on("n") == hand_on(""));
  // A user who never shares a lock needs no permission for the readers.
  Command shared = hand_on("");
  shared.more_keys.emplace_back("redlock:{n}:readers");
  CHECK(redis::encode_hand_on("n", "", true) == shared);
  CHECK_FALSE(LockContext{.lock_key = "n"}.is_shared());
  CHECK(LockContext{.lock_key = "n", .shared = true}.is_shared());
  CHECK(LockContext{.lock_key = "n", .slots = 2}.is_shared());
}

TEST_CASE("context: an acquire names the queue as an argument, and us only if we have a ticket") {
  const LockContext context{.lock_key = "n",
                            .list = "L",
                            .restart_grace = std::chrono::seconds(60),
                            .waiter = "me",
                            .holder_json = "{}"};
  const redis::Secrets secrets{.token = "T", .hold = "H"};
  // A user without permission for the queue can lock all the same: see more_keys.
  const std::vector<std::string> queue{"redlock:{n}:queue", "redlock:{n}:alive",
                                       "redlock:{n}:waiters", "redlock:{n}:turn"};
  const std::vector<std::string> keys{"n", "redlock:{n}:holder", "redlock:{n}:fence",
                                      "redlock:{n}:dead"};
  std::vector<std::string> with_mark = keys;
  with_mark.emplace_back("redlock:{n}:done");
  const auto same = [&](const lock::op::Acquire& acquire, const std::vector<std::string>& used,
                        const std::vector<std::string>& words) {
    const redis::Flight flight = redis::encode_request(acquire, context, secrets);
    REQUIRE(flight.commands.size() == 1);
    CHECK(flight.commands[0] == Command{&scripts::acquire, used, words, queue});
  };
  lock::op::Acquire acquire{.life = std::chrono::seconds(30)};
  const char* const line = "redlock:{n}:";
  same(acquire, keys, {"T", "30000", "{}", "60", "0", "H", "", "", line, "L"});
  acquire.once = std::chrono::seconds(50);
  same(acquire, with_mark, {"T", "30000", "{}", "60", "0", "H", "", "", line, "L", "50000"});
  acquire.ticket = 1'800'000'000'000;
  const char* const ticket = "1800000000000";
  same(acquire, with_mark, {"T", "30000", "{}", "60", "0", "H", "me", ticket, line, "L", "50000"});
  acquire.once = {};
  same(acquire, keys, {"T", "30000", "{}", "60", "0", "H", "me", ticket, line, "L"});
}

TEST_CASE(
    "context: only a waiter with --newest that has the lock says so when it leaves the queue") {
  for (const bool newest : {false, true}) {
    for (const bool has_lock : {false, true}) {
      LockContext context = context_of("name", "{}");
      context.newest = newest;
      const redis::Flight flight =
          redis::encode_request(lock::op::LeaveQueue{has_lock}, context, {});
      CHECK((flight.commands.front().script == &scripts::won) == (newest && has_lock));
      CHECK(flight.commands.back().script == &scripts::hand_on);
    }
  }
}

TEST_CASE("context: the embedded scripts are whole and bare of comments") {
  for (const redis::Script* each : tests::each_of(
           &scripts::acquire, &scripts::commit, &scripts::mark, &scripts::renew, &scripts::repair,
           &scripts::release, &scripts::hold, &scripts::inquire, &scripts::leave, &scripts::hand_on,
           &scripts::join_queue, &scripts::acquire_newest, &scripts::won, &scripts::acquire_shared,
           &scripts::acquire_slot, &scripts::commit_shared, &scripts::renew_shared,
           &scripts::repair_shared, &scripts::release_shared, &scripts::leave_shared)) {
    const std::string_view script = each->text;
    CHECK((script.starts_with("local ") || script.starts_with("if ")));
    CHECK(script.find("\n ") == std::string_view::npos);
    CHECK(script.find("--") == std::string_view::npos);
    CHECK(script.find("return{'") != std::string_view::npos);
  }
  for (const redis::Script* script : {&scripts::acquire, &scripts::hand_on}) {
    CHECK_MESSAGE(script->text.find("local function hand_on") != std::string_view::npos,
                  "turn.lua");
  }
}

TEST_CASE("a token says whose it is: a reader's requests go to the lock and its readers") {
  const auto flight = [](Op op, char first, bool adopted = false) {
    const std::string token = first + std::string(39, 'a');
    return redis::encode_request(tests::operation_of(op), context_of("name", "{}"),
                                 {token, token, adopted})
        .commands;
  };
  const auto asks = [&](Op op, char first, const redis::Script& script) {
    return std::ranges::count(flight(op, first), &script, &Command::script) == 1;
  };
  CHECK(asks(Op::acquire, 's', scripts::acquire_shared));
  CHECK(asks(Op::acquire, 'p', scripts::acquire_slot));
  CHECK(asks(Op::acquire, 'a', scripts::acquire));
  CHECK(asks(Op::renew, 's', scripts::renew_shared));
  CHECK(asks(Op::renew, 'a', scripts::renew));
  CHECK(asks(Op::repair, 's', scripts::repair_shared));
  CHECK(asks(Op::release, 's', scripts::release_shared));
  CHECK(asks(Op::commit, 's', scripts::commit_shared));
  CHECK(asks(Op::leave, 's', scripts::leave_shared));
  CHECK(flight(Op::leave, 's').size() == 2);
  CHECK(flight(Op::leave, 's', true).size() == 3);
  for (const char first : {'a', 's', 'p', 'r', 'x'}) {
    CAPTURE(first);
    CHECK(lock::is_token(first + std::string(39, 'a')) == (first != 'x'));
  }
  CHECK_FALSE(lock::is_token(std::string(40, 's')));
}

TEST_CASE("a waking server reads an acquire and its release at the same time") {
  constexpr std::size_t kReadAtOnce = 16 * 1024;
  // While an acquire is unanswered, at most 8 KiB are sent in all but for what stands at the end.
  constexpr std::size_t kMaxUnread = 8 * 1024;
  constexpr auto kDay = std::chrono::hours(24);
  struct Row {
    const char* what;
    std::size_t name;
    std::size_t holder;
    char token = 't';
    bool marks = false;
  };
  for (const Row& row :
       {Row{"a leave, for the longest name and a holder that says much of itself", 255, 1440},
        Row{"a mark, too, for a name and a holder of some length", 128, 720, 't', true},
        Row{"a leave of a reader, whose scripts are longer", 96, 800, 's'},
        Row{"a leave of a slot, whose scripts are longer", 32, 370, 'p'}}) {
    CAPTURE(row.what);
    const LockContext context =
        context_of(std::string(row.name, 'n'), std::string(row.holder, 'j'));
    const auto size = [&](const lock::Operation& operation) {
      const redis::Secrets secrets{row.token + std::string(39, 't'), std::string(40, 'h'), false};
      return redis::render(redis::encode_request(operation, context, secrets), false).size();
    };
    const std::size_t acquire =
        size(lock::op::Acquire{.life = kDay, .once = kDay, .ticket = 1ULL << 53U});
    // The wake after the leave may be missing: nobody wakes for a lock that was never had.
    const std::size_t leave =
        size(lock::op::Leave{.cools = kDay, .for_owner = true}) -
        redis::render({{redis::encode_hand_on(context.lock_key)}}, false).size();
    const std::size_t mark = row.marks ? size(lock::op::Mark{.life = kDay}) : 0;
    CHECK(std::max(acquire, kMaxUnread) + mark + leave < kReadAtOnce);
  }
}
