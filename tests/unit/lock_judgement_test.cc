// SPDX-License-Identifier: MIT
#include "doctest.h"

#include "lock/judgement.h"
#include "lock/value.h"

namespace redlock::lock {
namespace {

const std::string kOne(40, 'a');
const std::string kOther(40, 'b');

Sighting sees(const std::string& value, std::uint64_t fence = 0) {
  Sighting sighting;
  sighting.kind = Sighting::Kind::value;
  sighting.value = value;
  sighting.fence = fence;
  return sighting;
}

/// A key of this type, which is no lock of redlock's.
Sighting sees_type(const std::string& type, const std::string& member = {}) {
  Sighting sighting;
  sighting.kind = Sighting::Kind::other;
  sighting.value = stand_in_for(type);
  sighting.owner = member;
  return sighting;
}

const Sighting kNothing;
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

TEST_CASE("revoking: whose lock it is") {
  CHECK(owner_of(sees(kOne)) == kOne);
  CHECK(owner_of(sees("cooling:" + kOne)) == kOne);
  CHECK(owner_of(sees("revoked:" + kOne + " {}")) == kOne);
  CHECK(owner_of(sees("something")).empty());
  CHECK(owner_of(kNothing).empty());
  CHECK(owner_of(sees_type("hash")).empty());
}

TEST_CASE("revoking: what each answer counts for") {
  const auto counted = [](const Answer& answer, const std::string& shown = kOne) {
    return count({answer}, {sees(shown)});
  };
  CHECK(counted(Released{}).taken == 1);
  CHECK(counted(Missing{}).gone == 1);
  CHECK(counted(NotMine{kOther}).changed == 1);
  CHECK(counted(NotMine{"type:hash"}).changed == 1);
  CHECK(counted(Unreachable{}).failed == 1);
  // The job has ended since then.
  CHECK(counted(NotMine{"cooling:" + kOne}).gone == 1);
  CHECK(counted(NotMine{"cooling:" + kOther}).changed == 1);
  CHECK(counted(NotMine{"cooling:x"}, "something").changed == 1);
  const Tally none = count({std::nullopt}, {Unreachable{}});
  CHECK(none.taken + none.gone + none.changed + none.failed == 0);
}

TEST_CASE("revoking: a revocation needs enough servers to deny the holder a quorum") {
  CHECK(revoked({.taken = 1}, 1) == TakeoverResult::yes);
  CHECK(revoked({.taken = 1}, 2) == TakeoverResult::yes);
  CHECK(revoked({.taken = 1, .failed = 1}, 3) == TakeoverResult::unreachable);
  CHECK(revoked({.taken = 2}, 3) == TakeoverResult::yes);
  CHECK(revoked({.taken = 2}, 4) == TakeoverResult::yes);
  CHECK(revoked({.taken = 2, .failed = 3}, 5) == TakeoverResult::unreachable);
  CHECK(revoked({.taken = 3, .failed = 2}, 5) == TakeoverResult::yes);
  CHECK(revoked({.failed = 3}, 3) == TakeoverResult::unreachable);
}

TEST_CASE("revoking: a lock that is released or changes hands between the look and the deed") {
  CHECK(revoked({.gone = 3}, 3) == TakeoverResult::gone);
  CHECK(revoked({.taken = 1, .gone = 1}, 3) == TakeoverResult::yes);
  CHECK(revoked({.gone = 1, .failed = 2}, 3) == TakeoverResult::unreachable);
  CHECK(revoked({.changed = 3}, 3) == TakeoverResult::changed);
  CHECK(revoked({.taken = 1, .changed = 2}, 3) == TakeoverResult::changed);
  CHECK(revoked({.changed = 1, .failed = 2}, 3) == TakeoverResult::changed);
}

TEST_CASE("revoking: a deletion needs a quorum on which nothing is left") {
  CHECK(removed({.taken = 2, .failed = 1}, 0, 3) == TakeoverResult::yes);
  CHECK(removed({.taken = 1, .failed = 1}, 1, 3) == TakeoverResult::yes);
  CHECK(removed({.taken = 1, .failed = 2}, 0, 3) == TakeoverResult::unreachable);
  CHECK(removed({.taken = 2, .failed = 2}, 0, 4) == TakeoverResult::unreachable);
  CHECK(removed({.taken = 1, .gone = 1}, 0, 3) == TakeoverResult::yes);
  CHECK(removed({.gone = 2}, 0, 3) == TakeoverResult::gone);
  CHECK(removed({.taken = 1, .changed = 2}, 0, 3) == TakeoverResult::changed);
}

}  // namespace
}  // namespace redlock::lock
