// SPDX-License-Identifier: MIT
#include "lock/running_job.h"

#include <algorithm>

namespace redlock::lock {

void RunningJob::check(const Lease& lease, Instant now, Effects& effects) {
  if (!stopping()) outage_.update(lease, term_at(lease), now, effects);

  if (lease.lost()) {
    if (stop_reason_ != StopReason::lost) stop(StopReason::lost, lease, now, effects);
  } else if (!stopping() && now >= term_at(lease)) {
    stop(StopReason::lease_ending, lease, now, effects);
  } else if (!stopping() && terms_.max_runtime && now - began_ >= *terms_.max_runtime) {
    stop(StopReason::max_runtime, lease, now, effects);
  }
}

void RunningJob::tick(const Lease& lease, Instant now, Effects& effects) {
  order_measure(lease, now, effects);
  check(lease, now, effects);
  if (stopping()) stopping_->tick(lease.end(), now, effects);
}

void RunningJob::stop(StopReason reason, const Lease& lease, Instant now, Effects& effects) {
  stop_reason_ = reason;
  effects.emplace_back(report::Stopping{
      reason, reason == StopReason::max_runtime ? std::vector<Complaint>{} : lease.complaints()});
  if (!stopping_) begin_to_stop(lease, now, effects);
}

void RunningJob::begin_to_stop(const Lease& lease, Instant now, Effects& effects) {
  stopping_.emplace(terms_.timing, terms_.stages, now);
  stopping_->set_head_start(head_start_);
  const bool unsupervised = stop_reason_ == StopReason::supervisor_gone;
  if (unsupervised && terms_.stages.earlier) stopping_->skip_grace();
  stopping_->begin(terms_.stop_signal, lease.end(), effects);
  // After the first signal, which must not wait for the measurement.
  if (!measured_ && now < stopping_->deadline(lease.end())) effects.emplace_back(Measure{});
  measured_ = true;
}

void RunningJob::end_unsupervised(bool ordered, const Lease& lease, Instant now, Effects& effects) {
  if (stopping()) {
    if (!terms_.stages.earlier) return;
    stopping_->skip_grace();
    return tick(lease, now, effects);
  }
  if (!ordered || !terms_.stages.earlier) {
    return stop(StopReason::supervisor_gone, lease, now, effects);
  }
  stop_reason_ = StopReason::supervisor_gone;
  begin_to_stop(lease, now, effects);
}

void RunningJob::main_process_ended() {
  terms_.stages.later = false;
  if (stopping_) stopping_->main_process_ended();
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
  if (stopping_) stopping_->set_head_start(head_start_);
  check(lease, now, effects);
}

void RunningJob::killed(bool found_new) {
  if (stopping_) stopping_->killed(found_new);
}

Instant RunningJob::deadline(const Lease& lease) const {
  if (stopping()) return stopping_->deadline(lease.end());
  const Instant runtime_end = terms_.max_runtime && *terms_.max_runtime < kNever - began_
                                  ? began_ + *terms_.max_runtime
                                  : kNever;
  return std::min({term_at(lease), runtime_end, measured_ ? kNever : measure_at(lease)});
}

WorkerState RunningJob::worker_state(const Lease& lease) const {
  using Phase = WorkerState::Phase;
  if (!stopping()) return {Phase::running, term_at(lease), lease.end(), head_start_};
  return {Phase::stopping, stopping_->deadline(lease.end()), lease.end(), head_start_};
}

Instant RunningJob::term_at(const Lease& lease) const {
  return terms_.timing.term_at(lease.valid_until(), head_start_);
}

/// Measures only if a renewal is overdue: a measurement takes time, and while all is well nobody
/// needs its result.
Instant RunningJob::measure_at(const Lease& lease) const {
  return terms_.timing.term_at(lease.valid_until(), terms_.timing.longest_head_start());
}

}  // namespace redlock::lock
