// SPDX-License-Identifier: MIT
//
// What a connection leaves when it ends, in each way that it can end; and what is sent before all
// of them end.
#include "redis/connection/link.h"

#include <netinet/tcp.h>

#include "contains.h"
#include "played_server.h"
#include "redis/requests/scripts.h"

namespace redlock::link_test {

using namespace std::chrono_literals;
using tests::contains;
using tests::PlayedServer;
using tests::PlayedSet;

namespace {

constexpr lock::Instant kStart = PlayedSet::kStart;

struct Scene {
  PlayedServer server{};
  redis::Endpoint endpoint{};
  /// Turns the connection at this moment. True: it has ended.
  std::function<bool(lock::Instant now)> turn{};

  void answer(const std::string& text) {
    server.read();
    server.write(text);
    turn(kStart);
  }
};

/// A way in which a connection ends: how its place differs, and what happens after the request.
struct Ending {
  std::string name;
  std::function<void(redis::Endpoint& endpoint)> prepare;
  std::function<void(Scene& scene)> happen;
};

std::vector<Ending> endings() {
  const auto as_it_is = [](redis::Endpoint&) {};
  const auto with_password = [](redis::Endpoint& endpoint) { endpoint.credentials.password = "x"; };
  const auto at = [](const char* uri) {
    return [uri](redis::Endpoint& endpoint) { endpoint = redis::parse_uri(uri); };
  };
  const auto hang_up = [](Scene& scene) {
    scene.server.read();
    scene.server.hang_up();
    scene.turn(kStart);
  };
  // Nobody listens on the ports 1 and 2. The kernel says so in a moment.
  const auto wait = [](Scene& scene) {
    for (int turns = 0; turns < 4000 && !scene.turn(kStart + 10ms); ++turns) ::poll(nullptr, 0, 5);
  };
  return {
      {"nobody listens", [](redis::Endpoint& endpoint) { endpoint.path += ".none"; },
       [](Scene& scene) { scene.turn(kStart); }},
      {"the password is not answered in time", with_password,
       [](Scene& scene) { scene.turn(kStart + 2s); }},
      {"the password is refused", with_password,
       [](Scene& scene) { scene.answer("-WRONGPASS invalid\r\n"); }},
      {"it hangs up before the password is accepted", with_password, hang_up},
      {"it hangs up after the request", as_it_is, hang_up},
      {"what comes is not RESP", as_it_is, [](Scene& scene) { scene.answer("HTTP/1.1 400\r\n"); }},
      {"a node of a Cluster is down", at("redis+cluster://127.0.0.1:1"), wait},
      {"all nodes of a Cluster are down", at("redis+cluster://127.0.0.1:1,127.0.0.1:2"), wait},
      {"the Sentinels are down", at("redis+sentinel://127.0.0.1:1,127.0.0.1:2/svc"), wait},
  };
}

}  // namespace

TEST_CASE("link: after its end a connection has no deadline, and the next request connects again") {
  for (const Ending& ending : endings()) {
    CAPTURE(ending.name);
    Scene scene;
    scene.endpoint = scene.server.endpoint();
    ending.prepare(scene.endpoint);
    redis::Link link(scene.endpoint, nullptr, {}, "L");
    std::size_t arrivals = 0;
    scene.turn = [&](lock::Instant now) {
      arrivals += link.turn(now).size();
      return !link.busy();
    };
    for (int again = 0; again < 2; ++again) {
      link.ask({.attempt = lock::kNoAttempt}, {{{.words = {"PING"}}}}, kStart);
      if (again == 1 && scene.server.is_called()) scene.server.accept();
      ending.happen(scene);
      CHECK(arrivals == 1U + static_cast<unsigned>(again));
      CHECK_FALSE(link.ready());
      CHECK_FALSE(link.busy());
      CHECK(link.deadline() == lock::kNever);
      std::vector<os::Interest> interests;
      link.interests(interests);
      CHECK(interests.empty());
      scene.turn(kStart + 1h);
      CHECK(link.deadline() == lock::kNever);
    }
  }
}

TEST_CASE("a subscription that ends before its confirmation is no longer about to begin") {
  std::vector<Ending> all = endings();
  redis::Subscriber* subscriber = nullptr;
  const auto as_it_is = [](redis::Endpoint&) {};
  all.push_back({"messages come from another node now", as_it_is, [&](Scene& scene) {
                   scene.turn(kStart);
                   subscriber->follow(redis::parse_uri("redis://elsewhere:1"));
                 }});
  all.push_back({"nobody wants it any more", as_it_is, [&](Scene&) { subscriber->close(); }});
  for (const Ending& ending : all) {
    CAPTURE(ending.name);
    Scene scene;
    scene.endpoint = scene.server.endpoint();
    ending.prepare(scene.endpoint);
    redis::Subscriber open(scene.endpoint, nullptr, {}, "L", "channel");
    subscriber = &open;
    scene.turn = [&](lock::Instant now) {
      CHECK(open.turn(now).empty());
      return !open.begins();
    };
    open.subscribe(kStart);
    CHECK(open.begins());
    ending.happen(scene);
    CHECK_FALSE(open.begins());
    CHECK(open.deadline() == lock::kNever);
  }
}

TEST_CASE("what a Cluster sends to another node can be cancelled until it goes out there") {
  for (const bool cancelled : {false, true}) {
    CAPTURE(cancelled);
    PlayedServer node = PlayedServer::on_loopback();
    PlayedServer other = PlayedServer::on_loopback();
    redis::Endpoint cluster = node.endpoint();
    cluster.kind = redis::Endpoint::Kind::cluster;
    cluster.nodes = {cluster.address};
    cluster.credentials.password = "x";
    redis::Link link(cluster, nullptr, {}, "L");
    const auto reads = [&link](PlayedServer& server, const std::string& word) {
      std::string text;
      for (int turns = 0; turns < 4000 && link.busy(); ++turns) {
        link.turn(kStart);
        text += server.read();
        if (contains(text, word)) return true;
        ::poll(nullptr, 0, 1);
      }
      return false;
    };
    link.ask({.server = 0, .attempt = 1, .operation = lock::op::Acquire{}}, {{{.words = {"TAKE"}}}},
             kStart);
    REQUIRE(reads(node, "AUTH"));
    node.write("+OK\r\n:1\r\n");
    REQUIRE(reads(node, "TAKE"));
    node.write("-ASK 1 " + other.endpoint().address.display() + "\r\n");
    REQUIRE(reads(other, "AUTH"));
    if (cancelled) link.cancel_unsent(1);
    other.write("+OK\r\n");
    CHECK(reads(other, "TAKE") == !cancelled);
  }
}

TEST_CASE(
    "servers: a host that acknowledges nothing has a sixth of the ttl, and a second at least") {
  for (const std::chrono::milliseconds ttl : {3000ms, 30000ms}) {
    PlayedServer server = PlayedServer::on_loopback();
    redis::ServerSet servers =
        tests::servers_of({server.endpoint()}, {.lock_key = "L", .ttl = ttl});
    servers.ask({.server = 0, .attempt = 1, .operation = lock::op::Acquire{}}, kStart);
    std::vector<os::Interest> interests;
    servers.interests(interests);
    REQUIRE(interests.size() == 1);
    const auto option = [&interests](int name) {
      int value = -1;
      socklen_t size = sizeof value;
      ::getsockopt(interests[0].fd, IPPROTO_TCP, name, &value, &size);
      return value;
    };
    CHECK(option(TCP_USER_TIMEOUT) == (ttl == 3s ? 1000 : 5000));
    CHECK(option(TCP_NODELAY) == 1);
  }
}

TEST_CASE(
    "servers: replicas have half of a request's time; a line of the log is of the run it names") {
  PlayedSet set({.lock_key = "L", .replicas = 2, .log_entries = 9, .ttl = 30s});
  set.ask(lock::Op::acquire);
  CHECK(contains(set.server.read(), "WAIT\r\n$1\r\n2\r\n$3\r\n100\r\n"));
  set.servers.log({.event = lock::Log::Event::revoked, .attempt = 1, .other = "another"}, "revoked",
                  "{}", kStart);
  const std::string line = set.server.read();
  CHECK(contains(line, "another"));
  CHECK_FALSE(contains(line, set.servers.token(1)));
}

TEST_CASE(
    "servers: each round describes our process again, and a reader's token says that it reads") {
  std::deque<PlayedServer> played(2);
  int described = 0;
  redis::ServerSet servers({played[0].endpoint(), played[1].endpoint()},
                           {.lock_key = "L", .shared = true, .ttl = 30s},
                           [&] { return std::to_string(++described); }, {}, {});
  for (const std::uint32_t round : {1U, 2U}) {
    for (const lock::ServerIndex server : {0U, 1U}) {
      servers.ask(
          {.server = server, .attempt = 1, .round = round, .operation = lock::op::Acquire{}},
          kStart);
    }
    CHECK(described == static_cast<int>(round));
  }
  CHECK(servers.token(1).front() == 's');
}

TEST_CASE("servers: a waiter that joins the queue hears once that each subscription has begun") {
  PlayedSet set({.lock_key = "L", .redisson = true, .ttl = 30s});
  for (const bool early : {false, true, true}) {  // and again, after it has left the queue
    set.servers.join_queue(0, early, kStart);
    std::vector<os::Fd> ends;
    while (set.server.is_called()) {
      ends.emplace_back(::accept(set.server.listener(), nullptr, nullptr));
    }
    CHECK(ends.size() == (early ? 2 : 1));  // Redisson's channel, too
    for (int times = 0; times < 2; ++times) {
      for (const os::Fd& end : ends) {
        std::array<char, 4096> sent{};
        const ssize_t size = ::recv(end.get(), sent.data(), sent.size(), MSG_DONTWAIT);
        if (size <= 0) continue;
        redis::ReplyParser parser;
        parser.feed({sent.data(), static_cast<std::size_t>(size)});
        const std::string told =
            tests::array_of("subscribe", parser.next()->elements.at(1).text, 1);
        REQUIRE(::send(end.get(), told.data(), told.size(), MSG_NOSIGNAL) > 0);
      }
      set.servers.turn(kStart);
      CHECK(set.servers.take_wake_ups(kStart).size() == (times > 0 ? 0 : ends.size()));
    }
    set.ask(lock::Op::leave_queue, lock::kNoAttempt);
  }
}

TEST_CASE("when all is given back, each server hears of the attempt, and of the queue") {
  for (const bool joined : {false, true}) {
    CAPTURE(joined);
    std::deque<PlayedServer> played(3);
    redis::ServerSet servers =
        tests::servers_of({played[0].endpoint(), played[1].endpoint(), played[2].endpoint()},
                          {.lock_key = "L", .ttl = 30s});
    for (lock::ServerIndex server = 0; server < 3; ++server) {
      servers.ask({.server = server, .attempt = 1, .operation = lock::op::Acquire{}}, kStart);
      played[server].read();
    }
    if (joined) servers.join_queue(0, false, kStart);
    servers.give_back_all(kStart);
    for (lock::ServerIndex server = 0; server < 3; ++server) {
      CAPTURE(server);
      redis::ReplyParser parser;
      parser.feed(played[server].read());
      bool released = false;
      bool left = false;
      while (const auto command = parser.next()) {
        const std::string& script = command->elements.at(1).text;
        released = released || script.ends_with(redis::scripts::leave.text);
        // With the name of the waiter.
        left = left || (script.ends_with(redis::scripts::hand_on.text) &&
                        !command->elements.back().text.empty());
      }
      CHECK(released);
      CHECK(left == joined);
    }
  }
}

}  // namespace redlock::link_test
