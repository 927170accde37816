// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "lock/judgement.h"
#include "lock/value.h"

namespace redlock::lock {
namespace {

const std::string kOne(40, 'a');
const std::string kOther(40, 'b');

Sighting sees(const std::string& value, std::uint64_t fence = 0) {
  return {.kind = Sighting::Kind::value,
          .value = value,
          .ttl_left = {},
          .holder = {},
          .fence = fence,
          .holds = 0,
          .owner = {},
          .count = 0};
}

Sighting sees_type(const std::string& type, const std::string& member = {}) {
  const auto kind = type == "none" ? Sighting::Kind::nothing : Sighting::Kind::other;
  return {.kind = kind,
          .value = type == "none" ? "" : stand_in_for(type),
          .ttl_left = {},
          .holder = {},
          .fence = 0,
          .holds = 0,
          .owner = member,
          .count = 0};
}

const Sighting kNothing = sees_type("none");
const Unreachable kDown{false, false, "down"};

TEST_CASE("one server's word") {
  CHECK(state_of(kNothing) == State::free);
  CHECK(state_of(sees(kOne)) == State::held);
  CHECK(state_of(sees("cooling:" + kOne)) == State::cooling);
  CHECK(state_of(sees("revoked:" + kOne)) == State::revoked);
  CHECK(state_of(sees("x")) == State::foreign);
  CHECK(state_of(sees("cooling:x")) == State::foreign);
  CHECK(state_of(sees(std::string(40, 'A'))) == State::foreign);
  CHECK(state_of(sees("")) == State::foreign);
  CHECK(state_of(sees_type("hash")) == State::foreign);
  Sighting recorded = sees("x");
  recorded.holder = "{}";
  CHECK_MESSAGE(state_of(recorded) == State::held, "who has a record speaks our protocol");
}

TEST_CASE("a quorum of the configured servers decides") {
  CHECK(judge({sees(kOne), sees(kOne), kNothing}).state == State::held);
  CHECK(judge({sees(kOne), kNothing, kNothing}).state == State::free);
  CHECK(judge({sees(kOne), sees(kOne), kDown}).state == State::held);
  CHECK_MESSAGE(judge({sees(kOne), kDown, kDown}).state == State::undecided,
                "all that answer are not a quorum");
  CHECK(judge({sees(kOne), kNothing, kDown}).state == State::undecided);
  CHECK(judge({sees(kOne), sees(kOther), kNothing}).state == State::undecided);
  CHECK(judge({sees(kOne), sees(kOther), sees(kOther)}).state == State::held);
  CHECK(judge({sees(kOne), sees(kOne), kNothing, kNothing}).state == State::undecided);
  CHECK(judge({kDown}).state == State::undecided);
  CHECK(judge({kNothing}).state == State::free);
}

TEST_CASE("who agrees, and how many answered") {
  const Judgement judgement = judge({sees(kOther), kDown, sees(kOne), sees(kOne), sees(kOne)});
  CHECK(judgement.agreeing == std::vector<ServerIndex>{2, 3, 4});
  CHECK(judgement.answered == 4);
  const Judgement split = judge({sees(kOther), kDown, sees(kOne)});
  CHECK(split.agreeing.empty());
  CHECK(split.answered == 2);
}

TEST_CASE("a release or a revocation on its way is of the same holder") {
  const std::string cooling = "cooling:" + kOne;
  const std::string revoked = "revoked:" + kOne;
  CHECK(judge({sees(kOne), sees(kOne), sees(cooling)}).state == State::held);
  CHECK(judge({sees(kOne), sees(cooling), sees(cooling)}).state == State::cooling);
  CHECK(judge({sees(kOne), sees(cooling), kDown}).state == State::cooling);
  CHECK(judge({sees(kOne), sees(revoked), kNothing}).state == State::revoked);
  CHECK(judge({sees(kOne), sees(revoked), sees(cooling)}).state == State::cooling);
  CHECK(judge({sees(cooling), sees("cooling:" + kOther), kNothing}).state == State::undecided);
}

TEST_CASE("foreign keys are the same if they are of the same value or type") {
  CHECK(judge({sees("x"), sees("x"), kDown}).state == State::foreign);
  CHECK(judge({sees("x"), sees("y"), kDown}).state == State::undecided);
  CHECK(judge({sees_type("zset"), sees_type("zset"), kDown}).state == State::foreign);
  CHECK(judge({sees_type("zset"), sees_type("list"), kDown}).state == State::undecided);
  CHECK(judge({sees_type("hash", "a:1"), sees_type("hash", "a:1"), kNothing}).state ==
        State::foreign);
  CHECK_MESSAGE(
      judge({sees_type("hash", "a:1"), sees_type("hash", "b:1"), kNothing}).state == State::foreign,
      "a RedissonRedLock has another name on each server");
}

TEST_CASE("the fence is what a quorum says") {
  CHECK(judge({sees(kOne, 5), sees(kOne, 5), sees(kOne, 7)}).fence == 5);
  CHECK(judge({sees(kOne, 5), sees(kOne, 5), kDown}).fence == 5);
  CHECK_MESSAGE(judge({sees(kOne, 5), sees(kOne, 7), kDown}).fence == 0, "it may be either");
  CHECK(judge({sees(kOne), sees(kOne), sees(kOne)}).fence == 0);
}

}  // namespace
}  // namespace redlock::lock
