// SPDX-License-Identifier: MIT
#include "redis/connection/locator.h"

#include "doctest.h"

#include <algorithm>

#include "commands.h"
#include "contains.h"

namespace redlock::locator_test {

using namespace std::chrono_literals;
using redis::Locator;
using redis::Value;
using tests::contains;
using tests::error_of;

namespace {

const lock::Instant kBegun = lock::Instant{} + 100s;

const Value kServed{.type = Value::Type::integer, .integer = 1};

std::string place_of(const Locator& locator) {
  if (locator.place() == nullptr) return locator.failure() ? locator.failure()->why : "none";
  const redis::Address& address = locator.place()->address;
  return address.host + " " + std::to_string(address.port);
}

const redis::Endpoint kCluster = redis::parse_uri("redis+cluster://a,b,c:7000");

/// On its way to one of the nodes of a Cluster.
struct Cluster : Locator {
  Cluster() : Locator(kCluster, nullptr, {}) { start(kBegun, kBegun + 900ms); }
};

}  // namespace

TEST_CASE("a plain server is where its URI says, and has no question to answer") {
  const redis::Endpoint endpoint = redis::parse_uri("redis://db1");
  Locator locator(endpoint, nullptr, {});
  locator.start(kBegun, kBegun + 1s);
  CHECK(locator.place() == &endpoint);
  CHECK(locator.place_deadline() == kBegun + 1s);
  CHECK_FALSE(locator.question("key"));
  CHECK(locator.leave({}, kBegun));
}

TEST_CASE("the nodes of a Cluster are tried in turn, each for half of the time left") {
  Cluster locator;
  CHECK(place_of(locator) == "a 6379");
  CHECK(locator.place_deadline() == kBegun + 450ms);
  CHECK_FALSE(locator.leave({}, kBegun + 100ms));
  CHECK(place_of(locator) == "b 6379");
  CHECK(locator.place_deadline() == kBegun + 500ms);
  CHECK_FALSE(locator.leave({}, kBegun + 500ms));
  CHECK(place_of(locator) == "c 7000");
  CHECK(locator.place_deadline() == kBegun + 900ms);
  for (int times = 0; times < 2; ++times) {
    CHECK(locator.leave({.why = "x"}, kBegun + 600ms)->why == "none of its 3 nodes can be used; ");
  }
}

TEST_CASE("what keeps us from a Cluster is permanent if it is so at each node, in any order") {
  for (int temporary = -1; temporary < 3; ++temporary) {
    for (const bool redirected : {false, true}) {
      CAPTURE(temporary);
      Cluster locator;
      if (redirected) locator.redirect("MOVED 12 a:6379", kBegun);
      std::optional<lock::Unreachable> trouble;
      for (int node = 0; !trouble; ++node) {
        REQUIRE(node < 3);
        trouble = locator.leave({.permanent = node != temporary, .why = "x"}, kBegun);
      }
      CHECK(trouble->permanent == (temporary < 0));
      CHECK(trouble->why == (redirected ? "x" : "none of its 3 nodes can be used; x"));
    }
  }
}

TEST_CASE("a redirection leads to another node, and from then on this one is asked first") {
  Cluster locator;
  CHECK(locator.question("key")->keys == std::vector<std::string>{"key"});
  CHECK(locator.question("")->keys.empty());  // without a key, any node is the right one
  CHECK_FALSE(locator.is_confirmed_by(error_of("MOVED 12 10.0.0.5:7001"), kBegun));
  CHECK(place_of(locator) == "10.0.0.5 7001");
  CHECK(locator.place_deadline() == kBegun + 450ms);
  CHECK(locator.is_confirmed_by(kServed, kBegun));
  locator.start(kBegun, kBegun + 800ms);
  CHECK(place_of(locator) == "10.0.0.5 7001");
  CHECK(locator.place_deadline() == kBegun + 400ms);
  CHECK_FALSE(locator.leave({}, kBegun));
  CHECK(place_of(locator) == "a 6379");
}

TEST_CASE("each node of a Cluster is tried once, whichever served us last") {
  for (int last = 0; last < 3; ++last) {
    CAPTURE(last);
    Cluster locator;
    for (int step = 0; step < last; ++step) REQUIRE_FALSE(locator.leave({}, kBegun));
    const std::string served = place_of(locator);
    REQUIRE(locator.is_confirmed_by(kServed, kBegun));
    std::vector<std::string> tried;
    locator.start(kBegun, kBegun + 900ms);
    do {
      tried.push_back(place_of(locator));
    } while (!locator.leave({}, kBegun));
    CHECK(tried.front() == served);
    std::ranges::sort(tried);
    CHECK(tried == std::vector<std::string>{"a 6379", "b 6379", "c 7000"});
  }
}

TEST_CASE("an address in a redirection may be of IPv6, or that of the node that gave it") {
  Cluster locator;
  locator.redirect("MOVED 12 ?:7002", kBegun);
  CHECK(place_of(locator) == "a 7002");
  locator.redirect("MOVED 12 ::1:7001", kBegun);
  CHECK(place_of(locator) == "::1 7001");
  locator.redirect("MOVED 12 :7002", kBegun);
  CHECK(place_of(locator) == "::1 7002");
  locator.redirect("MOVED 12 ?:7002", kBegun);
  CHECK(contains(place_of(locator), "set cluster-announce-hostname"));  // the same node
}

TEST_CASE("redirections without an end, or without sense, end in a failure") {
  Cluster locator;
  for (int step = 0; step < 5; ++step) {
    CHECK_FALSE(locator.is_confirmed_by(error_of("MOVED 12 b:1"), kBegun));
    CHECK(locator.is_confirmed_by(kServed, kBegun));  // but the request is redirected
  }
  CHECK_FALSE(locator.failure());
  locator.redirect("MOVED 12 a:1", kBegun);
  CHECK(place_of(locator) ==
        "node b:1: is the end of 5 redirections from node to node, and names yet another one; do "
        "the nodes agree about their slots (redis-cli --cluster check)?");

  for (const std::string moved :
       {"MOVED", "MOVED 12", "MOVED 12 a", "MOVED 12 a:", "MOVED 12 a:0", "MOVED 12 a:65536",
        "MOVED 12 a:1x", "MOVED 12 \x1b[1m:1", "MOVED 12 a/b:1", "MOVED 12 a:1 b"}) {
    CAPTURE(moved);
    Cluster lying;
    lying.redirect(moved, kBegun);
    CHECK(place_of(lying) ==
          "node a:6379: does not speak the Redis protocol; is this the right port?");
  }
}

TEST_CASE("all redirections of one request have the time of one connection together") {
  const redis::Endpoint endpoint = redis::parse_uri("redis+cluster://a");
  Locator locator(endpoint, nullptr, {});
  locator.start(kBegun, kBegun + 900ms);
  locator.redirect("MOVED 12 b:1", kBegun + 800ms);
  CHECK(locator.place_deadline() == kBegun + 1800ms);
  locator.redirect("MOVED 12 b:1", kBegun + 1700ms);
  CHECK(locator.place_deadline() == kBegun + 1800ms);
  locator.confirm();
  locator.redirect("MOVED 12 b:1", kBegun + 1700ms);
  CHECK(locator.place_deadline() == kBegun + 2700ms);
}

TEST_CASE("a request that is answered, or a new connection, makes room for five redirections") {
  for (const bool answered : {false, true}) {
    CAPTURE(answered);
    Cluster locator;
    for (int step = 0; step < 20; ++step) {
      locator.redirect("MOVED 12 b:1", kBegun);
      REQUIRE_FALSE(locator.failure());
      answered ? locator.confirm() : locator.stop();
      if (!answered) locator.start(kBegun, kBegun + 900ms);
    }
  }
}

TEST_CASE("a node that cannot serve its slot gives way to the next node") {
  Cluster locator;
  CHECK_FALSE(locator.is_confirmed_by(error_of("CLUSTERDOWN The cluster is down"), kBegun));
  CHECK(contains(locator.failure()->why, "node a:6379: is part of a Redis Cluster that is down"));
  CHECK_FALSE(locator.leave({}, kBegun + 10ms));
  CHECK(place_of(locator) == "b 6379");
  CHECK_FALSE(
      locator.is_confirmed_by(error_of("LOADING Redis is loading the dataset in memory"), kBegun));
  CHECK_FALSE(locator.leave({}, kBegun + 10ms));
  // These say only that the user may not ask, or that the slot is on its way.
  for (const std::string harmless :
       {"NOPERM this user has no permissions", "TRYAGAIN", "ASK 1 x:1"}) {
    CHECK(locator.is_confirmed_by(error_of(harmless), kBegun));
  }
}

TEST_CASE("with Sentinels, only a primary is the right place") {
  const redis::Endpoint endpoint = redis::parse_uri("redis+sentinel://s1/svc");
  Locator locator(endpoint, nullptr, {});
  CHECK(*locator.question("key") == redis::Command{.words = {"ROLE"}});
  const auto role = [](const std::string& word) {
    return Value{.type = Value::Type::array,
                 .elements = {{.type = Value::Type::string, .text = word}}};
  };
  CHECK(locator.is_confirmed_by(role("master"), kBegun));
  CHECK(locator.is_confirmed_by(error_of("NOPERM this user"), kBegun));
  CHECK_FALSE(locator.is_confirmed_by(role("slave"), kBegun));
  CHECK(contains(locator.failure()->why, "is a replica, though the Sentinels name it"));
  for (const Value& none :
       {Value{.type = Value::Type::nil}, Value{.type = Value::Type::array}, role(""),
        Value{.type = Value::Type::string, .text = "master"}, error_of("ERR no"),
        error_of("TRYAGAIN"), error_of("ASK 1 x:1"), error_of("NOPERMISSION")}) {
    CAPTURE(none.text);
    CHECK_FALSE(locator.is_confirmed_by(none, kBegun));
    CHECK(locator.failure());
  }
  locator.redirect("MOVED 12 a:1", kBegun);
  CHECK(contains(locator.failure()->why, "write redis+cluster://"));
}

}  // namespace redlock::locator_test
