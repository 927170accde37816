// SPDX-License-Identifier: MIT
#include "look/history.h"
#include "records/records.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>

namespace redlock::look {
namespace {

using namespace std::chrono_literals;
using Ending = PastRun::Ending;
using Log = std::vector<observe::LoggedLine>;
using std::chrono::milliseconds;

constexpr milliseconds kFirst = 1'795'172'400s;

observe::LoggedLine line(milliseconds time, std::string event, std::string run, std::string data,
                         unsigned count = 1) {
  return {kFirst + time, std::move(event), std::move(run), std::move(data), count};
}

observe::LoggedLine acquired(milliseconds time, std::string run) {
  return line(time, "acquired", std::move(run), R"({"host":"h","held":1000,"fence":7})");
}

observe::LoggedLine released(milliseconds time, std::string run, milliseconds held,
                             int status = 0) {
  return line(time, "released", std::move(run),
              R"({"host":"h","fence":7,"waited":5,"held":)" + std::to_string(held.count()) +
                  R"(,"status":)" + std::to_string(status) + "}");
}

observe::LoggedLine skipped(milliseconds time, unsigned count = 1) {
  return line(time, "skipped", "s" + std::to_string(time.count()), R"({"host":"h"})", count);
}

/// Written in the order of time, as a test reads; read the other way round.
Log latest_first(Log lines) {
  std::ranges::reverse(lines);
  return lines;
}

TEST_CASE("merged log: nothing of nothing") {
  CHECK(merge({}, {}).empty());
  CHECK(merge({{}, {}}, {}).empty());
}

TEST_CASE("merged log: a run is one, however many servers and lines tell of it") {
  const Log full = latest_first({acquired(1s, "a"), released(60s, "a", 60s, 3)});
  const Log end = {released(60s, "a", 60s, 3)};
  for (const auto& logs : {std::vector<Log>{full, full, full}, {end}, {{}, end, full}}) {
    const auto runs = merge(logs, {});
    REQUIRE(runs.size() == 1);
    CHECK(runs[0].ending == Ending::ended);
    CHECK(runs[0].began == kFirst);
    CHECK(runs[0].ended == kFirst + 60s);
    CHECK(runs[0].entry.status == 3);
    CHECK(runs[0].entry.fence == 7);
    CHECK(runs[0].entry.waited == 5ms);
  }
}

TEST_CASE("merged log: times are those of most servers, and of two the earlier") {
  const Log right = {released(10s, "a", 10s)};
  const Log late = {released(2h, "a", 10s)};  // it was stopped in between
  const Log ahead = {released(40s, "a", 10s)};
  CHECK(merge({late, right, right}, {})[0].began == kFirst);
  CHECK(merge({right, late, ahead}, {})[0].began == kFirst + 30s);
  CHECK(merge({late, right}, {})[0].began == kFirst);
  // An end that was sent twice.
  const Log twice = latest_first({released(10s, "a", 10s), released(11s, "a", 11s, 80)});
  CHECK(merge({twice}, {})[0].began == kFirst);
  CHECK(merge({twice}, {})[0].ended == kFirst + 10s);
  CHECK(merge({twice}, {})[0].entry.status == 0);
  CHECK(merge({twice}, {}).size() == 1);
}

TEST_CASE("merged log: servers that saw different runs, in the order of their beginning") {
  const Log one = latest_first({released(10s, "a", 10s), released(50s, "c", 10s)});
  const Log two = latest_first({released(30s, "b", 10s), released(50s, "c", 10s)});
  const auto runs = merge({two, one}, {});
  REQUIRE(runs.size() == 3);
  CHECK(runs[0].run == "a");
  CHECK(runs[1].run == "b");
  CHECK(runs[2].run == "c");
}

TEST_CASE("merged log: lost and forced beat a release, whichever server tells") {
  const Log mild = {released(10s, "a", 10s)};
  const Log hard = latest_first(
      {released(10s, "a", 10s), line(10s, "lost", "a", R"({"held":10000,"reason":"not ours"})")});
  const auto lost = merge({mild, hard}, {});
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].ending == Ending::lost);
  CHECK(lost[0].entry.reason == "not ours");

  const Log forced = latest_first(
      {acquired(1s, "a"), line(5s, "revoked", "a", R"({"host":"bastion","user":"ops"})"),
       line(6s, "lost", "a", R"({"host":"h","held":6000,"status":143})")});
  const auto broken = merge({mild, forced}, {});
  REQUIRE(broken.size() == 1);
  CHECK(broken[0].ending == Ending::forced);
  REQUIRE(broken[0].forced_by);
  CHECK(broken[0].forced_by->user == "ops");
  CHECK(broken[0].entry.who.host == "h");
  CHECK(broken[0].entry.status == 143);
  CHECK(broken[0].began == kFirst);
  // A server that was not there when it began does not tell when that was.
  const Log only = {line(5s, "revoked", "a", R"({"host":"bastion"})")};
  CHECK(merge({only, only, forced}, {})[0].began == kFirst);
  // It ended by itself before it was stopped.
  const auto ended = merge({latest_first({released(6s, "a", 6s), only[0]})}, {});
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].ending == Ending::ended);
  CHECK(outcome_of(ended[0]).whole == "exit 0 (forced by @bastion)");
  // Told to give it up, and it has it still.
  const auto stopping =
      merge({latest_first({acquired(1s, "a"), only[0]})}, {.holders = {{.run = "a", .fence = 7}}});
  CHECK(stopping[0].ending == Ending::forced);
  CHECK(stopping[0].goes_on);
  // Nothing but that is known.
  const auto bare = merge({{line(5s, "revoked", "a", R"({"host":"bastion","fence":9})")}}, {});
  REQUIRE(bare.size() == 1);
  CHECK(bare[0].ending == Ending::forced);
  CHECK(bare[0].entry.fence == 9);
  CHECK_FALSE(bare[0].ended);
}

TEST_CASE("merged log: a run without an end has the lock, or ended unheard of") {
  const Log log = latest_first({acquired(1s, "a"), acquired(100s, "b")});
  const auto runs = merge({log}, {.holders = {{.run = "b", .fence = 7}}});
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].ending == Ending::unknown);
  CHECK(runs[1].ending == Ending::running);
  CHECK(runs[1].began == kFirst + 99s);
  CHECK_FALSE(runs[1].ended);
}

TEST_CASE("merged log: where nobody can tell who has the lock, the last run may go on") {
  const Log log = latest_first({acquired(1s, "a"), acquired(100s, "b"), skipped(101s)});
  const auto runs = merge({log}, {.sure = false});
  REQUIRE(runs.size() == 3);
  CHECK_MESSAGE(runs[0].ending == Ending::unknown, "the next one had the lock");
  CHECK(runs[1].ending == Ending::unclear);
  CHECK_FALSE(runs[1].ended);
  CHECK(merge({{released(10s, "a", 10s)}}, {.sure = false})[0].ending == Ending::ended);
}

observe::LoggedLine reading(milliseconds time, std::string run) {
  return line(time, "acquired", std::move(run), R"({"host":"h","held":1000,"shared":1})");
}

TEST_CASE("merged log: where nobody can tell, all that share with the last run may go on") {
  Log written = {
      acquired(1s, "a"), reading(20s, "b"),
      reading(30s, "c"), skipped(40s),
      reading(50s, "d"), line(60s, "released", "c", R"({"host":"h","held":31000,"shared":1})")};
  const auto endings = [&written](const Present& present) {
    std::vector<Ending> found;
    for (const PastRun& run : merge({latest_first(written)}, present)) {
      if (run.ending != Ending::skipped) found.push_back(run.ending);
    }
    return found;
  };
  using enum PastRun::Ending;
  CHECK(endings({.sure = false}) == std::vector{unknown, unclear, ended, unclear});
  // Of many readers, a server names only some.
  const Present some{.sure = false, .shared = true, .holders = {{"b"}, {"e"}}};
  CHECK(endings(some) == std::vector{unknown, running, ended, unclear, running});
  CHECK(endings({}) == std::vector{unknown, unknown, ended, unknown});
  written.push_back(acquired(100s, "w"));
  CHECK(endings({.sure = false}) == std::vector{unknown, unknown, ended, unknown, unclear});
}

TEST_CASE("merged log: the line of the acquirer says how long it waited") {
  const Log log = latest_first({line(0s, "acquired", "a", R"({"waited":90000})"),
                                line(10s, "released", "a", R"({"waited":0,"held":10000})")});
  const auto runs = merge({log}, {});
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].entry.waited == 90s);
  CHECK_FALSE(runs[0].entry.status);
  CHECK(runs[0].ended == kFirst + 10s);
}

TEST_CASE("merged log: the present holder is shown, also without any log") {
  records::Holder holder{.host = "h", .user = {}, .command = {}, .since = kFirst};
  const Log log = {released(-60s, "a", 10s)};
  const auto runs = merge({log}, {.holders = {{"b", holder, 12}}});
  REQUIRE(runs.size() == 2);
  CHECK(runs[1].ending == Ending::running);
  CHECK(runs[1].began == kFirst);
  CHECK(runs[1].entry.fence == 12);
  CHECK(runs[1].entry.who.host == "h");
  CHECK_FALSE(runs[1].entry.waited);
}

TEST_CASE("merged log: the present holder need not say since when") {
  const records::Holder holder{.host = "h", .user = {}, .command = {}, .since = {}};
  const Log log = {released(-60s, "a", 10s)};
  const auto runs = merge({log}, {.holders = {{"b", holder}}});
  REQUIRE(runs.size() == 2);
  CHECK(runs[1].ending == Ending::running);
  CHECK_FALSE(runs[1].knows_beginning);
  CHECK(runs[1].began == runs[0].ended);
  CHECK(runs[0].knows_beginning);
}

TEST_CASE("merged log: skipped runs are counted between two others, by the server with the most") {
  const Log one = latest_first(
      {released(10s, "a", 10s), skipped(11s, 3), released(60s, "b", 1s), skipped(61s)});
  const Log two = latest_first({released(10s, "a", 10s), skipped(12s, 4), released(60s, "b", 1s)});
  const auto runs = merge({one, two}, {});
  REQUIRE(runs.size() == 4);
  CHECK(runs[1].ending == Ending::skipped);
  CHECK(runs[1].skips == 4);
  CHECK(runs[1].began == kFirst + 12s);
  CHECK(runs[3].skips == 1);
  CHECK(merge({two, one}, {})[1].skips == 4);
  // Who may not delete lines leaves one for each.
  const Log many =
      latest_first({released(10s, "a", 10s), skipped(11s), skipped(12s), skipped(13s)});
  CHECK(merge({many}, {})[1].skips == 3);
  CHECK(merge({many}, {})[1].began == kFirst + 13s);
}

TEST_CASE("merged log: lines of others, and broken ones, are passed over") {
  const Log log = latest_first({line(1s, "x", "a", "{}"), line(2s, "released", "", "{}"),
                                line(3s, "released", "a", "no JSON"), line(4s, "", "", ""),
                                released(10s, "b", 1s)});
  const auto runs = merge({log}, {});
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].run == "b");
  // A length that leads beyond the beginning of time.
  const auto odd = merge({{line(0s, "released", "a", R"({"held":9223372036854775807})")}}, {});
  CHECK(odd[0].began >= 0ms);
}

observe::LoggedLine hold(milliseconds time, std::string event, milliseconds length) {
  return line(time, std::move(event), "a",
              R"({"host":"h","maintenance":1,"ttl":)" + std::to_string(length.count()) + "}");
}

TEST_CASE("merged log: a maintenance hold ends by its time, which nobody logs") {
  const Log log = {hold(0s, "acquired", 1h)};
  auto runs = merge({log, log}, {.now = kFirst + 2h});
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].ending == Ending::expired);
  CHECK(runs[0].ended == kFirst + 1h);
  CHECK(runs[0].entry.who.maintenance);
  runs = merge({log}, {.holders = {{"a"}}, .now = kFirst + 2h});
  CHECK(runs[0].ending == Ending::running);
  CHECK_FALSE(runs[0].ended);
  // The clocks of its servers and ours differ a little.
  CHECK(merge({log}, {.now = kFirst + 1h - 9s})[0].ending == Ending::expired);
  CHECK(merge({log}, {.now = kFirst + 1h - 11s})[0].ending == Ending::unknown);
  // It is gone before its time: the servers have lost it.
  runs = merge({log}, {.now = kFirst + 30min});
  CHECK(runs[0].ending == Ending::unknown);
}

TEST_CASE("merged log: a plain acquire that nobody released has expired, and did not fail") {
  const Log log = {line(1s, "acquired", "a", R"({"host":"h","held":1000,"unattended":1})")};
  const auto runs = merge({log}, {});
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].ending == Ending::expired);
  CHECK_FALSE(outcome_of(runs[0]).failed);
  CHECK(outcome_of(runs[0]).whole == "expired");
  CHECK(merge({log}, {.sure = false})[0].ending == Ending::unclear);
  CHECK(merge({log}, {.holders = {{"a"}}})[0].ending == Ending::running);
}

TEST_CASE("merged log: a run that failed and the hold that it left are two, under one name") {
  const Log begun = {released(60s, "a", 60s, 3), hold(60s, "acquired", 1h)};
  const auto runs = merge({latest_first(begun)}, {.now = kFirst + 2h});
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].ending == Ending::ended);
  CHECK(runs[0].entry.status == 3);
  CHECK_FALSE(runs[0].entry.who.maintenance);
  CHECK(runs[1].ending == Ending::expired);
  CHECK(runs[1].entry.who.maintenance);
  CHECK(runs[1].began == kFirst + 60s);
  CHECK(runs[1].ended == kFirst + 60s + 1h);
  CHECK(runs[0].run == "a");
  CHECK(runs[1].run == "a");
  // While it lasts.
  Present present{.holders = {{.run = "a"}}, .now = kFirst + 2min};
  present.holders[0].who.emplace().maintenance = true;
  const auto now = merge({latest_first(begun)}, present);
  REQUIRE(now.size() == 2);
  CHECK(now[0].ending == Ending::ended);
  CHECK(now[1].ending == Ending::running);
  CHECK(merge({}, present).size() == 1);
  // Somebody ended it.
  Log ended = begun;
  ended.push_back(line(5min, "revoked", "a", R"({"host":"bastion","user":"ops"})"));
  const auto forced = merge({latest_first(ended)}, {.now = kFirst + 2h});
  REQUIRE(forced.size() == 2);
  CHECK(forced[0].ending == Ending::ended);
  CHECK_FALSE(forced[0].forced_by);
  CHECK(forced[1].ending == Ending::forced);
  CHECK(forced[1].ended == kFirst + 5min);
  // The release found that the lock was lost: there is no hold, although the run has announced it.
  const Log lost = {line(60s, "lost", "a", R"({"host":"h","held":60000})")};
  const auto none = merge({latest_first(begun), lost}, {.now = kFirst + 2h});
  REQUIRE(none.size() == 1);
  CHECK(none[0].ending == Ending::lost);
}

TEST_CASE("merged log: a maintenance hold that was extended, released or forced") {
  const Log extended = latest_first({hold(0s, "acquired", 1h), hold(30min, "renewed", 2h)});
  auto runs = merge({extended, {hold(0s, "acquired", 1h)}}, {.now = kFirst + 24h});
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].ended == kFirst + 2h + 30min);
  runs = merge({latest_first({hold(0s, "acquired", 1h), released(10min, "a", 10min)})},
               {.now = kFirst + 24h});
  CHECK(runs[0].ending == Ending::ended);
  CHECK(runs[0].ended == kFirst + 10min);
  runs = merge({latest_first({hold(0s, "acquired", 1h), line(5min, "revoked", "a", "{}")})},
               {.now = kFirst + 24h});
  CHECK(runs[0].ending == Ending::forced);
  CHECK(runs[0].ended == kFirst + 5min);
  const Log behind = {line(-5min, "revoked", "a", "{}")};
  CHECK(merge({{hold(0s, "acquired", 1h)}, behind}, {.now = kFirst})[0].ended == kFirst);
  CHECK(merge({{hold(0s, "renewed", 1h)}}, {.now = kFirst}).empty());
}

TEST_CASE("merged log: all readers of a shared lock have it, logged or not") {
  const Log log = latest_first({acquired(1s, "a"), acquired(2s, "b"), acquired(3s, "dead")});
  Present present{.shared = true, .now = kFirst + 10s};
  for (const char* run : {"a", "b", "c"}) present.holders.push_back({run, std::nullopt, 9});
  const auto runs = merge({log}, present);
  REQUIRE(runs.size() == 4);
  for (const PastRun& run : runs) {
    CHECK((run.ending == Ending::running) == (run.run != "dead"));
    CHECK(run.goes_on == (run.run != "dead"));
    CHECK(run.entry.who.shared == (run.run != "dead"));
  }
}

}  // namespace
TEST_CASE("merged log: superseded runs are counted, beside skipped ones") {
  const auto superseded = [](milliseconds time, unsigned count) {
    return line(time, "superseded", "n", R"({"host":"h"})", count);
  };
  const Log log = latest_first({released(1s, "a", 1s), skipped(2s), superseded(3s, 4)});
  const auto runs = merge({log, log}, {});
  REQUIRE(runs.size() == 3);
  CHECK_FALSE(runs[1].superseded);
  CHECK(runs[2].superseded);
  CHECK(runs[2].ending == Ending::skipped);
  CHECK(runs[2].skips == 4);
  CHECK(outcome_of(runs[2]).word == "superseded");
  CHECK(outcome_of(runs[2]).brief == "4 superseded");
  CHECK(outcome_of(runs[2]).whole == "4 runs superseded (--newest, --build)");
}

}  // namespace redlock::look
