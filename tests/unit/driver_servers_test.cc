// SPDX-License-Identifier: MIT
//
// All servers as one, with servers that answer by themselves.
#include "answering_servers.h"
#include "os/clock.h"
#include "os/loop.h"
#include "redis/servers/server_set.h"

namespace redlock::driver {
namespace {

using namespace std::chrono_literals;
using tests::Asked;

TEST_CASE("a waiter that joins the queue again hears again that it is subscribed") {
  tests::AnsweringServers servers(1, [](const Asked& asked) -> std::optional<std::string> {
    if (asked.name == "SUBSCRIBE") {
      return "*3\r\n$9\r\nsubscribe\r\n$" + std::to_string(asked.words[1].size()) + "\r\n" +
             asked.words[1] + "\r\n:1\r\n";
    }
    return tests::usual_reply(asked.name);
  });
  redis::ServerSet set(servers.settings().servers, {.lock_key = "L", .ttl = 30s},
                       [] { return std::string("{}"); }, {.request = 20s, .connect = 20s}, {});
  os::Loop loop;
  for (int times = 0; times < 3; ++times) {
    set.join_queue(0, false, os::boot_now());
    std::vector<redis::Notice> notices;
    for (int turns = 0; turns < 1000 && notices.empty(); ++turns) {
      std::vector<os::Interest> interests;
      set.interests(interests);
      loop.wait(interests, std::min(set.deadline(), os::boot_now() + 20ms));
      set.turn(os::boot_now());
      notices = set.take_wake_ups(os::boot_now());
    }
    CHECK(notices.size() == 1);
    set.ask({.server = 0, .attempt = lock::kNoAttempt, .operation = lock::op::LeaveQueue{}},
            os::boot_now());
  }
}

}  // namespace
}  // namespace redlock::driver
