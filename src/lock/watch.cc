// SPDX-License-Identifier: MIT
#include "lock/watch.h"

#include <utility>

namespace redlock::lock {

namespace {

/// How late a worker on a loaded machine may be with a step that the lease does not depend on.
constexpr Duration kPatience = std::chrono::seconds(1);

}  // namespace

Instant Watch::deadline(const WorkerState& state) const {
  if (alone_ && told_) return kill_at_;
  if (alone_) return measured_ ? stop_at_ : std::min(measure_at_, stop_at_);
  const Duration half_margin = timing_.margin() / 2;
  switch (state.phase) {
    case WorkerState::Phase::releasing:
      return state.act_by + kPatience;
    case WorkerState::Phase::ending:
    case WorkerState::Phase::stopping:  // KILL is due one grace after TERM, or when the lease ends
      return std::max(state.act_by + half_margin,
                      std::min(state.act_by + kPatience, state.valid_until - half_margin));
    case WorkerState::Phase::running:
      break;
  }
  // A worker that does its work has measured before, and so acts sooner.
  const Instant due = state.act_by + half_margin;
  if (state.head_start > Duration::zero()) return due;
  const bool measured = measured_until_ == state.valid_until;
  return due - (measured ? head_start_ : timing_.longest_head_start());
}

std::vector<Watch::Act> Watch::step(const WorkerState& state, bool worker_gone, bool job_left,
                                    Instant now) {
  std::vector<Act> acts;
  if (!alone_) {
    if (!worker_gone && now < deadline(state)) return acts;
    // But not if the worker is late already: nothing delays a KILL.
    const bool in_time = now < state.act_by + timing_.margin() / 2;
    if (!worker_gone && in_time && wants_measure(state)) {
      measured_until_ = state.valid_until;
      head_start_ = Duration::zero();
      return {Act::measure};
    }
    if (!worker_gone) acts.push_back(Act::kill_worker);
    take_over(state, worker_gone, now);
  }
  if (!job_left) return acts;
  if (!told_ && now >= stop_at_) {
    told_ = true;
    stopped_ = !rest_ends_;
    kill_at_ = std::min(kill_at_, now + timing_.grace);
    // As in RunningJob::begin_to_stop(): a job that must be dead already gets no CONT first.
    if (now < kill_at_) acts.push_back(Act::stop_job);
  }
  // After the first signal, which must not wait for the measurement.
  if (!measured_ && now >= measure_at_ && now < kill_at_) {
    measured_ = true;
    acts.push_back(Act::measure);
  }
  if (told_ && now >= kill_at_) {
    acts.push_back(Act::kill_job);
    killed_at_ = now;
    kill_at_ = now + pause_;
  }
  return acts;
}

bool Watch::wants_measure(const WorkerState& state) const {
  return state.phase == WorkerState::Phase::running && state.head_start == Duration::zero() &&
         measured_until_ != state.valid_until && timing_.longest_head_start() > Duration::zero();
}

/// If the worker died while all was well, the job may go on for as long as it could have without a
/// renewal, since it may end by itself. If the worker missed its moment, the job gets no more time.
void Watch::take_over(const WorkerState& state, bool worker_gone, Instant now) {
  alone_ = true;
  lease_end_ = state.valid_until;
  const bool measured_here = measured_until_ == lease_end_;
  kill_at_ = timing_.kill_at(lease_end_, measured_here ? head_start_ : state.head_start);
  measured_ = measured_here || state.head_start > Duration::zero();
  stop_at_ = worker_gone ? kill_at_ - timing_.grace : now;
  if (state.phase == WorkerState::Phase::stopping || state.phase == WorkerState::Phase::ending) {
    told_ = true;
    stopped_ = state.phase == WorkerState::Phase::stopping;
    kill_at_ = std::min(kill_at_, state.act_by);
  }
  measure_at_ = told_ ? now : stop_at_ - timing_.longest_head_start();
}

void Watch::end_rest(JobEnd end, Instant now) {
  if (std::exchange(rest_ends_, true) || told_) return;
  stop_at_ = std::min(stop_at_, now);
  if (end == JobEnd::killed) return;
  told_ = true;
  kill_at_ = std::min(kill_at_, now + timing_.grace);
}

void Watch::set_head_start(Duration length) {
  head_start_ = std::min(length, timing_.longest_head_start());
  if (!alone_) return;
  const Instant earlier = timing_.kill_at(lease_end_, head_start_);
  kill_at_ = std::min(kill_at_, earlier);
  stop_at_ = std::min(stop_at_, earlier - timing_.grace);
}

}  // namespace redlock::lock
