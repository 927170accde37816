// SPDX-License-Identifier: MIT
#pragma once

#include "lock/effect.h"
#include "lock/lease.h"
#include "lock/time.h"

namespace redlock::lock {

/// Renewals that fewer than a quorum of servers answer. The beginning and the end of such an outage
/// are reported once each.
class Outage {
 public:
  /// To be called whenever the lease may have changed. `job_stops`: when the job is stopped if
  /// nothing gets better.
  void update(const Lease& lease, Instant job_stops, Instant now, Effects& effects);

 private:
  bool reported_ = false;
  Instant since_ = kNever;
};

}  // namespace redlock::lock
