// SPDX-License-Identifier: MIT
#include "force/wait_gone.h"

#include <algorithm>

#include "inspect/query.h"
#include "lock/revoking.h"
#include "lock/timing.h"
#include "lock/value.h"
#include "os/clock.h"
#include "os/loop.h"

namespace redlock::force {

namespace {

using std::chrono::milliseconds;

constexpr lock::Duration kFirstPause = milliseconds(50);
constexpr lock::Duration kLongestPause = milliseconds(500);
/// Extra time after the lock has expired, for servers that are slow or unreachable for a moment.
constexpr lock::Duration kPatience = std::chrono::seconds(10);

/// Whether a quorum does not show the holder of `before` any more.
bool is_gone(const inspect::Observed& lock, const inspect::Observed& before) {
  const std::string_view token = lock::owner_of(*before.sighting);
  std::size_t gone = 0;
  for (std::size_t server = 0; server < lock.seen.size(); ++server) {
    const auto* sighting = std::get_if<lock::Sighting>(&lock.seen[server]);
    const auto* earlier = std::get_if<lock::Sighting>(&before.seen[server]);
    if (sighting == nullptr) continue;
    const std::string_view owner = lock::owner_of(*sighting);
    // Of readers, each server may have another generation.
    const bool same = lock::is_shared(token) ? earlier != nullptr && !owner.empty() &&
                                                   owner == lock::owner_of(*earlier)
                                             : owner == token;
    gone += same ? 0 : 1;
  }
  return gone >= lock::quorum(lock.seen.size());
}

}  // namespace

std::optional<inspect::Observed> wait_gone(const config::Settings& settings,
                                           const inspect::Observed& before) {
  os::Loop loop;
  lock::Duration pause = kFirstPause;
  const lock::Instant limit =
      before.most_left ? os::boot_now() + *before.most_left + kPatience : lock::kNever;
  while (true) {
    // A new Query each time: an observer does not ask a server again after a failure.
    inspect::Observed lock =
        inspect::Query(settings).look({before.id.name}, redis::Observer::Marks::ignored).front();
    if (is_gone(lock, before)) return lock;
    if (os::boot_now() >= limit) return std::nullopt;
    loop.wait({}, os::boot_now() + pause);
    pause = std::min(pause * 2, kLongestPause);
  }
}

}  // namespace redlock::force
