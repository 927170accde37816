// SPDX-License-Identifier: MIT
//
// Every word that status, list and history say of a lock, as whole commands: of each state of the
// lock, and for each way to ask.
#include "config/value.h"
#include "contains.h"
#include "look_states.h"
#include "os/clock.h"

namespace redlock::words_test {
namespace {

using namespace std::chrono_literals;
using look::carry_out;
using std::chrono::milliseconds;
using namespace tests;

/// With one blank in place of several, and none at the ends of lines.
std::string squeezed(std::string text) {
  for (std::size_t at = 0; (at = text.find("  ", at)) != text.npos;) text.erase(at, 1);
  for (std::size_t at = 0; (at = text.find(" \n", at)) != text.npos;) text.erase(at, 1);
  return text;
}

TEST_CASE("status, list: each line of each state") {
  const std::vector<LockState> all = lock_states();
  AnsweringServers servers(1, [&](const Asked& asked) { return reply_of(all, asked); });
  const std::string when = config::format_moment(kSince);
  const std::string table = squeezed(said_about<cli::List>(servers, {}).out);
  CAPTURE(table);
  for (const LockState& each : all) {
    CAPTURE(each.name);
    std::string block = said_about<cli::Status>(servers, {each.name}).out;
    if (const auto at = block.find(when); at != block.npos) block.replace(at, when.size(), "WHEN");
    if (const auto at = block.find("s, at "); at != block.npos) {
      block.replace(at + 6, when.size(), "TIME");
    }
    CHECK(block == each.name + ": " + each.block);
    CHECK(contains(table, "\n" + each.row + "\n"));
    const std::string json = said_about<cli::Status>(servers, {each.name}, As::json).out;
    CAPTURE(json);
    for (const std::string& member : each.json) CHECK_MESSAGE(contains(json, member), member);
  }
}

TEST_CASE("status: who waits, who gave up, and each server's word where they differ") {
  const auto reply = [](const Asked& asked) -> std::optional<std::string> {
    if (asked.name == "look") {
      const std::string values[] = {std::string(40, 'a'), std::string(40, 'a'), "x"};
      return held_as(values[asked.server], asked.server == 0 ? 29'000 : -1,
                     asked.server == 1 ? who("") : "")
          .wire();
    }
    if (asked.name == "waiting") {
      return "*5\r\n$7\r\nwaiting\r\n:" + std::to_string(9 - 2 * asked.server) + "\r\n" +
             array_of({"w1", "9000", asked.server == 2 ? "?" : who(R"(,"list":"000001")")}) +
             array_of({"w2", "8000", "?"}) +
             array_of({"w3", "7000", R"({"host":"w","user":"u","pid":3})"});
    }
    if (asked.name != "refusals") return usual_reply(asked.name);
    return refusals_of({{"q", 3, "9000", "{}"}, {"r", 3, "5000", R"({"held_by":"u@h"})"}});
  };
  AnsweringServers servers(3, reply);
  const config::Settings settings = servers.settings();
  const std::string block = said_about<cli::Status>(servers, {"L"}).out;
  CAPTURE(block);
  const std::string lines[] = {
      "L: held (2 of 3 servers)\n",
      "  expires   in 29 s, unless",
      "  waiting   u@h (pid 1, ./job, \"why\") for 9 s, with another list of servers ",
      "\n            unidentified, for 8 s\n",
      "\n            u@w (pid 3) for 7 s\n",
      "\n            and 6 more\n",
      "  refused   r and 1 other host, 5 s ago, held by u@h; see redlock history --refused L\n",
      "no process has the lock by it: once the lock is free, redlock release",
      "  servers   " + settings.servers[0].brief() + ": held, 29 s left\n            " +
          settings.servers[1].brief() + ": held, never expires\n            " +
          settings.servers[2].brief() +
          ": held by another program (its key says nothing about itself); it never expires by "
          "itself\n"};
  for (const std::string& line : lines) {
    CHECK_MESSAGE(contains(block, line), line);
  }
}

TEST_CASE("status, list: a quiet user, too, hears why nothing is known") {
  AnsweringServers servers(1, [](const Asked& asked) -> std::optional<std::string> {
    if (asked.name == "SCAN") return scan_of({"redlock:{L}:holder"});
    return "-ERR broken\r\n";
  });
  for (const bool quiet : {false, true}) {
    cli::Status status;
    cli::List list;
    status.settings = list.settings = servers.settings();
    status.settings.quiet = list.settings.quiet = quiet;
    status.names = {"L"};
    CHECK(contains(written_by([&] { carry_out(status); }).err, "could not be asked: "));
    CHECK(contains(written_by([&] { carry_out(list); }).err, "could not be asked: "));
    status.json = true;
    const std::string json = written_by([&] { carry_out(status); }).out;
    CHECK(json.find("broken") != json.rfind("broken"));  // of the server, and of the lock there
  }
}

TEST_CASE("history: what it says if there is nothing to show, and of a log that it cannot read") {
  constexpr milliseconds kRun = 1'700'000'000s;
  bool broken = false;
  AnsweringServers servers(1, [&](const Asked& asked) -> std::optional<std::string> {
    const bool known = contains(asked.words.front(), "one");
    if (asked.name == "look") return Shown{}.wire();
    if (asked.name == "SCAN" && contains(asked.words[3], "fence")) {
      return scan_of({"redlock:{one}:fence", "redlock:{two}:fence"});
    }
    if (asked.name == "history" && broken) return "-ERR broken\r\n";
    if (asked.name == "history" && known) {
      const std::string lost = R"({"host":"h","held":60000,"reason":"lost"})";
      return "*2\r\n$3\r\nlog\r\n" +
             array_of({std::to_string(kRun.count()) + "-0", "lost", "run", lost, "1", "0"});
    }
    if (asked.name != "refusals" || !known) return usual_reply(asked.name);
    return refusals_of({{"q", 3, "9000", "{}"}, {"r", 3, "1000", "{}"}});
  });
  Exit result(0);
  const auto said = [&](std::vector<std::string> names, const auto& edit) {
    cli::History request;
    request.settings = servers.settings();
    request.names = std::move(names);
    edit(request);
    const Written written = written_by([&] { result = carry_out(request); });
    return written.out + written.err;
  };
  const std::string early = config::format_moment(kRun - 2h);
  const std::string earlier = config::format_moment(kRun - 3h);
  const auto none = [](cli::History&) {};
  CHECK(contains(said({"one"}, none), " lost "));
  CHECK_FALSE(contains(said({"one"}, none), "(lost)"));
  CHECK(contains(said({"one", "two"}, none), "redlock: nothing is logged about lock \"two\"\n"));
  CHECK(said({"one"}, [&](cli::History& request) { request.until = kRun - 2h; }) ==
        "redlock: no run of lock \"one\" is logged before " + early + "\n");
  CHECK(said({"one"},
             [&](cli::History& request) {
               request.since = kRun - 3h;
               request.until = kRun - 2h;
               request.failed = true;
             }) == "redlock: no failed run of lock \"one\" is logged since " + earlier +
                       " and before " + early + "\n");
  CHECK(contains(said({"one"}, [&](cli::History& request) { request.at = kRun + 1h; }),
                 "; before that:\n"));
  for (const bool quiet : {false, true}) {
    cli::Status status;
    status.settings = servers.settings();
    status.settings.quiet = quiet;
    status.names = {"o*", "L"};
    const Written written = written_by([&] { carry_out(status); });
    CHECK(written.out == "o*: free (1 of 1 server)\n\nL: free (1 of 1 server)\n");
    CHECK(contains(written.err, "redlock list 'o*'") != quiet);
  }
  // A picture shows the 24 hours before its end, and of no time the second before it.
  for (const milliseconds since : {-24h, 0h}) {
    const auto picture = [&](cli::History& request) {
      request.svg = "-";
      request.until = kRun;
      if (since == 0h) request.since = kRun;
    };
    const milliseconds begin = since == 0h ? kRun - 1s : kRun - 24h;
    CHECK(contains(said({"one"}, picture), "<title>redlock history, " +
                                               config::format_moment(begin) + " to " +
                                               config::format_moment(kRun)));
  }
  // Of several locks, only those with runs that gave up.
  const auto refused = [](cli::History& request) { request.refused = true; };
  const std::string hosts = squeezed(said({"o*", "t*"}, refused));
  CAPTURE(hosts);
  CHECK(contains(hosts, " one @r 3 -\n"));
  CHECK_FALSE(contains(hosts, "two"));
  CHECK_FALSE(contains(squeezed(said({"one"}, refused)), " one @r"));
  const std::string late = said({"one"}, [](cli::History& request) {
    request.refused = true;
    request.since = os::unix_now() - 5s;
  });
  CHECK(contains(late, "@r"));
  CHECK_FALSE(contains(late, "@q"));
  // What was not read is not said to be empty, not even to a quiet user.
  broken = true;
  for (const bool quiet : {false, true}) {
    const std::string text = said({"one"}, [&](cli::History& r) { r.settings.quiet = quiet; });
    CHECK(contains(text, "could not be asked: "));
    CHECK(contains(text, "may be missing: 0 of 1 server could be asked"));
    CHECK_FALSE(contains(text, "nothing is logged"));
    CHECK(result.status == static_cast<int>(ExitStatus::unavailable));
  }
}

}  // namespace
}  // namespace redlock::words_test
