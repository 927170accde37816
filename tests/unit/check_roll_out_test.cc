// SPDX-License-Identifier: MIT
#include "check/roll_out.h"

#include "doctest.h"

#include "driver/setup.h"

namespace redlock::check {
namespace {

using namespace std::chrono_literals;
using diag::Relation;

constexpr std::chrono::milliseconds kNow = 1'700'000'000'000ms;

/// With the servers db0 to db(n-1), and a restart grace of 30 s.
config::Settings settings_for(std::size_t servers) {
  config::Settings settings;
  settings.restart_grace = 30s;
  for (std::size_t server = 0; server < servers; ++server) {
    settings.servers.push_back(redis::parse_uri("redis://db" + std::to_string(server)));
  }
  return settings;
}

std::string list_with(std::size_t servers) {
  return driver::server_list(settings_for(servers)).record();
}

records::Holder on(const std::string& host, const std::string& list) {
  return {.host = host, .user = {}, .list = list};
}

/// Of a host with the list of three servers, by which all others are judged.
struct Seen {
  config::Settings settings = settings_for(3);
  RollOutSurvey survey{settings};

  Seen& at(std::chrono::milliseconds ago, const std::string& host, const std::string& list) {
    survey.take(on(host, list), kNow - ago);
    return *this;
  }
  [[nodiscard]] RollOut result(std::size_t silent = 0, std::size_t unread = 0) const {
    return survey.result(silent, unread, kNow);
  }
};

TEST_CASE("roll-out: if nothing is known, or all hosts have our list, the next step may begin") {
  CHECK(Seen().result().sentence() == "the next step may begin");
  const RollOut all = Seen().at(1h, "web1", list_with(3)).at(0s, "web2", list_with(3)).result();
  CHECK(all.sentence() == "the next step may begin");
  CHECK_FALSE(all.any_other);
  CHECK(all.hosts.size() == 2);
}

TEST_CASE("roll-out: it waits for each host whose last list is another one, however long ago") {
  const RollOut some = Seen()
                           .at(9000h, "weekly", list_with(2))
                           .at(1h, "web1", list_with(4))
                           .at(50s, "web1", list_with(3))
                           .at(40s, "web2", list_with(3))
                           .result();
  CHECK(some.sentence() ==
        "the next step must wait: the list of weekly is another one, or not known");
  CHECK(some.is_on_its_way());
  REQUIRE(some.hosts.size() == 3);
  CHECK(some.hosts.at("web1").relation == Relation::same);
  CHECK(some.hosts.at("weekly").relation == Relation::overlapping);
  const RollOut old = Seen().at(1h, "web1", "").result();
  CHECK_MESSAGE(Seen().at(1h, "", "").result().hosts.empty(), "another program's record");
  CHECK(old.sentence() == "the next step must wait: the list of web1 is another one, or not known");
  CHECK(to_json(old).output().find("\"may_begin\": false") != std::string::npos);
  CHECK_FALSE_MESSAGE(old.any_other, "redlock 1.0 says nothing: that alone is no roll-out");
}

TEST_CASE("roll-out: it waits for a grace after the last run with another list") {
  Seen seen;
  seen.at(12s, "web1", list_with(4)).at(10s, "web1", list_with(3));
  CHECK(seen.result().sentence() ==
        "the next step must wait: 18 s more after the last run with another list");
  CHECK(Seen().at(31s, "web1", list_with(4)).at(1s, "web1", list_with(3)).result().sentence() ==
        "the next step may begin");
}

TEST_CASE("roll-out: of what a host says at the same time, the worst counts") {
  const auto relation = [](const std::string& first, const std::string& second) {
    return Seen().at(0s, "web1", first).at(0s, "web1", second).result().hosts.at("web1").relation;
  };
  CHECK(relation(list_with(3), list_with(4)) == Relation::overlapping);
  CHECK(relation(list_with(4), list_with(3)) == Relation::overlapping);
  CHECK(relation(list_with(1), list_with(4)) == Relation::apart);
}

TEST_CASE("roll-out: holders, readers, waiters and marks of --once count") {
  using observe::Observed;
  const auto waits_for = [](const std::function<void(Observed&)>& edit) {
    Seen seen;
    Observed lock;
    edit(lock);
    seen.survey.take(lock, kNow);
    return seen.result().sentence();
  };
  const records::Holder other = on("web7", list_with(2));
  const std::string holds =
      "the next step must wait: the list of web7 is another one, or not known; 30 s more after the "
      "last run with another list";
  CHECK(waits_for([&](Observed& lock) { lock.holder = other; }) == holds);
  CHECK(waits_for([&](Observed& lock) { lock.readers.push_back({{}, other}); }) == holds);
  CHECK(waits_for([&](Observed& lock) {
          lock.waiting.emplace();
          lock.waiting->known.push_back({1s, other});
        }) == holds);
  const auto mark_of = [](const records::Holder& who) {
    return [who](Observed& lock) {
      lock.last_run = lock::Done{.age = 1min, .left = 1h, .who = records::to_json(who)};
    };
  };
  CHECK(waits_for(mark_of(other)) ==
        "the next step must wait: 1h 0m more after the last run with another list");
  CHECK(waits_for(mark_of(on("web7", list_with(3)))) == "the next step may begin");
}

TEST_CASE("roll-out: it waits for answers of a quorum") {
  CHECK(Seen().result(1).sentence() == "the next step may begin");
  CHECK(Seen().result(0, 2).sentence() ==
        "the next step must wait: there was no time for 2 logs, try redlock check NAME");
  CHECK(Seen().result(2).sentence() ==
        "the next step must wait: 1 of 3 servers could be asked, and a "
        "quorum is 2");
}

TEST_CASE("roll-out: a sentence names five hosts, and says how many more there are") {
  Seen seen;
  for (const char* const host : {"a", "b", "c", "d", "e", "f", "g"}) {
    seen.at(1h, host, list_with(2));
  }
  CHECK(seen.result().sentence() ==
        "the next step must wait: the list of a, b, c, d, e and 2 other hosts is another one, or "
        "not known");
}

TEST_CASE("roll-out: a host whose list need not share a server with ours is a warning") {
  const auto found =
      diagnose_lists(Seen().at(1h, "web1", list_with(1)).at(1h, "web2", list_with(2)).result());
  REQUIRE(found.size() == 3);
  CHECK(found[1].level == Level::ok);
  CHECK(found[2].level == Level::warning);
  CHECK(found[2].text ==
        "web1 uses other servers (redis://db0:6379), so that two jobs may run at the same time; "
        "compare redlock config on both hosts");
}

TEST_CASE("roll-out: an even number of servers is a warning, but not in the middle of one") {
  const auto found = [](std::size_t servers, bool is_step) {
    return diagnose_lists(
        {.ours = driver::server_list(settings_for(servers)), .ours_is_step = is_step})[0];
  };
  for (const std::size_t servers : {1U, 2U, 3U, 4U, 5U, 6U}) {
    CHECK(found(servers, false).level == (servers % 2 == 0 ? Level::warning : Level::ok));
    CHECK(found(servers, true).level == Level::ok);
  }
  CHECK(found(2, true).text ==
        "2 servers, in the middle of a roll-out: none may fail until the next step");
  CHECK(found(4, true).text ==
        "4 servers, in the middle of a roll-out: 1 may fail until the next step");
  CHECK(found(2, false).text.starts_with("2 servers: both are needed for a lock"));
  CHECK(found(4, false).text == "4 servers: 1 may fail, as with 3; use an odd number");
  const auto is_step = [](std::chrono::milliseconds ago, std::size_t servers) {
    return Seen().at(ago, "web1", list_with(servers)).at(0s, "web1", list_with(3)).result();
  };
  CHECK(is_step(167h, 4).ours_is_step);
  CHECK_FALSE(is_step(169h, 4).ours_is_step);
  CHECK_FALSE(is_step(1h, 1).ours_is_step);
}

TEST_CASE("roll-out: the table, which foreign text cannot break") {
  const RollOut some = Seen()
                           .at(0s, "new", list_with(3))
                           .at(1h, "old", list_with(2))
                           .at(2h, "older", list_with(1))
                           .at(3h, "odd\033[31m\n", "x")
                           .result();
  std::string table = as_table(some, {});
  CHECK(table.find('\033') == std::string::npos);
  CHECK(std::ranges::count(table, '\n') == 5);
  for (std::size_t at = 0; (at = table.find("  ", at)) != std::string::npos;) table.erase(at, 1);
  CHECK(table.find(" new present ") != std::string::npos);
  CHECK(table.find(" old without redis://db2:6379 ") != std::string::npos);
  CHECK(table.find(" older other: redis://db0:6379 ") != std::string::npos);
  CHECK(as_table(some, {.width = 20}).find("…") != std::string::npos);
}

}  // namespace
}  // namespace redlock::check
