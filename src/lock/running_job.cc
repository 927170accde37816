// SPDX-License-Identifier: MIT
#include "lock/running_job.h"

#include <algorithm>
#include <csignal>

#include "lock/stages.h"

namespace redlock::lock {

void RunningJob::check(Instant now, Effects& effects) {
  if (!stopping()) tell_outage(now, effects);

  if (lease_.lost()) {
    if (stop_reason_ != StopReason::lost) stop(StopReason::lost, now, effects);
  } else if (!stopping() && now >= term_at()) {
    stop(StopReason::lease_ending, now, effects);
  } else if (!stopping() && plan_.max_runtime && now - began_ >= *plan_.max_runtime) {
    stop(StopReason::max_runtime, now, effects);
  }
}

/// Reports the beginning and the end of an outage once each. A revocation reaches one server after
/// the other, and soon the lock is lost: only a revocation that got stuck is worth a warning.
void RunningJob::tell_outage(Instant now, Effects& effects) {
  constexpr Duration kRevoking = std::chrono::seconds(1);  // it has reached all servers, or failed
  if (!lease_.failing()) {
    if (outage_reported_) effects.emplace_back(report::RenewalRecovered{});
    outage_since_ = kNever;
    outage_reported_ = false;
    return;
  }
  outage_since_ = std::min(outage_since_, now);
  const bool due = !lease_.being_revoked() || now - outage_since_ >= kRevoking;
  if (outage_reported_ || lease_.lost() || !due) return;
  effects.emplace_back(report::RenewalFailing{lease_.complaints(), term_at() - now});
  outage_reported_ = true;
}

void RunningJob::tick(Instant now, Effects& effects) {
  order_measure(now, effects);
  check(now, effects);
  if (stopping()) kill_if_due(now, effects);
}

void RunningJob::stop(StopReason reason, Instant now, Effects& effects) {
  stop_reason_ = reason;
  effects.emplace_back(report::Stopping{
      reason, reason == StopReason::max_runtime ? std::vector<Complaint>{} : lease_.complaints()});
  if (!stop_began_) begin_to_stop(now, effects);
}

/// If KILL is due already, no softer signal goes before it: after a suspend, CONT would let a
/// stopped job run although the lease is over.
void RunningJob::begin_to_stop(Instant now, Effects& effects) {
  stop_began_ = now;
  grace_over_ = stop_reason_ == StopReason::supervisor_gone && plan_.stages.earlier;
  if (now < kill_due()) {
    effects.emplace_back(Kill{plan_.stop_signal});
  } else {
    kill_if_due(now, effects);
  }
  // After the first signal, which must not wait for the measurement.
  if (!measured_ && now < kill_due()) effects.emplace_back(Measure{});
  measured_ = true;
}

void RunningJob::kill_if_due(Instant now, Effects& effects) {
  if (now < kill_due()) return;
  // The next stage gets the first KILL alone only if the KILL for everybody still comes in time.
  unwinding_ = plan_.stages.later && last_kill_ == kNever &&
               now + kKillAgain < plan_.timing.kill_at(lease_.end(), head_start_);
  effects.emplace_back(Kill{SIGKILL, unwinding_ ? Kill::Whom::next_stage : Kill::Whom::everybody});
  last_kill_ = now;
}

/// The first KILL comes one grace after TERM, but always early enough before the lease ends.
Instant RunningJob::kill_due() const {
  const Instant latest = plan_.timing.kill_at(lease_.end(), head_start_);
  if (unwinding_) return std::min(last_kill_ + kLongestUnwinding, latest);
  if (last_kill_ != kNever) return last_kill_ + pause_;
  return std::min(*stop_began_ + (grace_over_ ? Duration::zero() : plan_.timing.grace), latest);
}

void RunningJob::end_unsupervised(bool ordered, Instant now, Effects& effects) {
  if (stopping()) {
    if (!plan_.stages.earlier) return;
    grace_over_ = true;
    return tick(now, effects);
  }
  if (!ordered || !plan_.stages.earlier) return stop(StopReason::supervisor_gone, now, effects);
  stop_reason_ = StopReason::supervisor_gone;
  begin_to_stop(now, effects);
}

void RunningJob::order_measure(Instant now, Effects& effects) {
  const bool overdue = now >= measure_at();
  if (!stopping() && overdue && !measured_) effects.emplace_back(Measure{});
  if (!stopping() && !overdue) head_start_ = Duration::zero();
  measured_ = overdue || stopping();
}

void RunningJob::take_kill_cost(Duration length, Instant now, Effects& effects) {
  head_start_ = std::min(length, plan_.timing.longest_head_start());
  check(now, effects);
}

Instant RunningJob::deadline() const {
  if (stopping()) return kill_due();
  const Instant runtime_end = plan_.max_runtime ? moment_after(began_, *plan_.max_runtime) : kNever;
  return std::min({term_at(), runtime_end, measured_ ? kNever : measure_at()});
}

WorkerState RunningJob::worker_state() const {
  using Phase = WorkerState::Phase;
  if (!stopping()) return {Phase::running, term_at(), lease_.end(), head_start_};
  return {Phase::stopping, kill_due(), lease_.end(), head_start_};
}

}  // namespace redlock::lock
