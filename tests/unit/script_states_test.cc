// SPDX-License-Identifier: MIT
//
// Tables over the states that a lock can be in: what a script answers.
#include <algorithm>

#include "records/records.h"
#include "script_server.h"

namespace redlock::redis {
namespace {

using namespace std::chrono_literals;

TEST_CASE("scripts: whoever stands in the way is named, in each mode and state") {
  for (const std::string& theirs : kKinds) {
    for (const std::string& ours : kKinds) {
      for (const std::string state : {"held", "repaired", "cooling", "revoked", "foreign"}) {
        INFO(theirs, " ", ours, " ", state);
        const Client holder(theirs, 'b');
        const Client other(ours, 'c');
        const bool shares = holder.secrets.token.front() != 'b';
        if (state == "cooling" && shares) continue;  // no minimum hold
        Server server;
        std::string value = "x";
        if (state == "foreign") {
          server.keys().put("L", sim::Keyspace::Type::string, value, server.now() + 9'000);
        } else {
          REQUIRE(is<lock::Granted>(state == "repaired"
                                        ? holder.ask(server, lock::op::Repair{.life = kTtl})
                                        : holder.acquire(server)));
          value = server.key("L")->text;
          if (state == "cooling")
            REQUIRE(is<lock::Released>(holder.ask(server, lock::op::Leave{.cools = 9s})));
          if (state == "revoked")
            server.ask({{encode_revoke("L", value, "revoked:" + value + " {}")}});
          CHECK(server.life(holder.context.holder_key) == server.life("L") + 10'000);
        }
        const lock::Answer answer = other.acquire(server);
        const bool held = state == "held" || state == "repaired";
        if (held && theirs == "reader" && ours == "reader") {
          CHECK(is<lock::Granted>(answer));
          continue;
        }
        const auto* const refusal = std::get_if<lock::Refused>(&answer);
        REQUIRE(refusal != nullptr);
        CHECK(refusal->holder == (state == "foreign" ? "" : holder.context.holder_json));
        CHECK(refusal->ttl_left);
        CHECK(refusal->ttl_left > 8s);
        const lock::Value shown = lock::read_value(refusal->blocker);
        using Kind = lock::Value::Kind;
        CHECK(shown.kind == (state == "cooling"   ? Kind::cooling
                             : state == "revoked" ? Kind::revoked
                                                  : Kind::token));
        const bool names_slot = theirs == "slot" && ours == "slot" && held;
        CHECK(shown.token == (names_slot ? holder.secrets.token : value));
        CHECK(refusal->ticket >= static_cast<lock::Ticket>(server.now()));
      }
    }
  }
}

TEST_CASE("scripts: of several readers one that counts is named, not one that has died") {
  Server server;
  const Client stays("reader", 'b');
  const Client dies("reader", 'c');
  const Client writer("alone", 'd');
  REQUIRE(is<lock::Granted>(stays.acquire(server)));
  REQUIRE(is<lock::Granted>(dies.acquire(server)));
  server.pass(kTtl / 2);
  REQUIRE(is<lock::Renewed>(stays.ask(server, lock::op::Renew{.life = kTtl})));
  server.pass(kTtl * 3 / 4);
  const lock::Answer answer = writer.acquire(server);
  REQUIRE(is<lock::Refused>(answer));
  CHECK(std::get<lock::Refused>(answer).holder == stays.context.holder_json);
}

TEST_CASE("scripts: a process that joined is named once the one that took the lock has left it") {
  for (const std::string kind : {"alone", "reader"}) {
    CAPTURE(kind);
    Server server;
    const Client outer(kind, 'b');
    const Client inner = outer.inner();
    const auto named = [&](bool renewed = true) {
      if (renewed) inner.ask(server, lock::op::Renew{.life = kTtl});
      const lock::Answer answer = Client("build", 'd').acquire(server);
      REQUIRE(is<lock::Refused>(answer));
      return std::get<lock::Refused>(answer).holder;
    };
    REQUIRE(is<lock::Granted>(outer.acquire(server)));
    REQUIRE(is<lock::Granted>(inner.acquire(server)));
    CHECK(named(false) == outer.context.holder_json);
    CHECK(named() == outer.context.holder_json);
    CHECK(std::get<lock::Released>(outer.ask(server, lock::op::Leave{})).kept);
    CHECK(named() == inner.context.holder_json);
  }
}

TEST_CASE("scripts: a request for a shorter life shortens neither the lock nor its records") {
  for (const std::string& kind : kKinds) {
    for (const bool joins : {false, true}) {
      const lock::Operation shorter[] = {
          lock::op::Acquire{.life = 9s, .slot = kind == "slot" ? 1U : 0U},
          lock::op::Renew{.life = 9s}, lock::op::Repair{.life = 9s}};
      for (const lock::Operation& each : shorter) {
        INFO(kind, " ", joins, " ", each.index());
        Server server;
        const Client holder(kind, 'b');
        const Client asks = joins ? holder.inner() : holder;
        REQUIRE(is<lock::Granted>(holder.acquire(server)));
        asks.ask(server, each);
        CHECK(server.life("L") == kTtl.count());
        CHECK(server.life(holder.context.holder_key) == kTtl.count() + 10'000);
      }
    }
  }
}

TEST_CASE("scripts: a process that leaves a lock to others does not shorten it") {
  for (const std::string kind : {"alone", "reader"}) {
    CAPTURE(kind);
    Server server;
    const Client outer(kind, 'b');
    const Client inner = outer.inner();
    REQUIRE(is<lock::Granted>(outer.acquire(server)));
    REQUIRE(is<lock::Granted>(inner.acquire(server)));
    REQUIRE(is<lock::Renewed>(inner.ask(server, lock::op::Renew{.life = 90s})));
    CHECK(std::get<lock::Released>(inner.ask(server, lock::op::Leave{})).kept);
    CHECK(server.life("L") == 90'000);
  }
}

TEST_CASE("scripts: a revocation says how many heard of it, and whether it changed anything") {
  for (const std::string kind : {"alone", "reader"}) {
    CAPTURE(kind);
    Server server;
    REQUIRE(is<lock::Granted>(Client(kind, 'b').acquire(server)));
    if (kind == "reader") REQUIRE(is<lock::Granted>(Client(kind, 'c').acquire(server)));
    const std::string value = server.key("L")->text;
    for (const bool before : {false, true}) {
      server.heard.clear();
      const Value reply = server.ask({{encode_revoke("L", value, "revoked:" + value + " {}")}});
      const Taken taken = read_taken(reply);
      CHECK(taken.before == before);
      CHECK(taken.readers.size() == (kind == "reader" ? 2 : 0));
      CHECK(server.heard.size() > taken.readers.size());
      CHECK(taken.notified == static_cast<std::int64_t>(server.heard.size()));
    }
  }
}

TEST_CASE("scripts: who is called when a lock becomes free, or cools") {
  struct Row {
    std::string waiters;  ///< 'r' for each that reads, 'w' for each other one, in their order
    std::string asleep;   ///< the places of those that do not listen
    std::string free;  ///< who hears what: f for "free", n for "next", c for "cools", - for nothing
    std::string cools;
  };
  const std::vector<Row> rows = {
      {"www", "", "fn-", "cc-"},
      {"www", "0", "-fn", "-cc"},
      {"rrw", "", "ffn", "cc-"},
      {"wrr", "", "fn-", "cc-"},
      {"rrrrrrrrrr", "", "ffffffff--", "cc--------"},
      {"w", "", "f", "c"},
      {"", "", "", ""},
  };
  for (const Row& row : rows) {
    for (const bool cools : {false, true}) {
      INFO(row.waiters, " ", row.asleep, " ", cools);
      Server server;
      const Client holder("alone", 'b');
      REQUIRE(is<lock::Granted>(holder.acquire(server)));
      std::vector<Client> all;
      for (std::size_t at = 0; at < row.waiters.size(); ++at) {
        all.emplace_back(row.waiters[at] == 'r' ? "reader" : "alone", static_cast<char>('c' + at));
        all.back().acquire(server, static_cast<lock::Ticket>(server.now()) + at);
        if (row.asleep.find(std::to_string(at)) != row.asleep.npos)
          server.asleep.insert(all.back().context.waiter);
      }
      server.pass(1s);
      const lock::op::Leave leave{.cools = cools ? 9s : 0s};
      for (const bool again : {false, true}) {
        server.heard.clear();
        again ? server.ask({{encode_hand_on("L", {}, false)}})
              : server.ask(encode_request(leave, holder.context, holder.secrets));
        std::string heard;
        for (std::size_t at = 0; at < all.size(); ++at) {
          const auto told = std::ranges::find_if(server.heard, [&](const std::string& each) {
            return each.starts_with(all[at].context.waiter) &&
                   row.asleep.find(std::to_string(at)) == row.asleep.npos;
          });
          heard += told == server.heard.end() ? '-' : (*told)[all[at].context.waiter.size() + 1];
        }
        // While one has its turn, nobody else is called.
        CHECK(heard == (cools ? row.cools : again ? std::string(all.size(), '-') : row.free));
      }
    }
  }
}

TEST_CASE("scripts: a list of waiters counts those that live") {
  Server server;
  REQUIRE(is<lock::Granted>(Client("alone", 'b').acquire(server)));
  for (const char waiter : {'c', 'd'}) {
    Client("alone", waiter).acquire(server, static_cast<lock::Ticket>(server.now()));
    server.pass(15s);
  }
  const auto queue = read_waiting(server.ask({{encode_waiting("L")}}));
  REQUIRE(queue);
  CHECK(queue->length == 1);
  CHECK(queue->first.size() == 1);
}

TEST_CASE("scripts: a build against the last successful one, whether the lock is free or held") {
  for (const bool held : {false, true}) {
    for (const std::uint64_t build : {4U, 5U, 6U}) {
      INFO("held ", held, ", build ", build);
      Server server;
      const Client last("build", 'b');  // of build 5
      REQUIRE(is<lock::Granted>(last.acquire(server)));
      REQUIRE(is<lock::Marked>(last.ask(server, lock::op::Mark{.life = 720h, .age = 1s})));
      REQUIRE(is<lock::Released>(last.ask(server, lock::op::Leave{})));
      if (held) REQUIRE(is<lock::Granted>(Client("alone", 'd').acquire(server)));
      server.pass(2s);
      Client client("build", 'c');
      client.context.build = build;
      const lock::Answer answer = client.acquire(server);
      if (build < 5) {
        const auto* const newer = std::get_if<lock::Superseded>(&answer);
        REQUIRE(newer != nullptr);
        CHECK(newer->build == 5);
        CHECK(newer->ago == 2s);
        CHECK(newer->who == last.context.holder_json);
      } else {
        CHECK((held ? is<lock::Refused>(answer) : is<lock::Granted>(answer)));
      }
    }
  }
}

TEST_CASE("scripts: a waiter with --newest against the newest one, in each of its states") {
  for (const std::string state : {"waits", "has", "silent", "died", "left"}) {
    for (const int builds : {0, -1, 1}) {  // ours is the same, or lower, or higher
      for (const lock::Ticket ticket : {lock::Ticket{10}, lock::Ticket{30}}) {
        INFO(state, " ", builds, " ", ticket);
        Server server;
        const Client holder("alone", 'b');
        Client newest("newest", 'd');
        Client ours("newest", 'c');
        if (builds != 0) {
          newest.context.build = 5;
          ours.context.build = static_cast<std::uint64_t>(5 + builds);
        }
        const auto tick = [&](lock::Ticket each) {
          return static_cast<lock::Ticket>(server.now()) + each;
        };
        const lock::Ticket mine = tick(ticket);
        const lock::Ticket theirs = tick(20);
        REQUIRE(is<lock::Granted>(holder.acquire(server)));
        REQUIRE(is<lock::Refused>(newest.acquire(server, theirs)));
        if (state == "has") {
          REQUIRE(is<lock::Released>(holder.ask(server, lock::op::Leave{})));
          REQUIRE(is<lock::Granted>(newest.acquire(server, theirs)));
          newest.ask(server, lock::op::LeaveQueue{.has_lock = true});
        }
        if (state == "left") newest.ask(server, lock::op::LeaveQueue{});
        if (state == "silent" || state == "died") {
          server.asleep.insert(newest.context.waiter);
          server.pass(state == "died" ? 25s : 1s);
        }
        server.heard.clear();
        const lock::Answer answer = ours.acquire(server, mine);
        const bool older = builds < 0 || (builds == 0 && ticket < 20);
        const bool counts = state == "waits" || (state == "has" && builds == 0);
        if (older && counts) {
          CHECK(is<lock::Superseded>(answer));
        } else {
          CHECK(is<lock::Refused>(answer));
          // Whoever was the newest hears of it.
          CHECK(std::ranges::count(server.heard, newest.context.waiter + " free") == 1);
        }
      }
    }
  }
}

TEST_CASE("scripts: runs in vain are counted by host, with the longest record, for 32 hosts") {
  Server server;
  REQUIRE(is<lock::Granted>(Client("alone", 'b').acquire(server)));
  const std::string longest = records::to_json({.user = std::string(64, '\x01'),
                                                .command = std::string(200, '\x01'),
                                                .held_by = std::string(200, '"')});
  for (int times = 0; times < 3; ++times) server.ask({{encode_refuse("L", "often", longest)}});
  for (int host = 0; host < 40; ++host) {
    server.pass(1s);
    server.ask({{encode_refuse("L", std::to_string(host), "{}")}});
    server.ask({{encode_refuse("L", "often", longest)}});
  }
  const std::vector<GivenUp> all = read_refusals(server.ask({{encode_refusals("L")}}));
  REQUIRE(all.size() == 32);
  CHECK(all[0].host == "often");
  CHECK(all[0].count == 43);
  CHECK(all[0].who == longest);
  for (std::size_t at = 1; at < all.size(); ++at) {
    CHECK(all[at].host == std::to_string(40 - at));
    CHECK(all[at].ago == std::chrono::seconds(at - 1));
  }
  const auto& fields = server.key(helper_key("L", "fence"))->fields;
  CHECK(std::ranges::count_if(
            fields, [](const auto& each) { return each.first.starts_with("refused:"); }) == 32);
}

}  // namespace
}  // namespace redlock::redis
