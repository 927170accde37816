// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <string>

#include "answering_servers.h"
#include "run/stage.h"

using redlock::driver::LockId;
using redlock::lock::Inherited;
using redlock::run::add_held;
using redlock::run::find_held;

TEST_CASE("held: an added lock is found, other locks are kept, an older one of the same goes") {
  const LockId here{.name = {}, .key = "a b:c", .servers = "0123456789abcdef"};
  const LockId there{.name = {}, .key = "a b:c", .servers = "fedcba9876543210"};
  const Inherited first{.token = std::string(40, 'a'), .fence = 7};
  const Inherited second{.token = std::string(40, 'b'), .fence = 8};

  std::string words = add_held("", here, first);
  CHECK(words == std::string(40, 'a') + ":7:0123456789abcdef:6120623a63");
  CHECK_FALSE(find_held(words, there).has_value());
  words = add_held(words, there, second);
  REQUIRE(find_held(words, here).has_value());
  CHECK(find_held(words, here)->token == first.token);
  CHECK(find_held(words, here)->fence == 7);
  words = add_held(words, here, second);
  CHECK(find_held(words, here)->fence == 8);
  CHECK(words.find(first.token) == std::string::npos);
  CHECK(find_held(words, there)->fence == 8);
}

TEST_CASE("held: a malformed text is no hold") {
  const LockId id{.name = {}, .key = "k", .servers = "f"};
  const std::string token(40, 'a');
  CHECK(find_held(token + ":1:f:6b", id).has_value());
  for (const std::string& word :
       {std::string(), std::string("  "), token, token + ":f:6b", token + "::f:6b",
        token + ":x:f:6b", token + ":-1:f:6b", std::string(40, 'g') + ":1:f:6b",
        std::string(39, 'a') + ":1:f:6b", token + ":1:g:6b", token + ":1:f:6b6b",
        token + ":99999999999999999999999:f:6b"}) {
    CAPTURE(word);
    CHECK_FALSE(find_held(word, id).has_value());
  }
}

TEST_CASE(
    "held: what an outer run holds it may still hold, unless a quorum shows that it does not") {
  using redlock::tests::Asked;
  using redlock::tests::Shown;
  const std::string token(40, 'a');
  const std::string reader = "s" + std::string(39, 'a');
  const auto key = [](const std::string& value, const std::string& holder = "") {
    return Shown{.type = "string", .value = value, .left = 20'000, .holder = holder};
  };
  Shown shared = key("shared:" + reader);
  shared.readers = {{reader, "{}"}};
  struct Row {
    Shown shown;
    std::string held;
    bool may;
    std::size_t silent = 0;  ///< of three servers
  };
  for (const Row& row : {Row{key(token), token, true},
                         {key("revoked:" + token + " {}"), token, true},
                         {key(std::string(40, 'b')), token, false},
                         {key("cooling:" + token), token, false},
                         {key("of another program"), token, false},
                         {key(token, R"({"host":"h","maintenance":1})"), token, false},
                         {shared, reader, true},
                         {shared, "s" + std::string(39, 'b'), false},
                         {{.type = "list", .left = -1}, token, false},
                         {{}, token, false},
                         {{}, token, false, 1},
                         {{}, token, true, 2}}) {
    CAPTURE(row.shown.value);
    CAPTURE(row.silent);
    redlock::tests::AnsweringServers servers(
        3, [&](const Asked& asked) -> std::optional<std::string> {
          if (asked.server < row.silent) return std::nullopt;
          return asked.name == "look" ? row.shown.wire() : redlock::tests::usual_reply(asked.name);
        });
    CHECK(redlock::run::may_still_hold({.token = row.held, .fence = 1}, "L", servers.settings()) ==
          row.may);
  }
}
