// SPDX-License-Identifier: MIT
//
// What the replies of the scripts mean, also those of a hostile server.
#include "doctest.h"

#include <algorithm>
#include <limits>

#include "commands.h"
#include "contains.h"
#include "redis/requests/answer.h"
#include "redis/requests/keys.h"

namespace redlock::answer_test {

using lock::Answer;
using lock::Op;
using std::chrono::milliseconds;
using tests::array_of;

namespace {

redis::Value parsed(const std::string& wire) {
  redis::ReplyParser parser;
  parser.feed(wire);
  const auto value = parser.next();
  REQUIRE(value.has_value());
  return *value;
}

Answer read(Op op, const std::string& wire) {
  return redis::read_answer(op,
                            {.lock_key = "n",
                             .restart_grace = std::chrono::seconds(60),
                             .waiter = "me",
                             .holder_json = "{}"},
                            parsed(wire));
}

/// A refusal of an acquire. `word`: "refused" or "turn".
tests::Wire refused(std::int64_t pttl, const std::string& ticket = "7", int place = 2,
                    int waiters = 3, const std::string& word = "refused") {
  return array_of(word, "T", pttl, "{}", "0", ticket, place, waiters);
}

std::string granted(const std::string& run_id, int uptime, const std::string& trace,
                    const std::string& fence, const std::string& clock = "0") {
  return array_of("granted", run_id, uptime, trace, fence, clock);
}

std::optional<redis::Queue> waiting(const std::string& wire) {
  return redis::read_waiting(parsed(wire));
}

bool is_answer(Op op, const std::string& wire) {
  return !std::holds_alternative<lock::Unreachable>(read(op, wire));
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
}

TEST_CASE("context: a server that was restarted, or is a replica, has no vote") {
  const auto no_vote = [](const std::string& word, const auto& detail) {
    const auto trouble = std::get<lock::Unreachable>(read(Op::acquire, array_of(word, detail)));
    CHECK_FALSE(trouble.maybe_applied);
    CHECK(trouble.permanent == (word == "replica"));
    return trouble.why;
  };
  CHECK(tests::contains(no_vote("replica", "db1:6379"), "db1:6379"));
  CHECK(no_vote("fresh", 12).starts_with("was restarted 12 s ago"));
  CHECK(tests::contains(no_vote("fresh", 12), "trusted in 49 s"));
}

TEST_CASE("context: a run that is superseded, or was successful") {
  const auto superseded = [](const std::string& build, int ago) {
    return read(Op::acquire, array_of("superseded", build, ago, "{}"));
  };
  const auto newest = std::get<lock::Superseded>(superseded("", 0));
  CHECK(newest.build == 0);
  CHECK(newest.who == "{}");
  const auto build = std::get<lock::Superseded>(superseded("4713", 1500));
  CHECK(build.build == 4713);
  CHECK(build.ago == milliseconds(1500));
  CHECK(std::holds_alternative<lock::Unreachable>(superseded("x", 0)));
  const auto done = std::get<lock::Done>(read(Op::acquire, array_of("done", 1500, -1, "{}")));
  CHECK(done.age == milliseconds(1500));
  CHECK(done.left == milliseconds(0));
  CHECK(done.who == "{}");
}

TEST_CASE("context: a lock that is revoked, now or before") {
  const std::string token(40, 'a');
  const std::string all = token + " s" + token.substr(1) + " shared:s" + token.substr(1);
  const auto revoked = std::get<lock::Revoked>(read(Op::revoke, array_of("revoked", 1, all, 1)));
  CHECK(revoked.readers.size() == 2);
  CHECK_FALSE(revoked.before);
  CHECK(std::get<lock::Revoked>(read(Op::revoke, array_of("revoked", 1, "", 0))).before);
}

TEST_CASE("context: what a grant carries; a clock that cannot be is none") {
  const auto grant = [](const std::string& clock) {
    return std::get<lock::Granted>(read(Op::acquire, granted("abc", 100, "present", "17", clock)));
  };
  CHECK(grant("0").run_id == "abc");
  CHECK(grant("0").fence == 17);
  CHECK(grant("0").clock.count() == 0);
  CHECK(grant("1800000000000").clock.count() == 1'800'000'000'000);
  CHECK(grant("9000000000000000").clock.count() == 0);  // it would overflow
}

TEST_CASE("context: a refusal says who has the lock, and where we stand in the queue") {
  const auto held = std::get<lock::Refused>(read(Op::acquire, refused(1500)));
  CHECK(held.blocker == "T");
  CHECK(held.ttl_left == milliseconds(1500));
  CHECK(held.holder == "{}");
  CHECK_FALSE(held.turn);
  CHECK(held.ticket == 7);
  CHECK(held.place == 2);
  CHECK(held.waiters == 3);
  // Of readers, the ninth text is the writer that waits before us, otherwise who has each slot.
  for (const std::string blocker : {"T", "shared:T"}) {
    const auto more = std::get<lock::Refused>(
        read(Op::acquire, array_of("refused", blocker, 1500, "{}", "0", "7", 2, 3, "x")));
    CHECK(more.slots == (blocker == "T" ? "x" : ""));
    CHECK(more.waits_before.has_value() == (blocker != "T"));
  }
  const auto turn = std::get<lock::Refused>(read(Op::acquire, refused(400, "8", 0, 0, "turn")));
  CHECK(turn.turn);
  CHECK(turn.blocker == "T");
  CHECK(turn.ttl_left == milliseconds(400));
  CHECK(turn.ticket == 8);
  CHECK(turn.place == 0);
  const auto repair = read(Op::repair, array_of("refused", "T", 1500, "{}", "0"));
  CHECK(std::get<lock::Refused>(repair).blocker == "T");
  const auto other = read(Op::renew, array_of("not_mine", "revoked:T"));
  CHECK(std::get<lock::NotMine>(other).blocker == "revoked:T");
}

TEST_CASE("context: a refusal that misplaces us in the queue is no answer") {
  CHECK(is_answer(Op::acquire, refused(1, "9007199254740992")));
  // The first of these is more than a score counts.
  for (const std::string ticket :
       {"9007199254740993", "99999999999999999999999", "", "-1", "inf", "nan", "1e15", "7.5"}) {
    CAPTURE(ticket);
    CHECK_FALSE(is_answer(Op::acquire, refused(1, ticket)));
  }
  for (const std::string& wire : {refused(1, "7", -1), refused(1, "7", 2, -1),
                                  array_of("refused", "T", 1, "{}", "0"),  // as a repair is refused
                                  array_of("refused", "T", 1, "{}", "0", "7", 1),
                                  array_of("refused", "T", 1, "{}", "0", 7, 1, 1),
                                  array_of("refused", "T", 1, "{}", "0", "7", "1", "1"),
                                  array_of("refused", "T", 1, "{}", "0", "7", 1, 1, 1)}) {
    CAPTURE(wire);
    CHECK_FALSE(is_answer(Op::acquire, wire));
  }
}

TEST_CASE("context: the time left is bounded") {
  const auto left = [](std::int64_t pttl) {
    return std::get<lock::Refused>(read(Op::acquire, refused(pttl))).ttl_left;
  };
  CHECK_FALSE(left(-1).has_value());
  CHECK(left(-2) == milliseconds(0));
  CHECK(left(std::numeric_limits<std::int64_t>::min()) == milliseconds(0));
  const auto most = left(std::numeric_limits<std::int64_t>::max());
  REQUIRE(most.has_value());
  CHECK(std::chrono::nanoseconds(*most).count() > 0);  // it fits into nanoseconds
}

TEST_CASE("context: hostile replies are no answer") {
  const std::vector<std::string> replies = {"+OK\r\n",
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
                                            array_of("granted", 1, 1, "x", "1"),
                                            array_of("fresh", "1"),
                                            array_of("not_committed", 1),
                                            array_of("not_committed", "-1"),
                                            array_of("replica", 1),
                                            array_of("done"),
                                            array_of("refused"),
                                            array_of("refused", "x"),
                                            array_of("not_mine"),
                                            array_of("not_mine", 3),
                                            array_of("refused", 1, 1, ""),
                                            array_of("refused", "x", "1", ""),
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
  struct Row {
    std::string wire;
    std::vector<Op> answers;
    Answer answer;
  };
  const std::vector<Op> others = {Op::release, Op::leave, Op::inquire, Op::unmark,
                                  Op::renew,   Op::mark,  Op::revoke,  Op::leave_queue};
  const std::vector<Row> rows = {
      {granted("abc", 1, "none", "1"), {Op::acquire}, lock::Granted{}},
      {refused(1500), {Op::acquire}, lock::Refused{}},
      {refused(1500, "7", 2, 3, "turn"), {Op::acquire}, lock::Refused{}},
      {array_of("done", 1, 1, "{}"), {Op::acquire}, lock::Done{}},
      {array_of("superseded", "7", 1, "{}"), {Op::acquire}, lock::Superseded{}},
      {array_of("granted"), {Op::repair}, lock::Granted{}},
      {array_of("committed"), {Op::commit}, lock::Committed{}},
      {array_of("not_committed", "7"), {Op::commit}, lock::NotCommitted{}},
      {array_of("renewed"), {Op::renew}, lock::Renewed{}},
      {array_of("marked"), {Op::mark}, lock::Marked{}},
      {array_of("kept"), {Op::leave}, lock::Released{}},
      {array_of("cooling"), {Op::leave}, lock::Released{}},
      {array_of("held"), {Op::leave, Op::leave_queue}, lock::Released{}},
      {array_of("free"), {Op::leave_queue}, lock::Released{}},
      {array_of("released"),
       {Op::release, Op::leave, Op::inquire, Op::unmark, Op::repair},
       lock::Released{}},
      {array_of("missing"), others, lock::Missing{}},
      {array_of("not_mine", "x"), others, lock::NotMine{}}};
  for (const Row& row : rows) {
    CAPTURE(row.wire);
    std::string with_other_word = row.wire;
    ++with_other_word[row.wire.find('\n', row.wire.find('$')) + 1];
    for (const Op op : {Op::acquire, Op::renew, Op::repair, Op::commit, Op::release, Op::leave,
                        Op::inquire, Op::mark, Op::unmark, Op::revoke, Op::leave_queue}) {
      CAPTURE(static_cast<int>(op));
      const bool answers = std::ranges::count(row.answers, op) > 0;
      CHECK(is_answer(op, row.wire) == answers);
      if (answers) CHECK(read(op, row.wire).index() == row.answer.index());
      CHECK_FALSE(is_answer(op, with_other_word));
    }
  }
}

TEST_CASE("replicas: a vote counts if as many as were asked for have it; else it may last") {
  const auto counts = [](const lock::Answer& answer, const redis::Value& waited) {
    const lock::Answer read = redis::read_waited(answer, waited, 2);
    const auto* const why = std::get_if<lock::Unreachable>(&read);
    CHECK((why == nullptr || (why->maybe_applied && !why->permanent)));
    return why == nullptr;
  };
  for (const lock::Answer& vote : {lock::Answer(lock::Granted{}), lock::Answer(lock::Renewed{}),
                                   lock::Answer(lock::Committed{})}) {
    CAPTURE(vote.index());
    for (const int have : {-1, 0, 1, 2, 3}) {
      CAPTURE(have);
      CHECK(counts(vote, parsed(":" + std::to_string(have) + "\r\n")) == (have >= 2));
    }
    CHECK_FALSE(counts(vote, parsed("+OK\r\n")));
  }
  CHECK(counts(lock::Refused{}, parsed(":0\r\n")));
  CHECK(counts(lock::Missing{}, parsed(":0\r\n")));
}

TEST_CASE("queue: a wake-up says when the lock may be ours, within bounds") {
  CHECK(redis::read_wake_up("free") == milliseconds(0));
  CHECK(redis::read_wake_up(redis::kUnlocked) == milliseconds(0));
  CHECK(redis::read_wake_up("next") == milliseconds(500));
  CHECK_MESSAGE(redis::read_wake_up("cools 7000") == milliseconds(7001),
                "when it has cooled, not before");
  CHECK(redis::read_wake_up("cools 0") == milliseconds(1));
  const auto most = redis::read_wake_up("cools 9007199254740992");
  REQUIRE(most.has_value());
  CHECK(*most > std::chrono::hours(24 * 365));
  CHECK_MESSAGE(*most < std::chrono::hours(24 * 367), "a sum with it must not overflow");
}

TEST_CASE("queue: any other text is not a wake-up") {
  using namespace std::string_view_literals;
  for (const std::string_view text :
       {""sv, "FREE"sv, "free "sv, " free"sv, "free\0"sv, "freedom"sv, "next 1"sv, "cools"sv,
        "cools "sv, "cools -1"sv, "cools +1"sv, "cools 1.5"sv, "cools 1 "sv, "cools  1"sv,
        "cools 1s"sv, "cools 0x1"sv, "cools 9007199254740993"sv, "cools 99999999999999999999"sv,
        "released"sv}) {
    CAPTURE(text);
    CHECK_FALSE(redis::read_wake_up(text).has_value());
  }
}

TEST_CASE("queue: the waiters that a server lists") {
  const auto queue =
      waiting(array_of("waiting", 30, array_of("a", "1500", "{}"), array_of("b", "0", "")));
  REQUIRE(queue.has_value());
  CHECK(queue->length == 30);
  REQUIRE(queue->first.size() == 2);
  CHECK(queue->first[0].id == "a");
  CHECK(queue->first[0].waited == milliseconds(1500));
  CHECK(queue->first[0].who == "{}");
  CHECK(queue->first[1].who.empty());
}

TEST_CASE("queue: a list of waiters that makes no sense is none, a waiter that does is shown") {
  for (const std::string wire :
       {"-NOPERM no\r\n", "+OK\r\n", "$-1\r\n", "*0\r\n", "*-1\r\n", "*1\r\n$7\r\nwaiting\r\n",
        "*2\r\n$4\r\nfree\r\n:1\r\n", "*2\r\n$7\r\nwaiting\r\n$1\r\n1\r\n"}) {
    CAPTURE(wire);
    CHECK_FALSE(waiting(wire).has_value());
  }
  const auto some = waiting(
      array_of("waiting", -5, array_of("a", "1"), array_of("b", "-1", ""), array_of("c", "7", "")));
  REQUIRE(some.has_value());
  REQUIRE(some->first.size() == 1);
  CHECK(some->first[0].id == "c");
  CHECK_MESSAGE(some->length == 1, "at least as many as it lists");
}

TEST_CASE("queue: of what a server lists without end, 20 waiters and 32 hosts are read") {
  std::string waiters = "*42\r\n$7\r\nwaiting\r\n:40\r\n";
  std::string hosts = "*42\r\n$8\r\nrefusals\r\n" + array_of("h", 0, "1", "");
  for (int each = 0; each < 40; ++each) {
    waiters += array_of("a", "0", "");
    hosts += array_of("h", 5, "1", "");
  }
  CHECK(waiting(waiters)->first.size() == 20);
  const std::vector<redis::GivenUp> refusals = redis::read_refusals(parsed(hosts));
  REQUIRE(refusals.size() == 32);
  CHECK_MESSAGE(refusals[0].count == 5, "a host that gave up no run is none");
}

}  // namespace redlock::answer_test
