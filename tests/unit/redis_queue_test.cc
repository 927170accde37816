// SPDX-License-Identifier: MIT
#include "redis/requests/answer.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "redis/requests/keys.h"
#include "redis/requests/scripts.h"

namespace redlock::redis {
namespace {

using std::chrono::milliseconds;

std::optional<Queue> waiting(const std::string& wire) {
  ReplyParser parser;
  parser.feed(wire);
  const auto value = parser.next();
  REQUIRE(value.has_value());
  return read_waiting(*value);
}

TEST_CASE("queue: a wake-up says when the lock may be ours") {
  CHECK(read_wake_up("free") == milliseconds(0));
  CHECK(read_wake_up(redis::kUnlocked) == milliseconds(0));
  CHECK(read_wake_up("next") == milliseconds(500));
  CHECK_MESSAGE(read_wake_up("cools 7000") == milliseconds(7001), "when it has cooled, not before");
  CHECK(read_wake_up("cools 0") == milliseconds(1));
}

TEST_CASE("queue: the length in a wake-up is bounded") {
  const auto most = read_wake_up("cools 9007199254740992");
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
    CHECK_FALSE(read_wake_up(text).has_value());
  }
}

TEST_CASE("queue: joining carries who we are and the ticket, leaving and handing on do not") {
  CHECK(encode_join_queue("n", "me", "{}", 1'800'000'000'000) ==
        Command{
            &scripts::join_queue,
            {"n"},
            {"redlock:{n}:", "me", "{}", "1800000000000"},
            {"redlock:{n}:queue", "redlock:{n}:alive", "redlock:{n}:waiters", "redlock:{n}:turn"}});
  const auto hand_on = [](const char* waiter) {
    return Command{
        &scripts::hand_on,
        {"n"},
        {"redlock:{n}:", waiter},
        {"redlock:{n}:queue", "redlock:{n}:alive", "redlock:{n}:waiters", "redlock:{n}:turn"}};
  };
  CHECK(encode_hand_on("n", "me") == hand_on("me"));
  CHECK(encode_hand_on("n") == hand_on(""));
  // A user who never shares a lock needs no permission for the readers.
  Command shared = hand_on("");
  shared.more_keys.emplace_back("redlock:{n}:readers");
  CHECK(encode_hand_on("n", "", true) == shared);
  CHECK_FALSE(redis::LockContext{.lock_key = "n"}.is_shared());
  CHECK(redis::LockContext{.lock_key = "n", .shared = true}.is_shared());
  CHECK(redis::LockContext{.lock_key = "n", .slots = 2}.is_shared());
}

TEST_CASE("queue: the keys and channels of a name with a tag are in the slot of its tag") {
  CHECK(helper_key("n", "") == "redlock:{n}:");
  CHECK(helper_key("a{b}", "") == "redlock-tag:a{b}:");
  CHECK(wake_channel("a{b}", "me") == "redlock-tag:a{b}:wake:me");
}

TEST_CASE("queue: the waiters that a server lists") {
  const auto queue = waiting(
      "*4\r\n$7\r\nwaiting\r\n:30\r\n*3\r\n$1\r\na\r\n$4\r\n1500\r\n$2\r\n{}\r\n"
      "*3\r\n$1\r\nb\r\n$1\r\n0\r\n$0\r\n\r\n");
  REQUIRE(queue.has_value());
  CHECK(queue->length == 30);
  REQUIRE(queue->first.size() == 2);
  CHECK(queue->first[0].id == "a");
  CHECK(queue->first[0].waited == milliseconds(1500));
  CHECK(queue->first[0].who == "{}");
  CHECK(queue->first[1].who.empty());
}

TEST_CASE("queue: a list of waiters that makes no sense is none, a waiter that does is shown") {
  for (const char* wire :
       {"-NOPERM no\r\n", "+OK\r\n", "$-1\r\n", "*0\r\n", "*-1\r\n", "*1\r\n$7\r\nwaiting\r\n",
        "*2\r\n$4\r\nfree\r\n:1\r\n", "*2\r\n$7\r\nwaiting\r\n$1\r\n1\r\n"}) {
    CAPTURE(wire);
    CHECK_FALSE(waiting(wire).has_value());
  }
  const auto some = waiting(
      "*5\r\n$7\r\nwaiting\r\n:-5\r\n*2\r\n$1\r\na\r\n$1\r\n1\r\n"
      "*3\r\n$1\r\nb\r\n$2\r\n-1\r\n$0\r\n\r\n*3\r\n$1\r\nc\r\n$1\r\n7\r\n$0\r\n\r\n");
  REQUIRE(some.has_value());
  REQUIRE(some->first.size() == 1);
  CHECK(some->first[0].id == "c");
  CHECK_MESSAGE(some->length == 1, "at least as many as it lists");
}

TEST_CASE("queue: of what a server lists without end, 20 waiters and 32 hosts are read") {
  std::string waiters = "*42\r\n$7\r\nwaiting\r\n:40\r\n";
  std::string hosts = "*42\r\n$8\r\nrefusals\r\n*4\r\n$1\r\nh\r\n:0\r\n$1\r\n1\r\n$0\r\n\r\n";
  for (int each = 0; each < 40; ++each) {
    waiters += "*3\r\n$1\r\na\r\n$1\r\n0\r\n$0\r\n\r\n";
    hosts += "*4\r\n$1\r\nh\r\n:5\r\n$1\r\n1\r\n$0\r\n\r\n";
  }
  CHECK(waiting(waiters)->first.size() == 20);
  ReplyParser parser;
  parser.feed(hosts);
  const std::vector<GivenUp> refusals = read_refusals(*parser.next());
  REQUIRE(refusals.size() == 32);
  CHECK_MESSAGE(refusals[0].count == 5, "a host that gave up no run is none");
}

}  // namespace
}  // namespace redlock::redis
