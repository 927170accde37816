// SPDX-License-Identifier: MIT
//
// What redlock sends again, and how, when a server that this test plays itself refuses it.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "commands.h"
#include "contains.h"
#include "played_server.h"
#include "redis/servers/server_set.h"

namespace redlock::refusals_test {

using namespace std::chrono_literals;
using tests::contains;
using tests::PlayedServer;

namespace {

const lock::Instant kStart = lock::Instant{} + 100s;
constexpr const char* kGranted =
    "*6\r\n$7\r\ngranted\r\n$0\r\n\r\n:0\r\n$4\r\nnone\r\n$1\r\n7\r\n$1\r\n0\r\n";

lock::Ask ask(lock::Op op) {
  return {.server = 0, .attempt = 1, .operation = tests::operation_of(op)};
}

}  // namespace

TEST_CASE("a server that does not know a script, or permits no EVALSHA, gets it in full") {
  for (const std::string refusal :
       {"-NOSCRIPT No matching script. Please use EVAL.\r\n",
        "-NOPERM this user has no permissions to run the 'evalsha' command\r\n",
        "-NOPERM User cron has no permissions to run the 'evalsha' command\r\n",
        "-ERR unknown command 'EVALSHA', with args beginning with: 'abc'\r\n"}) {
    CAPTURE(refusal);
    const bool redisson = refusal.starts_with("-NOSCRIPT");
    PlayedServer server;
    redis::ServerSet servers({server.endpoint()},
                             {.lock_key = "L", .redisson = redisson, .ttl = 30s},
                             [] { return std::string("{}"); }, {}, {});
    servers.ask(ask(lock::Op::acquire), kStart);
    const std::string by_hash = server.read();
    CHECK(by_hash.size() < 500);
    CHECK(contains(by_hash, "\nEVALSHA\r"));
    server.write(refusal);
    CHECK(servers.turn(kStart + 150ms).empty());
    CHECK(servers.turn(kStart + 300ms).empty());  // it has 200 ms of its own
    const std::string in_full = server.read();
    CHECK(contains(in_full, "\nEVAL\r"));
    CHECK(contains(in_full, "'granted'"));
    CHECK(contains(in_full, std::string(redis::scripts::redisson.text)) == redisson);
    server.write(kGranted);
    const auto replies = servers.turn(kStart + 301ms);
    REQUIRE(replies.size() == 1);
    CHECK(std::holds_alternative<lock::Granted>(replies.front().answer));
  }
}

TEST_CASE("a script that a server says too late not to know is a time-out, and nothing else") {
  for (const bool told : {false, true}) {
    PlayedServer server;
    redis::ServerSet servers({server.endpoint()}, {.lock_key = "L", .ttl = 30s},
                             [] { return std::string("{}"); }, {}, {});
    servers.ask(ask(lock::Op::acquire), kStart);
    server.read();
    if (told) REQUIRE(servers.turn(kStart + 200ms).size() == 1);
    server.write("-NOSCRIPT No matching script. Please use EVAL.\r\n");
    const auto replies = servers.turn(kStart + 200ms);
    REQUIRE(replies.size() == (told ? 0 : 1));
    for (const auto& reply : replies) {
      const auto& silence = std::get<lock::Unreachable>(reply.answer);
      CHECK(contains(silence.why, "did not answer within 200 ms"));
      CHECK_FALSE(silence.maybe_applied);
    }
    CHECK(server.read().empty());
  }
}

TEST_CASE("an acquire whose release may keep the lock is sent in full") {
  for (const bool keeps : {false, true}) {
    PlayedServer server;
    redis::ServerSet servers({server.endpoint()}, {.lock_key = "L", .keeps = keeps, .ttl = 30s},
                             [] { return std::string("{}"); }, {}, {});
    servers.ask(ask(lock::Op::acquire), kStart);
    CHECK(contains(server.read(), keeps ? "\nEVAL\r" : "\nEVALSHA\r"));
  }
}

TEST_CASE("of an acquire that was released, an error about its form is no answer; others are") {
  struct Reply {
    const char* error;
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
    PlayedServer server;
    redis::ServerSet servers({server.endpoint()}, {.lock_key = "L", .ttl = 30s},
                             [] { return std::string("{}"); }, {}, {});
    servers.ask(ask(lock::Op::acquire), kStart);
    servers.ask(ask(lock::Op::release), kStart);
    server.read();
    server.write(std::string(reply.error) + "\r\n*2\r\n$7\r\nmissing\r\n$0\r\n\r\n");
    const auto replies = servers.turn(kStart + 100ms);
    REQUIRE(replies.size() == 2);
    const auto* silence = std::get_if<lock::Unreachable>(&replies.front().answer);
    REQUIRE(silence != nullptr);
    CHECK(silence->why.empty() == reply.form);
    if (reply.form) CHECK_FALSE(silence->maybe_applied);
    CHECK(server.read().empty());
  }
}

TEST_CASE("a server that turns us away does not get the script in full") {
  for (const std::string refusal : {"-NOAUTH Authentication required.\r\n",
                                    "-ERR Protocol error: unauthenticated multibulk length\r\n",
                                    "-DENIED Redis is running in protected mode\r\n",
                                    "-ERR max number of clients reached\r\n"}) {
    CAPTURE(refusal);
    PlayedServer server;
    redis::ServerSet servers({server.endpoint()}, {.lock_key = "L", .ttl = 30s},
                             [] { return std::string("{}"); }, {}, {});
    servers.ask(ask(lock::Op::acquire), kStart);
    server.read();
    server.write(refusal);
    CHECK(servers.turn(kStart).size() == 1);
    CHECK(server.read().empty());
  }
}

TEST_CASE("keys that the user may not use are left out, from then on and not before") {
  PlayedServer server;
  redis::ServerSet servers({server.endpoint()}, {.lock_key = "L", .ttl = 30s},
                           [] { return std::string("{}"); }, {}, {});
  const std::string queue = "redlock:{L}:queue";
  servers.ask(ask(lock::Op::acquire), kStart);
  CHECK(contains(server.read(), queue));
  std::string refusal;
  SUBCASE("the user lacks permission") {
    refusal = "-NOPERM No permissions to access a key\r\n";
  }
  SUBCASE("the user lacks permission, as Redis 6 says it") {
    refusal =
        "-NOPERM this user has no permissions to access one of the keys used as arguments\r\n";
  }
  SUBCASE("a Cluster moves the slot: only for this request") {
    refusal = "-TRYAGAIN Multiple keys request during rehashing of slot\r\n";
  }
  server.write(refusal);
  CHECK(servers.turn(kStart).empty());
  const std::string again = server.read();
  CHECK(contains(again, "\nEVAL\r"));
  CHECK_FALSE(contains(again, queue));
  server.write(kGranted);
  REQUIRE(servers.turn(kStart).size() == 1);
  servers.ask(ask(lock::Op::leave), kStart);
  CHECK(contains(server.read(), queue) == refusal.starts_with("-TRY"));
  // What answers over a new connection may be another server.
  server.hang_up();
  servers.turn(kStart);
  servers.ask(ask(lock::Op::leave), kStart);
  server.accept();
  servers.turn(kStart);
  CHECK(contains(server.read(), queue));
}

TEST_CASE("another refusal stands, whatever keys the request declares") {
  PlayedServer server;
  redis::ServerSet servers({server.endpoint()}, {.lock_key = "L", .ttl = 30s},
                           [] { return std::string("{}"); }, {}, {});
  servers.ask(ask(lock::Op::acquire), kStart);
  server.read();
  server.write("-NOPERM this user has no permissions to run the 'evalsha' command\r\n");
  CHECK(servers.turn(kStart).empty());
  CHECK(contains(server.read(), "redlock:{L}:queue"));
  server.write("-NOPERM this user has no permissions to run the 'eval' command\r\n");
  CHECK(servers.turn(kStart).size() == 1);
  CHECK(server.read().empty());
}

TEST_CASE("a password that was refused is read again from its file, and no other time") {
  PlayedServer server;
  redis::Credentials& who = server.endpoint().credentials;
  who = {.user = {}, .password = "old", .file = server.endpoint().path + ".password"};
  const auto write = [&who](std::string_view text) {
    std::FILE* const file = std::fopen(who.file.c_str(), "w");
    REQUIRE(file != nullptr);
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
  };
  redis::ServerSet servers({server.endpoint()}, {.lock_key = "L", .ttl = 30s},
                           [] { return std::string("{}"); }, {}, {});
  const auto refuse = [&](const std::string& password) {
    server.accept();
    CHECK(contains(server.read(), password));
    server.write("-WRONGPASS invalid username-password pair or user is disabled.\r\n");
    return servers.turn(kStart);
  };
  servers.ask(ask(lock::Op::acquire), kStart);
  CHECK(refuse("old").size() == 1);  // there is no file
  for (const std::string_view unusable : {"", "\n", "old\n", "one\ntwo\n"}) {
    write(unusable);
    servers.ask(ask(lock::Op::acquire), kStart);
    CHECK(refuse("old").size() == 1);
  }
  write("new\n");
  servers.ask(ask(lock::Op::acquire), kStart);
  CHECK(refuse("old").empty());
  CHECK(refuse("new").size() == 1);
  ::unlink(who.file.c_str());
}

}  // namespace redlock::refusals_test
