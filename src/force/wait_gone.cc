// SPDX-License-Identifier: MIT
#include "force/wait_gone.h"

#include <algorithm>

#include "inspect/query.h"
#include "lock/revoking.h"
#include "lock/timing.h"
#include "os/clock.h"
#include "os/loop.h"

namespace redlock::force {

namespace {

using std::chrono::milliseconds;

constexpr lock::Duration kFirstPause = milliseconds(50);
constexpr lock::Duration kLongestPause = milliseconds(500);
/// Extra time after the lock has expired, for servers that are slow or unreachable for a moment.
constexpr lock::Duration kPatience = std::chrono::seconds(10);

bool is_gone(const inspect::Observed& lock, const std::string& token) {
  const auto gone = std::ranges::count_if(lock.seen, [&](const lock::Seen& seen) {
    const auto* sighting = std::get_if<lock::Sighting>(&seen);
    return sighting != nullptr && lock::owner_of(*sighting) != token;
  });
  return static_cast<std::size_t>(gone) >= lock::quorum(lock.seen.size());
}

}  // namespace

std::optional<inspect::Observed> wait_gone(const config::Settings& settings,
                                           const std::string& name, const std::string& token,
                                           std::optional<milliseconds> left) {
  os::Loop loop;
  lock::Duration pause = kFirstPause;
  const lock::Instant limit = left ? os::boot_now() + *left + kPatience : lock::kNever;
  while (true) {
    // A new Query each time: an observer does not ask a server again after a failure.
    inspect::Observed lock =
        inspect::Query(settings).look({name}, redis::Observer::Marks::ignored).front();
    if (is_gone(lock, token)) return lock;
    if (os::boot_now() >= limit) return std::nullopt;
    loop.wait({}, os::boot_now() + pause);
    pause = std::min(pause * 2, kLongestPause);
  }
}

}  // namespace redlock::force
