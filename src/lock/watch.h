// SPDX-License-Identifier: MIT
//
// Two processes watch over a job, so that it outlives its lock by no single failure: the worker,
// which runs the session, and the one on top of it, whose only care is the moment at which the
// worker ought to have acted. What the one on top decides stands here; like all of lock/ it is told
// the time and does nothing itself.
#pragma once

#include <vector>

#include "lock/time.h"
#include "lock/timing.h"

namespace redlock::lock {

/// What the worker has told about itself.
struct WorkerState {
  enum class Phase { running, stopping, releasing };
  Phase phase;
  /// By then it will have taken its next step: renewed, sent a signal, left.
  Instant act_by;
  Instant valid_until;
  /// By how much the job must end earlier because it has many processes.
  Duration head_start{};
};

class Watch {
 public:
  enum class Act {
    kill_worker,  ///< first of all: a worker that wakes must not act beside us
    stop_job,     ///< the first signal, and CONT
    kill_job,     ///< KILL to all of it, again and again until nothing is left
    measure,      ///< what it takes to kill the job; answer with set_head_start()
  };

  explicit Watch(const Timing& timing) : timing_(timing) {}

  /// What is to be done at `now`. `worker_gone`: it is dead. `job_left`: anything of the job that
  /// has to end before the lock does.
  std::vector<Act> step(const WorkerState& state, bool worker_gone, bool job_left, Instant now);

  /// What came of the last KILL: whether it reached a process that none had reached before.
  void killed(bool found_new);

  /// Killing the job takes so long.
  void set_head_start(Duration length);

  /// When step() is due at the latest, if nothing happens before.
  [[nodiscard]] Instant deadline(const WorkerState& state) const;

  /// The worker is out, and the job ours alone. No lock is renewed or released any more.
  [[nodiscard]] bool alone() const { return alone_; }
  /// And was told to end, by us or by the worker before.
  [[nodiscard]] bool stopped_job() const { return stopped_; }

 private:
  void take_over(const WorkerState& state, bool worker_gone, Instant now);

  [[nodiscard]] bool wants_measure(const WorkerState& state) const;

  Timing timing_;
  Instant measured_until_{};  ///< the end of the lease when that was done with a worker
  Duration head_start_{};     ///< the result
  bool alone_ = false;
  bool stopped_ = false;
  Instant stop_at_{};
  bool measured_ = false;
  Instant measure_at_{};
  Instant kill_at_{};
  Instant last_kill_at_{};  ///< if the lease is not renewed any more, and there are few processes
  Duration pause_ = kKillAgain;  ///< between one KILL and the next
  Instant killed_at_{};
};

}  // namespace redlock::lock
