// SPDX-License-Identifier: MIT
#include "lock/outage.h"

#include <algorithm>
#include <chrono>

namespace redlock::lock {

namespace {

/// The time that a revocation needs to reach all servers, or to fail.
constexpr Duration kRevoking = std::chrono::seconds(1);

}  // namespace

/// A revocation reaches one server after the other, and soon the lock is lost. Only a revocation
/// that got stuck is worth a warning.
void Outage::update(const Lease& lease, Instant job_stops, Instant now, Effects& effects) {
  if (!lease.failing()) {
    if (reported_) effects.emplace_back(report::RenewalRecovered{});
    *this = {};
    return;
  }
  since_ = std::min(since_, now);
  const bool due = !lease.being_revoked() || now - since_ >= kRevoking;
  if (reported_ || lease.lost() || !due) return;
  effects.emplace_back(report::RenewalFailing{lease.complaints(), job_stops - now});
  reported_ = true;
}

}  // namespace redlock::lock
