// SPDX-License-Identifier: MIT
//
// What a script leaves behind when a lock has ended, and for how long.
#include <algorithm>

#include "script_server.h"

namespace redlock::redis {
namespace {

using namespace std::chrono_literals;

TEST_CASE("scripts: a tombstone stays ten seconds longer than its lock and an earlier one") {
  constexpr std::int64_t kNever = 0;
  for (const std::int64_t left :
       {std::int64_t{1}, std::int64_t{9'000}, std::int64_t{86'400'000}, kNever}) {
    for (const std::int64_t earlier :
         {std::int64_t{0}, std::int64_t{5'000}, std::int64_t{200'000'000}}) {
      for (const bool forced : {false, true}) {
        INFO("left ", left, ", earlier ", earlier, ", forced ", forced);
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

TEST_CASE("scripts: after a deletion by force no reader puts the lock back, whoever named it") {
  Server server;
  const Client here("reader", 'b');
  const Client elsewhere("reader", 'c');  // other servers alone name it
  REQUIRE(is<lock::Granted>(here.acquire(server)));
  const std::string value = server.key("L")->text;
  server.ask({{encode_revoke("L", value, "revoked:" + value + " {}")}});
  server.ask(encode_remove("L", {}, value, {here.secrets.token, elsewhere.secrets.token}));
  for (const Client& each : {here, elsewhere})
    CHECK(is<lock::Refused>(each.ask(server, lock::op::Repair{.life = kTtl})));
}

TEST_CASE("scripts: nothing of a token stays in the holder hash, whatever ended its lock") {
  struct End {
    std::string how;
    std::optional<lock::Operation> asks;  ///< none: it is deleted by force
    bool adopted = false;
  };
  const std::vector<End> ends = {{"release", lock::op::Release{}},
                                 {"leave", lock::op::Leave{}},
                                 {"by its owner", lock::op::Leave{}, true},
                                 {"for its owner", lock::op::Leave{.for_owner = true}},
                                 {"by force", std::nullopt}};
  for (const std::string& kind : kKinds) {
    for (const End& end : ends) {
      for (const bool long_life : {false, true}) {  // and whether the lock is gone already
        INFO(kind, ", ", end.how, ", long life ", long_life);
        Client client(kind, 'b');
        const bool shares = client.secrets.token.front() != 'b';
        if (long_life && shares) continue;  // no minimum hold
        const std::chrono::milliseconds life = long_life ? 90s : kTtl;
        Server server;
        REQUIRE(is<lock::Granted>(client.acquire(server, 0, life)));
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
        CHECK(of_token().contains("lease:") == long_life);
        client.ask(server, lock::op::Commit{.fence = static_cast<std::uint64_t>(kStart) + 5});
        client.ask(server, lock::op::Renew{.life = life});
        std::set<std::string> present{"", "fence:", "holds:"};
        if (long_life) present.insert("lease:");
        if (shares) present.insert("shared:");
        CHECK(of_token() == present);
        // What a process left that joined; a lock that we never had has none.
        const std::string keep = "keep:" + client.secrets.token;
        if (end.how != "release" && !shares) {
          server.ask({{{.words = {"HSET", client.context.holder_key, keep, "5"}}}});
        }
        if (long_life && end.asks) server.keys().remove("L");
        client.secrets.adopted = end.adopted;
        if (end.asks) {
          client.ask(server, *end.asks);
        } else {
          lock::Sighting seen;
          seen.kind = lock::Sighting::Kind::value;
          seen.value = server.key("L")->text;
          const std::vector<std::string> readers(shares ? 1 : 0, client.secrets.token);
          server.ask(
              encode_remove("L", seen, std::string(lock::read_value(seen.value).token), readers));
        }
        CHECK(server.key("L") == nullptr);
        CHECK(of_token().empty());
      }
    }
  }
  // A hold after a failed run has the token, and no lease of the run.
  Server server;
  const Client client("alone", 'b');
  client.ask(server, lock::op::Acquire{.life = 90s});
  server.ask(
      {{{.words = {"HSET", client.context.holder_key, "keep:" + client.secrets.token, "5"}}}});
  server.ask(encode_request(lock::op::Leave{.cools = 600s, .holds = true}, client.context,
                            client.secrets));
  CHECK(server.life("L") == 600'000);
  CHECK(server.life(client.context.holder_key) == 610'000);
  const auto& fields = server.key(client.context.holder_key)->fields;
  CHECK(fields.contains(client.secrets.token));
  CHECK_FALSE(fields.contains("lease:" + client.secrets.token));
  CHECK_FALSE(fields.contains("keep:" + client.secrets.token));
}

TEST_CASE("scripts: who gets a free lock finds nothing of former holders, in each mode") {
  for (const std::string& kind : kKinds) {
    CAPTURE(kind);
    Server server;
    const Client client(kind, 'b');
    server.forever = client.context.holder_key;
    server.ask({{{.words = {"HSET", client.context.holder_key, "former", "{}"}}}});
    REQUIRE(is<lock::Granted>(client.acquire(server)));
    for (const auto& [name, text] : server.key(client.context.holder_key)->fields) {
      CHECK(name.find(client.secrets.token) != name.npos);
    }
  }
}

TEST_CASE("scripts: the note of a release stays as long as the lock might be put back") {
  for (const std::string kind : {"alone", "reader", "slot"}) {
    for (const bool by_owner : {false, true}) {
      for (const auto life : {9s, 90s}) {
        INFO(kind, " ", by_owner, " ", life.count());
        Server server;
        Client client(kind, 'b');
        REQUIRE(is<lock::Granted>(client.acquire(server, 0, life)));
        client.secrets.adopted = by_owner;
        const lock::op::Leave leave{.for_owner = !by_owner};
        REQUIRE(is<lock::Released>(client.ask(server, leave)));
        const auto& fields = server.key(client.context.fence_key)->fields;
        const auto note = fields.find("released");
        REQUIRE(note != fields.end());
        CHECK(note->second ==
              (by_owner ? "" : "~") + client.secrets.token + " " +
                  std::to_string(server.now() + std::max(kTtl.count(), life.count() * 1000)));
      }
    }
    // A keeper that finds no lock leaves none: the owner must learn that the lock was gone.
    Server server;
    Client client(kind, 'c');
    CHECK(is<lock::Missing>(client.ask(server, lock::op::Leave{.for_owner = true})));
    client.secrets.adopted = true;
    CHECK(is<lock::Missing>(client.ask(server, lock::op::Leave{})));
  }
}

TEST_CASE("scripts: the counts of runs in vain live for 30 days after the last one") {
  Server server;
  const Client client("alone", 'b');
  REQUIRE(is<lock::Granted>(client.acquire(server)));
  server.pass(20 * 24h);
  server.ask({{encode_refuse("L", "host", "{}")}});
  CHECK(server.life(client.context.fence_key) == std::chrono::milliseconds(30 * 24h).count());
}

TEST_CASE("scripts: a process whose hold is not there leaves the lock to the others") {
  for (const std::string kind : {"alone", "reader"}) {
    CAPTURE(kind);
    Server server;
    const Client outer(kind, 'b');
    REQUIRE(is<lock::Granted>(outer.acquire(server)));
    REQUIRE(server.keys().run({{"DEL", outer.context.holder_key}}).integer == 1);
    CHECK(std::get<lock::Released>(outer.inner().ask(server, lock::op::Leave{})).kept);
    CHECK(server.key("L") != nullptr);
  }
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
      INFO("late ", late.count(), ", other ", other);
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
