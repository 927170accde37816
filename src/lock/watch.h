// SPDX-License-Identifier: MIT
//
// The decisions of the supervisor. Two processes watch over a job: the worker runs the session, and
// the supervisor watches for the moment when the worker ought to have acted.
#pragma once

#include <optional>
#include <vector>

#include "lock/effect.h"
#include "lock/timing.h"

namespace redlock::lock {

/// What the worker says about itself.
struct WorkerState {
  enum class Phase {
    running,
    ending,  ///< the main process has ended; what it has left must end before the lock is free
    stopping,
    releasing
  };
  Phase phase;
  /// By then the worker will have taken its next step: renewed, sent a signal, left.
  Instant act_by;
  Instant valid_until;
  /// How much earlier the job must end because it has many processes.
  Duration head_start{};
  std::optional<StopReason> stopped{};  ///< why the worker stops the job, if it does
};

class Watch {
 public:
  enum class Act {
    kill_worker,  ///< first of all: a worker that wakes must not act beside us
    stop_job,     ///< the first signal, and CONT
    kill_job,     ///< KILL to all its processes, again and again until none is left
    measure,      ///< find out how long it takes to kill the job; answer with set_head_start()
  };

  explicit Watch(const Timing& timing) : timing_(timing) {}

  /// Returns what to do at `now`. `worker_gone`: the worker is dead. `job_left`: something is left
  /// of the job that must end before the lock does.
  std::vector<Act> step(const WorkerState& state, bool worker_gone, bool job_left, Instant now);

  /// The result of the last KILL: whether it reached a process that no KILL had reached before.
  void killed(bool found_new) {
    pause_ = pause_after_kill(pause_, found_new);
    kill_at_ = killed_at_ + pause_;
  }

  /// The job's main process has ended so, and what it has left must end. Only for an alone()
  /// supervisor.
  void end_rest(JobEnd end, Instant now);

  /// Killing the job takes this long.
  void set_head_start(Duration length);

  /// Whether a stopped job may be continued: not if the worker may be about to kill it.
  [[nodiscard]] bool may_continue(const WorkerState& state, Instant now) const {
    return now < timing_.kill_at(state.valid_until, state.head_start);
  }

  /// When step() is due at the latest, if nothing happens before.
  [[nodiscard]] Instant deadline(const WorkerState& state) const;

  /// The supervisor alone has the job: nobody renews or releases the lock any more.
  [[nodiscard]] bool alone() const { return alone_; }
  /// The job was stopped before its main process ended, by the supervisor or before that by the
  /// worker.
  [[nodiscard]] bool stopped_job() const { return stopped_; }

 private:
  void take_over(const WorkerState& state, bool worker_gone, Instant now);

  [[nodiscard]] bool wants_measure(const WorkerState& state) const;

  Timing timing_;
  Instant measured_until_{};  ///< the end of the lease when it was measured with a live worker
  Duration head_start_{};     ///< what that measurement gave
  bool alone_ = false;
  bool rest_ends_ = false;  ///< the main process has ended
  bool told_ = false;       ///< the job has had its signal, and KILL is next
  bool stopped_ = false;
  Instant stop_at_{};
  bool measured_ = false;
  Instant measure_at_{};
  Instant kill_at_{};
  Instant lease_end_{};          ///< alone: nobody renews it any more
  Duration pause_ = kKillAgain;  ///< between two KILLs
  Instant killed_at_{};
};

}  // namespace redlock::lock
