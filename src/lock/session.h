// SPDX-License-Identifier: MIT
//
// One `redlock run`, as a pure state machine: events in, effects out.
//
//   acquiring -> numbering -> starting -> running -> releasing -> finished
//       |            |            |                      ^
//       +------------+------------+------- gave up ------+
//
// While the job runs, or is being stopped, lock/running_job.h decides about it.
//
// Deliberately absent from this library: clocks, randomness, sockets, processes, tokens, wording.
// Every step brings the time with it, the number of an attempt stands for its token, and everything
// to be done goes out as an effect. The same input always gives the same output; the simulator and
// the unit tests depend on that.
#pragma once

#include <optional>
#include <utility>

#include "lock/acquisition.h"
#include "lock/drive.h"
#include "lock/fence.h"
#include "lock/release.h"
#include "lock/running_job.h"

namespace redlock::lock {

struct Outcome {
  enum class Kind {
    job_ended,
    not_started,
    done,
    superseded,
    conflict,
    unavailable,
    misconfigured,
    interrupted,
    lost,
    max_runtime
  };
  Kind kind;
  int number = 0;  ///< job_ended, not_started: exit status; interrupted: signal
};

class Session final : public Machine {
 public:
  Session(const Plan& plan, Instant now);

  Effects step(const Event& event, Instant now) override;

  [[nodiscard]] Instant deadline() const override;

  [[nodiscard]] bool finished() const override { return phase_ == Phase::finished; }
  [[nodiscard]] const Outcome& outcome() const { return *outcome_; }

  /// We do not have the lock yet, and still ask for it.
  [[nodiscard]] bool acquiring() const {
    return phase_ == Phase::acquiring || phase_ == Phase::numbering;
  }
  [[nodiscard]] Waiting waiting() const { return acquisition_.waiting(); }
  [[nodiscard]] const std::optional<Superseded>& superseded() const {
    return acquisition_.superseded();
  }

  /// The process that watches the job must report JobTreeGone when no process of it is left.
  [[nodiscard]] bool watching_tree() const {
    return phase_ == Phase::running &&
           (job_->stopping() || (job_gone_ && (plan_.wait_all || job_->ending())));
  }

  /// What the supervisor has to know. Only once a job is to be started.
  [[nodiscard]] WorkerState worker_state() const;

 private:
  enum class Phase { acquiring, numbering, starting, running, releasing, finished };

  void on_tick();
  void on_reply(const Reply& reply);
  void on_signal(const Signal& signal);
  void on_job_exited(const JobExited& exit);
  void on_job_started();
  void on_notice();

  void check_acquisition();
  void check_fence();
  void start_job(std::uint64_t fence);
  void tick_lease();
  void tick_releasing();

  void end_without_job(const Outcome& outcome);
  void release_lease();
  void undo_release();
  void check_release();
  void finish();
  [[nodiscard]] bool may_stay_long() const;
  void warn_of_left_overs();
  [[nodiscard]] bool leaves_hold() const { return wants_hold_ && !lease().lost(); }
  void log(Log::Event event, Log::Carrier carrier = Log::Carrier::itself);
  [[nodiscard]] const Lease& lease() const { return job_->lease(); }
  void emit(Report report) { effects_.emplace_back(std::move(report)); }

  [[nodiscard]] bool ended_in_vain() const {
    return outcome_ && (outcome_->kind == Outcome::Kind::superseded ||
                        outcome_->kind == Outcome::Kind::conflict ||
                        outcome_->kind == Outcome::Kind::unavailable);
  }
  /// A minimum hold is for a job that ran under our lock to its end. If the command could not be
  /// started, another host should try it; a lost lock cannot be kept.
  [[nodiscard]] bool was_ours() const {
    return outcome_->kind == Outcome::Kind::job_ended && !lost_while_held();
  }
  [[nodiscard]] bool lost_while_held() const;
  /// Only a job that ended by itself, with status 0 and under our lock, need not run again.
  [[nodiscard]] bool may_mark() const {
    return mark_of(plan_) != Mark::none && was_ours() && !job_->stopping() && outcome_->number == 0;
  }

  Plan plan_;  ///< never changes; is not const because the simulator copies sessions
  Instant now_;
  Instant began_;
  Phase phase_ = Phase::acquiring;
  Acquisition acquisition_;
  std::optional<FenceAgreement> fence_;
  std::optional<RunningJob> job_;  ///< from the win on, with its lease
  DoneMarks done_marks_;
  Effects effects_;
  std::optional<Outcome> outcome_;

  std::uint64_t number_ = 0;  ///< the fence of the lease
  Instant won_at_{};
  Instant listen_at_ = kNever;
  bool job_gone_ = false;
  Instant release_limit_ = kNever;
  Instant release_retry_ = kNever;
  Instant keep_until_{};     ///< the release keeps the lock: a minimum hold, or a maintenance hold
  bool cools_ = false;       ///< that was later than the release
  bool wants_hold_ = false;  ///< the run has failed, and a maintenance hold should follow
};

}  // namespace redlock::lock
