// SPDX-License-Identifier: MIT
#include "doctest.h"

#include <set>

#include "commands.h"
#include "contains.h"
#include "redis/requests/command.h"
#include "redis/requests/request.h"

namespace redlock::command_test {

using redis::Command;
using redis::Flight;
using tests::bytes_of;
using tests::contains;
namespace scripts = redis::scripts;

namespace {

const Command kPublish{.keys = {"name"}, .words = {"PUBLISH", "redlock:{name}:told:T", "released"}};
/// The keys of the queue, which each script that uses them declares.
constexpr std::string_view kQueue[] = {"redlock:{name}:queue", "redlock:{name}:alive",
                                       "redlock:{name}:waiters", "redlock:{name}:turn"};

std::string text_of(const redis::Script& script) {
  return std::string(script.text);
}

}  // namespace

TEST_CASE("command: only a Cluster gets sharded messages, other servers not a byte more") {
  const std::string wire = redis::render({{redis::encode_hand_on("name"), kPublish}}, false);
  CHECK(wire == bytes_of({"EVAL", scripts::hand_on.text, "5", "name", kQueue[0], kQueue[1],
                          kQueue[2], kQueue[3], "redlock:{name}:", ""}) +
                    bytes_of({"PUBLISH", "redlock:{name}:told:T", "released"}));
  CHECK_FALSE(contains(wire, "SPUBLISH"));
}

TEST_CASE("command: in a Cluster, each script that sends messages tries to shard them first") {
  const Command renewal{&scripts::renew, {"PUBLISH"}, {"'PUBLISH'", "30000"}};
  const std::string prefix = text_of(scripts::sharded) + "\n";
  // Some services refuse a script without a key.
  CHECK(redis::render({{renewal, redis::encode_hand_on("name"), kPublish}}, true) ==
        bytes_of({"EVAL", scripts::renew.text, "1", "PUBLISH", "'PUBLISH'", "30000"}) +
            bytes_of({"EVAL", prefix + text_of(scripts::hand_on), "5", "name", kQueue[0], kQueue[1],
                      kQueue[2], kQueue[3], "redlock:{name}:", ""}) +
            bytes_of({"EVAL", prefix + text_of(scripts::publish), "1", "name",
                      "redlock:{name}:told:T", "released"}));
  CHECK(contains(prefix, "SPUBLISH"));
}

TEST_CASE("command: Redisson's text comes before each script on its lock's key, and no other") {
  const Command of_done{&scripts::mark, {"done"}, {"name"}};
  Flight flight{{redis::encode_hand_on("name"), of_done}};
  flight.redisson_key = "name";
  for (const bool cluster : {false, true}) {
    std::string before = text_of(scripts::redisson) + "\n";
    if (cluster) before += text_of(scripts::sharded) + "\n";
    CHECK(redis::render(flight, cluster) ==
          bytes_of({"EVAL", before + text_of(scripts::hand_on), "6", "name", kQueue[0], kQueue[1],
                    kQueue[2], kQueue[3], "redisson_lock_queue:{name}", "redlock:{name}:", ""}) +
              bytes_of({"EVAL", scripts::mark.text, "1", "done", "name"}));
  }
}

TEST_CASE("command: more keys stand after a script's own, unless the server has refused them") {
  Flight flight{{{&scripts::look, {"name", "holder"}, {"readers", ""}, {"readers"}}}};
  CHECK(redis::render(flight, false) ==
        bytes_of({"EVAL", scripts::look.text, "3", "name", "holder", "readers", "readers", ""}));
  CHECK(flight.declares_more(0));
  CHECK_FALSE(flight.declares_more(1));
  flight.undeclared = true;
  CHECK_FALSE(flight.declares_more(0));
  CHECK(redis::render(flight, false) ==
        bytes_of({"EVAL", scripts::look.text, "2", "name", "holder", "readers", ""}));
  flight = {{{&scripts::renew, {"name"}, {"T", "1"}}}};
  CHECK_FALSE(flight.declares_more(0));
  flight.redisson_key = "name";
  CHECK(flight.declares_more(0));
}

TEST_CASE("command: each acquire has a hash for each server, and so has what hands the lock on") {
  std::set<std::string_view> hashes;
  for (const redis::Script* script :
       {&scripts::acquire, &scripts::acquire_newest, &scripts::acquire_shared,
        &scripts::acquire_slot, &scripts::hand_on}) {
    for (const bool redisson : {false, true}) {
      for (const bool cluster : {false, true}) {
        Flight flight{.commands = {{script, {"k"}}}, .by_hash = true};
        if (redisson) flight.redisson_key = "k";
        const std::string_view sha1 = script->sha1[(redisson ? 2 : 0) + (cluster ? 1 : 0)];
        CHECK(sha1.size() == 40);
        flight.undeclared = true;
        CHECK(redis::render(flight, cluster) == bytes_of({"EVALSHA", sha1, "1", "k"}));
        hashes.insert(sha1);
      }
    }
  }
  CHECK(hashes.size() == 20);
}

TEST_CASE("command: a flight by hash is answered after its last command, which may go again") {
  Flight flight{.commands = {{&scripts::leave, {"k"}}, {&scripts::hand_on, {"k"}}}};
  CHECK_FALSE(flight.awaits_last());
  CHECK_FALSE(flight.hashed(1));
  flight.by_hash = true;
  CHECK(flight.awaits_last());
  CHECK_MESSAGE(!flight.hashed(0), "a release goes in full");
  CHECK(flight.hashed(1));
  CHECK_FALSE(flight.hashed(2));
}

TEST_CASE("replicas: what makes a vote waits for them, and nothing that takes it back") {
  using enum lock::Op;
  for (const lock::Op op : {acquire, renew, repair, commit}) CHECK(redis::is_replicated(op));
  for (const lock::Op op : {release, leave, mark, unmark, inquire, leave_queue}) {
    CAPTURE(static_cast<int>(op));
    CHECK_FALSE(redis::is_replicated(op));
  }
}

}  // namespace redlock::command_test
