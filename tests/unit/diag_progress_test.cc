// SPDX-License-Identifier: MIT
#include "diag/progress.h"

#include "doctest.h"

#include "diag/text.h"
#include "records/records.h"

namespace redlock::diag {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kNow = 1'763'712'345'678ms;

lock::Refused held(const std::string& command = "./deploy.sh",
                   std::chrono::milliseconds since = kNow - 192s) {
  const records::Holder holder{
      .host = "db7", .user = "root", .pid = 4711, .command = command, .since = since};
  return {.blocker = "aaaa", .ttl_left = 20s, .holder = records::to_json(holder)};
}

WaitFacts facts() {
  return {
      .lock = "deploy-shop",
      .state =
          {.refusal = held(), .asked = true, .answering = 3, .servers = 3, .place = 2, .length = 3},
      .waited = 41'900ms,
      .limit = 10min,
      .unix_time = kNow};
}

std::string live(const WaitFacts& facts, std::size_t width = 200) {
  std::string line = live_line(facts, width, Charset::utf8);
  CHECK(columns(line) <= width);
  return line;
}

TEST_CASE("progress: the whole line") {
  CHECK(live(facts()) ==
        "deploy-shop: held by root@db7 (./deploy.sh) for 3m 12s · you are 2nd of 3 · "
        "waited 0:41 of 10:00");
  CHECK(plain_line(facts()) ==
        "lock \"deploy-shop\" is held by root@db7 (./deploy.sh) for 3m 12s, you are 2nd of 3, "
        "waited 0:41 of 10:00");
}

TEST_CASE("progress: a waiter that cannot share the lock and comes first, if it is known") {
  WaitFacts now = facts();
  now.state.refusal->blocker = "shared:aaaa";
  now.state.refusal->waits_before = held("./write", kNow - 5s).holder;
  CHECK(live(now).starts_with("deploy-shop: kept for root@db7 (./write) for 5 s · "));
  now.state.refusal->waits_before = "";
  CHECK(live(now).starts_with("deploy-shop: held by root@db7 (./deploy.sh) for 3m 12s · "));
}

TEST_CASE("progress: less room, less words, and the time to the last") {
  CHECK(columns(live(facts())) == 96);
  CHECK(live(facts(), 96) == live(facts()));
  CHECK(live(facts(), 95) ==
        "deploy-shop: held by root@db7 (./deploy.sh) for 3m 12s · 2nd of 3 · waited 0:41 of 10:00");
  CHECK(live(facts(), 87) ==
        "deploy-shop: held by root@db7 (./deploy.…) for 3m 12s · 2nd of 3 · waited 0:41 of 10:00");
  CHECK(live(facts(), 82) ==
        "deploy-shop: held by root@db7 for 3m 12s · you are 2nd of 3 · waited 0:41 of 10:00");
  CHECK(live(facts(), 79) ==
        "deploy-shop: held by root@db7 for 3m 12s · 2nd of 3 · waited 0:41 of 10:00");
  CHECK(live(facts(), 70) == "deploy-shop: held by root@db7 · 2nd of 3 · waited 0:41 of 10:00");
  CHECK(live(facts(), 60) == "deploy-shop: held by root@db7 · 2nd of 3 · 0:41 of 10:00");
  CHECK(live(facts(), 50) == "deploy-shop: root@db7 · 2nd of 3 · 0:41 of 10:00");
  CHECK(live(facts(), 39) == "deploy-shop: root@db7 · 2nd of 3 · 0:41");
  CHECK(live(facts(), 38) == "deploy-shop: root@db7 · 0:41");
  CHECK(live(facts(), 27) == "deploy-s…: root@db7 · 0:41");
  CHECK(live(facts(), 19) == "deploy-shop… · 0:41");
  CHECK(live(facts(), 10) == "deploy-sh…");
  for (std::size_t width = 0; width < 100; ++width) live(facts(), width);
}

TEST_CASE("progress: a long name leaves room for the holder") {
  WaitFacts some = facts();
  some.lock = "nightly-backup-of-all-databases-of-the-shop";
  CHECK(live(some, 80) ==
        "nightly-backup-of-all-databases-of-the-shop: root@db7 · 2nd of 3 · 0:41 of 10:00");
  CHECK(live(some, 60) == "nightly-backup-of-all-databases-of-the-shop: root@db7 · 0:41");
  CHECK(live(some, 59) == "nightly-backup-of-…: root@db7 · 2nd of 3 · 0:41 of 10:00");
  CHECK(live(some, 40) == "nightly-back…: root@db7 · 0:41");
}

TEST_CASE("progress: a holder that has missed a renewal may be dead") {
  records::Holder holder{.host = "db7", .user = "root", .pid = 4711, .command = "./deploy.sh"};
  holder.since = kNow - 192s;
  holder.ttl = 30s;
  WaitFacts some = facts();
  const auto say = [&](std::chrono::milliseconds left) {
    some.state.refusal = {.blocker = "aaaa", .ttl_left = left, .holder = records::to_json(holder)};
    return live(some);
  };
  some.refusal_age = 1200ms;
  CHECK(say(14s) ==
        "deploy-shop: held by root@db7 (./deploy.sh), may be dead, free in 13 s · "
        "you are 2nd of 3 · waited 0:41 of 10:00");
  CHECK(say(15s) ==
        "deploy-shop: held by root@db7 (./deploy.sh) for 3m 12s · you are 2nd of 3 · "
        "waited 0:41 of 10:00");
  holder.unattended = true;
  CHECK(say(14s).find("dead") == std::string::npos);
}

TEST_CASE("progress: the commands of others may be long, wide, or hostile") {
  WaitFacts some = facts();
  some.state.refusal = held(std::string(150, 'x'));
  CHECK(columns(live(some, 100)) == 100);
  CHECK(live(some, 100).find("xxx…) for 3m 12s · 2nd of 3") != std::string::npos);
  some.state.refusal = held("sh -c 'echo \x1b[2J\r\n\x07'");
  CHECK(live(some).find("(sh -c 'echo ?[2J?"
                        "?"
                        "?')") != std::string::npos);
  CHECK(plain_line(some).find("(sh -c 'echo ?[2J?"
                              "?"
                              "?')") != std::string::npos);
  some.state.refusal = held("備份備份備份備份備份備份");
  for (std::size_t width = 70; width < 115; ++width) live(some, width);
  some.lock = "caf\xc3\xa9\x1b";
  CHECK(live(some).starts_with("café?: held by root@db7 (備份"));
}

TEST_CASE("progress: a free slot that is kept for somebody else, and no free slot") {
  WaitFacts some = facts();
  some.state.refusal->slots = "aaaa,,bbbb";
  CHECK(live(some).starts_with("deploy-shop: held by root@db7 (./deploy.sh) for"));
  some.state.refusal->slots = "aaaa,cccc,bbbb";
  CHECK(
      live(some).starts_with("deploy-shop: held in all slots, one by root@db7 (./deploy.sh) for"));
}

TEST_CASE("progress: without UTF-8 there is nothing but ASCII") {
  WaitFacts some = facts();
  some.lock = "café";
  some.state.refusal = held("備份 --full");
  CHECK(live_line(some, 200, Charset::ascii) ==
        "caf?: held by root@db7 (?? --full) for 3m 12s, you are 2nd of 3, waited 0:41 of 10:00");
  some.state.refusal->holder = R"({"host":"h\u00f6","user":"u","command":"\u5099"})";
  for (std::size_t width = 1; width < 100; ++width) {
    const std::string line = live_line(some, width, Charset::ascii);
    CHECK(line.size() <= width);
    CHECK(line.find_first_of("\xc3\xb6\xe5\x82\x99\xe2\x80\xa6") == std::string::npos);
  }
}

TEST_CASE("progress: the place in the queue") {
  const auto place = [](std::size_t number, std::size_t length) {
    WaitFacts some = facts();
    some.state.place = number;
    some.state.length = length;
    const std::string line = plain_line(some);
    const std::size_t from = line.find("s, ") + 3;
    return line.substr(from, line.find(", waited") - from);
  };
  CHECK(place(1, 3) == "you are 1st of 3");
  CHECK(place(1, 1) == "you are next");
  for (std::size_t number = 1; number <= 121; ++number) {
    const bool teen = number % 100 >= 10 && number % 100 < 20;
    const std::string suffix = teen               ? "th"
                               : number % 10 == 1 ? "st"
                               : number % 10 == 2 ? "nd"
                               : number % 10 == 3 ? "rd"
                                                  : "th";
    CHECK(place(number, 200) == "you are " + std::to_string(number) + suffix + " of 200");
  }
  WaitFacts some = facts();
  some.state.place = 0;
  CHECK(plain_line(some) ==
        "lock \"deploy-shop\" is held by root@db7 (./deploy.sh) for 3m 12s, waited 0:41 of 10:00");
}

TEST_CASE("progress: the time waited, and the limit if there is one") {
  WaitFacts some = facts();
  some.limit.reset();
  CHECK(plain_line(some).ends_with(", waited 0:41"));
  some.waited = 59s;
  some.limit = 600s;
  CHECK(plain_line(some).ends_with(", waited 0:59 of 10:00"));
  some.waited = 0s;
  some.limit = 48h;
  CHECK(plain_line(some).ends_with(", waited 0:00 of 48:00:00"));
  some.limit.reset();
  some.waited = 3h + 2min + 1999ms;
  CHECK(plain_line(some).ends_with(", waited 3:02:01"));
  some.limit = 1500ms;
  CHECK_MESSAGE(plain_line(some).ends_with(" of 0:02"), "rounded up");
}

TEST_CASE("progress: since when it is held, if that is known") {
  const auto length = [](std::chrono::milliseconds since) {
    WaitFacts some = facts();
    some.state.refusal = held("job", since);
    const std::string line = plain_line(some);
    const std::size_t from = line.find("(job)") + 5;
    return line.substr(from, line.find(", you") - from);
  };
  CHECK(length(kNow - 28'900ms) == " for 28 s");
  CHECK(length(kNow) == " for 0 s");
  CHECK(length(kNow - 1h) == " for 1h 0m");
  CHECK_MESSAGE(length(kNow + 5s) == "", "the clocks differ");
  CHECK_MESSAGE(length(0ms) == "", "it does not say");
}

TEST_CASE("progress: names the obstacle if no job holds the lock") {
  const auto who = [](const lock::Refused& refusal) {
    WaitFacts some = facts();
    some.state.refusal = refusal;
    some.refusal_age = 8500ms;
    some.state.place = 0;
    some.limit.reset();
    const std::string line = plain_line(some);
    return line.substr(0, line.find(", waited"));
  };
  lock::Refused other = held();
  other.blocker = "cooling:aaaa";
  CHECK(who(other) ==
        "lock \"deploy-shop\" is cooling down after root@db7 (./deploy.sh), free in 12 s");
  other.ttl_left = 5s;
  CHECK(who(other).ends_with(", free in 0 s"));
  other.blocker = "revoked:aaaa {}";
  CHECK(who(other) ==
        "lock \"deploy-shop\" is revoked from root@db7 (./deploy.sh), whose job is being stopped");
  other.holder = R"({"host":"db7","user":"root","unattended":1})";
  CHECK(who(other) == "lock \"deploy-shop\" is revoked from root@db7; redlock stops no process");
  other.holder.clear();
  CHECK(who(other) ==
        "lock \"deploy-shop\" is revoked from its holder, whose job is being stopped");
  other.blocker = "somebody";
  CHECK(who(other) == "lock \"deploy-shop\" is held by another program");
  other.blocker = "type:list";
  CHECK(who(other) == "lock \"deploy-shop\" is held by another program");
}

TEST_CASE("progress: nobody is known to be in the way") {
  const auto what = [](const lock::Waiting& state) {
    WaitFacts some = facts();
    some.state = state;
    some.state.place = 2;
    some.state.length = 3;
    const std::string line = live(some);
    return line.substr(0, line.find(" · waited"));
  };
  CHECK(what({.asked = false, .servers = 3}) == "deploy-shop: asking 3 servers · you are 2nd of 3");
  CHECK(what({.asked = true, .answering = 3, .servers = 3}) ==
        "deploy-shop: several processes want it at the same time · you are 2nd of 3");
  CHECK_MESSAGE(
      what(
          {.refusal = held(), .asked = true, .lacks_quorum = true, .answering = 1, .servers = 3}) ==
          "deploy-shop: 1 of 3 servers answer, 2 needed",
      "the queue is no news then");
  CHECK(what({.asked = true, .lacks_quorum = true, .servers = 1}) ==
        "deploy-shop: the server does not answer");
  CHECK(what({.servers = 1}) == "deploy-shop: asking the server · you are 2nd of 3");
  for (const std::size_t servers : {std::size_t{1}, std::size_t{3}}) {
    CHECK(what({.asked = true, .lacks_quorum = true, .obstructed = true, .servers = servers}) ==
          "deploy-shop: 0 of " + std::to_string(servers) + " servers can grant it, " +
              std::to_string(lock::quorum(servers)) + " needed");
    CHECK(what({.asked = true, .lacks_quorum = true, .distrusted = true, .servers = servers}) ==
          "deploy-shop: 0 of " + std::to_string(servers) + " servers have a vote, " +
              std::to_string(lock::quorum(servers)) + " needed");
  }
}

TEST_CASE("progress: a line is due at full seconds or minutes of the wait") {
  const lock::Instant began(1000s);
  CHECK(next_due(began, 1s, began + 1s) == began + 2s);
  CHECK_MESSAGE(next_due(began, 60s, began + 500s) == began + 540s, "those missed are left out");
}

TEST_CASE("progress: a message says more than a command, and a maintenance hold when it ends") {
  WaitFacts some = facts();
  records::Holder holder{.host = "db7", .user = "root", .command = "./deploy.sh"};
  holder.message = "new\x1b disk";
  holder.since = kNow - 192s;
  some.state.refusal->holder = records::to_json(holder);
  CHECK(live(some).starts_with("deploy-shop: held by root@db7 (new? disk) for 3m 12s · "));
  holder.maintenance = true;
  some.state.refusal->holder = records::to_json(holder);
  some.state.refusal->ttl_left = 2h;
  some.refusal_age = 2min;
  CHECK(live(some).starts_with(
      "deploy-shop: held for maintenance by root@db7 (new? disk), free in 1h 58m · "));
  CHECK(plain_line(some).starts_with(
      "lock \"deploy-shop\" is held for maintenance by root@db7 (new? disk), free in 1h 58m, "));
  holder.message.clear();
  some.state.refusal->holder = records::to_json(holder);
  CHECK(live(some).starts_with("deploy-shop: held for maintenance by root@db7, free in 1h 58m"));
  // It has no job that could be stopped.
  some.state.refusal->blocker = "revoked:x";
  CHECK(live(some).starts_with("deploy-shop: revoked from root@db7, free in 1h 58m"));
  for (std::size_t width = 0; width < 100; ++width) live(some, width);
}

}  // namespace
}  // namespace redlock::diag
