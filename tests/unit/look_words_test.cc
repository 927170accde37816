// SPDX-License-Identifier: MIT
//
// Every word that status, list and history say of a lock, as whole commands: of each state of the
// lock, and for each way to ask.
#include <algorithm>

#include "answering_servers.h"
#include "config/value.h"
#include "contains.h"
#include "lock/protocol.h"
#include "look/look.h"
#include "os/clock.h"

namespace redlock::words_test {
namespace {

using namespace std::chrono_literals;
using look::carry_out;
using std::chrono::milliseconds;
using tests::array_of;
using tests::Asked;
using tests::contains;
using tests::Shown;

/// When all holders got their locks: for half an hour, "3d 4h" ago.
const milliseconds kSince = std::chrono::floor<std::chrono::seconds>(os::unix_now() - 76h - 30min);

std::string who(const std::string& more) {
  return R"({"host":"h","user":"u","pid":1,"command":"./job","message":"why","ttl":30000,"since":)" +
         std::to_string(kSince.count()) + R"(,"protocol":)" + std::to_string(lock::kProtocol) +
         more + "}";
}

struct Case {
  std::string name;
  Shown shown;
  std::string block;              ///< WHEN stands for kSince
  std::string row;                ///< of list, with one blank between two columns
  std::vector<std::string> json;  ///< some of its members
};

std::vector<Case> cases() {
  const std::string token(40, 'a');
  const std::string reader = "s" + std::string(39, 'a');
  const std::string slot = "p0102" + std::string(35, 'a');
  const auto of = [](std::string value, std::int64_t left, std::string holder) {
    return Shown{.type = "string",
                 .value = std::move(value),
                 .left = left,
                 .holder = std::move(holder),
                 .fence = 7};
  };
  const std::string note =
      R"( {"host":"b","user":"ops","pid":9,"since":)" + std::to_string(kSince.count()) + "}";
  Shown readers = of("shared:" + reader, 29'000, who(""));
  readers.readers = {{reader, who("")}, {"s" + std::string(39, 'b'), "?"}};
  Shown crowd = of("shared:" + reader, 29'000, who(""));
  crowd.more_readers = 500;
  Shown some = readers;
  some.more_readers = 5;
  some.holder = R"({"host":"h","protocol":)" + std::to_string(lock::kProtocol) + "}";
  Shown slots = of("shared:" + slot, 29'000, who(""));
  slots.readers = {{slot, who("")}};
  Shown foreign = slots;
  foreign.readers.emplace_back("p0109" + std::string(35, 'b'), who(""));
  Shown twice = of(token, 29'000, who(""));
  twice.holds = 2;
  Shown redisson{.type = "hash", .left = 29'000, .member = "0123:1", .count = 1};
  const std::string person = "  holder    u@h, pid 1\n  command   ./job\n  message   why\n";
  const std::string begun = "  since     WHEN, for 3d 4h\n";
  const std::string only = "  mode      exclusive\n  fence     7\n";
  const std::string expires = "  expires   in 29 s, unless renewed\n";
  const std::string first = "u@h (pid 1, ./job) for 3d 4h, fence 7\n";
  const std::string second =
      "            not known: its record beside the lock is missing, fence 7\n";
  return {
      {"held",
       of(token, 29'000, who("")),
       "held (1 of 1 server)\n" + person + begun + only + expires,
       "held held 1/1 u@h 1 3d 4h 29 s 0 7 ./job (why)",
       {"\"renewed_s_ago\": 1.0", "\"holder_count\": 1", "\"mode\": \"exclusive\"", "\"for_s\": 27",
        "\"fingerprint\": null", "\"ttl_s\": 30.0"}},
      {"ever",
       of(token, -1, who("")),
       "held (1 of 1 server)\n" + person + begun + only + "  expires   never by itself\n",
       "ever held 1/1 u@h 1 3d 4h - 0 7 ./job (why)",
       {"\"least_left_s\": null"}},
      {"twice",
       twice,
       "held (1 of 1 server)\n" + person + begun + only +
           "  holds     2: the command itself has taken it again\n" + expires,
       "twice held 1/1 u@h 1 3d 4h 29 s 0 7 ./job (why)",
       {"\"holds\": 2"}},
      {"cool",
       of("cooling:" + token, 29'000, who("")),
       "cooling down: the job is over, its minimum hold is not (1 of 1 server)\n" + person +
           "  since     WHEN, 3d 4h ago\n" + only + "  free      in 29 s\n",
       "cool cooling 1/1 u@h 1 3d 4h 29 s 0 7 ./job (why)",
       {"\"renewed_s_ago\": null"}},
      {"told",
       of("revoked:" + token + note, 29'000, who("")),
       "held, and revoked from its holder (1 of 1 server)\n" + person + begun +
           "  revoked   by ops@b (pid 9), 3d 4h ago\n" + only + "  expires   in 29 s\n",
       "told revoked 1/1 u@h 1 3d 4h 29 s 0 7 ./job (why)",
       {"\"renewed_s_ago\": null", "\"pid\": 9", "\"user\": \"ops\""}},
      {"hold",
       of(token, 29'000, who(R"(,"maintenance":1)")),
       "held for maintenance (1 of 1 server)\n  holder    u@h\n  message   why\n" + begun + only +
           "  ends      in 29 s, at TIME; to end it now: redlock release --force hold\n",
       "hold held 1/1 u@h - 3d 4h 29 s 0 7 maintenance (why)",
       {"\"maintenance\": true"}},
      {"text",
       of("x", 29'000, ""),
       "held by another program (1 of 1 server)\n  holder    not known: the key says nothing about "
       "itself (a string)\n  expires   in 29 s\n",
       "text foreign 1/1 - - - 29 s 0 7 -",
       {"\"type\": \"string\"", "\"count\": null", "\"holder_count\": null", "\"mode\": null"}},
      {"list",
       {.type = "list", .left = -1},
       "held by another program (1 of 1 server)\n  holder    not known: the key is a Redis list, "
       "not "
       "a lock of redlock's\n  expires   never by itself\n",
       "list foreign 1/1 - - - - 0 - -",
       {"\"type\": \"list\"", "\"redisson\": null"}},
      {"rson",
       redisson,
       "held by another program (1 of 1 server)\n  holder    0123:1 of a Redisson lock, 1 time\n"
       "  expires   in 29 s\n  warning   the key is a lock of Redisson's, and this redlock runs "
       "without --as redisson: one name is for one kind of lock\n",
       "rson foreign 1/1 0123:1 - - 29 s 0 - -",
       {"\"redisson\": \"0123:1\"", "\"count\": 1"}},
      {"both",
       readers,
       "held (1 of 1 server)\n  readers   " + first + second +
           "  mode      shared\n  fence     7\n" + expires,
       "both held 1/1 2 readers - 3d 4h 29 s 0 7 -",
       {"\"holder_count\": 2", "\"slot\": null", "\"left_s\": 29.0", "\"renewed_s_ago\": null"}},
      {"some",
       some,
       "held (1 of 1 server)\n  readers   " + first + second +
           "            and 5 more, 7 in all\n  mode      shared\n  fence     7\n" + expires,
       "some held 1/1 7 readers - 3d 4h 29 s 0 7 -",
       {"\"holder_count\": 7"}},
      {"crowd",
       crowd,
       "held (1 of 1 server)\n  readers   500: their list is too large to read\n  mode      "
       "shared\n"
       "  fence     7\n" +
           expires,
       "crowd held 1/1 500 readers - - 29 s 0 7 -",
       {"\"holder_count\": 500"}},
      {"slot",
       slots,
       "held (1 of 1 server)\n  slot 1    " + first +
           "  mode      1 of 2 slots taken\n  fence     7\n" + expires,
       "slot held 1/1 u@h (1 of 2) 1 3d 4h 29 s 0 7 ./job (why)",
       {"\"slots\": 2", "\"slot\": 1", "\"mode\": \"slots\""}},
      {"alien",
       foreign,
       "held (1 of 1 server)\n  slot 1    " + first + "  foreign   " + first +
           "  mode      1 of 2 slots taken\n  fence     7\n" + expires,
       "alien held 1/1 1 of 2 slots taken - 3d 4h 29 s 0 7 -",
       {"\"slot\": 1", "\"slot\": null"}},
  };
}

/// With one blank in place of several, and none at the ends of lines.
std::string squeezed(std::string text) {
  for (std::size_t at = 0; (at = text.find("  ", at)) != text.npos;) text.erase(at, 1);
  for (std::size_t at = 0; (at = text.find(" \n", at)) != text.npos;) text.erase(at, 1);
  return text;
}

TEST_CASE("status, list: each line of each state") {
  const std::vector<Case> all = cases();
  tests::AnsweringServers servers(1, [&](const Asked& asked) -> std::optional<std::string> {
    if (asked.name == "SCAN") {
      std::vector<std::string> keys;
      for (const Case& each : all) keys.push_back("redlock:{" + each.name + "}:holder");
      return "*2\r\n$1\r\n0\r\n" + array_of(keys);
    }
    if (asked.name != "look") return tests::usual_reply(asked.name);
    return std::ranges::find(all, asked.words.front(), &Case::name)->shown.wire();
  });
  const std::string when = config::format_moment(kSince);
  cli::List list;
  list.settings = servers.settings();
  const std::string table = squeezed(tests::written_by([&] { carry_out(list); }).out);
  CAPTURE(table);
  for (const Case& each : all) {
    CAPTURE(each.name);
    cli::Status request;
    request.settings = servers.settings();
    request.names = {each.name};
    std::string block = tests::written_by([&] { carry_out(request); }).out;
    if (const auto at = block.find(when); at != block.npos) block.replace(at, when.size(), "WHEN");
    if (const auto at = block.find("s, at "); at != block.npos) {
      block.replace(at + 6, when.size(), "TIME");
    }
    CHECK(block == each.name + ": " + each.block);
    CHECK(contains(table, "\n" + each.row + "\n"));
    request.json = true;
    const std::string json = tests::written_by([&] { carry_out(request); }).out;
    CAPTURE(json);
    for (const std::string& member : each.json) CHECK_MESSAGE(contains(json, member), member);
  }
}

TEST_CASE("status: who waits, who gave up, and each server's word where they differ") {
  const auto reply = [](const Asked& asked) -> std::optional<std::string> {
    if (asked.name == "look") {
      const std::string values[] = {std::string(40, 'a'), std::string(40, 'a'), "x"};
      return Shown{.type = "string",
                   .value = values[asked.server],
                   .left = asked.server == 0 ? 29'000 : -1,
                   .holder = asked.server == 1 ? who("") : ""}
          .wire();
    }
    if (asked.name == "waiting") {
      return "*5\r\n$7\r\nwaiting\r\n:" + std::to_string(9 - 2 * asked.server) + "\r\n" +
             array_of({"w1", "9000", asked.server == 2 ? "?" : who(R"(,"list":"000001")")}) +
             array_of({"w2", "8000", "?"}) +
             array_of({"w3", "7000", R"({"host":"w","user":"u","pid":3})"});
    }
    if (asked.name != "refusals") return tests::usual_reply(asked.name);
    const auto record = [](const char* host, const char* ago, const std::string& text) {
      return "*4\r\n$1\r\n" + std::string(host) + "\r\n:3\r\n$4\r\n" + ago + "\r\n$" +
             std::to_string(text.size()) + "\r\n" + text + "\r\n";
    };
    return "*3\r\n$8\r\nrefusals\r\n" + record("q", "9000", "{}") +
           record("r", "5000", R"({"held_by":"u@h"})");
  };
  tests::AnsweringServers servers(3, reply);
  cli::Status request;
  request.settings = servers.settings();
  request.names = {"L"};
  const std::string block = tests::written_by([&] { carry_out(request); }).out;
  CAPTURE(block);
  const std::string name = request.settings.servers[0].brief();
  for (const std::string& line :
       {std::string("L: held (2 of 3 servers)\n"), std::string("  expires   in 29 s, unless"),
        std::string(
            "  waiting   u@h (pid 1, ./job, \"why\") for 9 s, with another list of servers "),
        std::string("\n            unidentified, for 8 s\n"),
        std::string("\n            u@w (pid 3) for 7 s\n"),
        std::string("\n            and 6 more\n"),
        std::string("  refused   r and 1 other host, 5 s ago, held by u@h; see redlock history "
                    "--refused L\n"),
        std::string("no process has the lock by it: once the lock is free, redlock release"),
        "  servers   " + name + ": held, 29 s left\n",
        "            " + request.settings.servers[1].brief() + ": held, never expires\n",
        "            " + request.settings.servers[2].brief() +
            ": held by another program (its key says nothing about itself); it never expires by "
            "itself\n"}) {
    CHECK_MESSAGE(contains(block, line), line);
  }
}

TEST_CASE("status, list: a quiet user, too, hears why nothing is known") {
  tests::AnsweringServers servers(1, [](const Asked& asked) -> std::optional<std::string> {
    if (asked.name == "SCAN") return "*2\r\n$1\r\n0\r\n" + array_of({"redlock:{L}:holder"});
    return "-ERR broken\r\n";
  });
  for (const bool quiet : {false, true}) {
    cli::Status status;
    cli::List list;
    status.settings = list.settings = servers.settings();
    status.settings.quiet = list.settings.quiet = quiet;
    status.names = {"L"};
    CHECK(contains(tests::written_by([&] { carry_out(status); }).err, "could not be asked: "));
    CHECK(contains(tests::written_by([&] { carry_out(list); }).err, "could not be asked: "));
    status.json = true;
    const std::string json = tests::written_by([&] { carry_out(status); }).out;
    CHECK(json.find("broken") != json.rfind("broken"));  // of the server, and of the lock there
  }
}

TEST_CASE("history: what it says if there is nothing to show, and of a log that it cannot read") {
  constexpr milliseconds kRun = 1'700'000'000s;
  bool broken = false;
  tests::AnsweringServers servers(1, [&](const Asked& asked) -> std::optional<std::string> {
    const bool known = contains(asked.words.front(), "one");
    if (asked.name == "look") return Shown{}.wire();
    if (asked.name == "SCAN" && contains(asked.words[3], "fence")) {
      return "*2\r\n$1\r\n0\r\n" + array_of({"redlock:{one}:fence", "redlock:{two}:fence"});
    }
    if (asked.name == "history" && broken) return "-ERR broken\r\n";
    if (asked.name == "history" && known) {
      const std::string lost = R"({"host":"h","held":60000,"reason":"lost"})";
      return "*2\r\n$3\r\nlog\r\n" +
             array_of({std::to_string(kRun.count()) + "-0", "lost", "run", lost, "1", "0"});
    }
    if (asked.name != "refusals" || !known) return tests::usual_reply(asked.name);
    const auto record = [](const char* host, const char* ago) {
      return "*4\r\n$1\r\n" + std::string(host) + "\r\n:3\r\n$4\r\n" + ago + "\r\n$2\r\n{}\r\n";
    };
    return "*3\r\n$8\r\nrefusals\r\n" + record("q", "9000") + record("r", "1000");
  });
  Exit result(0);
  const auto said = [&](std::vector<std::string> names, const auto& edit) {
    cli::History request;
    request.settings = servers.settings();
    request.names = std::move(names);
    edit(request);
    const tests::Written written = tests::written_by([&] { result = carry_out(request); });
    return written.out + written.err;
  };
  const std::string began = config::format_moment(kRun - 1min);
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
    const tests::Written written = tests::written_by([&] { carry_out(status); });
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
