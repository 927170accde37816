// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <string>

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
