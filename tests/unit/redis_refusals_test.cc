// SPDX-License-Identifier: MIT
//
// What redlock sends again, and how, when a server that this test plays itself refuses it.
#include <fstream>

#include "contains.h"
#include "played_server.h"

namespace redlock::refusals_test {

using namespace std::chrono_literals;
using lock::Op;
using tests::contains;
using tests::PlayedSet;

namespace {

constexpr lock::Instant kStart = PlayedSet::kStart;

}  // namespace

TEST_CASE("a server that does not know a script, or permits no EVALSHA, gets it in full") {
  for (const std::string refusal :
       {"-NOSCRIPT No matching script. Please use EVAL.\r\n",
        "-NOPERM this user has no permissions to run the 'evalsha' command\r\n",
        "-NOPERM User cron has no permissions to run the 'evalsha' command\r\n",
        "-ERR unknown command 'EVALSHA', with args beginning with: 'abc'\r\n"}) {
    CAPTURE(refusal);
    const bool redisson = refusal.starts_with("-NOSCRIPT");
    PlayedSet set({.lock_key = "L", .redisson = redisson, .ttl = 30s});
    set.ask(Op::acquire);
    const std::string by_hash = set.server.read();
    CHECK(by_hash.size() < 500);
    CHECK(contains(by_hash, "\nEVALSHA\r"));
    CHECK(set.replies_to(refusal, kStart + 150ms).empty());
    CHECK(set.servers.turn(kStart + 300ms).empty());  // it has 200 ms of its own
    const std::string in_full = set.server.read();
    CHECK(contains(in_full, "\nEVAL\r"));
    CHECK(contains(in_full, "'granted'"));
    CHECK(contains(in_full, std::string(redis::scripts::redisson.text)) == redisson);
    const auto replies = set.replies_to(tests::kGranted, kStart + 301ms);
    REQUIRE(replies.size() == 1);
    CHECK(std::holds_alternative<lock::Granted>(replies.front().answer));
  }
}

TEST_CASE("a script that a server says too late not to know is a time-out, and nothing else") {
  for (const bool told : {false, true}) {
    PlayedSet set;
    set.ask(Op::acquire);
    set.server.read();
    if (told) REQUIRE(set.servers.turn(kStart + 200ms).size() == 1);
    const auto replies =
        set.replies_to("-NOSCRIPT No matching script. Please use EVAL.\r\n", kStart + 200ms);
    REQUIRE(replies.size() == (told ? 0 : 1));
    for (const auto& reply : replies) {
      const auto& silence = std::get<lock::Unreachable>(reply.answer);
      CHECK(contains(silence.why, "did not answer within 200 ms"));
      CHECK_FALSE(silence.maybe_applied);
    }
    CHECK(set.server.read().empty());
  }
}

TEST_CASE("an acquire whose release may keep the lock is sent in full") {
  for (const bool keeps : {false, true}) {
    PlayedSet set({.lock_key = "L", .keeps = keeps, .ttl = 30s});
    set.ask(Op::acquire);
    CHECK(contains(set.server.read(), keeps ? "\nEVAL\r" : "\nEVALSHA\r"));
  }
}

TEST_CASE("of an acquire that was released, an error about its form is no answer; others are") {
  struct Reply {
    std::string error;
    bool form;
  };
  for (const Reply& reply :
       {Reply{"-NOSCRIPT No matching script. Please use EVAL.", true},
        Reply{"-NOPERM this user has no permissions to run the 'evalsha' command", true},
        Reply{"-ERR unknown command 'EVALSHA', with args beginning with: 'abc'", true},
        Reply{"-NOPERM No permissions to access a key", true},
        Reply{"-NOREPLICAS Not enough good replicas to write.", false},
        Reply{"-OOM command not allowed when used memory > 'maxmemory'.", false}}) {
    CAPTURE(reply.error);
    PlayedSet set;
    set.ask(Op::acquire);
    set.ask(Op::release);
    set.server.read();
    const auto replies =
        set.replies_to(reply.error + "\r\n" + tests::array_of("missing", ""), kStart + 100ms);
    REQUIRE(replies.size() == 2);
    const auto* silence = std::get_if<lock::Unreachable>(&replies.front().answer);
    REQUIRE(silence != nullptr);
    CHECK(silence->why.empty() == reply.form);
    if (reply.form) CHECK_FALSE(silence->maybe_applied);
    CHECK(set.server.read().empty());
  }
}

TEST_CASE("a server that turns us away does not get the script in full") {
  for (const std::string refusal : {"-NOAUTH Authentication required.\r\n",
                                    "-ERR Protocol error: unauthenticated multibulk length\r\n",
                                    "-DENIED Redis is running in protected mode\r\n",
                                    "-ERR max number of clients reached\r\n"}) {
    CAPTURE(refusal);
    PlayedSet set;
    set.answer(Op::acquire, refusal);
    CHECK(set.server.read().empty());
  }
}

TEST_CASE("keys that the user may not use are left out, from then on and not before") {
  const std::string queue = "redlock:{L}:queue";
  for (const std::string refusal :
       {"-NOPERM No permissions to access a key\r\n",
        // as Redis 6 says it
        "-NOPERM this user has no permissions to access one of the keys used as arguments\r\n",
        // a Cluster moves the slot: only for this request
        "-TRYAGAIN Multiple keys request during rehashing of slot\r\n"}) {
    CAPTURE(refusal);
    PlayedSet set;
    set.ask(Op::acquire);
    CHECK(contains(set.server.read(), queue));
    CHECK(set.replies_to(refusal).empty());
    const std::string again = set.server.read();
    CHECK(contains(again, "\nEVAL\r"));
    CHECK_FALSE(contains(again, queue));
    REQUIRE(set.replies_to(tests::kGranted).size() == 1);
    set.ask(Op::leave);
    CHECK(contains(set.server.read(), queue) == refusal.starts_with("-TRY"));
    // What answers over a new connection may be another server.
    set.server.hang_up();
    set.servers.turn(kStart);
    set.ask(Op::leave);
    set.server.accept();
    set.servers.turn(kStart);
    CHECK(contains(set.server.read(), queue));
  }
}

TEST_CASE("another refusal stands, whatever keys the request declares") {
  PlayedSet set;
  set.ask(Op::acquire);
  set.server.read();
  const std::string refusal = "-NOPERM this user has no permissions to run the ";
  CHECK(set.replies_to(refusal + "'evalsha' command\r\n").empty());
  CHECK(contains(set.server.read(), "redlock:{L}:queue"));
  CHECK(set.replies_to(refusal + "'eval' command\r\n").size() == 1);
  CHECK(set.server.read().empty());
}

TEST_CASE("a password that was refused is read again from its file, and no other time") {
  tests::PlayedServer server;
  redis::Credentials& who = server.endpoint().credentials;
  who = {.user = {}, .password = "old", .file = server.endpoint().path + ".password"};
  redis::ServerSet servers = tests::servers_of({server.endpoint()}, {.lock_key = "L", .ttl = 30s});
  const auto refuse = [&](const std::string& password) {
    server.accept();
    CHECK(contains(server.read(), password));
    server.write("-WRONGPASS invalid username-password pair or user is disabled.\r\n");
    return servers.turn(kStart);
  };
  const auto ask = [&servers] {
    servers.ask({.server = 0, .attempt = 1, .operation = lock::op::Acquire{}}, kStart);
  };
  ask();
  CHECK(refuse("old").size() == 1);  // there is no file
  for (const char* const unusable : {"", "\n", "old\n", "one\ntwo\n"}) {
    std::ofstream(who.file) << unusable;
    ask();
    CHECK(refuse("old").size() == 1);
  }
  std::ofstream(who.file) << "new\n";
  ask();
  CHECK(refuse("old").empty());
  CHECK(refuse("new").size() == 1);
  ::unlink(who.file.c_str());
}

}  // namespace redlock::refusals_test
