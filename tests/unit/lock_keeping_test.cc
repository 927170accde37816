// SPDX-License-Identifier: MIT
//
// A lock that is kept for a ward, and may be released by its owner.
#include "lock/keeping.h"
#include "lock_harness.h"

namespace redlock::lock {
namespace {

using namespace testing;

/// A session that is won on three servers, in keeping from then on.
class KeepingBench final : public Harness {
 public:
  KeepingBench() : Harness(plan_for(3)) {
    answers(Op::acquire, {Granted{"a"}, Granted{"b"}, Granted{"c"}});
    REQUIRE(count<Spawn>() == 1);
    effects.clear();
    const Log won{.event = Log::Event::acquired, .attempt = 1, .fence = 1};
    keeping.emplace(session, 3, won);
    step(JobStarted{});
  }

  Machine& machine() override {
    if (keeping) return *keeping;
    return session;
  }
  /// No line has an exit status: the ward's is not known.
  [[nodiscard]] std::size_t logged(Log::Event event) const {
    const std::vector<Log> lines = all<Log>();
    for (const Log& line : lines) CHECK_FALSE(line.status);
    return static_cast<std::size_t>(std::ranges::count(lines, event, &Log::event));
  }
  [[nodiscard]] bool leaves_for_owner() const {
    return std::ranges::count_if(asks(Op::leave), [](const Ask& ask) {
             return details<op::Leave>(ask).for_owner;
           }) == 3;
  }

  std::optional<Keeping> keeping;
};

TEST_CASE("keeping: a lock that is gone is asked after before the ward is warned") {
  KeepingBench bench;
  bench.lose();
  CHECK(!bench.keeping->warns());
  // Of those that have answered.
  CHECK(bench.asked(Op::inquire) >= 2);
  SUBCASE("no server knows of a release: a loss") {
    bench.answer_all(3, Op::inquire, Missing{});
    CHECK(bench.keeping->warns());
    CHECK(bench.asked(Op::leave) == 0);
    bench.stand_still(6s);  // beyond the grace, within what the lease was
    CHECK(!bench.keeping->finished());
    CHECK(bench.logged(Log::Event::lost) == 1);
    SUBCASE("the ward ends, and what may be left of the lock goes with it") {
      bench.step(JobExited{0});
      CHECK(bench.asked(Op::leave) == 3);
    }
    SUBCASE("the ward lives on, and the lock expires") {
      bench.stand_still(30s);
      CHECK(bench.keeping->finished());
      CHECK(bench.asked(Op::leave) == 0);
    }
    CHECK(bench.logged(Log::Event::lost) == 1);
  }
  SUBCASE("those that cannot be asked know nothing") {
    bench.answer_all(3, Op::inquire, no_answer());
    CHECK(bench.keeping->warns());
  }
  SUBCASE("one of them knows: it is released everywhere, and the keeper waits for the answers") {
    bench.answer(1, Op::inquire, Released{});
    CHECK(!bench.keeping->warns());
    CHECK(bench.leaves_for_owner());
    bench.answer(0, Op::leave, Missing{});
    bench.answer(1, Op::leave, Missing{});
    CHECK(!bench.keeping->finished());
    bench.answer(2, Op::leave, Released{});
    CHECK(bench.keeping->finished());
    CHECK(!bench.keeping->warns());
    CHECK(bench.logged(Log::Event::lost) == 0);
    CHECK(bench.logged(Log::Event::released) == 0);
  }
}

TEST_CASE("keeping: a repair that is refused for a release tells of it") {
  KeepingBench bench;
  bench.stand_still(10s);
  bench.answers(Op::renew, {Renewed{}, Renewed{}, Missing{}});
  REQUIRE(bench.answer(2, Op::repair, Released{}));
  CHECK(bench.leaves_for_owner());
}

TEST_CASE("keeping: word of a release is a reason to ask, and no more") {
  KeepingBench bench;
  for (int again = 0; again < 2; ++again) {
    bench.step(Notice{.released = true});
    REQUIRE(bench.asked(Op::inquire) == 3);
  }
  CHECK(bench.asked(Op::leave) == 0);
  bench.answer_all(3, Op::inquire, Missing{});
  CHECK(!bench.keeping->warns());
  CHECK(bench.asked(Op::leave) == 0);
  bench.step(Notice{.released = true});
  bench.answer(2, Op::inquire, Released{});
  CHECK(bench.leaves_for_owner());
}

TEST_CASE("keeping: servers that do not answer renewals: the ward is warned immediately") {
  KeepingBench bench;
  while (!bench.keeping->warns() && bench.now < Harness::start + 60s) {
    bench.answer_all(3, Op::renew, no_answer());
    bench.stand_still(100ms);
  }
  CHECK(bench.now < Harness::start + 25s);
  CHECK(bench.asked(Op::inquire) == 0);
  bench.step(JobExited{0});
  bench.answer_all(3, Op::leave, Missing{});
  CHECK(bench.logged(Log::Event::lost) == 1);
}

TEST_CASE("keeping: stopped beyond the lease it asks first, and then ends") {
  KeepingBench bench;
  bench.stand_still(60s);
  REQUIRE(bench.asked(Op::inquire) == 3);
  CHECK(!bench.keeping->warns());
  bench.answer_all(3, Op::inquire, Missing{});
  CHECK(bench.keeping->warns());
  CHECK(bench.keeping->finished());
  CHECK(bench.logged(Log::Event::lost) == 1);
  CHECK(bench.all<Log>().back().held == 60s);
  CHECK(bench.all<Log>().back().stopped == StopReason::lease_ending);
}

TEST_CASE("keeping: the ward ends: the keeper releases the lock, and asks if it is gone") {
  KeepingBench bench;
  bench.step(JobExited{0});
  CHECK(!bench.leaves_for_owner());
  CHECK(bench.logged(Log::Event::released) == 1);
  bench.answer_all(3, Op::leave, Missing{});
  CHECK(bench.logged(Log::Event::lost) == 0);
  CHECK(!bench.keeping->finished());
  REQUIRE(bench.asked(Op::inquire) == 3);
  SUBCASE("it was released") {
    bench.answer(0, Op::inquire, Released{});
    CHECK(bench.logged(Log::Event::lost) == 0);
  }
  SUBCASE("it was lost") {
    bench.answer_all(3, Op::inquire, Missing{});
    CHECK(bench.logged(Log::Event::lost) == 1);
  }
  CHECK(bench.keeping->finished());
  CHECK(!bench.keeping->warns());
}

TEST_CASE("keeping: once it releases, it waits for no answer to an inquiry, and takes each") {
  for (const bool released : {false, true}) {
    for (ServerIndex silent = 0; silent < 3; ++silent) {
      INFO("released ", released, ", silent ", silent);
      KeepingBench bench;
      bench.step(Notice{.released = true});
      REQUIRE(bench.asked(Op::inquire) == 3);
      // The ward ends, or another server tells of the release.
      if (released) {
        bench.answer((silent + 1) % 3, Op::inquire, Released{});
      } else {
        bench.step(JobExited{0});
      }
      bench.answer_all(3, Op::leave, Released{});
      CHECK(bench.keeping->finished());
      // An answer that was on its way.
      bench.answer(silent, Op::inquire, Missing{});
      CHECK(bench.keeping->finished());
      CHECK(!bench.keeping->warns());
      CHECK(bench.logged(Log::Event::lost) == 0);
    }
  }
}

TEST_CASE("keeping: asked to end, it warns the ward, and waits for its end without renewing") {
  KeepingBench bench;
  const auto ask_to_end = [&] { bench.step(Signal{15, true}); };
  ask_to_end();
  CHECK(bench.keeping->warns());
  ask_to_end();
  CHECK_FALSE_MESSAGE(bench.keeping->finished(), "TERM and HUP together are one order");
  bench.stand_still(12s);  // a renewal would be due
  CHECK(!bench.keeping->finished());
  CHECK(bench.asked(Op::renew) == 0);
  SUBCASE("the ward ends first: the lock is released") {
    bench.step(JobExited{0});
    CHECK(bench.asked(Op::leave) == 3);
    bench.answer_all(3, Op::leave, Released{});
    CHECK(bench.keeping->finished());
  }
  SUBCASE("the lease ends first") {
    CHECK(bench.keeping->deadline() <= Harness::start + 30s);
    bench.stand_still(18s);
    CHECK(bench.keeping->finished());
    CHECK(bench.asked(Op::leave) == 0);
  }
  SUBCASE("asked again: it ends, and frees nothing") {
    ask_to_end();
    CHECK(bench.keeping->finished());
    CHECK(bench.asked(Op::leave) == 0);
  }
}

}  // namespace
}  // namespace redlock::lock
