// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "lock/effect.h"
#include "lock/lease.h"
#include "lock/outage.h"
#include "lock/stopping.h"
#include "lock/time.h"
#include "lock/timing.h"
#include "lock/watch.h"

namespace redlock::lock {

/// A job under a lease: decides when and why the job must be stopped, and stops it in time. The
/// lease is the present one: it may have moved since the last call.
class RunningJob {
 public:
  struct Terms {
    Timing timing;
    std::optional<Duration> max_runtime;
    int stop_signal;  ///< the first one
    Neighbours stages{};
  };

  /// The lock was won at `now`: even if the job cannot be started, the lock is held from now on.
  RunningJob(const Terms& terms, Instant now) : terms_(terms), began_(now) {}

  void started(Instant now) { began_ = now; }
  [[nodiscard]] Instant began() const { return began_; }

  /// Stops the job if it must not run on. To be called whenever the lease may have changed.
  void check(const Lease& lease, Instant now, Effects& effects);

  /// Sends what is due: the order to measure, and the signals.
  void tick(const Lease& lease, Instant now, Effects& effects);

  void stop(StopReason reason, const Lease& lease, Instant now, Effects& effects);

  /// The supervisor is dead: nobody waits for the job any more. `ordered`: as in SupervisorGone;
  /// the stage before has said why.
  void end_unsupervised(bool ordered, const Lease& lease, Instant now, Effects& effects);
  /// What is left of the job is no stage.
  void main_process_ended();

  /// Killing the job takes this long.
  void take_kill_cost(Duration length, const Lease& lease, Instant now, Effects& effects);
  /// The result of the last KILL: whether it reached a process that no KILL had reached before.
  void killed(bool found_new);

  [[nodiscard]] bool stopping() const { return stop_reason_.has_value(); }
  /// None while the job may run, and if it ended by itself.
  [[nodiscard]] std::optional<StopReason> stop_reason() const { return stop_reason_; }

  /// When tick() is due.
  [[nodiscard]] Instant deadline(const Lease& lease) const;

  /// What the supervisor has to know.
  [[nodiscard]] WorkerState worker_state(const Lease& lease) const;

 private:
  [[nodiscard]] Instant term_at(const Lease& lease) const;
  [[nodiscard]] Instant measure_at(const Lease& lease) const;
  void begin_to_stop(const Lease& lease, Instant now, Effects& effects);
  void order_measure(const Lease& lease, Instant now, Effects& effects);

  Terms terms_;
  Instant began_;
  Outage outage_;
  std::optional<StopReason> stop_reason_;
  std::optional<Stopping> stopping_;
  bool measured_ = false;  ///< a measurement was ordered since the last renewal
  Duration head_start_{};  ///< how much earlier the job must end because it has many processes
};

}  // namespace redlock::lock
