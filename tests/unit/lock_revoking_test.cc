// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "lock/judgement.h"

using namespace redlock::lock;

namespace {

const std::string kToken(40, 'a');
const std::string kOtherToken(40, 'b');

Sighting of(Sighting::Kind kind) {
  Sighting sighting;
  sighting.kind = kind;
  return sighting;
}

Sighting with(std::string value) {
  Sighting sighting = of(Sighting::Kind::value);
  sighting.value = std::move(value);
  return sighting;
}

Tally counted(const Answer& answer, const std::string& shown = kToken) {
  return count({answer}, {with(shown)});
}

}  // namespace

TEST_CASE("revoking: whose lock it is") {
  CHECK(owner_of(with(kToken)) == kToken);
  CHECK(owner_of(with("cooling:" + kToken)) == kToken);
  CHECK(owner_of(with("revoked:" + kToken + " {}")) == kToken);
  CHECK(owner_of(with("something")).empty());
  CHECK(owner_of(of(Sighting::Kind::nothing)).empty());
  CHECK(owner_of(of(Sighting::Kind::other)).empty());
}

TEST_CASE("revoking: what each answer counts for") {
  CHECK(counted(Released{}).taken == 1);
  CHECK(counted(Missing{}).gone == 1);
  CHECK(counted(NotMine{kOtherToken}).changed == 1);
  CHECK(counted(NotMine{"type:hash"}).changed == 1);
  CHECK(counted(Unreachable{}).failed == 1);
  // The job has ended since then.
  CHECK(counted(NotMine{"cooling:" + kToken}).gone == 1);
  CHECK(counted(NotMine{"cooling:" + kOtherToken}).changed == 1);
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
