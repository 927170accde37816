// SPDX-License-Identifier: MIT
//
// The scripts, byte for byte, on the simulator's keys in memory: tables over the states that a lock
// can be in.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "interpreter.h"
#include "keyspace.h"
#include "lock/value.h"
#include "records/records.h"
#include "redis/requests/answer.h"
#include "redis/requests/request.h"

namespace redlock::redis {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kStart = 1'795'172'400'000;
constexpr std::chrono::milliseconds kTtl = 30s;

/// One server. Waiters are awake unless they are named in `asleep`.
class Server {
 public:
  Server() {
    keys_.identity = {"run1", kStart - 100'000'000};
    keys_.publish = [this](std::string_view channel, std::string_view message) {
      const std::size_t wake = channel.find(":wake:");
      const std::string waiter(wake == channel.npos ? "" : channel.substr(wake + 6));
      heard.push_back(waiter + " " + std::string(message));
      return std::size_t{asleep.contains(waiter) ? 0U : 1U};
    };
    pass(0ms);
  }

  void pass(std::chrono::milliseconds time) { keys_.set_now(now_ += time.count()); }

  /// The reply to the request of the flight.
  Value ask(const Flight& flight) {
    static sim::Interpreter interpreter{{}};
    Value answer;
    for (std::size_t at = 0; at < flight.commands.size(); ++at) {
      const Command& command = flight.commands[at];
      const std::vector<std::string_view> keys(command.keys.begin(), command.keys.end());
      const std::vector<std::string_view> words(command.words.begin(), command.words.end());
      Value reply;
      if (command.script != nullptr) {
        reply = interpreter.eval(keys_, command.script->text, keys, words);
      } else {
        keys_.run(words);
      }
      if (at == flight.answer_at) answer = reply;
      check_lives();
    }
    return answer;
  }

  [[nodiscard]] const sim::Keyspace::Key* key(const std::string& name) const {
    const auto* const found = keys_.look(name, now_);
    return found == nullptr || found->type == sim::Keyspace::Type::none ? nullptr : found;
  }
  [[nodiscard]] std::int64_t life(const std::string& name) const {
    const auto* const found = key(name);
    return found == nullptr ? -2 : found->expires_ms - now_;
  }
  sim::Keyspace& keys() { return keys_; }
  [[nodiscard]] std::int64_t now() const { return now_; }

  std::set<std::string> asleep{};
  std::vector<std::string> heard{};  ///< "WAITER MESSAGE"
  std::string forever{};             ///< this key may live without an end

 private:
  void check_lives() const {
    for (const auto& each : keys_.keys()) {
      if (each.type == sim::Keyspace::Type::none || each.name == forever) continue;
      CAPTURE(each.name);
      CHECK(each.expires_ms > 0);
    }
  }

  sim::Keyspace keys_;
  std::int64_t now_ = kStart;
};

/// A process that asks for the lock L.
struct Client {
  Client(std::string kind, char letter) : kind_(std::move(kind)) {
    context = {.lock_key = "L",
               .shared = kind_ == "reader",
               .slots = kind_ == "slot" ? 2U : 0U,
               .newest = kind_ == "newest",
               .list = "01234567",
               .ttl = kTtl,
               .waiter = std::string(20, letter),
               .holder_json = std::string("{\"host\":\"") + letter + "\"}",
               .hold_json = "{\"maintenance\":1}"};
    if (kind_ == "build") context.build = 5;
    std::string token(lock::kTokenDigits, letter);
    if (kind_ == "reader") token.front() = lock::kReader;
    if (kind_ == "slot") token.replace(0, 5, lock::slot_head(1, 2));
    if (kind_ == "reader" || kind_ == "slot")
      context.waiter.replace(0, 5, kind_ == "slot" ? "p0002" : "sssss");
    secrets = {.token = token, .hold = token};
  }

  lock::Answer ask(Server& server, const lock::Operation& operation) const {
    const Flight flight = encode_request(operation, context, secrets);
    const auto op = static_cast<lock::Op>(operation.index());
    return read_answer(op, context, server.ask(flight));
  }
  lock::Answer acquire(Server& server, lock::Ticket ticket = 0) const {
    return ask(server, lock::op::Acquire{.life = kTtl,
                                         .once = kind_ == "once" ? 1h : 0h,
                                         .ticket = ticket,
                                         .slot = kind_ == "slot" ? 1U : 0U});
  }

  std::string kind_;
  LockContext context;
  Secrets secrets;
};

const std::string kKinds[] = {"alone", "build", "newest", "once", "reader", "slot"};

template <class T>
bool is(const lock::Answer& answer) {
  return std::holds_alternative<T>(answer);
}

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
    Client inner(kind, 'c');
    inner.secrets.token = outer.secrets.token;
    const Client other("build", 'd');
    const auto named = [&] {
      inner.ask(server, lock::op::Renew{.life = kTtl});
      const lock::Answer answer = other.acquire(server);
      REQUIRE(is<lock::Refused>(answer));
      return std::get<lock::Refused>(answer).holder;
    };
    REQUIRE(is<lock::Granted>(outer.acquire(server)));
    REQUIRE(is<lock::Granted>(inner.acquire(server)));
    CHECK(named() == outer.context.holder_json);
    CHECK(std::get<lock::Released>(outer.ask(server, lock::op::Leave{})).kept);
    CHECK(named() == inner.context.holder_json);
  }
}

TEST_CASE("scripts: a build against the last successful one, whether the lock is free or held") {
  for (const bool held : {false, true}) {
    for (const std::uint64_t build : {4U, 5U, 6U}) {
      CAPTURE(held);
      CAPTURE(build);
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
  for (const std::string state : {"waits", "has", "died", "left"}) {
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
        if (state == "died") {
          server.asleep.insert(newest.context.waiter);
          server.pass(25s);
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

TEST_CASE("scripts: a tombstone stays ten seconds longer than its lock and an earlier one") {
  constexpr std::int64_t kNever = 0;
  for (const std::int64_t left :
       {std::int64_t{1}, std::int64_t{9'000}, std::int64_t{86'400'000}, kNever}) {
    for (const std::int64_t earlier :
         {std::int64_t{0}, std::int64_t{5'000}, std::int64_t{200'000'000}}) {
      for (const bool forced : {false, true}) {
        CAPTURE(left);
        CAPTURE(earlier);
        CAPTURE(forced);
        Server server;
        const Client holder("alone", 'b');
        REQUIRE(is<lock::Granted>(holder.acquire(server)));
        // It may have begun to cool since the user looked.
        server.keys().put("L", sim::Keyspace::Type::string,
                          (earlier > 0 ? "cooling:" : "") + holder.secrets.token,
                          left == kNever ? 0 : server.now() + left);
        if (left == kNever) server.forever = "L";
        const std::string& dead = holder.context.dead_key;
        if (earlier > 0)
          server.keys().put(dead, sim::Keyspace::Type::string, "other", server.now() + earlier);
        if (forced) {
          lock::Sighting seen;
          seen.kind = lock::Sighting::Kind::value;
          seen.value = holder.secrets.token;
          server.ask(encode_remove("L", seen, holder.secrets.token, {}));
        } else {
          server.ask(
              with_tombstone(encode_request(lock::op::Leave{}, holder.context, holder.secrets),
                             holder.context, holder.secrets));
        }
        CHECK(server.key("L") == nullptr);
        // A release knows the ttl alone.
        const std::int64_t wanted = 10'000 + (!forced          ? kTtl.count()
                                              : left == kNever ? 86'400'000
                                                               : left);
        CHECK(server.life(dead) == std::max(wanted, earlier));
        CHECK(server.key(dead)->text == holder.secrets.token + (earlier > 0 ? " other" : ""));
        // A late request does not put the lock back.
        CHECK(is<lock::Refused>(holder.acquire(server)));
        CHECK(server.key("L") == nullptr);
      }
    }
  }
}

TEST_CASE("scripts: nothing of a token stays in the holder hash, whatever ended its lock") {
  using Ask = std::function<void(Server & server, Client & client)>;
  const std::vector<std::pair<std::string, Ask>> ends = {
      {"release", [](Server& server, Client& client) { client.ask(server, lock::op::Release{}); }},
      {"leave", [](Server& server, Client& client) { client.ask(server, lock::op::Leave{}); }},
      {"by its owner",
       [](Server& server, Client& client) {
         client.secrets.adopted = true;
         client.ask(server, lock::op::Leave{});
       }},
      {"for its owner",
       [](Server& server, Client& client) {
         client.ask(server, lock::op::Leave{.for_owner = true});
       }},
      {"by force", [](Server& server, Client& client) {
         lock::Sighting seen;
         seen.kind = lock::Sighting::Kind::value;
         seen.value = server.key("L")->text;
         const std::string token(lock::read_value(seen.value).token);
         const bool shared = lock::is_shared(token);
         server.ask(encode_remove(
             "L", seen, token,
             shared ? std::vector{client.secrets.token} : std::vector<std::string>()));
       }}};
  for (const std::string& kind : kKinds) {
    for (const auto& each : ends) {
      const auto& how = each.first;
      for (const bool long_life : {false, true}) {  // and whether the lock is gone already
        CAPTURE(kind);
        CAPTURE(how);
        CAPTURE(long_life);
        Client client(kind, 'b');
        const bool shares = client.secrets.token.front() != 'b';
        if (long_life && shares) continue;  // no minimum hold
        const std::chrono::milliseconds life = long_life ? 90s : kTtl;
        Server server;
        REQUIRE(is<lock::Granted>(client.ask(
            server, lock::op::Acquire{
                        .life = life, .once = 0h, .ticket = 0, .slot = kind == "slot" ? 1U : 0U})));
        client.ask(server, lock::op::Commit{.fence = static_cast<std::uint64_t>(kStart) + 5});
        client.ask(server, lock::op::Renew{.life = life});
        const auto of_token = [&] {
          std::set<std::string> names;
          const auto* const hash = server.key(client.context.holder_key);
          for (const auto& [name, text] :
               hash == nullptr ? decltype(hash->fields){} : hash->fields) {
            if (name.find(client.secrets.token) != name.npos)
              names.insert(name.substr(0, name.find(client.secrets.token)));
          }
          return names;
        };
        std::set<std::string> present{"", "fence:", "holds:"};
        if (long_life) present.insert("lease:");
        if (shares) present.insert("shared:");
        CHECK(of_token() == present);
        // What a process left that joined; a lock that we never had has none.
        const std::string keep = "keep:" + client.secrets.token;
        if (how != "release" && !shares) {
          server.ask({{{.words = {"HSET", client.context.holder_key, keep, "5"}}}});
        }
        if (long_life && how != "by force") server.keys().remove("L");
        each.second(server, client);
        CHECK(server.key("L") == nullptr);
        CHECK(of_token().empty());
      }
    }
  }
  // A hold after a failed run has the token, and no lease of the run.
  Server server;
  const Client client("alone", 'b');
  client.ask(server, lock::op::Acquire{.life = 90s});
  server.ask(encode_request(lock::op::Leave{.cools = 600s, .holds = true}, client.context,
                            client.secrets));
  CHECK(server.life("L") == 600'000);
  CHECK(server.life(client.context.holder_key) == 610'000);
  const auto& fields = server.key(client.context.holder_key)->fields;
  CHECK(fields.contains(client.secrets.token));
  CHECK_FALSE(fields.contains("lease:" + client.secrets.token));
  CHECK_FALSE(fields.contains("keep:" + client.secrets.token));
}

TEST_CASE("scripts: of a reader that died, the next one to enter leaves nothing") {
  Server server;
  const Client dead("reader", 'b');
  for (const char letter : {'b', 'c', 'd'}) {
    REQUIRE(is<lock::Granted>(Client("reader", letter).acquire(server)));
    server.pass(16s);
  }
  CHECK(server.key(dead.context.readers_key)->members.size() == 3);  // with the lock's value
  for (const auto& [name, text] : server.key(dead.context.holder_key)->fields) {
    CHECK((name.starts_with("shared:") || name.find(dead.secrets.token) == name.npos));
  }
}

TEST_CASE("scripts: a reader that leaves is gone from the list, whether it still counted or not") {
  for (const auto late : {0s, 35s}) {
    for (const bool other : {false, true}) {
      CAPTURE(late.count());
      CAPTURE(other);
      Server server;
      const Client reader("reader", 'b');
      const Client stays("reader", 'c');
      REQUIRE(is<lock::Granted>(reader.acquire(server)));
      if (other) REQUIRE(is<lock::Granted>(stays.acquire(server)));
      server.pass(late / 2);
      if (other) REQUIRE(is<lock::Renewed>(stays.ask(server, lock::op::Renew{.life = kTtl})));
      server.pass(late - late / 2);
      reader.ask(server, lock::op::Leave{});
      CHECK((server.key("L") != nullptr) == other);
      const auto* const list = server.key(reader.context.readers_key);
      const bool there =
          list != nullptr && std::ranges::any_of(list->members, [&](const auto& each) {
            return each.name == reader.secrets.token;
          });
      if (other || late == 0s) CHECK_FALSE(there);  // otherwise the whole list counts for nobody
    }
  }
}

}  // namespace
}  // namespace redlock::redis
