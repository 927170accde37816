// SPDX-License-Identifier: MIT
//
// When a wait is shown, in each way to show it.
#include "driver/progress.h"

#include "written.h"

namespace redlock::driver {
namespace {

using namespace std::chrono_literals;
using Mode = Progress::Mode;
using Times = std::vector<lock::Duration>;

const lock::Instant kBegan(1000s);

/// The first three times, of a wait whose only server refused immediately, or has not answered.
Times shown(Mode mode, bool refused, std::optional<lock::Duration> wait = std::nullopt) {
  lock::Plan plan{};
  plan.servers = 1;
  plan.timing.ttl = 30s;
  plan.patience.wait = wait;
  lock::Session session(plan, kBegan);
  for (const lock::Effect& effect : session.step(lock::Tick{}, kBegan)) {
    const auto* ask = std::get_if<lock::Ask>(&effect);
    if (ask == nullptr || !refused) continue;
    session.step(
        lock::Reply{*ask, kBegan,
                    lock::Refused{.blocker = std::string(40, 'a'), .ttl_left = 20s, .holder = {}}},
        kBegan);
  }
  Times times;
  const std::string lines = tests::written_by([&] {
                              os::Stderr out;
                              const os::ServiceManager manager;
                              Progress progress(mode, "L", plan.patience, out, kBegan, &manager);
                              lock::Instant now = progress.deadline(session);
                              while (now != lock::kNever && times.size() < 3) {
                                progress.update(session, now);
                                const lock::Instant next = progress.deadline(session);
                                REQUIRE(next > now);
                                // Before it knows anything, it only looks again.
                                if (next > now + 100ms) times.push_back(now - kBegan);
                                now = next;
                              }
                            }).err;
  const auto count = static_cast<std::size_t>(std::ranges::count(lines, '\n'));
  CHECK(count == (mode == Mode::lines ? times.size() : 0));
  return times;
}

TEST_CASE(
    "progress: first when there is something to tell, then each second, minute, or five seconds") {
  CHECK(shown(Mode::none, true).empty());
  CHECK(shown(Mode::live, true) == Times{200ms, 1s, 2s});
  CHECK(shown(Mode::live, false) == Times{1s, 2s, 3s});
  CHECK(shown(Mode::lines, true) == Times{200ms, 1min, 2min});
  CHECK(shown(Mode::lines, false) == Times{1s, 1min, 2min});
  CHECK(shown(Mode::status, true) == Times{200ms, 5s, 10s});
  CHECK(shown(Mode::status, false) == Times{1s, 5s, 10s});
}

TEST_CASE("progress: -n shows its short wait on a terminal alone") {
  CHECK(shown(Mode::live, false, 0s) == Times{1s, 2s, 3s});
  CHECK(shown(Mode::lines, false, 0s).empty());
  CHECK(shown(Mode::status, false, 0s).empty());
}

}  // namespace
}  // namespace redlock::driver
