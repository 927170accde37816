// SPDX-License-Identifier: MIT
//
// Connections to a server that this test plays itself, on a Unix socket, at times that it chooses.
#include <doctest/doctest.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstdio>
#include <string>
#include <vector>

#include "commands.h"
#include "contains.h"
#include "played_server.h"
#include "redis/connection/dialer.h"
#include "redis/requests/answer.h"
#include "redis/requests/scripts.h"
#include "redis/servers/server_set.h"

namespace redlock::connections_test {

using namespace std::chrono_literals;
using tests::array_of;
using tests::contains;
using tests::PlayedServer;

namespace {

const lock::Instant kStart = lock::Instant{} + 100s;
const std::string kToken(40, 'a');

lock::Ask ask(lock::Op op) {
  return {.server = 0, .attempt = 1, .operation = tests::operation_of(op)};
}

/// An attempt of ours on a played server, which has granted it.
struct Holder {
  explicit Holder(PlayedServer& played, bool redisson = false)
      : server(played),
        servers({played.endpoint()}, {.lock_key = "L", .redisson = redisson, .ttl = 30s},
                [] { return std::string("{}"); }, {}, {}) {
    servers.ask(ask(lock::Op::acquire), kStart);
    server.read();
    server.write("*6\r\n$7\r\ngranted\r\n$0\r\n\r\n:0\r\n$4\r\nnone\r\n$1\r\n7\r\n$1\r\n0\r\n");
    REQUIRE(servers.turn(kStart).size() == 1);
  }
  /// The server's answer to this request, given in these words.
  lock::Answer answer(lock::Op op, const std::string& wire) {
    servers.ask(ask(op), kStart);
    server.read();
    server.write(wire);
    const std::vector<lock::Reply> replies = servers.turn(kStart);
    REQUIRE(replies.size() == 1);
    return replies.front().answer;
  }

  PlayedServer& server;
  redis::ServerSet servers;
};

}  // namespace

TEST_CASE("only the revocation of our own token is a revocation of ours") {
  PlayedServer server;
  Holder holder(server);
  const auto refused = [&](const std::string& token) {
    const lock::Answer answer =
        holder.answer(lock::Op::renew,
                      array_of({"missing"}) + array_of({"not_mine", "revoked:" + token + " {}"}));
    return std::get<lock::NotMine>(answer).revoked;
  };
  CHECK(refused(holder.servers.token(1)));
  CHECK_FALSE(refused(kToken));
}

TEST_CASE("a released vote is not released again; one that only cools, or failed, is") {
  PlayedServer server;
  Holder holder(server);
  CHECK(holder.servers.owes());
  holder.answer(lock::Op::leave, array_of({"cooling"}) + array_of({"held"}));
  CHECK(holder.servers.owes());
  holder.answer(lock::Op::leave, "-OOM\r\n" + array_of({"held"}));
  CHECK(holder.servers.owes());
  holder.answer(lock::Op::leave, array_of({"released"}) + array_of({"free", ""}));
  CHECK_FALSE(holder.servers.owes());
  holder.servers.give_back_all(kStart);
  CHECK(server.read().empty());
}

TEST_CASE("at the end, a server may lose a release only if it has read what came before") {
  PlayedServer server;
  redis::ServerSet servers({server.endpoint()}, {.lock_key = "L", .ttl = 30s},
                           [] { return std::string("{}"); }, {}, {});
  servers.ask(ask(lock::Op::acquire), kStart);
  CHECK_FALSE(servers.loses_requests());
  SUBCASE("it has read nothing, and will read all together") {
    servers.ask(ask(lock::Op::release), kStart);
    CHECK_FALSE(servers.loses_requests());
  }
  SUBCASE("it has read the acquire, and its answer may fail before it reads the release") {
    server.read();
    servers.ask(ask(lock::Op::release), kStart);
    CHECK(servers.loses_requests());
    server.read();
    server.write(array_of({"refused"}) + array_of({"refused"}) + array_of({"missing"}) +
                 array_of({"free", ""}));
    servers.turn(kStart);
    CHECK_FALSE(servers.loses_requests());
  }
  SUBCASE("it has answered the acquire") {
    server.read();
    server.write(array_of({"refused"}) + array_of({"refused"}));
    servers.turn(kStart);
    servers.ask(ask(lock::Op::release), kStart);
    CHECK_FALSE(servers.loses_requests());
  }
}

TEST_CASE("a subscription that was refused is not asked for again, and one that failed is") {
  PlayedServer server;
  redis::Endpoint& endpoint = server.endpoint();
  redis::Subscriber open(endpoint, nullptr, {}, "key", "channel");
  open.subscribe(kStart);
  CHECK(contains(server.read(), "SUBSCRIBE"));
  server.write("-NOPERM this user has no permissions\r\n");
  open.turn(kStart);
  open.subscribe(kStart);
  open.turn(kStart);
  CHECK(server.read().empty());
  CHECK_FALSE(server.is_called());

  endpoint.credentials.password = "secret";
  redis::Subscriber locked(endpoint, nullptr, {}, "key", "channel");
  locked.subscribe(kStart);
  server.accept();
  CHECK(contains(server.read(), "AUTH"));
  server.write("-LOADING\r\n");
  locked.turn(kStart);
  locked.subscribe(kStart);
  server.accept();
  CHECK(contains(server.read(), "AUTH"));
  server.write("-WRONGPASS\r\n");
  locked.turn(kStart);
  locked.subscribe(kStart);
  CHECK_FALSE(server.is_called());
}

TEST_CASE(
    "a subscription that was refused for the moment is asked for again, over a new connection") {
  const std::string busy = "-BUSY Redis is busy running a script.\r\n";
  for (const std::string& refusal : {busy, std::string("-ERR max number of clients reached\r\n")}) {
    for (const lock::Duration after : {0ms, 500ms}) {
      CAPTURE(refusal);
      CAPTURE(after.count());
      PlayedServer server;
      redis::Subscriber open(server.endpoint(), nullptr, {}, "key", "channel");
      open.subscribe(kStart);
      CHECK(contains(server.read(), "SUBSCRIBE"));
      CHECK(open.turn(kStart + after).empty());  // the later one is its time-out
      server.write(refusal);
      CHECK(open.turn(kStart + after).empty());
      CHECK_FALSE(open.begins());
      open.subscribe(kStart + 1s);
      REQUIRE(server.is_called());
      server.accept();
      CHECK(contains(server.read(), "SUBSCRIBE"));
      server.write("*3\r\n$9\r\nsubscribe\r\n$7\r\nchannel\r\n:1\r\n");
      CHECK(open.turn(kStart + 1s) == std::vector<std::string>{""});
    }
  }
}

TEST_CASE("a subscription that is not answered at all is asked for again, over a new connection") {
  PlayedServer server;
  redis::Subscriber open(server.endpoint(), nullptr, {}, "key", "channel");
  open.subscribe(kStart);
  CHECK(contains(server.read(), "SUBSCRIBE"));
  CHECK(open.turn(kStart + 500ms).empty());  // the time-out
  open.subscribe(kStart + 900ms);
  CHECK_FALSE(server.is_called());  // a slow server has some time
  CHECK(open.deadline() == kStart + 1s);
  CHECK(open.turn(kStart + 1s).empty());
  open.subscribe(kStart + 1s);
  CHECK(server.is_called());
}

TEST_CASE("a subscription that is confirmed late is confirmed all the same, and once") {
  PlayedServer server;
  redis::Subscriber open(server.endpoint(), nullptr, {}, "key", "channel");
  const std::string confirmed = "*3\r\n$9\r\nsubscribe\r\n$7\r\nchannel\r\n:1\r\n";
  open.subscribe(kStart);
  CHECK(contains(server.read(), "SUBSCRIBE"));
  CHECK(open.turn(kStart + 500ms).empty());  // the time-out
  CHECK_FALSE(open.begins());
  server.write(confirmed);
  CHECK(open.turn(kStart + 600ms) == std::vector<std::string>{""});
  server.write(confirmed + "*3\r\n$7\r\nmessage\r\n$7\r\nchannel\r\n$2\r\nhi\r\n");
  CHECK(open.turn(kStart + 700ms) == std::vector<std::string>{"hi"});
}

TEST_CASE("a server whose backlog is full is tried again") {
  PlayedServer server(0);
  std::vector<os::Fd> others;
  redis::Dialer dialer(1s);
  for (int tries = 0; tries < 10; ++tries) {
    dialer.start(server.endpoint(), kStart, kStart + 1s);
    os::Fd connected = dialer.turn(kStart);
    if (!connected) break;
    others.push_back(std::move(connected));
  }
  REQUIRE(others.size() < 10);
  CHECK_FALSE(dialer.failure());
  CHECK(dialer.deadline() == kStart + 10ms);
  CHECK(dialer.turn(kStart + 10ms).get() == -1);
  CHECK(dialer.deadline() == kStart + 20ms);
  for (std::size_t i = 0; i < others.size(); ++i) server.accept();
  CHECK(dialer.turn(kStart + 20ms).get() >= 0);
}

TEST_CASE("a TCP connection sends immediately, and gives up a host that is gone in time") {
  PlayedServer server = PlayedServer::on_loopback();
  redis::Dialer dialer(12'345ms);
  dialer.start(server.endpoint(), kStart, kStart + 1s);
  os::Fd connected;
  for (int tries = 0; tries < 1000 && !connected; ++tries) {
    connected = dialer.turn(kStart);
    if (!connected) ::poll(nullptr, 0, 1);
  }
  REQUIRE(connected.get() >= 0);
  const auto option = [&](int name) {
    int value = -1;
    socklen_t length = sizeof value;
    ::getsockopt(connected.get(), IPPROTO_TCP, name, &value, &length);
    return value;
  };
  CHECK(option(TCP_USER_TIMEOUT) == 12'345);
  CHECK(option(TCP_NODELAY) == 1);
}

TEST_CASE("a server that refused a connection is tried again, and that failure is forgotten") {
  PlayedServer server;
  redis::Endpoint nobody = server.endpoint();
  nobody.path += ".none";
  redis::Dialer dialer(1s);
  dialer.start(nobody, kStart, kStart + 1s);
  CHECK_FALSE(dialer.turn(kStart));
  CHECK(dialer.failure());
  dialer.start(server.endpoint(), kStart, kStart + 1s);
  CHECK_FALSE(dialer.failure());
  CHECK(dialer.turn(kStart));
}

TEST_CASE("what ends a connection is told alike, whatever an earlier connection has heard") {
  for (const std::string& first_bytes : {std::string(), std::string("\x15\x03\x03")}) {
    std::vector<std::string> told;
    for (const bool used_before : {false, true}) {
      PlayedServer server;
      redis::Link link(server.endpoint(), nullptr, {}, "L");
      const auto reason = [&]() -> std::string {
        for (const auto& arrival : link.turn(kStart)) {
          const auto* const why = std::get_if<lock::Unreachable>(&arrival.content);
          if (why != nullptr) return why->why;
        }
        return "";
      };
      const auto ask_for_time = [&] {
        link.ask({.attempt = lock::kNoAttempt}, {{{.words = {"TIME"}}}}, kStart);
      };
      if (used_before) {
        ask_for_time();
        server.read();
        server.write("+OK\r\n");
        CHECK(reason().empty());
        server.hang_up();
        CHECK(reason().empty());
      }
      ask_for_time();
      server.read();
      if (!first_bytes.empty()) server.write(first_bytes);
      server.hang_up();
      told.push_back(reason());
      CHECK_FALSE(told.back().empty());
    }
    CHECK(told.front() == told.back());
  }
}

TEST_CASE("a lookup that is still running is not taken for that of the next place") {
  redis::Endpoint name;
  name.address.host = "redlock.invalid";
  redis::Endpoint address;
  address.address.host = "127.0.0.1";
  redis::Dialer dialer(1s);
  dialer.start(name, kStart, kStart + 1s);
  dialer.start(address, kStart, kStart + 1s);
  CHECK(dialer.step() == redis::Step::connecting);
  std::vector<os::Interest> interests;
  dialer.interests(interests);
  CHECK(interests.empty());
}

TEST_CASE("an acquire that was not sent yet is forgotten with the release of its attempt") {
  PlayedServer server;
  Holder holder(server);
  // One of another attempt waits for the answer to this.
  holder.servers.ask(ask(lock::Op::renew), kStart);
  lock::Ask second = ask(lock::Op::acquire);
  second.attempt = 2;
  holder.servers.ask(second, kStart);
  CHECK_FALSE(contains(server.read(), holder.servers.token(2)));
  second.operation = lock::op::Release{};
  holder.servers.ask(second, kStart);
  CHECK(holder.servers.deadline() == lock::Instant::min());  // there is a reply already
  const std::vector<lock::Reply> replies = holder.servers.turn(kStart);
  REQUIRE(replies.size() == 1);
  CHECK(std::holds_alternative<lock::Missing>(replies.front().answer));
  server.write(array_of({"renewed"}) + array_of({"held"}));
  CHECK(holder.servers.turn(kStart).size() == 1);
  CHECK(holder.servers.turn(kStart).empty());  // what waited may be sent now
  CHECK(server.read().empty());
}

TEST_CASE("a later command by hash that fails is repeated in full before the request is answered") {
  PlayedServer server;
  bool redisson = false;
  SUBCASE("of redlock alone") {}
  SUBCASE("of Redisson, too: with the text for its hash") {
    redisson = true;
  }
  Holder holder(server, redisson);
  holder.servers.ask(ask(lock::Op::leave), kStart);
  CHECK(contains(server.read(), "\nEVALSHA\r"));
  server.write(array_of({"released"}));
  CHECK(holder.servers.turn(kStart).empty());
  server.write("-NOSCRIPT No matching script. Please use EVAL.\r\n");
  CHECK(holder.servers.turn(kStart).size() == 1);
  const std::string in_full = server.read();
  CHECK(in_full.starts_with(redisson ? "*11\r\n$4\r\nEVAL\r\n" : "*10\r\n$4\r\nEVAL\r\n"));
  CHECK(contains(in_full, std::string(redis::scripts::hand_on.text)));
  CHECK(contains(in_full, std::string(redis::scripts::redisson.text)) == redisson);
  server.write(array_of({"free", ""}));
  CHECK(holder.servers.turn(kStart).empty());
  CHECK_FALSE(holder.servers.awaits_replies());
}

TEST_CASE("what a server answers as a replica is asked again, once, where its address leads") {
  const std::string replica = "-READONLY You can't write against a read only replica.\r\n";
  PlayedServer server;
  Holder holder(server);
  holder.servers.ask(ask(lock::Op::renew), kStart);
  server.read();
  server.write(replica + replica);
  CHECK(holder.servers.turn(kStart).empty());
  server.accept();
  holder.servers.turn(kStart);
  CHECK(contains(server.read(), holder.servers.token(1)));
  SUBCASE("to the primary, whose answer counts") {
    server.write(":1\r\n" + array_of({"renewed"}));
    const std::vector<lock::Reply> replies = holder.servers.turn(kStart);
    REQUIRE(replies.size() == 1);
    CHECK(std::holds_alternative<lock::Renewed>(replies.front().answer));
  }
  SUBCASE("to a replica still") {
    // The hold fails as before. The renewal in full says where the primary is.
    server.write(replica + array_of({"replica", "10.0.0.5:6379"}));
    const std::vector<lock::Reply> replies = holder.servers.turn(kStart);
    REQUIRE(replies.size() == 1);
    const auto& trouble = std::get<lock::Unreachable>(replies.front().answer);
    CHECK(contains(trouble.why, "has become a replica"));
    CHECK_FALSE(trouble.permanent);
    CHECK_FALSE(trouble.maybe_applied);
  }
}

TEST_CASE("whoever hands the lock to another process closes all of its connections") {
  PlayedServer server;
  Holder holder(server, true);
  std::vector<os::Fd> ends(1);
  holder.servers.join_queue(7, true, kStart);
  holder.servers.subscribe(1, kStart);
  while (server.is_called()) ends.emplace_back(::accept(server.listener(), nullptr, nullptr));
  ends.front() = server.take();
  CHECK(ends.size() == 4);  // requests, wake-ups, Redisson's, and those for the holder
  holder.servers.drop_connections();
  for (const os::Fd& end : ends) {
    std::array<char, 4096> sent{};
    ssize_t left = 0;
    while ((left = ::recv(end.get(), sent.data(), sent.size(), MSG_DONTWAIT)) > 0) continue;
    CHECK(left == 0);
  }
}

TEST_CASE("a missing permission is permanent only at a server that has never served us") {
  const std::string refusal = "-NOPERM this user has no permissions to run the 'eval' command\r\n";
  const auto is_permanent = [&](redis::ServerSet& servers, PlayedServer& server) {
    servers.ask(ask(lock::Op::renew), kStart);
    server.read();
    server.write(refusal + refusal);
    const std::vector<lock::Reply> replies = servers.turn(kStart);
    REQUIRE(replies.size() == 1);
    return std::get<lock::Unreachable>(replies.front().answer).permanent;
  };
  PlayedServer stranger;
  redis::ServerSet servers({stranger.endpoint()}, {.lock_key = "L", .ttl = 30s},
                           [] { return std::string("{}"); }, {}, {});
  CHECK(is_permanent(servers, stranger));
  PlayedServer server;
  Holder holder(server);
  CHECK_FALSE(is_permanent(holder.servers, server));
}

TEST_CASE("an acquire whose script is unknown is not sent again once it is released") {
  PlayedServer server;
  Holder holder(server);
  lock::Ask second = ask(lock::Op::acquire);
  second.attempt = 2;
  holder.servers.ask(second, kStart);
  CHECK(contains(server.read(), "EVALSHA"));
  second.operation = lock::op::Release{};
  holder.servers.ask(second, kStart);
  server.write("-NOSCRIPT No matching script. Please use EVAL.\r\n:0\r\n:0\r\n");
  holder.servers.turn(kStart);
  const std::string sent = server.read();
  CHECK(contains(sent, "'released'"));
  CHECK_FALSE(contains(sent, "'granted'"));
}

}  // namespace redlock::connections_test
