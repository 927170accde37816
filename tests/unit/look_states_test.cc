// SPDX-License-Identifier: MIT
//
// status, list and history, as whole commands: each state of a lock against each thing that they
// say of it.
#include <algorithm>
#include <array>

#include "look_states.h"

namespace redlock::look {
namespace {

using namespace tests;

/// Each state, that of a free lock, and a lock of which the server says nothing.
std::vector<LockState> all_states() {
  std::vector<LockState> all = lock_states();
  LockState each{.name = "free", .shown = Shown{}};
  each.also = {.word = "free", .status = ExitStatus::conflict, .outcome = "\"unknown\""};
  each.also.held = each.also.holders = each.also.overdue = "";
  each.also.since = each.also.expiry = false;
  all.push_back(each);
  each.name = "dark";
  each.shown.reset();
  each.also.word = "undecided";
  each.also.status = ExitStatus::unavailable;
  all.push_back(each);
  return all;
}

TEST_CASE("status: the status of each pair of states, and the state of each in JSON") {
  const std::vector<LockState> all = all_states();
  AnsweringServers servers(1, [&](const Asked& asked) { return reply_of(all, asked); });
  for (const LockState& one : all) {
    for (const LockState& other : all) {
      CAPTURE(one.name);
      CAPTURE(other.name);
      const As as = one.name < other.name ? As::json : As::text;
      int result = -1;
      const std::string out =
          said_about<cli::Status>(servers, {one.name, other.name}, as, &result).out;
      const auto any = [&](ExitStatus status) {
        return one.also.status == status || other.also.status == status;
      };
      CHECK(result == static_cast<int>(any(ExitStatus::unavailable) ? ExitStatus::unavailable
                                       : any(ExitStatus::conflict)  ? ExitStatus::conflict
                                                                    : ExitStatus::ok));
      if (as == As::json) {
        // A connection that broke at one lock leaves the other unknown, too.
        if (any(ExitStatus::unavailable)) continue;
        CHECK(contains(out, "\"state\": \"" + one.also.word + '"'));
        CHECK(contains(out, "\"state\": \"" + other.also.word + '"'));
      } else {
        CHECK(out.starts_with(one.name + ": "));
        CHECK(contains(out, "\n" + other.name + ": "));
      }
    }
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
        return scan_of({"redlock:{L}:holder"});
      }
      if (asked.name != "look") return usual_reply(asked.name);
      const bool later = look++ >= 2;
      const bool shows =
          asked.server == 0 ? !later || then != Then::released : later && then == Then::held;
      if (!shows) return Shown{}.wire();
      return held_as(kLockToken, 60'000, who("")).wire();
    };
    AnsweringServers servers(kServers, reply);
    const std::string block = said_about<cli::Status>(servers, {"L", "L"}).out;
    const std::string table = said_about<cli::List>(servers, {}).out;
    for (const std::string& out : {block, table}) {
      CAPTURE(out);
      CHECK(contains(out, "left over") == (then == Then::same));
      CHECK(contains(out, "1m 0s") == (then != Then::released));
    }
    CHECK(contains(block, "L: held") == (then == Then::held));
  }
}

TEST_CASE("list --prometheus: each state and each gauge") {
  for (const LockState& each : all_states()) {
    CAPTURE(each.name);
    const std::vector<LockState> all{each};
    AnsweringServers servers(1, [&](const Asked& asked) -> std::optional<std::string> {
      if (asked.name == "SCAN" && !each.shown) return std::nullopt;
      return reply_of(all, asked);
    });
    const std::string out = said_about<cli::List>(servers, {}, As::prometheus).out;
    CAPTURE(out);
    const std::string label = "{lock=\"" + each.name + "\"} ";
    const auto is = [&](const std::string& gauge, const std::string& value) {
      const std::string sample = "\nredlock_lock_" + gauge + label;
      if (value.empty()) return !contains(out, sample);
      return contains(out, sample + value + "\n");
    };
    CHECK(is("held", each.also.held));
    CHECK(is("holders", each.also.holders));
    CHECK(is("overdue", each.also.overdue));
    CHECK(is("since_timestamp_seconds",
             each.also.since ? std::to_string(kSince.count() / 1000) + ".000" : ""));
    CHECK(contains(out, "\nredlock_lock_expiry_timestamp_seconds" + label) == each.also.expiry);
    CHECK(contains(out, each.shown ? "redlock_servers_usable 1\n" : "redlock_servers_usable 0\n"));
  }
}

TEST_CASE("list --prometheus: of names that look alike, one series") {
  const auto reply = [](const Asked& asked) -> std::optional<std::string> {
    if (asked.name == "SCAN") {
      return scan_of({"redlock:{a\u200b}:holder", "redlock:{a\u200e}:holder"});
    }
    if (asked.name != "look") return usual_reply(asked.name);
    return held_as(kLockToken).wire();
  };
  AnsweringServers servers(1, reply);
  const std::string out = said_about<cli::List>(servers, {}, As::prometheus).out;
  const std::string sample = "\nredlock_lock_held{";
  CHECK(contains(out, sample));
  CHECK(out.find(sample) == out.rfind(sample));
}

TEST_CASE("history: a run without an end goes on if it has the lock, in each state of the lock") {
  for (const LockState& each : all_states()) {
    if (!each.shown) continue;
    CAPTURE(each.name);
    const std::vector<LockState> all{each};
    AnsweringServers servers(1, [&](const Asked& asked) { return reply_of(all, asked); });
    const std::string out = said_about<cli::History>(servers, {each.name}, As::json).out;
    CAPTURE(out);
    CHECK(contains(out, "\"outcome\": " + each.also.outcome));
  }
}

TEST_CASE("history: a run, a hold or a reader that begins between look and log has the lock") {
  for (const bool shared : {false, true}) {
    for (const std::string more :
         {"", R"(,"ttl":3000000000000,"maintenance":1)", R"(,"unattended":1)"}) {
      for (const bool later : {false, true}) {
        CAPTURE(shared);
        CAPTURE(more);
        CAPTURE(later);
        Shown held = held_as((shared ? "shared:" + kReader : kLockToken), 29'000, who(more));
        if (shared) held.readers = {{kReader, held.holder}};
        bool logged = false;
        const auto reply = [&](const Asked& asked) {
          if (asked.name == "look") return (logged && later ? held : Shown{}).wire();
          if (asked.name != "history") return usual_reply(asked.name);
          logged = true;
          return "*2\r\n$3\r\nlog\r\n" +
                 array_of({"1700000000000-0", "acquired", "run", who(more), "1", "1700000000000"});
        };
        AnsweringServers servers(1, reply);
        const std::string out = said_about<cli::History>(servers, {"L"}, As::json).out;
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
                     .value = kLockToken,
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
        return refusals_of({{"r", first ? 12 : 4, first ? "5000" : "1000", record}});
      }
      if (asked.name == "waiting") {
        const std::string ms = first ? "11000" : "14000";
        return "*3\r\n$7\r\nwaiting\r\n:1\r\n" + array_of({"w", ms, who("")});
      }
      return usual_reply(asked.name);
    };
    AnsweringServers servers(2, reply);
    const std::string json = said_about<cli::Status>(servers, {"L"}, As::json).out;
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
    const std::string block = said_about<cli::Status>(servers, {"L"}).out;
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
  AnsweringServers servers(1, [&](const Asked& asked) -> std::optional<std::string> {
    if (asked.name == "look") return Shown{}.wire();
    const bool goes_on = asked.name == "history" && contains(asked.words[0], "{long}");
    return goes_on && ++pages < 200 ? page : usual_reply(asked.name);
  });
  int status = -1;
  const std::string err =
      said_about<cli::History>(servers, {"long", "short"}, As::text, &status).err;
  CAPTURE(err);
  CHECK(status == 0);
  CHECK(contains(err, "has more in the log of lock \"long\" than any redlock leaves there"));
  CHECK_FALSE(contains(err, "in the log of lock \"short\""));
}

TEST_CASE("history: whichever question servers fall silent at, it claims no more than is known") {
  // In this order, the second look as the log has no end of the run.
  for (const std::string from : {"look", "history", "second look"}) {
    for (std::size_t silent = 0; silent <= 3; ++silent) {
      CAPTURE(from);
      CAPTURE(silent);
      std::array<bool, 3> looked{};
      std::array<bool, 3> gone{};
      AnsweringServers servers(3, [&](const Asked& asked) -> std::optional<std::string> {
        const bool again = asked.name == "look" && std::exchange(looked[asked.server], true);
        const std::string& question = again ? "second look" : asked.name;
        if (asked.server < silent && question == from) gone[asked.server] = true;
        if (gone[asked.server]) return std::nullopt;
        return reply_of({{.name = "free", .shown = Shown{}}}, asked);
      });
      int status = -1;
      const Written written = said_about<cli::History>(servers, {"free"}, As::text, &status);
      CAPTURE(written.out);
      CAPTURE(written.err);
      CHECK(status == static_cast<int>(silent < 2 ? ExitStatus::ok : ExitStatus::unavailable));
      CHECK(contains(written.out, "never ended") == (silent < 2));
      // A line for each server, and one for what may be missing.
      CHECK(std::ranges::count(written.err, '\n') ==
            static_cast<int>(silent + (silent < 2 ? 0 : 1)));
    }
  }
}

}  // namespace
}  // namespace redlock::look
