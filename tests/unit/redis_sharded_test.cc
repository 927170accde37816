// SPDX-License-Identifier: MIT
#include "redis/requests/request.h"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "contains.h"
#include "redis/requests/scripts.h"
#include "redis/wire/resp.h"

namespace redlock::sharded_test {

using redis::encode_command;
using redis::Endpoint;
using redis::Flight;
using tests::contains;

namespace {

std::vector<std::vector<std::string>> commands_in(std::string_view wire) {
  std::vector<std::vector<std::string>> commands;
  while (!wire.empty()) {
    const std::vector<std::string_view> words = redis::take_command(wire);
    commands.emplace_back(words.begin(), words.end());
  }
  return commands;
}

Endpoint server_of(Endpoint::Kind kind) {
  Endpoint endpoint;
  endpoint.kind = kind;
  return endpoint;
}

}  // namespace

TEST_CASE("commands are cut into the words that they were made of") {
  const std::string words[] = {"", "a\r\nb", std::string(1234, '$'), "*3\r\n"};
  const std::string first = encode_command({words[0], words[1], words[2], words[3]});
  const std::string wire = first + encode_command({"GET", "k"});
  std::string_view rest = wire;
  const std::vector<std::string_view> taken = redis::take_command(rest);
  CHECK(std::vector<std::string>(taken.begin(), taken.end()) ==
        std::vector<std::string>(std::begin(words), std::end(words)));
  CHECK(rest == encode_command({"GET", "k"}));
}

TEST_CASE("only a Cluster gets sharded messages: other servers get not a byte more") {
  const std::string wire = redis::encode_hand_on("name") +
                           encode_command({"PUBLISH", "redlock:{name}:told:T", "released"});
  for (const auto kind :
       {Endpoint::Kind::tcp, Endpoint::Kind::unix_socket, Endpoint::Kind::sentinel}) {
    CHECK(redis::for_server({wire, 2}, server_of(kind)).wire == wire);
  }
  CHECK_FALSE(contains(wire, "SPUBLISH"));
}

TEST_CASE("in a Cluster, each script that sends messages tries to shard them first") {
  const std::string renewal =
      encode_command({"EVAL", redis::scripts::renew, "1", "PUBLISH", "'PUBLISH'", "30000"});
  const Flight flight =
      redis::for_server({renewal + redis::encode_hand_on("name") +
                             encode_command({"PUBLISH", "redlock:{name}:told:T", "released"}),
                         3},
                        server_of(Endpoint::Kind::cluster));
  CHECK(flight.replies == 3);
  const auto commands = commands_in(flight.wire);
  REQUIRE(commands.size() == 3);
  CHECK(encode_command({commands[0][0], commands[0][1], commands[0][2], commands[0][3],
                        commands[0][4], commands[0][5]}) == renewal);
  const std::string prefix = std::string(redis::scripts::sharded) + "\n";
  CHECK(commands[1] == std::vector<std::string>{"EVAL",
                                                prefix + std::string(redis::scripts::hand_on), "1",
                                                "name", "redlock:{name}:", ""});
  // Without a key: the node that no longer has the slot can at least send it to all nodes.
  CHECK(commands[2] == std::vector<std::string>{"EVAL",
                                                prefix + std::string(redis::scripts::publish), "0",
                                                "redlock:{name}:told:T", "released"});
  CHECK(contains(prefix, "SPUBLISH"));
}

TEST_CASE("a lock of Redisson's: its text comes before each script on the lock's key, and no other") {
  const std::string of_done = encode_command({"EVAL", redis::scripts::mark, "1", "done", "name"});
  for (const auto kind : {Endpoint::Kind::tcp, Endpoint::Kind::cluster}) {
    const Flight flight =
        redis::for_server({redis::encode_hand_on("name") + of_done, 2}, server_of(kind), "name");
    const auto commands = commands_in(flight.wire);
    REQUIRE(commands.size() == 2);
    const bool cluster = kind == Endpoint::Kind::cluster;
    const std::string before(cluster ? redis::scripts::redisson_sharded : redis::scripts::redisson);
    CHECK(commands[0][1] == before + "\n" + std::string(redis::scripts::hand_on));
    CHECK(commands[1][1] == redis::scripts::mark);
  }
}

TEST_CASE("each acquire goes by a hash of its own, and comes back in full") {
  REQUIRE(redis::scripts::hashed.size() == 20);
  std::set<std::string> hashes;
  for (const auto& each : redis::scripts::hashed) {
    const std::string before = each.before.empty() ? "" : std::string(each.before) + "\n";
    const std::string wire = encode_command({"EVAL", before + std::string(each.text), "1", "k"});
    const Flight by_hash = redis::by_hash({wire, 1});
    CHECK(by_hash.wire.size() < 100);
    CHECK(redis::in_full(by_hash).wire == wire);
    hashes.insert(by_hash.wire);
  }
  CHECK(hashes.size() == 20);
}

}  // namespace redlock::sharded_test
