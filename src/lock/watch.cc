// SPDX-License-Identifier: MIT
#include "lock/watch.h"

#include <algorithm>

namespace redlock::lock {

namespace {

/// How late a worker on a loaded machine may be with what the lease does not depend on.
constexpr Duration kPatience = std::chrono::seconds(1);

}  // namespace

Instant Watch::deadline(const Standing& standing) const {
  if (alone_) return stopped_ ? kill_at_ : stop_at_;
  const Duration half_margin = timing_.margin() / 2;
  switch (standing.phase) {
    case Standing::Phase::releasing:
      return standing.act_by + kPatience;
    case Standing::Phase::stopping:  // a KILL is due a grace after the TERM, or the lease is over
      return std::max(standing.act_by + half_margin,
                      std::min(standing.act_by + kPatience, standing.valid_until - half_margin));
    case Standing::Phase::running:
      break;
  }
  return standing.act_by + half_margin;
}

std::vector<Watch::Act> Watch::step(const Standing& standing, bool worker_gone, bool job_left,
                                    Instant now) {
  std::vector<Act> acts;
  if (!alone_) {
    if (!worker_gone && now < deadline(standing)) return acts;
    if (!worker_gone) acts.push_back(Act::kill_worker);
    take_over(standing, worker_gone, now);
  }
  if (!job_left) return acts;
  if (!stopped_ && now >= stop_at_) {
    stopped_ = true;
    kill_at_ = std::min(kill_at_, now + timing_.grace);
    // As in Session::stop_job: a job that must be dead already is not continued first.
    if (now < kill_at_) acts.push_back(Act::stop_job);
  }
  if (stopped_ && now >= kill_at_) {
    acts.push_back(Act::kill_job);
    kill_at_ = now + kKillAgain;
  }
  return acts;
}

/// A worker that is dead while all was well leaves a job that may go on for as long as it could
/// have without a renewal: perhaps it comes to its end. One that missed its moment leaves none.
void Watch::take_over(const Standing& standing, bool worker_gone, Instant now) {
  alone_ = true;
  kill_at_ = standing.valid_until - timing_.margin();
  stop_at_ = worker_gone ? kill_at_ - timing_.grace : now;
  if (standing.phase == Standing::Phase::stopping) {
    stopped_ = true;
    kill_at_ = std::min(kill_at_, standing.act_by);
  }
}

}  // namespace redlock::lock
