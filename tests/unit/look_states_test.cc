// SPDX-License-Identifier: MIT
//
// status, list and history, as whole commands: each state of a lock against each thing that they
// say of it.
#include <algorithm>
#include <array>

#include "answering_servers.h"
#include "contains.h"
#include "lock/protocol.h"
#include "look/look.h"
#include "os/clock.h"

namespace redlock::look {
namespace {

using tests::array_of;
using tests::Asked;
using tests::contains;
using tests::Shown;

const std::string kToken(40, 'a');

std::string who(const std::string& more) {
  return R"({"host":"h","user":"u","pid":1,"since":1700000000000,"protocol":)" +
         std::to_string(lock::kProtocol) + more + "}";
}

/// A state of a lock on its only server, and what must be said of it.
struct Case {
  std::string name;
  std::optional<Shown> shown;  ///< none: the server is silent
  std::string word;            ///< in JSON
  ExitStatus status;           ///< of `status`
  // Samples of list --prometheus; empty: none.
  std::string held, holders, overdue;
  bool since, expiry;
  std::string at_end;  ///< what history says of a run that began and has no end in the log
};

std::vector<Case> cases() {
  const std::string reader = "s" + std::string(39, 'a');
  const std::string other = "s" + std::string(39, 'b');
  const std::string slot = "p0102" + std::string(35, 'a');
  const std::string run = who(R"(,"ttl":30000)");
  const auto of = [](std::string value, std::int64_t left, std::string holder) {
    return Shown{
        .type = "string", .value = std::move(value), .left = left, .holder = std::move(holder)};
  };
  Shown readers = of("shared:" + reader, 29'000, run);
  readers.readers = {{reader, run}, {other, run}};
  Shown slots = of("shared:" + slot, 29'000, run);
  slots.readers = {{slot, run}};
  const Shown veiled = of("shared:" + slot, 29'000, run);  // its readers may not be read
  Shown redisson{.type = "hash", .left = 29'000};
  redisson.member = "0123:1";
  redisson.count = 1;
  using enum ExitStatus;
  return {
      {"free", Shown{}, "free", conflict, "", "", "", false, false, "never ended"},
      {"held", of(kToken, 29'000, run), "held", ok, "1", "1", "0", true, true, "running"},
      {"ever", of(kToken, -1, run), "held", ok, "1", "1", "0", true, false, "running"},
      {"late", of(kToken, 5'000, run), "held", ok, "1", "1", "1", true, true, "running"},
      {"hold", of(kToken, 29'000, who(R"(,"ttl":9000,"maintenance":1)")), "held", ok, "1", "1", "0",
       true, true, "running"},
      {"cool", of("cooling:" + kToken, 29'000, run), "cooling", ok, "0", "0", "0", false, true,
       "never ended"},
      {"told", of("revoked:" + kToken, 29'000, run), "revoked", ok, "1", "1", "0", true, true,
       "running"},
      {"else", of("x", 29'000, ""), "foreign", ok, "1", "1", "0", false, true, "never ended"},
      {"rson", redisson, "foreign", ok, "1", "1", "0", false, true, "never ended"},
      {"both", readers, "held", ok, "1", "2", "0", true, true, "running"},
      {"slot", slots, "held", ok, "1", "1", "0", true, true, "running"},
      {"veil", veiled, "held", ok, "1", "", "0", false, true, "not known"},
      {"dark", std::nullopt, "undecided", unavailable, "", "", "", false, false, ""},
  };
}

std::optional<std::string> reply_of(const std::vector<Case>& all, const Asked& asked) {
  if (asked.name == "SCAN") {
    std::vector<std::string> keys;
    for (const Case& each : all) keys.push_back("redlock:{" + each.name + "}:holder");
    return "*2\r\n$1\r\n0\r\n" + array_of(keys);
  }
  const auto about = std::ranges::find_if(all, [&](const Case& each) {
    return asked.words.front() == each.name || contains(asked.words.front(), "{" + each.name + "}");
  });
  if (about == all.end()) return tests::usual_reply(asked.name);
  if (!about->shown) return std::nullopt;
  if (asked.name == "look") return about->shown->wire();
  if (asked.name == "history") {
    const std::string line =
        array_of({"1700000000000-0", "acquired", "run", who(""), "1", "1700000000000"});
    return "*2\r\n$3\r\nlog\r\n" + line;
  }
  return tests::usual_reply(asked.name);
}

TEST_CASE("status: the status of each pair of states, and the state of each in JSON") {
  const std::vector<Case> all = cases();
  tests::AnsweringServers servers(1, [&](const Asked& asked) { return reply_of(all, asked); });
  for (const Case& one : all) {
    for (const Case& other : all) {
      CAPTURE(one.name);
      CAPTURE(other.name);
      cli::Status request;
      request.settings = servers.settings();
      request.names = {one.name, other.name};
      request.json = one.name < other.name;
      Exit result(0);
      const tests::Written written = tests::written_by([&] { result = carry_out(request); });
      const auto any = [&](ExitStatus status) {
        return one.status == status || other.status == status;
      };
      CHECK(result.status == static_cast<int>(any(ExitStatus::unavailable) ? ExitStatus::unavailable
                                              : any(ExitStatus::conflict)  ? ExitStatus::conflict
                                                                           : ExitStatus::ok));
      if (request.json) {
        // A connection that broke at one lock leaves the other unknown, too.
        if (any(ExitStatus::unavailable)) continue;
        CHECK(contains(written.out, "\"state\": \"" + one.word + '"'));
        CHECK(contains(written.out, "\"state\": \"" + other.word + '"'));
      } else {
        CHECK(written.out.starts_with(one.name + ": "));
        CHECK(contains(written.out, "\n" + other.name + ": "));
      }
    }
  }
}

TEST_CASE("status: whoever is late may be dead, but not while its lock is being taken from it") {
  const std::string reader = "s" + std::string(39, 'a');
  const std::string run = who(R"(,"ttl":30000)");
  for (const bool shared : {false, true}) {
    for (const bool revoked : {false, true}) {
      for (const int left : {29'000, 5'000}) {
        CAPTURE(shared);
        CAPTURE(revoked);
        CAPTURE(left);
        Shown shown{.type = "string", .left = left, .holder = run};
        shown.value = (revoked ? "revoked:" : "") + (shared ? "shared:" + reader : kToken);
        if (shared) shown.readers = {{reader, run}};
        tests::AnsweringServers servers(1, [&](const Asked& asked) -> std::optional<std::string> {
          return asked.name == "look" ? shown.wire() : tests::usual_reply(asked.name);
        });
        cli::Status request;
        request.settings = servers.settings();
        request.names = {"L"};
        const std::string out = tests::written_by([&] { carry_out(request); }).out;
        CAPTURE(out);
        CHECK(contains(out, "may be dead") == (left == 5'000 && !revoked));
      }
    }
  }
}

TEST_CASE("status, list: holders whose list may not be read are neither counted nor named") {
  for (const bool slots : {false, true}) {
    CAPTURE(slots);
    const std::string token = slots ? "p0102" + std::string(35, 'a') : "s" + std::string(39, 'a');
    const Shown shown{.type = "string",
                      .value = "shared:" + token,
                      .left = 29'000,
                      .holder = who(R"(,"ttl":30000)")};
    tests::AnsweringServers servers(1, [&](const Asked& asked) -> std::optional<std::string> {
      if (asked.name == "SCAN") return "*2\r\n$1\r\n0\r\n" + array_of({"redlock:{L}:holder"});
      return asked.name == "look" ? shown.wire() : tests::usual_reply(asked.name);
    });
    cli::List list;
    list.settings = servers.settings();
    const std::string table = tests::written_by([&] { carry_out(list); }).out;
    CAPTURE(table);
    CHECK(contains(table, "held"));
    CHECK_FALSE(contains(table, "u@h"));
    CHECK(contains(table, "at least 1 of 2 slots taken") == slots);
    cli::Status status;
    status.settings = servers.settings();
    status.names = {"L"};
    const std::string block = tests::written_by([&] { carry_out(status); }).out;
    CHECK(contains(block, "not known: their list may not be read"));
    CHECK(contains(block, "at least 1 of 2 slots taken") == slots);
    status.json = true;
    const std::string json = tests::written_by([&] { carry_out(status); }).out;
    CHECK(contains(json, "\"holder_count\": null"));
  }
}

TEST_CASE("status, list: a key is left over only if it still is half a second later") {
  constexpr std::size_t kServers = 3;
  enum class Then { same, released, held };
  for (const Then then : {Then::same, Then::released, Then::held}) {
    CAPTURE(static_cast<int>(then));
    std::array<int, kServers> looks{};
    const auto reply = [&](const Asked& asked) -> std::optional<std::string> {
      int& look = looks.at(asked.server);
      if (asked.name == "SCAN") {
        look = 1;  // status names the lock twice, and list once
        return "*2\r\n$1\r\n0\r\n" + array_of({"redlock:{L}:holder"});
      }
      if (asked.name != "look") return tests::usual_reply(asked.name);
      const bool later = look++ >= 2;
      const bool shows =
          asked.server == 0 ? !later || then != Then::released : later && then == Then::held;
      if (!shows) return Shown{}.wire();
      return Shown{.type = "string", .value = kToken, .left = 60'000, .holder = who("")}.wire();
    };
    tests::AnsweringServers servers(kServers, reply);
    cli::Status status;
    status.settings = servers.settings();
    status.names = {"L", "L"};
    const std::string block = tests::written_by([&] { carry_out(status); }).out;
    cli::List list;
    list.settings = servers.settings();
    const std::string table = tests::written_by([&] { carry_out(list); }).out;
    for (const std::string& out : {block, table}) {
      CAPTURE(out);
      CHECK(contains(out, "left over") == (then == Then::same));
      CHECK(contains(out, "1m 0s") == (then != Then::released));
    }
    CHECK(contains(block, "L: held") == (then == Then::held));
  }
}

TEST_CASE("list --prometheus: each state and each gauge") {
  for (const Case& each : cases()) {
    CAPTURE(each.name);
    const std::vector<Case> all{each};
    tests::AnsweringServers servers(1, [&](const Asked& asked) -> std::optional<std::string> {
      if (asked.name == "SCAN" && !each.shown) return std::nullopt;
      return reply_of(all, asked);
    });
    cli::List request;
    request.settings = servers.settings();
    request.prometheus = true;
    const std::string out = tests::written_by([&] { carry_out(request); }).out;
    CAPTURE(out);
    const std::string label = "{lock=\"" + each.name + "\"} ";
    const auto is = [&](const std::string& gauge, const std::string& value) {
      const std::string sample = "\nredlock_lock_" + gauge + label;
      if (value.empty()) return !contains(out, sample);
      return contains(out, sample + value + "\n");
    };
    CHECK(is("held", each.held));
    CHECK(is("holders", each.holders));
    CHECK(is("overdue", each.overdue));
    CHECK(is("since_timestamp_seconds", each.since ? "1700000000.000" : ""));
    CHECK(contains(out, "\nredlock_lock_expiry_timestamp_seconds" + label) == each.expiry);
    CHECK(contains(out, each.shown ? "redlock_servers_usable 1\n" : "redlock_servers_usable 0\n"));
  }
}

TEST_CASE("list --prometheus: of names that look alike, one series") {
  const auto reply = [](const Asked& asked) -> std::optional<std::string> {
    if (asked.name == "SCAN") {
      return "*2\r\n$1\r\n0\r\n" +
             array_of({"redlock:{a\u200b}:holder", "redlock:{a\u200e}:holder"});
    }
    if (asked.name != "look") return tests::usual_reply(asked.name);
    return Shown{.type = "string", .value = kToken, .left = 9, .holder = "{}"}.wire();
  };
  tests::AnsweringServers servers(1, reply);
  cli::List request;
  request.settings = servers.settings();
  request.prometheus = true;
  const std::string out = tests::written_by([&] { carry_out(request); }).out;
  const std::string sample = "\nredlock_lock_held{";
  CHECK(contains(out, sample));
  CHECK(out.find(sample) == out.rfind(sample));
}

TEST_CASE("history: a run without an end goes on if it has the lock, in each state of the lock") {
  for (const Case& each : cases()) {
    if (!each.shown) continue;
    CAPTURE(each.name);
    const std::vector<Case> all{each};
    tests::AnsweringServers servers(1, [&](const Asked& asked) { return reply_of(all, asked); });
    cli::History request;
    request.settings = servers.settings();
    request.names = {each.name};
    request.json = true;
    const std::string out = tests::written_by([&] { carry_out(request); }).out;
    CAPTURE(out);
    const std::string outcome = each.at_end == "running"     ? "\"running\""
                                : each.at_end == "not known" ? "null"
                                                             : "\"unknown\"";
    CHECK(contains(out, "\"outcome\": " + outcome));
  }
}

TEST_CASE("history: a run, a hold or a reader that begins between look and log has the lock") {
  for (const bool shared : {false, true}) {
    for (const std::string more : {R"(,"ttl":30000)", R"(,"ttl":3000000000000,"maintenance":1)",
                                   R"(,"ttl":30000,"unattended":1)"}) {
      for (const bool later : {false, true}) {
        CAPTURE(shared);
        CAPTURE(more);
        CAPTURE(later);
        const std::string reader = "s" + std::string(39, 'a');
        Shown held{.type = "string", .value = shared ? "shared:" + reader : kToken};
        held.left = 29'000;
        held.holder = who(more);
        if (shared) held.readers = {{reader, held.holder}};
        bool logged = false;
        const auto reply = [&](const Asked& asked) {
          if (asked.name == "look") return (logged && later ? held : Shown{}).wire();
          if (asked.name != "history") return tests::usual_reply(asked.name);
          logged = true;
          return "*2\r\n$3\r\nlog\r\n" +
                 array_of({"1700000000000-0", "acquired", "run", who(more), "1", "1700000000000"});
        };
        tests::AnsweringServers servers(1, reply);
        cli::History request;
        request.settings = servers.settings();
        request.names = {"L"};
        request.json = true;
        const std::string out = tests::written_by([&] { carry_out(request); }).out;
        CAPTURE(out);
        CHECK(contains(out, R"("outcome": "running")") == later);
        CHECK(contains(out, R"("has_lock": true)") == later);
      }
    }
  }
}

TEST_CASE("status: what two servers say differently, whichever of them says more") {
  for (const bool swapped : {false, true}) {
    CAPTURE(swapped);
    const auto reply = [&](const Asked& asked) -> std::optional<std::string> {
      const bool first = (asked.server == 0) != swapped;
      if (asked.name == "look") {
        return Shown{.type = "string",
                     .value = kToken,
                     .left = first ? 40'000 : 50'000,
                     .holder = first ? who(R"(,"ttl":60000)") : "",
                     .fence = 7,
                     .holds = first ? 2 : 0}
            .wire();
      }
      if (asked.name == "done" && contains(asked.words.front(), ":build")) {
        const std::string build = first ? "9" : "5";
        return "*4\r\n$5\r\nbuilt\r\n:" + std::string(first ? "3000" : "2000") + "\r\n$1\r\n" +
               build + "\r\n$2\r\n{}\r\n";
      }
      if (asked.name == "done") {
        return "*4\r\n$4\r\ndone\r\n:" + std::string(first ? "8000" : "7000") +
               "\r\n:6000\r\n$2\r\n{}\r\n";
      }
      if (asked.name == "refusals") {
        const std::string record =
            R"({"command":")" + std::string(first ? "older" : "newer") + R"("})";
        const std::string ago = first ? "5000" : "1000";
        return "*2\r\n$8\r\nrefusals\r\n*4\r\n$1\r\nr\r\n:" + std::string(first ? "12" : "4") +
               "\r\n$4\r\n" + ago + "\r\n$" + std::to_string(record.size()) + "\r\n" + record +
               "\r\n";
      }
      if (asked.name == "waiting") {
        const std::string ms = first ? "11000" : "14000";
        return "*3\r\n$7\r\nwaiting\r\n:1\r\n" + array_of({"w", ms, who("")});
      }
      return tests::usual_reply(asked.name);
    };
    tests::AnsweringServers servers(2, reply);
    cli::Status request;
    request.settings = servers.settings();
    request.names = {"L"};
    request.json = true;
    const std::string json = tests::written_by([&] { carry_out(request); }).out;
    CAPTURE(json);
    for (const char* const member :
         {"\"least_left_s\": 40.0", "\"most_left_s\": 50.0", "\"ttl_s\": 40.0", "\"ttl_s\": 50.0",
          "\"fence\": 7", "\"build\": 9", "\"succeeded_s_ago\": 3.0", "\"began_s_ago\": 7.0",
          "\"told_for_s\": 6.0", "\"count\": 12", "\"command\": \"newer\"", "\"waited_s\": 14.0",
          "\"renewed_s_ago\": 10.0", "\"holds\": 2"}) {
      CAPTURE(member);
      CHECK(contains(json, member));
    }
    // The block says the same.
    request.json = false;
    const std::string block = tests::written_by([&] { carry_out(request); }).out;
    CAPTURE(block);
    for (const char* const words : {"in 40 s to 50 s", "2: the command itself has taken it again",
                                    "9 succeeded 3 s ago", "begun 7 s ago", "for 14 s"}) {
      CAPTURE(words);
      CHECK(contains(block, words));
    }
  }
}

TEST_CASE("history: of a log without an end it reads a part, and names that lock and no other") {
  std::string page = "*1001\r\n$3\r\nlog\r\n";
  for (int line = 0; line < 1000; ++line) {
    page += array_of({std::to_string(line) + "-0", "x", "r", "", "1", "0"});
  }
  int pages = 0;
  tests::AnsweringServers servers(1, [&](const Asked& asked) -> std::optional<std::string> {
    if (asked.name == "look") return Shown{}.wire();
    const bool goes_on = asked.name == "history" && contains(asked.words[0], "{long}");
    return goes_on && ++pages < 200 ? page : tests::usual_reply(asked.name);
  });
  cli::History request;
  request.settings = servers.settings();
  request.names = {"long", "short"};
  Exit result(0);
  const std::string err = tests::written_by([&] { result = carry_out(request); }).err;
  CAPTURE(err);
  CHECK(result.status == 0);
  CHECK(contains(err, "has more in the log of lock \"long\" than any redlock leaves there"));
  CHECK_FALSE(contains(err, "in the log of lock \"short\""));
}

}  // namespace
}  // namespace redlock::look
