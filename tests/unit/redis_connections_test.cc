// SPDX-License-Identifier: MIT
//
// Connections to a server that this test plays itself, on a Unix socket, at times that it chooses.
#include "contains.h"
#include "played_server.h"
#include "redis/connection/dialer.h"
#include "redis/requests/scripts.h"

namespace redlock::connections_test {

using namespace std::chrono_literals;
using lock::Op;
using tests::array_of;
using tests::contains;
using tests::PlayedServer;
using tests::PlayedSet;

namespace {

constexpr lock::Instant kStart = PlayedSet::kStart;

/// An attempt of ours on a played server, which has granted it.
struct Holder : PlayedSet {
  explicit Holder(bool redisson = false)
      : PlayedSet({.lock_key = "L", .redisson = redisson, .ttl = 30s}) {
    REQUIRE(std::holds_alternative<lock::Granted>(answer(Op::acquire, tests::kGranted)));
  }
};

const std::string kConfirmed = array_of("subscribe", "channel", 1);

}  // namespace

TEST_CASE("only the revocation of our own token is a revocation of ours") {
  Holder holder;
  const auto revoked = [&](const std::string& token) {
    const lock::Answer answer = holder.answer(
        Op::renew, array_of("missing") + array_of("not_mine", "revoked:" + token + " {}"));
    return std::get<lock::NotMine>(answer).revoked;
  };
  CHECK(revoked(holder.servers.token(1)));
  CHECK_FALSE(revoked(std::string(40, 'a')));
}

TEST_CASE("a released vote is not released again; one that only cools, or failed, is") {
  Holder holder;
  CHECK(holder.servers.owes());
  holder.answer(Op::leave, array_of("cooling") + array_of("held"));
  CHECK(holder.servers.owes());
  holder.answer(Op::leave, "-OOM\r\n" + array_of("held"));
  CHECK(holder.servers.owes());
  holder.answer(Op::leave, array_of("released") + array_of("free", ""));
  CHECK_FALSE(holder.servers.owes());
  holder.servers.give_back_all(kStart);
  CHECK(holder.server.read().empty());
}

TEST_CASE("at the end, a server may lose a release only if it has read what came before") {
  PlayedSet set;
  set.ask(Op::acquire);
  CHECK_FALSE(set.servers.loses_requests());
  const std::string refused = array_of("refused") + array_of("refused");
  SUBCASE("it has read nothing, and will read all together") {
    set.ask(Op::release);
    CHECK_FALSE(set.servers.loses_requests());
  }
  SUBCASE("it has read the acquire, and its answer may fail before it reads the release") {
    set.server.read();
    set.ask(Op::release);
    CHECK(set.servers.loses_requests());
    set.server.read();
    set.replies_to(refused + array_of("missing") + array_of("free", ""));
    CHECK_FALSE(set.servers.loses_requests());
  }
  SUBCASE("it has answered the acquire") {
    set.server.read();
    set.replies_to(refused);
    set.ask(Op::release);
    CHECK_FALSE(set.servers.loses_requests());
  }
}

TEST_CASE("a subscription that was refused for the moment is asked for again, and no other") {
  struct Row {
    std::string refusal;
    bool again;
    lock::Duration after{};  // or its time-out
    std::string password{};
  };
  const std::string busy = "-BUSY Redis is busy running a script.\r\n";
  const std::string full = "-ERR max number of clients reached\r\n";
  for (const Row& row :
       {Row{"-NOPERM this user has no permissions\r\n", false}, Row{busy, true},
        Row{busy, true, 500ms}, Row{full, true}, Row{full, true, 500ms},
        Row{"-LOADING\r\n", true, 0ms, "secret"}, Row{"-WRONGPASS\r\n", false, 0ms, "secret"}}) {
    CAPTURE(row.refusal);
    CAPTURE(row.after.count());
    PlayedServer server;
    server.endpoint().credentials.password = row.password;
    redis::Subscriber open(server.endpoint(), nullptr, {}, "key", "channel");
    const std::string first = row.password.empty() ? "SUBSCRIBE" : "AUTH";
    open.subscribe(kStart);
    CHECK(contains(server.read(), first));
    CHECK(open.turn(kStart + row.after).empty());
    server.write(row.refusal);
    CHECK(open.turn(kStart + row.after).empty());
    CHECK_FALSE(open.begins());
    open.subscribe(kStart + 1s);
    CHECK(server.read().empty());
    REQUIRE(server.is_called() == row.again);  // over a new connection
    if (!row.again) continue;
    server.accept();
    CHECK(contains(server.read(), first));
    server.write((row.password.empty() ? "" : "+OK\r\n") + kConfirmed);
    CHECK(open.turn(kStart + 1s) == std::vector<std::string>{""});
  }
}

TEST_CASE("a subscription that is not answered in time") {
  PlayedServer server;
  redis::Subscriber open(server.endpoint(), nullptr, {}, "key", "channel");
  open.subscribe(kStart);
  CHECK(contains(server.read(), "SUBSCRIBE"));
  CHECK(open.turn(kStart + 500ms).empty());  // the time-out
  CHECK_FALSE(open.begins());
  SUBCASE("is confirmed late all the same, and once") {
    server.write(kConfirmed);
    CHECK(open.turn(kStart + 600ms) == std::vector<std::string>{""});
    server.write(kConfirmed + array_of("message", "channel", "hi"));
    CHECK(open.turn(kStart + 700ms) == std::vector<std::string>{"hi"});
  }
  SUBCASE("is asked for again after some time, over a new connection") {
    open.subscribe(kStart + 900ms);
    CHECK_FALSE(server.is_called());
    CHECK(open.deadline() == kStart + 1s);
    CHECK(open.turn(kStart + 1s).empty());
    open.subscribe(kStart + 1s);
    CHECK(server.is_called());
  }
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
  for (const std::string first_bytes : {"", "\x15\x03\x03"}) {
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
        server.read();
      };
      if (used_before) {
        ask_for_time();
        server.write("+OK\r\n");
        CHECK(reason().empty());
        server.hang_up();
        CHECK(reason().empty());
      }
      ask_for_time();
      server.write(first_bytes);
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
  Holder holder;
  // One of another attempt waits for the answer to this.
  holder.ask(Op::renew);
  holder.ask(Op::acquire, 2);
  CHECK_FALSE(contains(holder.server.read(), holder.servers.token(2)));
  holder.ask(Op::release, 2);
  CHECK(holder.servers.deadline() == lock::Instant::min());  // there is a reply already
  const std::vector<lock::Reply> replies = holder.servers.turn(kStart);
  REQUIRE(replies.size() == 1);
  CHECK(std::holds_alternative<lock::Missing>(replies.front().answer));
  CHECK(holder.replies_to(array_of("renewed") + array_of("held")).size() == 1);
  CHECK(holder.servers.turn(kStart).empty());  // what waited may be sent now
  CHECK(holder.server.read().empty());
}

TEST_CASE("a later command by hash that fails is repeated in full before the request is answered") {
  for (const bool redisson : {false, true}) {  // of Redisson, too: with the text for its hash
    CAPTURE(redisson);
    Holder holder(redisson);
    holder.ask(Op::leave);
    CHECK(contains(holder.server.read(), "\nEVALSHA\r"));
    CHECK(holder.replies_to(array_of("released")).empty());
    CHECK(holder.replies_to("-NOSCRIPT No matching script. Please use EVAL.\r\n").size() == 1);
    const std::string in_full = holder.server.read();
    CHECK(in_full.starts_with(redisson ? "*11\r\n$4\r\nEVAL\r\n" : "*10\r\n$4\r\nEVAL\r\n"));
    CHECK(contains(in_full, std::string(redis::scripts::hand_on.text)));
    CHECK(contains(in_full, std::string(redis::scripts::redisson.text)) == redisson);
    CHECK(holder.replies_to(array_of("free", "")).empty());
    CHECK_FALSE(holder.servers.awaits_replies());
  }
}

TEST_CASE("what a server answers as a replica is asked again, once, where its address leads") {
  const std::string replica = "-READONLY You can't write against a read only replica.\r\n";
  Holder holder;
  holder.ask(Op::renew);
  holder.server.read();
  CHECK(holder.replies_to(replica + replica).empty());
  holder.server.accept();
  holder.servers.turn(kStart);
  CHECK(contains(holder.server.read(), holder.servers.token(1)));
  SUBCASE("to the primary, whose answer counts") {
    const auto replies = holder.replies_to(":1\r\n" + array_of("renewed"));
    REQUIRE(replies.size() == 1);
    CHECK(std::holds_alternative<lock::Renewed>(replies.front().answer));
  }
  SUBCASE("to a replica still") {
    // The hold fails as before. The renewal in full says where the primary is.
    const auto replies = holder.replies_to(replica + array_of("replica", "10.0.0.5:6379"));
    REQUIRE(replies.size() == 1);
    const auto& trouble = std::get<lock::Unreachable>(replies.front().answer);
    CHECK(contains(trouble.why, "has become a replica"));
    CHECK_FALSE(trouble.permanent);
    CHECK_FALSE(trouble.maybe_applied);
  }
}

TEST_CASE("whoever hands the lock to another process closes all of its connections") {
  Holder holder(true);
  PlayedServer& server = holder.server;
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
  const auto is_permanent = [](PlayedSet& set) {
    const std::string refusal =
        "-NOPERM this user has no permissions to run the 'eval' command\r\n";
    return std::get<lock::Unreachable>(set.answer(Op::renew, refusal + refusal)).permanent;
  };
  PlayedSet stranger;
  CHECK(is_permanent(stranger));
  Holder holder;
  CHECK_FALSE(is_permanent(holder));
}

}  // namespace redlock::connections_test
