// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "lock/lease.h"
#include "lock/plan.h"
#include "lock/watch.h"

namespace redlock::lock {

/// A job under a lease: decides when and why the job must be stopped, and stops it before the lease
/// ends: the first signal, and after the grace KILL to all its processes, again and again until
/// none is left; before that, KILL to the next stage (lock/stages.h).
class RunningJob {
 public:
  /// The lock was won at `now`: even if the job cannot be started, the lock is held from now on.
  RunningJob(const Plan& plan, const Attempt& won, Instant now)
      : plan_(plan), lease_(won, plan.timing, now), began_(now) {}

  [[nodiscard]] Lease& lease() { return lease_; }
  [[nodiscard]] const Lease& lease() const { return lease_; }

  void started(Instant now) { began_ = now; }
  [[nodiscard]] Instant began() const { return began_; }

  /// Stops the job if it must not run on. To be called whenever the lease may have changed.
  void check(Instant now, Effects& effects);

  /// Sends what is due: the order to measure, and the signals.
  void tick(Instant now, Effects& effects);

  /// The supervisor is dead: nobody waits for the job any more. `ordered`: as in SupervisorGone;
  /// the stage before has said why.
  void end_unsupervised(bool ordered, Instant now, Effects& effects);
  /// What is left of the job is no stage that could be killed first.
  void main_process_ended() { plan_.stages.later = false; }

  void take_kill_cost(Duration length, Instant now, Effects& effects);
  /// The result of the last KILL: whether it reached a process that no KILL had reached before.
  void killed(bool found_new) { pause_ = pause_after_kill(pause_, found_new); }

  [[nodiscard]] bool stopping() const { return stop_reason_.has_value(); }
  /// None while the job may run, and if it ended by itself.
  [[nodiscard]] std::optional<StopReason> stop_reason() const { return stop_reason_; }

  [[nodiscard]] Instant deadline() const;

  [[nodiscard]] WorkerState worker_state() const;

 private:
  [[nodiscard]] Instant term_at() const {
    return plan_.timing.term_at(lease_.valid_until(), head_start_);
  }
  /// Measures only if a renewal is overdue: a measurement takes time.
  [[nodiscard]] Instant measure_at() const {
    return plan_.timing.term_at(lease_.valid_until(), plan_.timing.longest_head_start());
  }
  [[nodiscard]] Instant kill_due() const;
  void tell_outage(Instant now, Effects& effects);
  void order_measure(Instant now, Effects& effects);
  void stop(StopReason reason, Instant now, Effects& effects);
  void begin_to_stop(Instant now, Effects& effects);
  void kill_if_due(Instant now, Effects& effects);

  Plan plan_;
  Lease lease_;
  Instant began_;
  Instant outage_since_ = kNever;  ///< since then, fewer than a quorum renew
  bool outage_reported_ = false;
  bool measured_ = false;  ///< a measurement was ordered since the last renewal
  Duration head_start_{};  ///< how much earlier the job must end because it has many processes
  std::optional<StopReason> stop_reason_;
  std::optional<Instant> stop_began_;
  bool grace_over_ = false;  ///< the first KILL is due
  bool unwinding_ = false;   ///< the last KILL was for the next stage's supervisor
  Instant last_kill_ = kNever;
  Duration pause_ = kKillAgain;
};

}  // namespace redlock::lock
