// SPDX-License-Identifier: MIT
//
// All servers as one, with servers that answer by themselves.
#include "answering_servers.h"
#include "contains.h"
#include "driver/driver.h"
#include "forked.h"
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

TEST_CASE("a lock that cannot be released stays for its ttl or its minimum hold") {
  for (const lock::Duration min_hold : {0h, 2h}) {
    tests::AnsweringServers servers(
        1, [](const Asked&) { return std::nullopt; }, false);
    lock::Plan plan{};
    plan.servers = 1;
    plan.timing.ttl = 30s;
    plan.timing.min_hold = min_hold;
    const std::string said =
        tests::written_by([&] {
          tests::forked([&] {
            servers.start();
            struct : Host {
              bool take_signal(const lock::Signal&, lock::Instant) override { return true; }
            } host;
            redis::ServerSet set(servers.settings().servers, {.lock_key = "L", .ttl = 30s},
                                 [] { return std::string("{}"); }, {.request = 20s, .connect = 20s},
                                 {});
            os::SignalSource signals;
            lock::Session session(plan, os::boot_now());
            Driver driver(session, host, set, signals, {});
            set.ask({.server = 0, .attempt = 1, .operation = lock::op::Acquire{}}, os::boot_now());
            os::Stderr out;
            give_back(driver, plan, "L", out);
            servers.stop();
            return 0;
          });
        }).err;
    CAPTURE(said);
    CHECK(tests::contains(said, min_hold > 0h ? "stay locked for up to 2h 0m" : "up to 30 s"));
  }
}

}  // namespace
}  // namespace redlock::driver
