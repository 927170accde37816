// SPDX-License-Identifier: MIT
#include "lock/running_job.h"

#include <algorithm>
#include <csignal>

namespace redlock::lock {

void RunningJob::check(const Lease& lease, Instant now, Effects& effects) {
  if (!stopping()) tell_outage(lease, now, effects);

  if (lease.lost()) {
    if (stop_reason_ != StopReason::lost) stop(StopReason::lost, lease, now, effects);
  } else if (!stopping() && now >= term_at(lease)) {
    stop(StopReason::lease_ending, lease, now, effects);
  } else if (!stopping() && terms_.max_runtime && now - began_ >= *terms_.max_runtime) {
    stop(StopReason::max_runtime, lease, now, effects);
  }
}

/// Reports the beginning and the end of an outage once each. A revocation reaches one server after
/// the other, and soon the lock is lost: only a revocation that got stuck is worth a warning.
void RunningJob::tell_outage(const Lease& lease, Instant now, Effects& effects) {
  constexpr Duration kRevoking = std::chrono::seconds(1);  // it has reached all servers, or failed
  if (!lease.failing()) {
    if (outage_reported_) effects.emplace_back(report::RenewalRecovered{});
    outage_since_ = kNever;
    outage_reported_ = false;
    return;
  }
  outage_since_ = std::min(outage_since_, now);
  const bool due = !lease.being_revoked() || now - outage_since_ >= kRevoking;
  if (outage_reported_ || lease.lost() || !due) return;
  effects.emplace_back(report::RenewalFailing{lease.complaints(), term_at(lease) - now});
  outage_reported_ = true;
}

void RunningJob::tick(const Lease& lease, Instant now, Effects& effects) {
  order_measure(lease, now, effects);
  check(lease, now, effects);
  if (stopping()) kill_if_due(lease, now, effects);
}

void RunningJob::stop(StopReason reason, const Lease& lease, Instant now, Effects& effects) {
  stop_reason_ = reason;
  effects.emplace_back(report::Stopping{
      reason, reason == StopReason::max_runtime ? std::vector<Complaint>{} : lease.complaints()});
  if (!stop_began_) begin_to_stop(lease, now, effects);
}

/// If KILL is due already, no softer signal goes before it: after a suspend, CONT would let a
/// stopped job run although the lease is over.
void RunningJob::begin_to_stop(const Lease& lease, Instant now, Effects& effects) {
  stop_began_ = now;
  grace_over_ = stop_reason_ == StopReason::supervisor_gone && terms_.stages.earlier;
  if (now < kill_due(lease)) {
    effects.emplace_back(Kill{terms_.stop_signal});
  } else {
    kill_if_due(lease, now, effects);
  }
  // After the first signal, which must not wait for the measurement.
  if (!measured_ && now < kill_due(lease)) effects.emplace_back(Measure{});
  measured_ = true;
}

void RunningJob::kill_if_due(const Lease& lease, Instant now, Effects& effects) {
  if (now < kill_due(lease)) return;
  // The next stage gets the first KILL alone only if the KILL for everybody still comes in time.
  unwinding_ = terms_.stages.later && last_kill_ == kNever &&
               now + kKillAgain < terms_.timing.kill_at(lease.end(), head_start_);
  effects.emplace_back(Kill{SIGKILL, unwinding_ ? Kill::Whom::next_stage : Kill::Whom::everybody});
  last_kill_ = now;
}

/// The first KILL comes one grace after TERM, but always early enough to be carried out before the
/// lease ends.
Instant RunningJob::kill_due(const Lease& lease) const {
  const Instant latest = terms_.timing.kill_at(lease.end(), head_start_);
  if (unwinding_) return std::min(last_kill_ + kLongestUnwinding, latest);
  if (last_kill_ != kNever) return last_kill_ + pause_;
  return std::min(*stop_began_ + (grace_over_ ? Duration::zero() : terms_.timing.grace), latest);
}

void RunningJob::end_unsupervised(bool ordered, const Lease& lease, Instant now, Effects& effects) {
  if (stopping()) {
    if (!terms_.stages.earlier) return;
    grace_over_ = true;
    return tick(lease, now, effects);
  }
  if (!ordered || !terms_.stages.earlier) {
    return stop(StopReason::supervisor_gone, lease, now, effects);
  }
  stop_reason_ = StopReason::supervisor_gone;
  begin_to_stop(lease, now, effects);
}

void RunningJob::order_measure(const Lease& lease, Instant now, Effects& effects) {
  const bool overdue = now >= measure_at(lease);
  if (!stopping() && overdue && !measured_) effects.emplace_back(Measure{});
  if (!stopping() && !overdue) head_start_ = Duration::zero();
  measured_ = overdue || stopping();
}

void RunningJob::take_kill_cost(Duration length, const Lease& lease, Instant now,
                                Effects& effects) {
  head_start_ = std::min(length, terms_.timing.longest_head_start());
  check(lease, now, effects);
}

Instant RunningJob::deadline(const Lease& lease) const {
  if (stopping()) return kill_due(lease);
  const Instant runtime_end = terms_.max_runtime && *terms_.max_runtime < kNever - began_
                                  ? began_ + *terms_.max_runtime
                                  : kNever;
  return std::min({term_at(lease), runtime_end, measured_ ? kNever : measure_at(lease)});
}

WorkerState RunningJob::worker_state(const Lease& lease) const {
  using Phase = WorkerState::Phase;
  if (!stopping()) return {Phase::running, term_at(lease), lease.end(), head_start_};
  return {Phase::stopping, kill_due(lease), lease.end(), head_start_};
}

}  // namespace redlock::lock
