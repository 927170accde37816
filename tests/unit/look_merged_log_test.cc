// SPDX-License-Identifier: MIT
#include "look/history.h"
#include "records/records.h"

#include "doctest.h"

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
  return line(time, "acquired", std::move(run), R"({"held":1000})");
}

observe::LoggedLine released(milliseconds time, std::string run, milliseconds held,
                             int status = 0) {
  return line(time, "released", std::move(run),
              R"({"held":)" + std::to_string(held.count()) + R"(,"status":)" +
                  std::to_string(status) + "}");
}

observe::LoggedLine skipped(milliseconds time, unsigned count = 1) {
  return line(time, "skipped", "s" + std::to_string(time.count()), "{}", count);
}

/// Written in the order of time, as a test reads; read the other way round.
Log latest_first(Log lines) {
  std::ranges::reverse(lines);
  return lines;
}

/// All that is known of the runs, with their times in seconds after kFirst. `?`: a beginning that
/// nobody has told; `-`: no known end.
std::string told(const std::vector<PastRun>& runs) {
  const char* const endings[] = {"ended",   "lost",    "forced",  "running",
                                 "unknown", "unclear", "skipped", "expired"};
  const auto seconds = [](milliseconds time) { return std::to_string(time.count() / 1000); };
  std::string text;
  for (const PastRun& run : runs) {
    const records::LogEntry& entry = run.entry;
    text += (text.empty() ? "" : "; ") + (run.skips > 0 ? std::to_string(run.skips) : run.run);
    if (!entry.who.host.empty()) text += "@" + entry.who.host;
    text += std::string(" ") +
            (run.superseded ? "superseded" : endings[static_cast<std::size_t>(run.ending)]) +
            (run.knows_beginning ? " " : " ?") + seconds(run.began - kFirst) + " to " +
            (run.ended ? seconds(*run.ended - kFirst) : "-");
    if (entry.status) text += ", exit " + std::to_string(*entry.status);
    if (!entry.reason.empty()) text += ", " + entry.reason;
    if (entry.fence > 0) text += ", fence " + std::to_string(entry.fence);
    if (entry.waited) text += ", waited " + seconds(*entry.waited) + " s";
    if (run.forced_by) text += ", by " + run.forced_by->user + "@" + run.forced_by->host;
    if (entry.who.maintenance) text += ", hold";
    if (entry.who.shared) text += ", shared";
    if (run.goes_on) text += ", goes on";
  }
  return text;
}

TEST_CASE("merged log: a run is one, however many servers and lines tell of it") {
  const observe::LoggedLine end =
      line(60s, "released", "a", R"({"fence":7,"waited":5000,"held":60000,"status":3})");
  const Log full = latest_first({acquired(1s, "a"), end});
  for (const auto& logs : {std::vector<Log>{full, full, full}, {{end}}, {{}, {end}, full}}) {
    CHECK(told(merge(logs, {})) == "a ended 0 to 60, exit 3, fence 7, waited 5 s");
  }
  CHECK(merge({{}, {}}, {}).empty());
}

TEST_CASE("merged log: times are those of most servers, and of two the earlier") {
  const Log right = {released(10s, "a", 10s)};
  const Log late = {released(2h, "a", 10s)};  // it was stopped in between
  const Log ahead = {released(40s, "a", 10s)};
  CHECK(told(merge({late, right, right}, {})) == "a ended 0 to 10, exit 0");
  CHECK(told(merge({right, late, ahead}, {})) == "a ended 30 to 40, exit 0");
  CHECK(told(merge({late, right}, {})) == "a ended 0 to 10, exit 0");
  const Log end_sent_twice = latest_first({released(10s, "a", 10s), released(11s, "a", 11s, 80)});
  CHECK(told(merge({end_sent_twice}, {})) == "a ended 0 to 10, exit 0");
}

TEST_CASE("merged log: servers that saw different runs, in the order of their beginning") {
  const Log one = latest_first({released(10s, "a", 10s), released(50s, "c", 10s)});
  const Log two = latest_first({released(30s, "b", 10s), released(50s, "c", 10s)});
  CHECK(told(merge({two, one}, {})) ==
        "a ended 0 to 10, exit 0; b ended 20 to 30, exit 0; c ended 40 to 50, exit 0");
}

TEST_CASE("merged log: lost and forced beat a release, whichever server tells") {
  const Log mild = {released(10s, "a", 10s)};
  const Log hard = latest_first(
      {released(10s, "a", 10s), line(10s, "lost", "a", R"({"held":10000,"reason":"not ours"})")});
  CHECK(told(merge({mild, hard}, {})) == "a lost 0 to 10, not ours");
  const Log forced = latest_first(
      {acquired(1s, "a"), line(5s, "revoked", "a", R"({"host":"bastion","user":"ops"})"),
       line(6s, "lost", "a", R"({"host":"h","held":6000,"status":143})")});
  CHECK(told(merge({mild, forced}, {})) == "a@h forced 0 to 6, exit 143, by ops@bastion");
  // A server that was not there when it began does not tell when that was.
  const Log only = {line(5s, "revoked", "a", R"({"host":"bastion","fence":9})")};
  CHECK(told(merge({only, only, forced}, {})) ==
        "a@h forced 0 to 6, exit 143, fence 9, by @bastion");
  const auto ended = merge({latest_first({released(6s, "a", 6s), only[0]})}, {});
  CHECK_MESSAGE(told(ended) == "a ended 0 to 6, exit 0, fence 9, by @bastion",
                "by itself, before it was stopped");
  CHECK(outcome_of(ended[0]).whole == "exit 0 (forced by @bastion)");
  // Told to give it up, and it has it still.
  CHECK(told(merge({latest_first({acquired(1s, "a"), only[0]})}, {.holders = {{"a"}}})) ==
        "a forced 0 to -, fence 9, by @bastion, goes on");
  CHECK(told(merge({only}, {})) == "a forced 5 to -, fence 9, by @bastion");
}

TEST_CASE("merged log: a run without an end has the lock, or ended unheard of") {
  const Log log = latest_first({acquired(1s, "a"), acquired(100s, "b")});
  CHECK(told(merge({log}, {.holders = {{"b"}}})) == "a unknown 0 to -; b running 99 to -, goes on");
}

TEST_CASE("merged log: where nobody can tell who has the lock, the last run may go on") {
  const Log log = latest_first({acquired(1s, "a"), acquired(100s, "b"), skipped(101s)});
  CHECK(told(merge({log}, {.sure = false})) ==
        "a unknown 0 to -; b unclear 99 to -; 1 skipped 101 to 101");
  CHECK(told(merge({{released(10s, "a", 10s)}}, {.sure = false})) == "a ended 0 to 10, exit 0");
}

observe::LoggedLine reading(milliseconds time, std::string run) {
  return line(time, "acquired", std::move(run), R"({"held":1000,"shared":1})");
}

TEST_CASE("merged log: where nobody can tell, all that share with the last run may go on") {
  Log written = {acquired(1s, "a"), reading(20s, "b"),
                 reading(30s, "c"), skipped(40s),
                 reading(50s, "d"), line(60s, "released", "c", R"({"held":31000,"shared":1})")};
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
  CHECK(told(merge({log}, {})) == "a ended 0 to 10, waited 90 s");
}

TEST_CASE("merged log: the present holder is shown without any log, and need not say since when") {
  const Log log = {released(-60s, "a", 10s)};
  records::Holder holder{.host = "h", .user = {}, .since = kFirst};
  CHECK(told(merge({log}, {.holders = {{"b", holder, 12}}})) ==
        "a ended -70 to -60, exit 0; b@h running 0 to -, fence 12, goes on");
  holder.since = {};
  CHECK(told(merge({log}, {.holders = {{"b", holder}}})) ==
        "a ended -70 to -60, exit 0; b@h running ?-60 to -, goes on");
}

TEST_CASE("merged log: skipped runs are counted between two others, by the server with the most") {
  const Log one = latest_first(
      {released(10s, "a", 10s), skipped(11s, 3), released(60s, "b", 1s), skipped(61s)});
  const Log two = latest_first({released(10s, "a", 10s), skipped(12s, 4), released(60s, "b", 1s)});
  for (const std::vector<Log>& logs : {std::vector{one, two}, {two, one}}) {
    CAPTURE(logs.front().size());
    CHECK(told(merge(logs, {})) ==
          "a ended 0 to 10, exit 0; 4 skipped 12 to 12; b ended 59 to 60, exit 0; "
          "1 skipped 61 to 61");
  }
  // Who may not delete lines leaves one for each.
  const Log many =
      latest_first({released(10s, "a", 10s), skipped(11s), skipped(12s), skipped(13s)});
  CHECK(told(merge({many}, {})) == "a ended 0 to 10, exit 0; 3 skipped 13 to 13");
}

TEST_CASE("merged log: lines of others, and broken ones, are passed over") {
  const Log log = latest_first({line(1s, "x", "a", "{}"), line(2s, "released", "", "{}"),
                                line(3s, "released", "a", "no JSON"), line(4s, "", "", ""),
                                released(10s, "b", 1s)});
  CHECK(told(merge({log}, {})) == "b ended 9 to 10, exit 0");
  // A length that leads beyond the beginning of time.
  const auto odd = merge({{line(0s, "released", "a", R"({"held":9223372036854775807})")}}, {});
  CHECK(odd[0].began >= 0ms);
}

observe::LoggedLine hold(milliseconds time, std::string event, milliseconds length) {
  return line(time, std::move(event), "a",
              R"({"maintenance":1,"ttl":)" + std::to_string(length.count()) + "}");
}

TEST_CASE("merged log: a maintenance hold ends by its time, which nobody logs") {
  const Log log = {hold(0s, "acquired", 1h)};
  CHECK(told(merge({log, log}, {.now = kFirst + 2h})) == "a expired 0 to 3600, hold");
  CHECK(told(merge({log}, {.holders = {{"a"}}, .now = kFirst + 2h})) ==
        "a running 0 to -, hold, goes on");
  // The clocks of its servers and ours differ a little.
  CHECK(told(merge({log}, {.now = kFirst + 1h - 9s})) == "a expired 0 to 3600, hold");
  CHECK_MESSAGE(told(merge({log}, {.now = kFirst + 1h - 11s})) == "a unknown 0 to -, hold",
                "it is gone before its time: the servers have lost it");
}

TEST_CASE("merged log: a plain acquire that nobody released has expired, and did not fail") {
  const Log log = {line(1s, "acquired", "a", R"({"held":1000,"unattended":1})")};
  const auto runs = merge({log}, {});
  CHECK(told(runs) == "a expired 0 to -");
  CHECK_FALSE(outcome_of(runs[0]).failed);
  CHECK(outcome_of(runs[0]).whole == "expired");
  CHECK(told(merge({log}, {.sure = false})) == "a unclear 0 to -");
  CHECK(told(merge({log}, {.holders = {{"a"}}})) == "a running 0 to -, goes on");
}

TEST_CASE("merged log: a run that failed and the hold that it left are two, under one name") {
  const Log begun = {released(60s, "a", 60s, 3), hold(60s, "acquired", 1h)};
  CHECK(told(merge({latest_first(begun)}, {.now = kFirst + 2h})) ==
        "a ended 0 to 60, exit 3; a expired 60 to 3660, hold");
  Present present{.holders = {{.run = "a"}}, .now = kFirst + 2min};
  present.holders[0].who.emplace().maintenance = true;
  CHECK(told(merge({latest_first(begun)}, present)) ==
        "a ended 0 to 60, exit 3; a running 60 to -, hold, goes on");
  CHECK(merge({}, present).size() == 1);
  Log ended = begun;
  ended.push_back(line(5min, "revoked", "a", R"({"host":"bastion","user":"ops"})"));
  CHECK(told(merge({latest_first(ended)}, {.now = kFirst + 2h})) ==
        "a ended 0 to 60, exit 3; a forced 60 to 300, by ops@bastion, hold");
  // The release found that the lock was lost: there is no hold, although the run has announced it.
  const Log lost = {line(60s, "lost", "a", R"({"held":60000})")};
  CHECK(told(merge({latest_first(begun), lost}, {.now = kFirst + 2h})) == "a lost 0 to 60");
}

TEST_CASE("merged log: a maintenance hold that was extended, released or forced") {
  const observe::LoggedLine begin = hold(0s, "acquired", 1h);
  const auto told_of = [](const std::vector<Log>& logs) {
    return told(merge(logs, {.now = kFirst + 24h}));
  };
  CHECK(told_of({latest_first({begin, hold(30min, "renewed", 2h)}), {begin}}) ==
        "a expired 0 to 9000, hold");
  const std::string end = R"({"maintenance":1,"held":600000})";
  CHECK(told_of({latest_first({begin, line(10min, "released", "a", end)})}) ==
        "a ended 0 to 600, hold");
  CHECK(told_of({latest_first({begin, line(5min, "revoked", "a", "{}")})}) ==
        "a forced 0 to 300, by @, hold");
  const Log by_a_clock_behind = {line(-5min, "revoked", "a", "{}")};
  CHECK(told_of({{begin}, by_a_clock_behind}) == "a forced 0 to 0, by @, hold");
  CHECK(told_of({{hold(0s, "renewed", 1h)}}) == "");
}

TEST_CASE("merged log: all readers of a shared lock have it, logged or not") {
  const Log log = latest_first({acquired(1s, "a"), acquired(2s, "b"), acquired(3s, "dead")});
  const Present present{.shared = true, .holders = {{"a"}, {"b"}, {"c"}}, .now = kFirst + 10s};
  CHECK(told(merge({log}, present)) ==
        "a running 0 to -, shared, goes on; b running 1 to -, shared, goes on; "
        "dead unknown 2 to -; c running ?2 to -, shared, goes on");
}

TEST_CASE("merged log: superseded runs are counted, beside skipped ones") {
  const observe::LoggedLine superseded = line(3s, "superseded", "n", "{}", 4);
  const Log log = latest_first({released(1s, "a", 1s), skipped(2s), superseded});
  const auto runs = merge({log, log}, {});
  REQUIRE(told(runs) == "a ended 0 to 1, exit 0; 1 skipped 2 to 2; 4 superseded 3 to 3");
  CHECK(outcome_of(runs[2]).word == "superseded");
  CHECK(outcome_of(runs[2]).brief == "4 superseded");
  CHECK(outcome_of(runs[2]).whole == "4 runs superseded (--newest, --build)");
}

}  // namespace
}  // namespace redlock::look
